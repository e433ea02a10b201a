//! First parts of the report: the runs, the answer, the limits of its fairness, the scored numbers,
//! and the step times with their noise.

use super::{charts, judged};
use crate::document;
use crate::export::comparison::{front, is_told, many, name_of, others, words};
use crate::export::html::page::{Align, Table, join, part};
use base::format;
use compare::{ComparedMetric, ComparedRun, Comparison, Direction, FairnessStatus, MOST_RUNS};
use maud::{Markup, Render, html};
use std::collections::BTreeMap;

/// Largest number of runs that are shown as columns. More are shown as rows.
const BESIDE: usize = 5;
/// Number of metrics that are shown as columns if runs are rows.
const FEW: usize = 4;

/// Renders the title and the runs.
pub fn header(comparison: &Comparison) -> Markup {
    let names: Vec<&str> = comparison.runs.iter().map(|run| run.name.as_str()).collect();
    html! {
        header {
            h1 {
                // Long lists of names make no title; the table below contains them.
                @if names.len() <= 4 {
                    (join(&names, &html! { " " span.note { "and" } " " }))
                } @else {
                    (names.len()) " runs"
                }
            }
            (runs(comparison))
        }
    }
}

/// Returns the runs that are compared in detail.
fn in_detail(comparison: &Comparison) -> impl Iterator<Item = (u32, &ComparedRun)> {
    let detailed = comparison.detailed();
    (0..).zip(&comparison.runs).filter(move |(run, _)| detailed.contains(run))
}

fn runs(comparison: &Comparison) -> Table {
    let mut columns = vec![
        ("Run", Align::Name),
        ("Platform", Align::Left),
        ("Device", Align::Left),
        ("Devices", Align::Right),
        ("File", Align::Name),
    ];
    let has_power = comparison.runs.iter().any(|run| run.watts_per_device.is_some());
    let has_price = comparison.runs.iter().any(|run| run.dollars_per_device_hour.is_some());
    if has_power {
        columns.push(("Power of a device", Align::Right));
    }
    if has_price {
        columns.push(("Price of a device", Align::Right));
    }
    let mut table = Table::new(&columns);
    for (index, run) in in_detail(comparison) {
        let name = html! {
            (run.name)
            @if index == comparison.baseline { " " span.tag { "baseline" } }
        };
        let count = format::count(run.devices);
        let mut row: Vec<&dyn Render> = vec![&name, &run.platform, &run.device_type, &count, &run.file];
        let (power, price) =
            (words::value(run.watts_per_device, "W"), words::value(run.dollars_per_device_hour, "$/h"));
        if has_power {
            row.push(&power);
        }
        if has_price {
            row.push(&price);
        }
        table.row(&row);
    }
    table
}

/// Renders the answer.
pub fn summary(comparison: &Comparison) -> Markup {
    html! {
        section.answer id="summary" {
            h2 { "Summary" }
            (document::html::blocks(&front::blocks(comparison)))
        }
    }
}

/// Renders every condition that is not the same with the value of each run, and the other
/// conditions as one sentence.
pub fn fairness(comparison: &Comparison) -> Markup {
    if comparison.fairness.is_empty() {
        return html! {};
    }
    let beside = comparison.runs.len() <= BESIDE;
    let mut columns = vec![("Condition", Align::Left), ("", Align::Left)];
    if beside {
        columns.extend(comparison.runs.iter().map(|run| (run.name.as_str(), Align::Left)));
    } else {
        columns.push(("Values", Align::Left));
    }
    columns.push(("What follows", Align::Wide));
    let mut table = Table::new(&columns);
    for status in [FairnessStatus::Differs, FairnessStatus::Unknown] {
        let verdict = html! { span class={ "status " (status.label()) } { (words::fairness(status)) } };
        for check in comparison.fairness.iter().filter(|check| check.status == status) {
            let values: Vec<&str> = check.values.iter().map(|value| value.as_deref().unwrap_or(format::DASH)).collect();
            let mut row: Vec<&dyn Render> = vec![&check.title, &verdict];
            let counted = counted(&values);
            if beside {
                row.extend(values.iter().map(|value| value as &dyn Render));
            } else {
                row.push(&counted);
            }
            row.push(&check.note);
            table.row(&row);
        }
    }
    let same: Vec<String> = comparison
        .fairness
        .iter()
        .filter(|check| check.status == FairnessStatus::Same)
        .map(|check| {
            let value = check.values.first().and_then(Option::as_deref).unwrap_or(format::DASH);
            format!("{} ({value})", check.title.to_lowercase())
        })
        .collect();
    let is_all_same = same.len() == comparison.fairness.len();
    html! {
        section id="fairness" {
            h2 { "Is it fair?" }
            @if !is_all_same { (table) }
            @if !same.is_empty() { p.note { "The same in all runs: " (same.join(", ")) "." } }
        }
    }
}

/// Renders each value once, with the number of runs that have it, in the order of the runs.
fn counted(values: &[&str]) -> Markup {
    let mut known: Vec<(&str, u64)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for value in values {
        let place = *places.entry(value).or_insert(known.len());
        match known.get_mut(place) {
            Some((_, count)) => *count += 1,
            None => known.push((value, 1)),
        }
    }
    let is_one = known.len() == 1;
    let more = known.len().saturating_sub(MOST_RUNS);
    known.truncate(MOST_RUNS);
    let said = |(value, count): &(&str, u64)| {
        html! {
            (value)
            @if !is_one { " " span.note { "(" (count) " runs)" } }
        }
    };
    let known = join(&known.iter().map(said).collect::<Vec<_>>(), &", ");
    html! { (known) @if more > 0 { " and " (more) " more" } }
}

