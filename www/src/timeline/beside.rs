//! A second run below the timeline of the first run. The two timelines are aligned at the start of a step or at the
//! selected events, and move together. Colours show the time that ops gained or lost.

use std::cell::RefCell;
use std::rc::Rc;

use crossprof::timeline::{Change, Paint, Sight, Viewport};
use leptos::prelude::*;
use wasm_bindgen::JsValue;

use super::bar::button;
use super::pane::{Details, Pane};
use super::surface::{Surface, interval};
use crate::components::live::{follow, live, says};
use crate::protocol::analyst::{Form, SubjectEntry, Subjects};
use crate::protocol::wire::Document;
use crate::state::{Run, State};
use crate::{ask, browser};

/// URL key for the number of the second run.
pub const BESIDE: &str = "beside";

/// Renders the field that selects a second run, and the timeline of that run.
#[component]
pub fn Beside(
    /// The upper run.
    run: Run,
    /// Timeline of the upper run.
    upper: Rc<Surface>,
) -> impl IntoView {
    let state = State::get();
    let of = run.id;
    // Imported reports have no events to show.
    let others = move || {
        let is_other = |run: &Run| run.id != of && run.report.with_untracked(|report| report.profile.is_from_events());
        state.runs.with(|runs| runs.iter().filter(|run| is_other(run)).cloned().collect::<Vec<Run>>())
    };
    let chosen = move || state.route.with(|route| route.query.options.get(BESIDE).cloned());
    let choose = move |event| state.choose_all(vec![(BESIDE, event_target_value(&event))]);
    let choices = move || {
        let (others, chosen) = (others(), chosen());
        (!others.is_empty()).then(|| {
            let option = |run: Run| {
                let id = run.id.to_string();
                view! { <option value=id.clone() selected=chosen == Some(id)>{state.name_of(run.id)}</option> }
            };
            let options = others.into_iter().map(option).collect_view();
            view! { <label class="quiet">"Beside "<select id="beside" on:change=choose><option value="">"no other run"</option>{options}</select></label> }
        })
    };
    let upper = StoredValue::new_local(upper);
    // The URL changes often. Update only when another run is selected.
    let shown = RwSignal::new(String::new());
    follow(move || {
        let is_there = |id: &String| others().iter().any(|run| run.id.to_string() == *id);
        let id = chosen().filter(is_there).unwrap_or_default();
        if shown.with_untracked(|shown| *shown != id) {
            shown.set(id);
        }
    });
    let lower = move || {
        let id = shown.get();
        let other = untrack(others).into_iter().find(|run| run.id.to_string() == id)?;
        Some(pair(state, &run, upper.get_value(), other))
    };
    view! {
        <div class="timeline-bar">{live(choices)}</div>
        {live(lower)}
    }
}

/// Renders the lower run, and aligns it with the upper run.
fn pair(state: State, run: &Run, upper: Rc<Surface>, other: Run) -> AnyView {
    let filter = state.route.with_untracked(|route| route.query.filter.clone());
    let lower = Surface::new(state, other.clone(), Sight { filter, ..Sight::default() });
    let filtered = lower.clone();
    follow(move || {
        let filter = state.route.with(|route| route.query.filter.clone());
        filtered.update(|sight| sight.filter = filter);
    });
    colour(state, [(run, &upper), (&other, &lower)]);
    let said = RwSignal::new(String::new());
    // If the URL names a range, keep it.
    align(&upper, &lower, None, upper.range().is_none(), said);
    let (above, below) = (StoredValue::new_local(upper), StoredValue::new_local(lower.clone()));
    on_cleanup(move || above.with_value(Surface::alone));
    let by_step = move |event| {
        let step = event_target_value(&event).parse().ok();
        align(&above.get_value(), &below.get_value(), step, true, said);
    };
    let by_events = move || {
        let (upper, lower) = (above.get_value(), below.get_value());
        match upper.selected_start().zip(lower.selected_start()) {
            Some((above, below)) => {
                upper.hold(&lower, below - above, [None, None]);
                said.set("aligned at the selected events".to_owned());
            }
            None => said.set("select an event in each run first".to_owned()),
        }
    };
    let legend = move || {
        let entries = Change::LEGEND.map(|(change, label)| {
            let (crossprof::timeline::Rgb(red, green, blue), _) = Paint::of_change(change).colours(state.dark.get());
            view! { <span class="quiet"><i class="swatch" style:background=format!("rgb({red} {green} {blue})")></i>{label}</span> }
        });
        entries.into_iter().collect_view()
    };
    let name = state.name_of(other.id);
    view! {
        <div class="timeline-bar">
            <span>{name}</span>
            <label class="quiet">"Align at step "<input class="timeline-step" type="number" placeholder="median" on:change=by_step /></label>
            {button("Align the selected events", "Align the two runs at their selected events", Box::new(by_events))}
            <span class="quiet" role="status">{says(move || said.get())}</span>
            {live(legend)}
        </div>
        <Pane surface=lower.clone() has_focus=false />
        <Details run=other said=lower.said />
    }
    .into_any()
}

