//! The waterfall: from the baseline's step time to the run's, part by part.
//!
//! ```text
//!              baseline 100 ms
//! Compute              |#####          |   -20.0 ms      each bar starts where the last one ended;
//! Communication        |   ##          |    +2.0 ms      the axis is the difference to the baseline
//! Idle: host           |#########      |   -32.0 ms
//! Sum                  |===============|   -50.0 ms
//! ```

use crate::export::comparison::words::{self, Judgement};
use crate::export::comparison::{many, name_of, others};
use crate::export::html::page::{Align, Table, begin_part, colour, end_part, escape, push};
use base::format;
use compare::{Comparison, PartChange};

const WIDTH: f64 = 760.0;
const LABELS: f64 = 190.0;
const NUMBERS: f64 = 90.0;
const ROW: f64 = 24.0;

/// A chart and a table for each run.
pub fn section(page: &mut String, comparison: &Comparison) {
    if comparison.waterfall.is_empty() {
        return;
    }
    page.push_str(
        "<section id=\"waterfall\" class=\"break\">\n<h2>Where the difference comes from</h2>\n\
         <p class=\"note\">Exclusive parts of a step, per device: every instant is in one part, so the parts add up to the \
         difference of the step times. ▲ saves time, ▼ costs time.</p>\n",
    );
    for run in others(comparison) {
        let parts: Vec<&PartChange> = comparison
            .waterfall
            .iter()
            .filter(|part| part.run == run && (part.baseline_us != 0.0 || part.run_us != 0.0))
            .collect();
        if parts.is_empty() {
            continue;
        }
        let (name, baseline) = (name_of(comparison, run), name_of(comparison, comparison.baseline));
        begin_part(page, &format!("{} less {}", escape(name), escape(baseline)), many(comparison));
        chart(page, &parts, name, baseline);
        let columns = [
            ("Part", Align::Left),
            ("Difference", Align::Right),
            (&escape(baseline), Align::Right),
            (&escape(name), Align::Right),
        ];
        let mut table = Table::new(&columns);
        let [mut before, mut after, mut delta] = [0.0; 3];
        for part in &parts {
            before += part.baseline_us;
            after += part.run_us;
            delta += part.delta_us_per_step;
            table.row("", &row(escape(&part.title), part.baseline_us, part.run_us, part.delta_us_per_step));
        }
        table.row("sum", &row("Step".to_owned(), before, after, delta));
        page.push_str(&table.finish());
        end_part(page, many(comparison));
    }
    page.push_str("</section>\n");
}

fn row(title: String, before: f64, after: f64, delta: f64) -> [String; 4] {
    let judgement = Judgement::of_time(delta);
    let (class, symbol, said) = (judgement.class(), judgement.symbol(), words::delta_us(delta));
    let delta = format!("<span class=\"{class}\">{symbol} {said}</span>");
    [title, delta, format::time_us(before), format::time_us(after)]
}

fn chart(page: &mut String, parts: &[&PartChange], name: &str, baseline: &str) {
    let shown = || parts.iter().filter(|part| part.delta_us_per_step != 0.0);
    let (mut sum, mut low, mut high) = (0.0, 0.0_f64, 0.0_f64);
    for part in shown() {
        sum += part.delta_us_per_step;
        (low, high) = (low.min(sum), high.max(sum));
    }
    if low == high {
        return;
    }
    let scale = (WIDTH - LABELS - NUMBERS) / (high - low);
    let x = |value: f64| LABELS + (value - low) * scale;
    let rows = shown().count() + 1;
    let height = (rows as f64 + 1.0) * ROW + 4.0;
    let label = escape(&format!("Step time of {name} less that of {baseline}, part by part"));
    push(
        page,
        &[&format!(
            "<svg role=\"img\" aria-label=\"{label}\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" width=\"{WIDTH:.0}\" height=\"{height:.0}\">\n"
        )],
    );
    let zero = x(0.0);
    let anchor = if zero > WIDTH / 2.0 { "end" } else { "start" };
    let top = ROW - 8.0;
    page.push_str(&format!(
        "<text class=\"q\" x=\"{zero:.1}\" y=\"{top:.1}\" text-anchor=\"{anchor}\">{}</text>\n\
         <path class=\"axis\" d=\"M{zero:.1} {ROW:.1}V{height:.1}\"/>\n",
        escape(&format::shorten(baseline, 40))
    ));
    let mut at = 0.0;
    for (index, part) in shown().enumerate() {
        let to = at + part.delta_us_per_step;
        bar(page, index, &part.title, colour(&part.class), [x(at), x(to)], part.delta_us_per_step);
        at = to;
    }
    bar(page, rows - 1, "Difference", "c-sum", [x(0.0), x(sum)], sum);
    page.push_str("</svg>\n");
}

/// A bar with its label and its number.
fn bar(page: &mut String, row: usize, title: &str, class: &str, [from, to]: [f64; 2], delta: f64) {
    let top = (row as f64 + 1.0) * ROW;
    let (x, width) = (from.min(to), (from - to).abs().max(1.0));
    let middle = top + 16.0;
    page.push_str(&format!(
        "<text x=\"0\" y=\"{middle:.1}\">{}</text>\
         <rect class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\"/>\
         <text x=\"{WIDTH:.0}\" y=\"{middle:.1}\" text-anchor=\"end\">{}</text>\n",
        escape(&format::shorten(title, 28)),
        top + 4.0,
        ROW - 8.0,
        words::delta_us(delta)
    ));
}
