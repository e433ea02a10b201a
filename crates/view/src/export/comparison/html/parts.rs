//! The first parts: the runs, the answer, what keeps it from being fair, the scored numbers, the step times with their noise.

use super::charts;
use crate::export::comparison::{check_title, name_of, others, words};
use crate::export::html::page::{Align, Table, escape, push};
use base::format;
use compare::{ComparedMetric, Comparison, Direction, FairnessStatus};

/// More runs than this stand below each other, not beside.
const BESIDE: usize = 5;
/// Numbers beside each other where runs stand below each other.
const FEW: usize = 4;

/// Title and the runs.
pub fn header(page: &mut String, comparison: &Comparison) {
    let names: Vec<String> = comparison.runs.iter().map(|run| escape(&run.name)).collect();
    let title = match names.len() {
        // Many names are no title; the table below has them.
        0..=4 => names.join(" <span class=\"note\">and</span> "),
        several => format!("{several} runs"),
    };
    push(page, &["<header>\n<h1>", &title, "</h1>\n"]);
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
    for (index, run) in comparison.runs.iter().enumerate() {
        let mark = if index == comparison.baseline as usize { " <span class=\"tag\">baseline</span>" } else { "" };
        let mut row = vec![
            escape(&run.name) + mark,
            escape(&run.platform),
            escape(&run.device_type),
            format::count(run.devices),
            escape(&run.file),
        ];
        if has_power {
            row.push(words::value(run.watts_per_device, "W"));
        }
        if has_price {
            row.push(words::value(run.dollars_per_device_hour, "$/h"));
        }
        table.row("", &row);
    }
    push(page, &[&table.finish(), "</header>\n"]);
}

/// The answer in sentences.
pub fn summary(page: &mut String, comparison: &Comparison) {
    page.push_str("<section class=\"answer\" id=\"summary\">\n<h2>Summary</h2>\n<ol>\n");
    for sentence in &comparison.summary {
        push(page, &["<li>", &escape(sentence), "</li>\n"]);
    }
    page.push_str("</ol>\n</section>\n");
}

/// Every condition, with what each run has.
pub fn fairness(page: &mut String, comparison: &Comparison) {
    if comparison.fairness.is_empty() {
        return;
    }
    page.push_str("<section id=\"fairness\">\n<h2>Is it fair?</h2>\n");
    let names: Vec<String> = comparison.runs.iter().map(|run| escape(&run.name)).collect();
    let beside = names.len() <= BESIDE;
    let mut columns = vec![("Condition", Align::Left), ("", Align::Left)];
    if beside {
        columns.extend(names.iter().map(|name| (name.as_str(), Align::Left)));
    } else {
        columns.push(("Values", Align::Left));
    }
    columns.push(("What follows", Align::Wide));
    let mut table = Table::new(&columns);
    for status in [FairnessStatus::Differs, FairnessStatus::Unknown, FairnessStatus::Same] {
        for check in comparison.fairness.iter().filter(|check| check.status == status) {
            let mut row = vec![
                escape(&check.title),
                format!("<span class=\"status {}\">{}</span>", status.label(), words::fairness(status)),
            ];
            if beside {
                row.extend(check.values.iter().map(|value| value.as_deref().map_or(format::DASH.to_owned(), escape)));
            } else {
                row.push(counted(&check.values));
            }
            row.push(if status == FairnessStatus::Same { String::new() } else { escape(&check.note) });
            table.row("", &row);
        }
    }
    push(page, &[&table.finish(), "</section>\n"]);
}

/// Each value once, with the number of runs that have it, in the order of the runs.
fn counted(values: &[Option<String>]) -> String {
    let mut known: Vec<(&Option<String>, u64)> = Vec::new();
    for value in values {
        match known.iter_mut().find(|(found, _)| *found == value) {
            Some((_, count)) => *count += 1,
            None => known.push((value, 1)),
        }
    }
    let said = |(value, count): &(&Option<String>, u64)| {
        let value = value.as_deref().map_or(format::DASH.to_owned(), escape);
        if known.len() == 1 { value } else { format!("{value} <span class=\"note\">({count} runs)</span>") }
    };
    known.iter().map(said).collect::<Vec<_>>().join(", ")
}

/// The scored numbers, then those that are not.
pub fn metrics(page: &mut String, comparison: &Comparison) {
    let legend = format!("<p class=\"note\">{}</p>\n", words::LEGEND);
    let groups = [
        ("scored", "Scored numbers", legend.as_str(), &comparison.metrics),
        (
            "not-scored",
            "Numbers of one platform",
            "<p class=\"note\">They mean different things on different platforms, or only one has them: shown, not scored.</p>\n",
            &comparison.platform_metrics,
        ),
    ];
    for (id, title, note, metrics) in groups {
        let shown: Vec<&ComparedMetric> =
            metrics.iter().filter(|metric| metric.values.iter().any(Option::is_some)).collect();
        if shown.is_empty() {
            continue;
        }
        push(page, &["<section id=\"", id, "\">\n<h2>", title, "</h2>\n", note]);
        if comparison.runs.len() <= BESIDE {
            page.push_str(&runs_beside(comparison, &shown, id == "scored"));
        } else {
            for few in shown.chunks(FEW) {
                page.push_str(&runs_below(comparison, few));
            }
        }
        page.push_str("</section>\n");
    }
}

