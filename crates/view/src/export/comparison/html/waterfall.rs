//! Draws the waterfall from the baseline's step time to the run's, part by part.
//!
//! ```text
//!              baseline 100 ms
//! Compute              |#####          |   -20.0 ms      each bar starts where the last one ended;
//! Communication        |   ##          |    +2.0 ms      the axis is the difference to the baseline
//! Idle: host           |#########      |   -32.0 ms
//! Sum                  |===============|   -50.0 ms
//! ```

use super::judged;
use crate::export::comparison::words::{self, Judgement};
use crate::export::comparison::{many, name_of, others};
use crate::export::html::page::{Align, Px, Table, WIDTH, colour, drawing, part};
use base::format;
use compare::{Comparison, PartChange};
use maud::{Markup, html};

const LABELS: f64 = 190.0;
const NUMBERS: f64 = 90.0;
const ROW: f64 = 24.0;

/// Renders a chart and a table for each run.
pub fn section(comparison: &Comparison) -> Markup {
    html! {
        @if !comparison.waterfall.is_empty() {
            section id="waterfall" {
                h2 { "Where the difference comes from" }
                p.note {
                    "Exclusive parts, per device: every instant is in one part, so the parts add up to the difference of the times of a "
                    (words::of_steps(comparison, "typical step (of a token or sample if the batch sizes differ)", "run's window"))
                    ". ▲ saves time, ▼ costs time."
                }
                @for run in others(comparison) { (of_run(comparison, run)) }
            }
        }
    }
}

fn of_run(comparison: &Comparison, run: u32) -> Markup {
    let is_shown = |part: &&PartChange| part.run == run && (part.baseline_us != 0.0 || part.run_us != 0.0);
    let parts: Vec<&PartChange> = comparison.waterfall.iter().filter(is_shown).collect();
    if parts.is_empty() {
        return html! {};
    }
    let (name, baseline) = (name_of(comparison, run), name_of(comparison, comparison.baseline));
    let time = words::time_of_parts(comparison, run);
    let body = html! {
        @if comparison.is_of_other_work(run) {
            (beside(&parts, name, baseline))
        } @else {
            (chart(&parts, time, name, baseline))
            (table(&parts, time, name, baseline))
        }
    };
    part(&words::parts_title(comparison, run, name, baseline), &body, many(comparison))
}

/// Lists the parts of two runs that do different work, without differences.
fn beside(parts: &[&PartChange], name: &str, baseline: &str) -> Table {
    let mut table = Table::new(&[("Part", Align::Left), (baseline, Align::Right), (name, Align::Right)]);
    for part in parts {
        table.row(&[&part.title, &format::time_us(part.baseline_us), &format::time_us(part.run_us)]);
    }
    table
}

fn table(parts: &[&PartChange], time: &str, name: &str, baseline: &str) -> Table {
    let columns = [("Part", Align::Left), ("Difference", Align::Right), (baseline, Align::Right), (name, Align::Right)];
    let mut table = Table::new(&columns);
    let [mut before, mut after, mut delta] = [0.0; 3];
    let whole: f64 = parts.iter().map(|part| part.baseline_us).sum();
    let change = |delta: f64| judged(Judgement::of_part(delta, whole), &words::delta_us(delta));
    for part in parts {
        before += part.baseline_us;
        after += part.run_us;
        delta += part.delta_us_per_step;
        let (theirs, ours) = (format::time_us(part.baseline_us), format::time_us(part.run_us));
        table.row(&[&part.title, &change(part.delta_us_per_step), &theirs, &ours]);
    }
    table.sum(&[&time, &change(delta), &format::time_us(before), &format::time_us(after)]);
    table
}

fn chart(parts: &[&PartChange], time: &str, name: &str, baseline: &str) -> Markup {
    // Each bar starts where the previous one ended.
    let (mut sum, mut low, mut high) = (0.0, 0.0_f64, 0.0_f64);
    let mut bars = Vec::new();
    for part in parts.iter().filter(|part| part.delta_us_per_step != 0.0) {
        let from = sum;
        sum += part.delta_us_per_step;
        (low, high) = (low.min(sum), high.max(sum));
        bars.push((part.title.as_str(), colour(&part.class), [from, sum], part.delta_us_per_step));
    }
    if low == high {
        return html! {};
    }
    bars.push(("Difference", "c-sum", [0.0, sum], sum));
    let scale = (WIDTH - LABELS - NUMBERS) / (high - low);
    let x = |value: f64| LABELS + (value - low) * scale;
    let height = (bars.len() as f64 + 1.0) * ROW + 4.0;
    let zero = x(0.0);
    let anchor = if zero > WIDTH / 2.0 { "end" } else { "start" };
    let shapes = html! {
        text class="q" x=(Px(zero)) y=(Px(ROW - 8.0)) text-anchor=(anchor) { (format::shorten(baseline, 40)) }
        path class="axis" d={ "M" (Px(zero)) " " (Px(ROW)) "V" (Px(height)) } {}
        @for (row, (title, class, ends, delta)) in bars.into_iter().enumerate() {
            (bar(row, title, class, ends.map(x), delta))
        }
    };
    drawing(&format!("{time} of {name} minus that of {baseline}, part by part"), height, &shapes)
}

/// Draws a bar with its label and its number.
fn bar(row: usize, title: &str, class: &str, [from, to]: [f64; 2], delta: f64) -> Markup {
    let top = (row as f64 + 1.0) * ROW;
    let (x, width) = (from.min(to), (from - to).abs().max(1.0));
    let middle = top + 16.0;
    html! {
        text x="0" y=(Px(middle)) { (format::shorten(title, 28)) }
        rect class=(class) x=(Px(x)) y=(Px(top + 4.0)) width=(Px(width)) height=(Px(ROW - 8.0)) {}
        text x=(WIDTH) y=(Px(middle)) text-anchor="end" { (words::delta_us(delta)) }
    }
}