/// Renders the scored numbers, then the others.
pub fn metrics(comparison: &Comparison) -> Markup {
    let groups = [
        ("scored", "Scored numbers", words::LEGEND, &comparison.metrics),
        (
            "not-scored",
            "Numbers of one platform",
            "These numbers mean different things on different platforms, or only one platform has them. They are \
                shown, but not scored.",
            &comparison.platform_metrics,
        ),
    ];
    html! {
        @for (id, title, note, metrics) in groups {
            @let is_known = |metric: &&ComparedMetric| metric.values.iter().any(Option::is_some);
            @let shown: Vec<&ComparedMetric> = metrics.iter().filter(is_known).collect();
            @if !shown.is_empty() {
                section id=(id) {
                    h2 { (title) }
                    p.note { (note) }
                    @if comparison.runs.len() <= BESIDE {
                        (runs_beside(comparison, &shown, id == "scored"))
                    } @else {
                        @for few in shown.chunks(FEW) { (runs_below(comparison, few)) }
                    }
                }
            }
        }
    }
}

/// Renders the name of a number, with its better direction below.
fn title(metric: &ComparedMetric) -> Markup {
    let direction = match metric.direction {
        Direction::Higher => "higher is better",
        Direction::Lower => "lower is better",
        Direction::Neither => "no merit",
    };
    html! { (metric.title) small { (direction) } }
}

/// Returns a table with one row per number and one column per run.
fn runs_beside(comparison: &Comparison, metrics: &[&ComparedMetric], scored: bool) -> Table {
    let mut columns = vec![("Number", Align::Left)];
    columns.extend(comparison.runs.iter().map(|run| (run.name.as_str(), Align::Right)));
    columns.push(if scored { ("Best", Align::Wide) } else { ("", Align::Left) });
    let mut table = Table::new(&columns);
    for metric in metrics {
        let mut row = vec![title(metric)];
        for index in 0..comparison.runs.len() {
            row.push(cell(comparison, metric, u32::try_from(index).unwrap_or(u32::MAX)));
        }
        row.push(best(comparison, metric, scored));
        table.row_of(&row);
    }
    table
}

/// Returns a table with one row per run and one column for each of a few numbers.
fn runs_below(comparison: &Comparison, metrics: &[&ComparedMetric]) -> Table {
    let mut columns = vec![("Run".render(), Align::Name)];
    columns.extend(metrics.iter().map(|metric| (title(metric), Align::Right)));
    let mut table = Table::new(&columns);
    for (index, run) in in_detail(comparison) {
        let mut row = vec![run.name.render()];
        for metric in metrics {
            row.push(html! {
                @if metric.winner == Some(index) { span.best { "★" } " " }
                (cell(comparison, metric, index))
            });
        }
        table.row_of(&row);
    }
    table
}

/// Renders the value of a run, with its verdict against the baseline below.
fn cell(comparison: &Comparison, metric: &ComparedMetric, run: u32) -> Markup {
    html! {
        (words::value_of_run(metric, run as usize))
        @if let Some(spread) = words::spread(metric, run as usize) { small { (spread) } }
        @if run != comparison.baseline {
            @if let Some((judgement, said)) = words::verdict(metric, run) {
                small class=(judgement.class()) { (judgement.symbol()) " " (said) }
            }
            @if let Some(difference) = words::metric_difference(metric, run) {
                small { (difference) }
            }
        }
    }
}

/// Renders the best run.
fn best(comparison: &Comparison, metric: &ComparedMetric, scored: bool) -> Markup {
    html! {
        @if let Some(winner) = metric.winner {
            span.best { "★ " (name_of(comparison, winner)) }
        } @else if scored && metric.comparable {
            (if metric.spreads.is_empty() { "none: one capture each" } else { "none" })
        }
    }
}

/// Renders the step times with the test of their difference, the causes, and the distribution of
/// the steps.
pub fn step_time(comparison: &Comparison, distribution: &Markup) -> Markup {
    if comparison.step_time.is_empty() {
        return html! {};
    }
    let mut table = Table::new(&[
        ("Run", Align::Name),
        ("Typical step", Align::Right),
        ("Baseline", Align::Right),
        ("Difference", Align::Left),
        ("Steps", Align::Right),
    ]);
    let detailed = comparison.detailed();
    for change in comparison.step_time.iter().filter(|change| detailed.contains(&change.run)) {
        let (judgement, said) = words::step_time(change);
        let [ours, theirs] = change.steps.map(format::count);
        table.row(&[
            &name_of(comparison, change.run),
            &format::optional_time_us(change.typical_us),
            &format::optional_time_us(change.baseline_typical_us),
            &judged(judgement, &said),
            &format!("{ours} and {theirs}"),
        ]);
    }
    html! {
        section id="step-time" {
            h2 { "Step time and its noise" }
            p.note {
                "The difference of the typical steps (means without the fastest and the slowest quarter) with its \
                    95 % interval, from the variation among the captures of one run, otherwise among their steps. \
                    An interval that contains 0 is within the noise."
            }
            (table)
            (charts::intervals(comparison))
            @for run in others(comparison) { (causes(comparison, run)) }
            (distribution)
        }
    }
}

/// Renders the causes of a run's difference.
fn causes(comparison: &Comparison, run: u32) -> Markup {
    let left = comparison.causes.iter().filter(|cause| cause.run == run && !is_told(comparison, cause));
    let mut causes = left.peekable();
    html! {
        @if causes.peek().is_some() {
            @let list = html! { ol { @for cause in causes { li { (cause.text) } } } };
            // With two runs, the title of the page already names the run.
            @if others(comparison).count() == 1 {
                (part("Further causes", &list, false))
            } @else {
                (part(&format!("Further causes of the difference of {}", name_of(comparison, run)), &list, many(comparison)))
            }
        }
    }
}