/// Requests the comparison of the runs from the second analyst. The analyst of each run then colours the ops of that
/// run.
fn colour(state: State, runs: [(&Run, &Rc<Surface>); 2]) {
    let entry = |(run, _): (&Run, _)| SubjectEntry { name: state.name_of(run.id), ..SubjectEntry::default() };
    let subjects = Subjects { subjects: runs.map(entry).to_vec(), baseline: 0, weak_scaling: None };
    // Create a buffer for each request, because a transferred buffer cannot be sent again.
    let profile =
        |(run, _): (&Run, _)| JsValue::from(run.report.with_untracked(|report| browser::buffer(&report.document)));
    for ((of, surface), side) in runs.into_iter().zip(0..) {
        let (run, surface) = (of.clone(), surface.clone());
        // If the comparison fails, the ops keep their own colours.
        let coloured = move |done: Result<(), String>| surface.update(|sight| sight.by_change = done.is_ok());
        let colour = move |changes: Result<Document, String>| match changes {
            Ok(changes) => ask::colour(&run, changes.buffer().into(), Box::new(coloured)),
            Err(reason) => coloured(Err(reason)),
        };
        ask::document(of, subjects.clone(), &runs.map(profile), Form::Changes { side }, Box::new(colour));
    }
}

/// Aligns the two runs at the start of a step. If one of the runs lacks the step, aligns the starts of the captures
/// instead. If `step` is `None`, uses each run's median step.
fn align(upper: &Rc<Surface>, lower: &Rc<Surface>, step: Option<u32>, shows_step: bool, said: RwSignal<String>) {
    let found = Rc::new(RefCell::new([None, None]));
    for (surface, side) in [(upper, 0), (lower, 1)] {
        let (found, upper, lower) = (found.clone(), upper.clone(), lower.clone());
        let heard = move |range: Option<(i64, i64)>| {
            if let Some(slot) = found.borrow_mut().get_mut(side) {
                *slot = Some(range);
            }
            let [Some(above), Some(below)] = *found.borrow() else { return };
            let by = above.zip(below).map_or(0, |((above, _), (below, _))| below - above);
            said.set(match (above.zip(below), step) {
                (Some(_), Some(step)) => format!("aligned at the start of step {step}"),
                (Some(_), None) => "aligned at the start of each run's median step".to_owned(),
                (None, _) => "aligned at the start of the captures, because one of the runs lacks this step".to_owned(),
            });
            upper.hold(&lower, by, if shows_step { [above, below] } else { [None, None] });
        };
        surface.when_is(step, Box::new(heard));
    }
}

impl Surface {
    /// Makes a lower run move with this run. Each time in this run is then above the time in the lower run that is
    /// `by_ps` later. If both ranges are given, shows the longer range.
    fn hold(self: &Rc<Surface>, lower: &Rc<Surface>, by_ps: i64, ranges: [Option<(i64, i64)>; 2]) {
        let (Some(above), Some(below)) = (self.extent(), lower.extent()) else { return };
        let all = (above.0.min(below.0 - by_ps), above.1.max(below.1 - by_ps));
        self.tie(lower, by_ps, all);
        lower.tie(self, -by_ps, (all.0 + by_ps, all.1 + by_ps));
        let [above, below] = ranges;
        let whole = Viewport::new(interval(all));
        let range =
            above.zip(below).map(|((start, end), (other, other_end))| (start, end.max(start + other_end - other)));
        let viewport = match (range, self.range()) {
            (Some(range), _) => whole.fit(interval(range)),
            (None, Some(now)) => whole.show(now),
            (None, None) => whole,
        };
        self.show(viewport);
    }
}
