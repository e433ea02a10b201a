//! Changes inside the step: classes of ops, ops, kernels, collectives, and the result of matching
//! the ops.

use super::judged;
use crate::export::comparison::words::{self, Judgement};
use crate::export::comparison::{many, name_of, others};
use crate::export::html::page::{Align, Table, join, part};
use base::format;
use compare::{Change, Comparison, MOST_RUNS};
use maud::{Markup, Render, html};

/// Largest number of rows in a table of ops of one run.
const MOST: usize = 20;
/// Longest displayed name. Longer names are shortened in the middle; the JSON contains them in
/// full.
const NAME: usize = 120;

/// Renders the time by class of op.
pub fn categories(comparison: &Comparison) -> Markup {
    section(comparison, "categories", "Time by class of op", None, &comparison.categories)
}

/// Renders the ops and kernels that differ most.
pub fn ops(comparison: &Comparison) -> Markup {
    html! {
        (section(comparison, "ops", "Ops that differ most", Some("break"), &comparison.ops))
        (section(comparison, "kernels", "Kernels that differ most", None, &comparison.kernels))
    }
}

fn section(comparison: &Comparison, id: &str, title: &str, class: Option<&str>, changes: &[Change]) -> Markup {
    html! {
        @if !changes.is_empty() {
            section id=(id) class=[class] {
                h2 { (title) }
                p.note { "Self time " (words::time_basis(comparison)) "." }
                @for run in others(comparison) {
                    (of_run(comparison, run, id == "categories", changes))
                }
            }
        }
    }
}

fn of_run(comparison: &Comparison, run: u32, are_classes: bool, changes: &[Change]) -> Markup {
    let changes: Vec<&Change> = changes.iter().filter(|change| change.run == run).collect();
    if changes.is_empty() {
        return html! {};
    }
    let (name, baseline) = (name_of(comparison, run), name_of(comparison, comparison.baseline));
    let left = changes.len().saturating_sub(MOST);
    let body = html! {
        @if are_classes {
            (table_of_classes(&changes, name, baseline))
        } @else {
            (table_of_ops(changes.iter().take(MOST), name, baseline, words::of_steps(comparison, "Per step", "Count")))
            @if left > 0 {
                p.note { "and " (format::count(left as u64)) " more in the JSON of the comparison." }
            }
        }
    };
    part(&format!("{name} against {baseline}"), &body, many(comparison))
}

fn judged_time(change: &Change) -> Markup {
    judged(Judgement::of_change(change), &words::delta_us(change.delta_us_per_step))
}

fn table_of_classes(changes: &[&Change], name: &str, baseline: &str) -> Table {
    let mut table = Table::new(&[
        ("Class", Align::Left),
        ("Difference", Align::Right),
        (baseline, Align::Right),
        (name, Align::Right),
    ]);
    for change in changes {
        let [ours, theirs] = change.time_us;
        table.row(&[
            &words::class(&change.name),
            &judged_time(change),
            &format::time_us(theirs),
            &format::time_us(ours),
        ]);
    }
    table
}

fn table_of_ops<'a>(changes: impl Iterator<Item = &'a &'a Change>, name: &str, baseline: &str, count: &str) -> Table {
    let mut table = Table::new(&[
        ("Name", Align::Name),
        ("Difference", Align::Right),
        ("Change", Align::Left),
        (baseline, Align::Right),
        (name, Align::Right),
        (count, Align::Right),
        ("Class", Align::Left),
        ("Matched by", Align::Left),
    ]);
    for change in changes {
        let [ours, theirs] = change.time_us.map(format::time_us);
        let [runs, before] = change.per_step;
        table.row(&[
            &op(change),
            &difference(change),
            &words::change(change),
            &theirs,
            &ours,
            &format!("{} → {}", words::per_step(before), words::per_step(runs)),
            &words::class(&change.family),
            &words::matched_by(change.matched_by),
        ]);
    }
    table
}

/// Renders an op with its name in the baseline and its place in the program below.
fn op(change: &Change) -> Markup {
    let renamed = change.baseline_name.as_deref().filter(|other| *other != change.name);
    html! {
        (format::shorten(&change.title(), NAME))
        @if let Some(other) = renamed {
            small { "was " (format::shorten(other, NAME)) }
        }
        @if let Some(path) = &change.framework_op {
            small { (format::shorten(path, NAME)) }
        }
    }
}

/// Renders the difference with the exposed times below.
fn difference(change: &Change) -> Markup {
    html! {
        (judged_time(change))
        @if let Some([ours, theirs]) = change.exposed_us {
            small { "exposed " (format::time_us(theirs)) " → " (format::time_us(ours)) }
        }
    }
}

/// Renders the kinds of communication.
pub fn collectives(comparison: &Comparison) -> Markup {
    // The table has a column for each run.
    if comparison.collectives.is_empty() || comparison.runs.len() > MOST_RUNS {
        return html! {};
    }
    let mut columns = vec![("Kind", Align::Name)];
    columns.extend(comparison.runs.iter().map(|run| (run.name.as_str(), Align::Right)));
    let mut table = Table::new(&columns);
    for kind in &comparison.collectives {
        let mut row = vec![kind.kind.render()];
        for ((count, total), exposed) in kind.counts.iter().zip(&kind.total_time_us).zip(&kind.exposed_time_us) {
            row.push(html! {
                @if *count == 0 {
                    "none"
                } @else {
                    (format::count(*count)) " times, " (format::time_us(*total))
                    small { "exposed " (format::time_us(*exposed)) }
                }
            });
        }
        table.row_of(&row);
    }
    html! {
        section id="collectives" {
            h2 { "Communication" }
            p.note {
                "Count and time in each run's window, over all devices, with the exposed time below."
            }
            (table)
        }
    }
}

/// Renders the result of matching the ops.
pub fn matching(comparison: &Comparison) -> Markup {
    if comparison.matching.is_empty() {
        return html! {};
    }
    let mut table = Table::new(&[
        ("Run", Align::Name),
        ("Matched", Align::Left),
        ("No partner", Align::Right),
        ("Not listed", Align::Right),
    ]);
    for matching in &comparison.matching {
        let by = |found: &compare::MatchedTime| {
            format!("{} by {}", format::time_us(found.time_us), words::matched_by(found.matched_by))
        };
        let matched: Vec<String> = matching.matched_us.iter().map(by).collect();
        let pair = |[ours, theirs]: [f64; 2]| format!("{}, {}", format::time_us(ours), format::time_us(theirs));
        table.row(&[
            &name_of(comparison, matching.run),
            &join(&matched, &html! { br; }),
            &pair(matching.unmatched_us),
            &pair(matching.unlisted_us),
        ]);
    }
    html! {
        section id="matching" {
            h2 { "How ops were matched" }
            p.note {
                "Self time " (words::time_basis(comparison)) ": time matched by each method, time without a match \
                    (in the run, in the baseline), and time of ops that the profiles do not list."
            }
            (table)
        }
    }
}
