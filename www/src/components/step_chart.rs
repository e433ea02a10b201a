//! Step by step: each step a column of its parts. Partial and warm-up steps are marked below the axis.

use std::sync::Arc;

use crossprof::format;
use crossprof::pages::Link;
use crossprof::report::Step;
use crossprof::table::{Cell, Unit};
use leptos::html;
use leptos::prelude::*;
use web_sys::{KeyboardEvent, PointerEvent};

use super::live::{live, says};
use crate::blocks::figure::{Data, number};
use crate::plot::stack;
use crate::plot::ticks::{self, Axis, axis};
use crate::state::{Report, State};

/// The parts of a step, lowest first: name, colour class, size.
type Part = (&'static str, &'static str, fn(&Step) -> f64);

const PARTS: [Part; 4] = [
    ("Compute", "compute", |step| step.compute_us),
    ("Communication", "communication", |step| step.communication_us),
    ("Transfers", "transfer", |step| step.transfer_us),
    ("Idle", "idle", |step| step.idle_us),
];

/// What the chart shows.
pub fn data(steps: &[Step]) -> Data {
    let mut data = Data::of(&[("Step", Unit::Count), ("Duration", Unit::TimeUs)]);
    data.columns.extend(PARTS.map(|part| (part.0.to_owned(), Unit::TimeUs)));
    data.columns.push(("Counted".to_owned(), Unit::Flag));
    let rows = steps.iter().map(|step| {
        let times = std::iter::once(step.duration_us).chain(PARTS.iter().map(|part| (part.2)(step)));
        let ends = (Cell::Int(step.index), Cell::Flag(step.counted));
        std::iter::once(ends.0).chain(times.map(number)).chain([ends.1]).collect()
    });
    data.rows = rows.collect();
    data
}

/// The chart of a run's steps.
pub fn step_chart(report: &Report) -> AnyView {
    let state = State::get();
    let steps: Arc<[Step]> = report.profile.steps.clone().into();
    if steps.is_empty() {
        let reason = crate::headline::why_missing(&report.profile, "steps");
        let reason = reason.or_else(|| crate::headline::why_missing(&report.profile, "step_timing.avg_step_time_us"));
        let reason = reason.unwrap_or("This profile lists no single steps.").to_owned();
        return view! { <p class="empty">{reason}</p> }.into_any();
    }
    let chosen = RwSignal::new(None::<usize>);
    let plot = NodeRef::<html::Div>::new();
    let count = steps.len();
    let columns: Vec<Vec<f64>> = steps.iter().map(|step| PARTS.iter().map(|part| (part.2)(step)).collect()).collect();
    let largest = steps.iter().map(|step| step.duration_us).fold(0.0, f64::max);
    let Axis { max, ticks } = axis(largest, 4);
    let paths = stack::paths(&columns, PARTS.len(), max);
    let drawn = PARTS
        .iter()
        .zip(paths)
        .map(|(part, path)| view! { <path class=format!("part {}", part.1) d=path /> })
        .collect_view();
    let lines = ticks
        .iter()
        .map(|tick| {
            let y = stack::y_of(*tick, max);
            view! { <line class="grid" x1="0" x2=count.to_string() y1=y.to_string() y2=y.to_string() /> }
        })
        .collect_view();
    let labels = ticks
        .iter()
        .map(|tick| {
            let top = format!("{:.2}%", stack::y_of(*tick, max));
            view! { <span style:top=top>{ticks::label(*tick, Unit::TimeUs)}</span> }
        })
        .collect_view();
    let on_move = move |event: PointerEvent| {
        if let Some(element) = plot.get_untracked() {
            let place = element.get_bounding_client_rect();
            chosen.set(stack::column_at(f64::from(event.client_x()) - place.left(), place.width(), count));
        }
    };
    let links: Arc<[Step]> = steps.clone();
    let follow = move || {
        if let Some(step) = chosen.get_untracked().and_then(|index| links.get(index)) {
            state.follow(&Link { view: "steps".to_owned(), filter: format!("step={}", step.index) });
        }
    };
    let on_click = {
        let follow = follow.clone();
        move |_: web_sys::MouseEvent| follow()
    };
    let on_key = move |event: KeyboardEvent| {
        if event.key() == "Enter" {
            return follow();
        }
        let last = count - 1;
        let next = match (event.key().as_str(), chosen.get_untracked()) {
            ("ArrowRight", Some(step)) => (step + 1).min(last),
            ("ArrowLeft", Some(step)) => step.saturating_sub(1),
            ("ArrowRight" | "Home", _) => 0,
            ("ArrowLeft" | "End", _) => last,
            _ => return,
        };
        event.prevent_default();
        chosen.set(Some(next));
    };
    let marks = marks(&steps);
    let (said, listed) = (steps.clone(), steps.clone());
    let sentence = move || match chosen.get().and_then(|index| said.get(index)) {
        Some(step) => describe(step),
        None => summary(&listed),
    };
    let marker = move || {
        chosen.get().map(|index| view! { <rect class="chosen" x=index.to_string() y="0" width="1" height="100" /> })
    };
    let legend =
        PARTS.iter().map(|part| view! { <li><i class=format!("swatch {}", part.1)></i>{part.0}</li> }).collect_view();
    view! {
        <div class="step-chart">
            <ul class="legend" aria-hidden="true">{legend}</ul>
            <div class="plot">
                <div class="y-axis" aria-hidden="true">{labels}</div>
                <div class="canvas" node_ref=plot tabindex="0" role="group" aria-roledescription="chart" aria-label="Step times and their parts. Arrow keys walk through the steps, Enter follows."
                    on:pointermove=on_move on:pointerleave=move |_| chosen.set(None)
                    on:keydown=on_key on:click=on_click on:blur=move |_| chosen.set(None)>
                    <svg viewBox=format!("0 0 {count} 100") preserveAspectRatio="none" aria-hidden="true">
                        {lines}{drawn}{live(marker)}
                    </svg>
                </div>
                <div class="marks" aria-hidden="true">
                    <svg viewBox=format!("0 0 {count} 4") preserveAspectRatio="none"><path class="odd" d=marks /></svg>
                </div>
            </div>
            <p class="caption" aria-live="polite">{says(sentence)}</p>
        </div>
    }
    .into_any()
}

