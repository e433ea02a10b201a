//! What changed inside the step: classes of ops, ops, kernels, collectives, and how well ops could be matched.

use crate::export::comparison::words::{self, Judgement};
use crate::export::comparison::{many, name_of, others};
use crate::export::html::page::{Align, Table, begin_part, end_part, escape, push};
use base::format;
use compare::{Change, Comparison};

/// Rows of a table of ops of one run.
const MOST: usize = 20;
/// Longer names are cut in the middle; the whole one is in the JSON.
const NAME: usize = 120;

/// Time by class of op.
pub fn categories(page: &mut String, comparison: &Comparison) {
    section(page, comparison, "categories", "Time by class of op", "", &comparison.categories);
}

/// Ops and kernels that differ most.
pub fn ops(page: &mut String, comparison: &Comparison) {
    section(page, comparison, "ops", "Ops that differ most", " class=\"break\"", &comparison.ops);
    section(page, comparison, "kernels", "Kernels that differ most", "", &comparison.kernels);
}

fn section(page: &mut String, comparison: &Comparison, id: &str, title: &str, class: &str, changes: &[Change]) {
    if changes.is_empty() {
        return;
    }
    push(page, &["<section id=\"", id, "\"", class, ">\n<h2>", title, "</h2>\n"]);
    page.push_str("<p class=\"note\">Self time per step and device.</p>\n");
    let baseline = escape(name_of(comparison, comparison.baseline));
    for run in others(comparison) {
        let of_run = || changes.iter().filter(|change| change.run == run);
        let count = of_run().count();
        if count == 0 {
            continue;
        }
        let name = escape(name_of(comparison, run));
        begin_part(page, &format!("{name} against {baseline}"), many(comparison));
        let is_short = id == "categories";
        page.push_str(&match is_short {
            true => table_of_classes(of_run(), &name, &baseline),
            false => table_of_ops(of_run().take(MOST), &name, &baseline),
        });
        if count > MOST && !is_short {
            let left = format::count((count - MOST) as u64);
            push(page, &["<p class=\"note\">and ", &left, " more in the JSON of the comparison.</p>\n"]);
        }
        end_part(page, many(comparison));
    }
    page.push_str("</section>\n");
}

fn judged(delta: f64) -> String {
    let judgement = Judgement::of_time(delta);
    format!("<span class=\"{}\">{} {}</span>", judgement.class(), judgement.symbol(), words::delta_us(delta))
}

fn table_of_classes<'a>(changes: impl Iterator<Item = &'a Change>, name: &str, baseline: &str) -> String {
    let mut table = Table::new(&[
        ("Class", Align::Left),
        ("Difference", Align::Right),
        (baseline, Align::Right),
        (name, Align::Right),
    ]);
    for change in changes {
        let [ours, theirs] = change.time_us;
        let cells = [
            escape(&words::class(&change.name)),
            judged(change.delta_us_per_step),
            format::time_us(theirs),
            format::time_us(ours),
        ];
        table.row("", &cells);
    }
    table.finish()
}

fn table_of_ops<'a>(changes: impl Iterator<Item = &'a Change>, name: &str, baseline: &str) -> String {
    let mut table = Table::new(&[
        ("Name", Align::Name),
        ("Difference", Align::Right),
        ("Change", Align::Left),
        (baseline, Align::Right),
        (name, Align::Right),
        ("Per step", Align::Right),
        ("Class", Align::Left),
        ("Matched by", Align::Left),
    ]);
    for change in changes {
        let mut op = escape(&format::shorten(&change.name, NAME));
        if let Some(other) = change.baseline_name.as_deref().filter(|other| *other != change.name) {
            push(&mut op, &["<small>was ", &escape(&format::shorten(other, NAME)), "</small>"]);
        }
        if let Some(path) = &change.framework_op {
            push(&mut op, &["<small>", &escape(&format::shorten(path, NAME)), "</small>"]);
        }
        let [ours, theirs] = change.time_us;
        let [runs, before] = change.per_step;
        let mut delta = judged(change.delta_us_per_step);
        if let Some([ours, theirs]) = change.exposed_us {
            let exposed = format!("<small>exposed {} → {}</small>", format::time_us(theirs), format::time_us(ours));
            delta.push_str(&exposed);
        }
        table.row(
            "",
            &[
                op,
                delta,
                escape(&words::change(change)),
                format::time_us(theirs),
                format::time_us(ours),
                format!("{} → {}", words::per_step(before), words::per_step(runs)),
                escape(&words::class(&change.family)),
                escape(words::matched_by(change.matched_by)),
            ],
        );
    }
    table.finish()
}

/// Kinds of communication.
pub fn collectives(page: &mut String, comparison: &Comparison) {
    if comparison.collectives.is_empty() {
        return;
    }
    page.push_str(
        "<section id=\"collectives\">\n<h2>Communication</h2>\n\
         <p class=\"note\">Of what was measured of each run, all devices: how often, and how long; below it what computation did not hide.</p>\n",
    );
    let names: Vec<String> = comparison.runs.iter().map(|run| escape(&run.name)).collect();
    let mut columns = vec![("Kind", Align::Name)];
    columns.extend(names.iter().map(|name| (name.as_str(), Align::Right)));
    let mut table = Table::new(&columns);
    for kind in &comparison.collectives {
        let mut row = vec![escape(&kind.kind)];
        for ((count, total), exposed) in kind.counts.iter().zip(&kind.total_time_us).zip(&kind.exposed_time_us) {
            row.push(match count {
                0 => "none".to_owned(),
                count => format!(
                    "{} times, {}<small>exposed {}</small>",
                    format::count(*count),
                    format::time_us(*total),
                    format::time_us(*exposed)
                ),
            });
        }
        table.row("", &row);
    }
    push(page, &[&table.finish(), "</section>\n"]);
}

/// How well ops could be matched.
pub fn matching(page: &mut String, comparison: &Comparison) {
    if comparison.matching.is_empty() {
        return;
    }
    page.push_str(
        "<section id=\"matching\">\n<h2>How ops were matched</h2>\n\
         <p class=\"note\">Self time per step and device: what was matched and how, what has no partner (of the run, of the baseline), and \
         what the profiles do not list.</p>\n",
    );
    let mut table = Table::new(&[
        ("Run", Align::Name),
        ("Matched", Align::Left),
        ("No partner", Align::Right),
        ("Not listed", Align::Right),
    ]);
    for matching in &comparison.matching {
        let by = |found: &compare::MatchedTime| {
            format!("{} by {}", format::time_us(found.time_us), escape(words::matched_by(found.matched_by)))
        };
        let matched: Vec<String> = matching.matched_us.iter().map(by).collect();
        let pair = |[ours, theirs]: [f64; 2]| format!("{}, {}", format::time_us(ours), format::time_us(theirs));
        table.row(
            "",
            &[
                escape(name_of(comparison, matching.run)),
                matched.join("<br>"),
                pair(matching.unmatched_us),
                pair(matching.unlisted_us),
            ],
        );
    }
    push(page, &[&table.finish(), "</section>\n"]);
}
