//! Draws how one total becomes another, part by part.
//!
//! ```text
//!                      main
//! Compute              |#####          |   −20.0 ms      each bar begins where the last one ended;
//! Communication        |   ##          |    +2.0 ms      the axis is the difference from the first total
//! Idle: host           |#########      |   −32.0 ms
//! Difference           |===============|   −50.0 ms
//! ```

use super::super::signed;
use crate::html::parts::{Align, Px, Table, WIDTH, colour, drawing};
use crate::{Judgement, Waterfall};
use base::format;
use maud::{Markup, html};
use table::{Cell, display};

const LABELS: f64 = 190.0;
const NUMBERS: f64 = 90.0;
const ROW: f64 = 24.0;

/// Draws the chart, and below it a table of the same parts.
pub(super) fn waterfall(it: &Waterfall) -> Markup {
    html! {
        p.note {
            "Every instant belongs to exactly one part, so the parts add up to the difference. ▲ saves time, ▼ costs time."
        }
        (chart(it))
        (table(it))
    }
}

fn table(it: &Waterfall) -> Table {
    let ((from_name, from), (to_name, to)) = (&it.start, &it.end);
    let mut table = Table::new(&[
        ("Part", Align::Left),
        ("Difference", Align::Right),
        (from_name.as_str(), Align::Right),
        (to_name.as_str(), Align::Right),
    ]);
    let shown = |value: f64| display(&Cell::Float(value), it.unit);
    let change = |delta: f64| {
        let judgement = Judgement::of_part(delta, *from);
        html! { span class=(judgement.class()) { (judgement.symbol()) " " (signed(delta, it.unit)) } }
    };
    for part in &it.parts {
        table.row(&[&part.label, &change(part.delta), &shown(part.from), &shown(part.to)]);
    }
    table.sum(&[&"Sum", &change(to - from), &shown(*from), &shown(*to)]);
    table
}

fn chart(it: &Waterfall) -> Markup {
    let (mut sum, mut low, mut high) = (0.0, 0.0_f64, 0.0_f64);
    let mut bars = Vec::new();
    for part in it.parts.iter().filter(|part| part.delta != 0.0) {
        let from = sum;
        sum += part.delta;
        (low, high) = (low.min(sum), high.max(sum));
        bars.push((part.label.as_str(), colour(part.class.name()), [from, sum], part.delta));
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
        text class="q" x=(Px(zero)) y=(Px(ROW - 8.0)) text-anchor=(anchor) { (format::shorten(&it.start.0, 40)) }
        path class="axis" d={ "M" (Px(zero)) " " (Px(ROW)) "V" (Px(height)) } {}
        @for (row, (title, class, ends, delta)) in bars.into_iter().enumerate() {
            (bar(row, title, class, ends.map(x), &signed(delta, it.unit)))
        }
    };
    drawing(&it.title, height, &shapes)
}

/// Draws a bar with its label and its number.
fn bar(row: usize, title: &str, class: &str, [from, to]: [f64; 2], delta: &str) -> Markup {
    let top = (row as f64 + 1.0) * ROW;
    let (x, width) = (from.min(to), (from - to).abs().max(1.0));
    let middle = top + 16.0;
    html! {
        text x="0" y=(Px(middle)) { (format::shorten(title, 28)) }
        rect class=(class) x=(Px(x)) y=(Px(top + 4.0)) width=(Px(width)) height=(Px(ROW - 8.0)) {}
        text x=(WIDTH) y=(Px(middle)) text-anchor="end" { (delta) }
    }
}