/// A line under every step that the statistics leave out.
fn marks(steps: &[Step]) -> String {
    let odd = steps.iter().enumerate().filter(|(_, step)| !step.counted);
    odd.map(|(index, _)| format!("M{:.2} 0h0.78v4h-0.78z", index as f64 + 0.11)).collect()
}

/// One step in words.
fn describe(step: &Step) -> String {
    let name = step
        .name
        .as_deref()
        .map_or_else(|| step.index.to_string(), |name| format::shorten(&format::printable(name), 40));
    let parts = PARTS.iter().map(|part| (part.0, (part.2)(step))).filter(|(_, time)| *time > 0.0);
    let parts: Vec<String> =
        parts.map(|(name, time)| format!("{} {}", name.to_ascii_lowercase(), format::time_us(time))).collect();
    let kind = match (step.partial, step.warm_up) {
        (true, _) => " Partial: not counted.",
        (false, true) if step.compiles => " Compiles: not counted.",
        (false, true) => " Warm-up: not counted.",
        (false, false) if !step.counted => " Not counted.",
        _ => "",
    };
    format!("Step {name}: {} ({}).{kind}", format::time_us(step.duration_us), parts.join(", "))
}

/// What the marks mean, in words.
fn summary(steps: &[Step]) -> String {
    let partial = steps.iter().filter(|step| step.partial).count();
    let compiling = steps.iter().filter(|step| step.compiles && !step.partial).count();
    let warm_up = steps.iter().filter(|step| step.warm_up && !step.compiles && !step.partial).count();
    let noun = if steps.len() == 1 { "step" } else { "steps" };
    let mut text = format!("{} {noun}, start to start.", steps.len());
    if partial + compiling + warm_up > 0 {
        let kinds = [(partial, "partial"), (compiling, "compiling"), (warm_up, "warm-up")];
        let kinds: Vec<String> =
            kinds.iter().filter(|kind| kind.0 > 0).map(|kind| format!("{} {}", kind.0, kind.1)).collect();
        text.push_str(&format!(" Underlined and not counted: {}.", kinds.join(", ")));
    }
    text
}
