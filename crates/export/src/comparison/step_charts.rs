//! Draws the step times of the runs. One chart shows how much the typical step of each run differs from the baseline,
//! with a confidence interval. The other chart shows every step, so that outliers, levels and noise are visible.

use base::{format, sort};
use compare::{Comparison, Subject};
use document::html::parts::{Px, WIDTH, drawing};
use maud::{Markup, html};
use pages::compare::{name_of, words};

const NAMES: f64 = 190.0;
const RIGHT: f64 = 90.0;
const ROW: f64 = 26.0;
/// Maximum number of runs that fit in the chart. If there are more runs, the intervals appear only as text.
const MOST_RUNS: usize = 6;
/// Maximum number of thin lines that are drawn for the steps of one run. If there are more steps, evenly spaced steps
/// from the shortest to the longest are drawn.
const MOST_LINES: usize = 200;
/// Steps longer than this multiple of the typical step are listed next to the chart, because they would leave no room for
/// the other steps.
const LONG: f64 = 1.5;

struct RunSteps<'a> {
    name: &'a str,
    /// Durations of the counted steps in microseconds, shortest first.
    us: Vec<f64>,
    typical_us: f64,
}

/// Renders both charts. The section is empty if neither of the two charts can be drawn.
pub(super) fn section(comparison: &Comparison, subjects: &[Subject]) -> Markup {
    let body = html! {
        (intervals(comparison))
        (distribution(comparison, subjects))
    };
    html! {
        @if !body.0.is_empty() {
            section id="steps" {
                h2 { "Steps of each run" }
                (body)
            }
        }
    }
}

fn label(x: f64, y: f64, anchor: &str, text: &str) -> Markup {
    html! { text class="q" x=(Px(x)) y=(Px(y)) text-anchor=(anchor) { (text) } }
}
fn dot(x: f64, y: f64) -> Markup {
    html! { circle class="dot" cx=(Px(x)) cy=(Px(y)) r="4" {} }
}
/// Draws the difference between each run's step time and the baseline's step time, with the 95 % confidence interval of
/// the difference. The axis is centred at zero.
fn intervals(comparison: &Comparison) -> Markup {
    let shown = || {
        let known = |change: &&compare::StepTimeChange| change.typical_delta_us.is_some() && change.margin_us.is_some();
        comparison.step_time.iter().filter(known)
    };
    let reach = shown().fold(0.0_f64, |most, change| {
        most.max(change.typical_delta_us.unwrap_or(0.0).abs() + change.margin_us.unwrap_or(0.0))
    });
    if reach == 0.0 {
        return html! {};
    }
    let rows = shown().count() as f64;
    let middle = NAMES + (WIDTH - NAMES - RIGHT) / 2.0;
    let x = |us: f64| middle + us / reach * (WIDTH - NAMES - RIGHT) / 2.0;
    let axis = rows * ROW + 20.0;
    let shapes = html! {
        path class="axis" d={ "M" (Px(middle)) " 4V" (Px(rows * ROW + 4.0)) } {}
        @for (row, change) in shown().enumerate() {
            @let (delta, margin) = (change.typical_delta_us.unwrap_or(0.0), change.margin_us.unwrap_or(0.0));
            @let y = (row as f64 + 0.5) * ROW + 4.0;
            (label(0.0, y + 4.0, "start", &format::shorten(name_of(comparison, change.run), 28)))
            path class="whisker" d={ "M" (Px(x(delta - margin))) " " (Px(y)) "H" (Px(x(delta + margin))) } {}
            (dot(x(delta), y))
        }
        (label(NAMES, axis, "start", &format!("{} (faster)", words::delta_us(-reach))))
        (label(middle, axis, "middle", "0"))
        (label(WIDTH - RIGHT, axis, "end", &format!("{} (slower)", words::delta_us(reach))))
    };
    drawing("Difference between the typical steps with its 95 % interval", (rows + 1.0) * ROW + 6.0, &shapes)
}

/// Draws the distribution of the counted steps of each run. The drawing is empty if the profiles do not list the steps.
fn distribution(comparison: &Comparison, subjects: &[Subject]) -> Markup {
    if subjects.len() > compare::MOST_RUNS {
        return html! {};
    }
    let runs: Vec<RunSteps<'_>> =
        subjects.iter().enumerate().filter_map(|(at, it)| steps(comparison, at, it)).collect();
    let longest_typical = runs.iter().fold(0.0_f64, |most, run| most.max(run.typical_us));
    let most = LONG * longest_typical;
    let shown = || runs.iter().flat_map(|run| run.us.iter().copied()).filter(|us| *us <= most);
    let (low, high) = (shown().fold(f64::INFINITY, f64::min), shown().fold(0.0, f64::max));
    if runs.len() > MOST_RUNS || low >= high {
        return html! {};
    }
    let x = |us: f64| NAMES + (us - low) / (high - low) * (WIDTH - NAMES - RIGHT);
    let height = runs.len() as f64 * ROW;
    let shapes = html! {
        @for (row, run) in runs.iter().enumerate() {
            @let top = row as f64 * ROW + 4.0;
            (label(0.0, top + 14.0, "start", &format::shorten(run.name, 28)))
            path class="ticks" d=(ticks(run, most, [top + 3.0, top + ROW - 7.0], x)) {}
            path class="typical" d={ "M" (Px(x(run.typical_us))) " " (Px(top)) "V" (Px(top + ROW - 4.0)) } {}
            (label(WIDTH, top + 14.0, "end", &longer(run, most)))
        }
        (label(NAMES, height + 18.0, "start", &format::time_us(low)))
        (label(WIDTH - RIGHT, height + 18.0, "end", &format::time_us(high)))
    };
    html! {
        h3 { "Distribution of step times" }
        p.note { "Each thin line is a counted step. The thick line is the typical step." }
        (drawing("Step times of each run", height + 24.0, &shapes))
    }
}

fn steps<'a>(comparison: &'a Comparison, at: usize, subject: &Subject) -> Option<RunSteps<'a>> {
    let run = u32::try_from(at).ok()?;
    let mut us: Vec<f64> = subject
        .captures()
        .iter()
        .flat_map(|capture| &capture.steps)
        .filter(|step| step.counted && step.duration_us.is_finite())
        .map(|step| step.duration_us)
        .collect();
    sort::sort_by(&mut us, f64::total_cmp);
    let of_change = |change: &compare::StepTimeChange| {
        if change.run == run {
            change.typical_us
        } else {
            change.baseline_typical_us.filter(|_| run == comparison.baseline)
        }
    };
    let typical_us = comparison.step_time.iter().find_map(of_change)?;
    (us.len() > 1).then_some(RunSteps { name: name_of(comparison, run), us, typical_us })
}

fn ticks(run: &RunSteps<'_>, most: f64, [top, bottom]: [f64; 2], x: impl Fn(f64) -> f64) -> String {
    let every = run.us.len().div_ceil(MOST_LINES).max(1);
    let shown = run.us.iter().step_by(every).filter(|us| **us <= most);
    shown.map(|us| format!("M{:.1} {top:.1}V{bottom:.1}", x(*us))).collect()
}

/// Describes the steps that do not fit in the chart: `+2, to 31.0 ms`.
fn longer(run: &RunSteps<'_>, most: f64) -> String {
    let count = run.us.iter().filter(|us| **us > most).count();
    match run.us.last() {
        Some(longest) if count > 0 => format!("+{count}, to {}", format::time_us(*longest)),
        _ => String::new(),
    }
}