/// What a number's better side is.
fn direction(metric: &ComparedMetric) -> &'static str {
    match metric.direction {
        Direction::Higher => "higher is better",
        Direction::Lower => "lower is better",
        Direction::Neither => "no merit",
    }
}

/// One row a number, one column a run.
fn runs_beside(comparison: &Comparison, metrics: &[&ComparedMetric], scored: bool) -> String {
    let names: Vec<String> = comparison.runs.iter().map(|run| escape(&run.name)).collect();
    let mut columns = vec![("Number", Align::Left)];
    columns.extend(names.iter().map(|name| (name.as_str(), Align::Right)));
    columns.push((if scored { "Best" } else { "" }, if scored { Align::Wide } else { Align::Left }));
    let mut table = Table::new(&columns);
    for metric in metrics {
        let mut row = vec![format!("{}<small>{}</small>", escape(&metric.title), direction(metric))];
        for index in 0..comparison.runs.len() {
            row.push(cell(comparison, metric, u32::try_from(index).unwrap_or(u32::MAX)));
        }
        row.push(best(comparison, metric, scored));
        table.row("", &row);
    }
    table.finish()
}

/// One row a run, one column for each of a few numbers.
fn runs_below(comparison: &Comparison, metrics: &[&ComparedMetric]) -> String {
    let titles: Vec<String> =
        metrics.iter().map(|metric| format!("{}<small>{}</small>", escape(&metric.title), direction(metric))).collect();
    let mut columns = vec![("Run", Align::Name)];
    columns.extend(titles.iter().map(|title| (title.as_str(), Align::Right)));
    let mut table = Table::new(&columns);
    for (index, run) in comparison.runs.iter().enumerate() {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        let mut row = vec![escape(&run.name)];
        for metric in metrics {
            let cell = cell(comparison, metric, index);
            let is_best = metric.winner == Some(index);
            row.push(if is_best { format!("<span class=\"best\">★</span> {cell}") } else { cell });
        }
        table.row("", &row);
    }
    table.finish()
}

/// A run's value; below it what it says against the baseline.
fn cell(comparison: &Comparison, metric: &ComparedMetric, run: u32) -> String {
    let mut cell = words::value_of_run(metric, run as usize);
    if run == comparison.baseline {
        return cell;
    }
    if let Some((judgement, said)) = words::verdict(metric, run) {
        let (class, symbol) = (judgement.class(), judgement.symbol());
        push(&mut cell, &["<small class=\"", class, "\">", symbol, " ", &said, "</small>"]);
    }
    if let Some(difference) = words::metric_difference(metric, run) {
        push(&mut cell, &["<small>", &difference, "</small>"]);
    }
    cell
}

/// Who is best, and what the number is worth.
fn best(comparison: &Comparison, metric: &ComparedMetric, scored: bool) -> String {
    let mut cell = match metric.winner {
        Some(winner) => format!("<span class=\"best\">★ {}</span>", escape(name_of(comparison, winner))),
        None if scored && metric.comparable => "none".to_owned(),
        None => String::new(),
    };
    for (what, class, checks) in [("differs", "differs", &metric.spoiled_by), ("unknown", "unknown", &metric.unknown)] {
        if !checks.is_empty() {
            let titles: Vec<String> = checks.iter().map(|check| escape(check_title(comparison, check))).collect();
            push(
                &mut cell,
                &["<small><span class=\"", class, "\">", what, "</span>: ", &titles.join(", "), "</small>"],
            );
        }
    }
    cell
}

/// Step times and whether they differ beyond the noise.
pub fn step_time(page: &mut String, comparison: &Comparison) {
    if comparison.step_time.is_empty() {
        return;
    }
    page.push_str(
        "<section id=\"step-time\">\n<h2>Step time and its noise</h2>\n\
         <p class=\"note\">The difference of the mean step times with its 95 % interval (Welch's t-test over the counted steps). An \
         interval that holds 0 is within the noise.</p>\n",
    );
    let mut table = Table::new(&[
        ("Run", Align::Name),
        ("Step time", Align::Right),
        ("Baseline", Align::Right),
        ("Difference", Align::Left),
        ("Steps", Align::Right),
    ]);
    for change in &comparison.step_time {
        let (judgement, said) = words::step_time(change);
        let [ours, theirs] = change.steps;
        table.row(
            "",
            &[
                escape(name_of(comparison, change.run)),
                format::optional_time_us(change.step_time_us),
                format::optional_time_us(change.baseline_us),
                format!("<span class=\"{}\">{} {said}</span>", judgement.class(), judgement.symbol()),
                format!("{} and {}", format::count(ours), format::count(theirs)),
            ],
        );
    }
    page.push_str(&table.finish());
    charts::intervals(page, comparison);
    // A single other run needs no heading of its own.
    let several = others(comparison).count() > 1;
    for run in others(comparison) {
        let mut causes = comparison.causes.iter().filter(|cause| cause.run == run).peekable();
        if causes.peek().is_none() {
            continue;
        }
        let whose = if several { format!(" of {}", escape(name_of(comparison, run))) } else { String::new() };
        push(page, &["<h3>What explains the difference", &whose, "</h3>\n<ol>\n"]);
        for cause in causes {
            push(page, &["<li>", &escape(&cause.text), "</li>\n"]);
        }
        page.push_str("</ol>\n");
    }
    page.push_str("</section>\n");
}
