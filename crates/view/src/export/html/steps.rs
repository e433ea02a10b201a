//! Where the time of a step goes: every step as a column of its parts, and the mean as a table.
//!
//! ```text
//! us  |        #
//!     |  o o o o o        idle
//!     |  = = = = =        communication
//!     |  # # # # #        compute
//!     +------------------ step
//! ```

use super::page::{Align, Table, colour, escape, push};
use base::format;
use report::{STEP_PARTS, Step, StepBreakdown, UnifiedProfile};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 200.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 24.0;

/// The chart of the steps, where they are known, and the table of their parts.
pub fn section(page: &mut String, profile: &UnifiedProfile) {
    let Some(breakdown) = &profile.step_breakdown else { return };
    page.push_str("<section id=\"steps\">\n<h2>Where the time goes</h2>\n");
    let window = match breakdown.num_steps {
        Some(1) => "One counted step".to_owned(),
        Some(steps) => format!("Mean of {} counted steps", format::count(steps)),
        None => "Active span, first op to last, since the steps are unknown".to_owned(),
    };
    push(page, &["<p class=\"note\">", &window, ", per device. Every instant is in one part, so they add up.</p>\n"]);
    chart(page, profile, breakdown);
    table(page, breakdown);
    page.push_str("</section>\n");
}

/// A part's colour: idle time of all causes has one.
fn class(index: usize) -> &'static str {
    match STEP_PARTS.get(index) {
        Some(("compute" | "communication", _)) => colour(STEP_PARTS.get(index).map_or("", |(name, _)| name)),
        Some((_, title)) if title.starts_with("Idle") => "c-idle",
        _ => "c-data-movement",
    }
}

fn chart(page: &mut String, profile: &UnifiedProfile, breakdown: &StepBreakdown) {
    let steps = &profile.steps;
    let longest = steps.iter().fold(0.0_f64, |most, step| most.max(step.duration_us));
    if steps.len() < 2 || steps.len() != breakdown.steps.len() || longest <= 0.0 {
        return;
    }
    push(
        page,
        &[&format!(
            "<svg role=\"img\" aria-label=\"Each step by its parts\" viewBox=\"0 0 {WIDTH:.0} {HEIGHT:.0}\" width=\"{WIDTH:.0}\" \
             height=\"{HEIGHT:.0}\">\n"
        )],
    );
    let y = |us: f64| HEIGHT - BOTTOM - us / longest * (HEIGHT - BOTTOM - TOP);
    for mark in [longest / 2.0, longest] {
        page.push_str(&format!(
            "<path class=\"grid\" d=\"M{LEFT} {:.1}H{WIDTH}\"/><text class=\"q\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
            y(mark),
            LEFT - 6.0,
            y(mark) + 4.0,
            format::time_us(mark)
        ));
    }
    let column = (WIDTH - LEFT) / steps.len() as f64;
    for (index, (step, parts)) in steps.iter().zip(&breakdown.steps).enumerate() {
        let (x, width) = (LEFT + index as f64 * column, (column - 1.0).max(column * 0.7));
        page.push_str(if step.counted { "<g>" } else { "<g class=\"faint\">" });
        push(page, &["<title>", &escape(&said(step)), "</title>"]);
        let mut at = 0.0;
        for (part, us) in parts.parts.values_us().into_iter().enumerate() {
            let Some(us) = us.filter(|us| *us > 0.0) else { continue };
            let (top, height) = (y(at + us), us / longest * (HEIGHT - BOTTOM - TOP));
            page.push_str(&format!(
                "<rect class=\"{}\" x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>",
                class(part)
            ));
            at += us;
        }
        page.push_str("</g>\n");
    }
    // As many labels as have room.
    let every = steps.len().div_ceil(12).max(1);
    for (index, step) in steps.iter().enumerate().filter(|(index, _)| index % every == 0) {
        page.push_str(&format!(
            "<text class=\"q\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n",
            LEFT + (index as f64 + 0.5) * column,
            HEIGHT - 8.0,
            escape(&format::shorten(&name(step), 10))
        ));
    }
    page.push_str("</svg>\n<p class=\"note\">Across: steps. Faint ones are not counted (warm-up, or cut by the capture). Colours as in the table.</p>\n");
}

fn name(step: &Step) -> String {
    step.name.clone().unwrap_or_else(|| step.index.to_string())
}

fn said(step: &Step) -> String {
    let flag = if step.counted { "" } else { ", not counted" };
    format!("step {}: {}, {} busy{flag}", name(step), format::time_us(step.duration_us), format::time_us(step.busy_us))
}

fn table(page: &mut String, breakdown: &StepBreakdown) {
    let mut table =
        Table::new(&[("Part", Align::Left), ("Time", Align::Right), ("Share", Align::Right), ("", Align::Left)]);
    let whole = breakdown.duration_us;
    for (index, ((_, title), us)) in STEP_PARTS.iter().zip(breakdown.parts.values_us()).enumerate() {
        let Some(us) = us.filter(|us| *us > 0.0 && whole > 0.0) else { continue };
        let share = (100.0 * us / whole).clamp(0.0, 100.0);
        table.row("", &[(*title).to_owned(), format::time_us(us), format::percent(share), bar(class(index), share)]);
    }
    let cells = ["Sum".to_owned(), format::time_us(whole), String::new(), String::new()];
    table.row("sum", &cells);
    page.push_str(&table.finish());
}

/// A bar of a share from 0 to 100.
pub fn bar(class: &str, share: f64) -> String {
    format!(
        "<svg viewBox=\"0 0 100 10\" width=\"100\" height=\"10\" aria-hidden=\"true\"><rect class=\"track\" width=\"100\" height=\"10\"/>\
         <rect class=\"{class}\" width=\"{share:.1}\" height=\"10\"/></svg>"
    )
}
