//! Where the time of a step goes: every step as a column of its parts, and the mean as a table.
//!
//! ```text
//! us  |        #
//!     |  o o o o o        idle
//!     |  = = = = =        communication
//!     |  # # # # #        compute
//!     +------------------ step
//! ```

use super::page::{Align, Px, Table, WIDTH, colour, drawing};
use base::format;
use maud::{Markup, html};
use report::{STEP_PARTS, Step, StepBreakdown, StepParts, UnifiedProfile};

const HEIGHT: f64 = 200.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 24.0;

/// The chart of the steps, where they are known, and the table of their parts.
pub fn section(profile: &UnifiedProfile) -> Markup {
    let Some(breakdown) = &profile.step_breakdown else { return html! {} };
    let window = match breakdown.num_steps {
        Some(1) => "One counted step".to_owned(),
        Some(steps) => format!("Mean of {} counted steps", format::count(steps)),
        None => "Active span, first op to last, since the steps are unknown".to_owned(),
    };
    html! {
        section id="steps" {
            h2 { "Where the time goes" }
            p.note { (window) ", per device. Every instant is in one part, so they add up." }
            (chart(profile, breakdown))
            (table(breakdown))
        }
    }
}

/// A part's colour: idle time of all causes has one.
fn class(index: usize) -> &'static str {
    match STEP_PARTS.get(index) {
        Some(("compute" | "communication", _)) => colour(STEP_PARTS.get(index).map_or("", |(name, _)| name)),
        Some((_, title)) if title.starts_with("Idle") => "c-idle",
        _ => "c-data-movement",
    }
}

fn chart(profile: &UnifiedProfile, breakdown: &StepBreakdown) -> Markup {
    let steps = &profile.steps;
    let longest = steps.iter().fold(0.0_f64, |most, step| most.max(step.duration_us));
    if steps.len() < 2 || steps.len() != breakdown.steps.len() || longest <= 0.0 {
        return html! {};
    }
    let length = |us: f64| us / longest * (HEIGHT - BOTTOM - TOP);
    let y = |us: f64| HEIGHT - BOTTOM - length(us);
    let column = (WIDTH - LEFT) / steps.len() as f64;
    let x = |index: usize| LEFT + index as f64 * column;
    let width = (column - 1.0).max(column * 0.7);
    // As many labels as have room.
    let every = steps.len().div_ceil(12).max(1);
    let shapes = html! {
        @for mark in [longest / 2.0, longest] {
            path class="grid" d={ "M" (LEFT) " " (Px(y(mark))) "H" (WIDTH) } {}
            text class="q" x=(Px(LEFT - 6.0)) y=(Px(y(mark) + 4.0)) text-anchor="end" { (format::time_us(mark)) }
        }
        @for (index, (step, parts)) in steps.iter().zip(&breakdown.steps).enumerate() {
            g class=[(!step.counted).then_some("faint")] {
                title { (said(step)) }
                @for (class, end, us) in stack(&parts.parts) {
                    rect class=(class) x=(Px(x(index))) y=(Px(y(end))) width=(Px(width)) height=(Px(length(us))) {}
                }
            }
        }
        @for (index, step) in steps.iter().enumerate().filter(|(index, _)| index % every == 0) {
            text class="q" x=(Px(LEFT + (index as f64 + 0.5) * column)) y=(Px(HEIGHT - 8.0)) text-anchor="middle" {
                (format::shorten(&name(step), 10))
            }
        }
    };
    html! {
        (drawing("Each step by its parts", HEIGHT, &shapes))
        p.note {
            "Across: steps. Faint ones are not counted (warm-up, or cut by the capture). Colours as in the table."
        }
    }
}

/// The parts of a step on top of each other: colour, end and length of each, in microseconds.
fn stack(parts: &StepParts) -> Vec<(&'static str, f64, f64)> {
    let mut end = 0.0;
    let mut found = Vec::new();
    for (index, us) in parts.values_us().into_iter().enumerate() {
        let Some(us) = us.filter(|us| *us > 0.0) else { continue };
        end += us;
        found.push((class(index), end, us));
    }
    found
}

fn name(step: &Step) -> String {
    step.name.clone().unwrap_or_else(|| step.index.to_string())
}

fn said(step: &Step) -> String {
    let flag = if step.counted { "" } else { ", not counted" };
    format!("step {}: {}, {} busy{flag}", name(step), format::time_us(step.duration_us), format::time_us(step.busy_us))
}

fn table(breakdown: &StepBreakdown) -> Table {
    let mut table = Table::new(&[
        ("Part", Align::Left),
        ("Time", Align::Right),
        ("Share of the step", Align::Right),
        ("", Align::Left),
    ]);
    let whole = breakdown.duration_us;
    for (index, ((_, title), us)) in STEP_PARTS.iter().zip(breakdown.parts.values_us()).enumerate() {
        let Some(us) = us.filter(|us| *us > 0.0 && whole > 0.0) else { continue };
        let share = (100.0 * us / whole).clamp(0.0, 100.0);
        table.row(&[title, &format::time_us(us), &format::percent(share), &bar(class(index), share)]);
    }
    table.sum(&[&"Sum", &format::time_us(whole), &"", &""]);
    table
}

/// A bar of a share from 0 to 100.
pub fn bar(class: &str, share: f64) -> Markup {
    html! {
        svg viewBox="0 0 100 10" width="100" height="10" aria-hidden="true" {
            rect class="track" width="100" height="10" {}
            rect class=(class) width=(Px(share)) height="10" {}
        }
    }
}
