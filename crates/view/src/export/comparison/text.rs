//! Renders a comparison on one screen of a terminal: the answer in sentences, the limits of its
//! fairness, the scored numbers, and the sources of the difference.

use super::words::{self, Judgement};
use super::{chosen, front, name_of, others, scaled};
use crate::document::terminal;
use crate::export::columns::aligned;
use base::format::{self, printable, shorten};
use base::home::shared;
use compare::{Change, ComparedMetric, Comparison, FairnessStatus, MatchedBy};

/// Width of the output, in columns of the terminal.
const WIDTH: usize = 100;
/// Largest number of runs that are shown as columns. More are shown as rows.
const BESIDE: usize = 3;
/// Largest number of runs that are introduced by name.
const NAMED: usize = 8;
/// Rows of the parts on the screen. The JSON and the web page contain all of them.
const METRICS: usize = 12;
const OPS: usize = 6;
/// Length of the longest bar of the waterfall.
const BAR: f64 = 24.0;

/// Returns the comparison as text.
pub fn text(comparison: &Comparison) -> String {
    let mut text = String::new();
    let named = |index: usize| index < NAMED || index == comparison.baseline as usize;
    for (index, run) in comparison.runs.iter().enumerate().filter(|(index, _)| named(*index)) {
        let mark = if index == comparison.baseline as usize { " (baseline)" } else { "" };
        let devices = format!("{} x {}", format::count(run.devices), clean(&run.device_type, 40));
        text.push_str(&format!("{:<44}{}, {devices}\n", clean(&run.name, 30) + mark, printable(&run.platform)));
    }
    let left = (0..comparison.runs.len()).filter(|index| !named(*index)).count();
    if left > 0 {
        text.push_str(&format!("and {left} more runs\n"));
    }
    text.push('\n');
    text.push_str(&terminal::blocks(&front::blocks(comparison)));
    push_fairness(&mut text, comparison);
    if comparison.runs.len() <= BESIDE {
        push_metrics(&mut text, comparison);
    } else if comparison.trend.is_none() && comparison.scaling.is_none() {
        push_runs(&mut text, comparison);
    }
    match chosen(comparison) {
        Some(chosen) => text.push_str(&format!("\n{chosen}\n")),
        None => push_memory(&mut text, comparison),
    }
    if comparison.runs.len() <= BESIDE {
        for run in others(comparison) {
            push_waterfall(&mut text, comparison, run);
            push_changes(&mut text, comparison, run, "Ops", &comparison.ops);
            if let Some(sentence) = words::without_partner(comparison, run) {
                push_wrapped(&mut text, "  ", &sentence);
            }
            push_changes(&mut text, comparison, run, "Kernels", &comparison.kernels);
        }
    }
    push_scaling(&mut text, comparison);
    push_trend(&mut text, comparison);
    shared(format::with_plain_spaces(&text))
}

fn clean(name: &str, width: usize) -> String {
    printable(&shorten(name, width))
}

fn push_wrapped(text: &mut String, before: &str, sentence: &str) {
    for line in terminal::wrapped(&printable(sentence), WIDTH.saturating_sub(before.len())) {
        text.push_str(&format!("{before}{line}\n"));
    }
}

/// Appends the number of conditions that are the same. The caveats name the others.
fn push_fairness(text: &mut String, comparison: &Comparison) {
    let same = comparison.fairness.iter().filter(|check| check.status == FairnessStatus::Same).count();
    if !comparison.fairness.is_empty() {
        text.push_str(&format!("\nFairness: {same} of {} conditions are the same\n", comparison.fairness.len()));
    }
}

/// Appends one row per number, with one column per run.
fn push_metrics(text: &mut String, comparison: &Comparison) {
    for (heading, metrics) in
        [("Scored", &comparison.metrics), ("On one platform only, not scored", &comparison.platform_metrics)]
    {
        let names = comparison.runs.iter().map(|run| clean(&run.name, 24));
        let mut rows = vec![[String::new()].into_iter().chain(names).chain([String::new()]).collect::<Vec<_>>()];
        let shown = metrics.iter().filter(|metric| metric.values.iter().any(Option::is_some));
        let count = shown.clone().count();
        let most = if heading == "Scored" { METRICS } else { METRICS / 3 };
        for metric in shown.take(most) {
            let mut row = vec![printable(&metric.title)];
            row.extend(words::values(&metric.values, &metric.unit));
            row.push(judged(comparison, metric));
            rows.push(row);
        }
        if rows.len() > 1 {
            let right: Vec<bool> = (0..=comparison.runs.len()).map(|column| column > 0).collect();
            text.push_str(&format!("\n{heading}\n{}", aligned(&rows, &right)));
        }
        if count > most {
            text.push_str(&format!("  and {} more: --format json, --output report.html\n", count - most));
        }
    }
}

/// Appends the memory of the runs, with the buffers that were added or removed.
fn push_memory(text: &mut String, comparison: &Comparison) {
    let Some(memory) = &comparison.memory else { return };
    let names = comparison.runs.iter().map(|run| clean(&run.name, 24));
    let mut rows = vec![[String::new()].into_iter().chain(names).collect::<Vec<_>>()];
    rows.extend(super::memory::figures(comparison));
    let right: Vec<bool> = (0..=comparison.runs.len()).map(|column| column > 0).collect();
    text.push_str(&format!("\n{}\n{}", super::memory::heading(comparison), aligned(&rows, &right)));
    for run in others(comparison) {
        let changes = super::memory::changes(memory, run);
        let name = comparison.runs.get(run as usize).map_or(String::new(), |run| clean(&run.name, 30));
        if !changes.is_empty() {
            text.push_str(&format!("Changes of {name} against the baseline\n"));
        }
        changes.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
    }
}

/// Describes the verdicts on a number against the baseline, and the conditions that make it
/// incomparable.
fn judged(comparison: &Comparison, metric: &ComparedMetric) -> String {
    let several = comparison.runs.len() > 2;
    let mut parts: Vec<String> = Vec::new();
    for run in others(comparison) {
        let Some((judgement, said)) = words::verdict(metric, run) else { continue };
        let whose = if several { format!("{} ", clean(name_of(comparison, run), 16)) } else { String::new() };
        let sign = words::metric_difference(metric, run).map(|it| format!(" ({it})")).unwrap_or_default();
        parts.push(format!("{} {whose}{said}{sign}", judgement.symbol()));
    }
    if let Some(winner) = metric.winner.filter(|_| several) {
        parts.push(format!("best: {}", clean(name_of(comparison, winner), 16)));
    }
    parts.join(", ")
}

/// Appends one row per run with the first scored numbers, if there are too many runs for columns.
fn push_runs(text: &mut String, comparison: &Comparison) {
    let shown: Vec<&ComparedMetric> =
        comparison.metrics.iter().filter(|metric| metric.values.iter().any(Option::is_some)).take(3).collect();
    let titles = shown.iter().flat_map(|metric| [printable(&metric.title), String::new()]);
    let mut rows = vec![[String::new()].into_iter().chain(titles).collect::<Vec<_>>()];
    for (index, run) in comparison.runs.iter().enumerate() {
        let mut row = vec![clean(&run.name, 24)];
        for metric in &shown {
            row.push(words::value_of_run(metric, index));
            let is_baseline = index == comparison.baseline as usize;
            let said = words::verdict(metric, u32::try_from(index).unwrap_or(u32::MAX)).filter(|_| !is_baseline);
            row.push(said.map(|(judgement, said)| format!("{} {said}", judgement.symbol())).unwrap_or_default());
        }
        rows.push(row);
    }
    let right: Vec<bool> = (0..=2 * shown.len()).map(|column| column % 2 == 1).collect();
    text.push_str(&format!("\nScored\n{}", aligned(&rows, &right)));
}

/// Appends the waterfall part by part, with bars of plus (slower) and minus (faster).
fn push_waterfall(text: &mut String, comparison: &Comparison, run: u32) {
    let changes = || comparison.waterfall.iter().filter(|part| part.run == run && part.delta_us_per_step != 0.0);
    let largest = changes().fold(0.0_f64, |most, part| most.max(part.delta_us_per_step.abs()));
    if largest == 0.0 {
        return;
    }
    let between = if comparison.is_of_other_work(run) { "|" } else { "->" };
    let mut sum = 0.0;
    let mut rows = Vec::new();
    for part in changes() {
        sum += part.delta_us_per_step;
        let sign = if part.delta_us_per_step > 0.0 { "+" } else { "-" };
        let length = (part.delta_us_per_step.abs() / largest * BAR) as usize;
        rows.push(vec![
            printable(&part.title),
            format!("{} {between} {}", format::time_us(part.baseline_us), format::time_us(part.run_us)),
            words::delta_us(part.delta_us_per_step),
            sign.repeat(length.max(1)),
        ]);
    }
    let sums = words::sums_of_parts(comparison, run).map(format::time_us).join(" -> ");
    rows.push(vec!["Sum".to_owned(), sums, words::delta_us(sum), String::new()]);
    if comparison.is_of_other_work(run) {
        rows.pop();
        rows.iter_mut().for_each(|row| row.truncate(2));
    }
    let [name, baseline] = [run, comparison.baseline].map(|run| clean(name_of(comparison, run), 30));
    text.push_str(&format!("\n{}\n", words::parts_title(comparison, run, &name, &baseline)));
    text.push_str(&aligned(&rows, &[false, true, true, false]));
}

fn push_changes(text: &mut String, comparison: &Comparison, run: u32, what: &str, changes: &[Change]) {
    let of_run = || changes.iter().filter(|change| change.run == run && change.delta_us_per_step != 0.0);
    let rows: Vec<Vec<String>> = of_run()
        .take(OPS)
        .map(|change| {
            vec![
                format!("{} {}", Judgement::of_change(change).symbol(), words::delta_us(change.delta_us_per_step)),
                words::change(change),
                clean(&change.title(), 44),
                format!("{} -> {}", format::time_us(change.time_us[1]), format::time_us(change.time_us[0])),
                match change.matched_by {
                    MatchedBy::None => String::new(),
                    kind => format!("by {}", words::matched_by(kind)),
                },
            ]
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    let name = clean(name_of(comparison, run), 30);
    text.push_str(&format!(
        "\n{what} of {name} that differ most, {}\n{}",
        words::time_basis(comparison),
        aligned(&rows, &[])
    ));
    let left = of_run().count().saturating_sub(OPS);
    if left > 0 {
        text.push_str(&format!("  and {left} more: --format json, --output report.html\n"));
    }
}

fn push_scaling(text: &mut String, comparison: &Comparison) {
    let Some(scaling) = &comparison.scaling else { return };
    let cells =
        ["Run", "Devices", "Step time", "Speed-up", "Ideal", "Efficiency", "Lost to comm.", "to idle", "to the rest"];
    let mut rows = vec![cells.map(str::to_owned).to_vec()];
    for point in &scaling.points {
        rows.push(vec![
            clean(name_of(comparison, point.run), 20),
            format::count(point.devices),
            format::time_us(point.step_time_us),
            words::times(point.speedup),
            words::times(point.ideal_speedup),
            format::percent(point.efficiency_percent),
            format::optional_percent(point.lost_to_communication_percent),
            format::optional_percent(point.lost_to_idle_percent),
            format::optional_percent(point.lost_to_rest_percent),
        ]);
    }
    let right = [false, true, true, true, true, true, true, true, true];
    let source = scaling.mode_source.label().replace('_', " ");
    text.push_str(&format!("\nScaling, {} ({})\n{}", scaling.mode.label(), source, aligned(&rows, &right)));
    if let Some(serial) = scaled::serial(scaling) {
        text.push_str(&format!("  serial part of the work (Amdahl): {serial}\n"));
    }
    if !scaling.forecast.is_empty() {
        let sizes = scaling.forecast.iter().map(scaled::forecast_text).collect::<Vec<_>>().join(", ");
        let assumption = scaling.forecast_assumption.as_deref().unwrap_or_default();
        push_wrapped(text, "  ", &format!("forecast: {sizes}. {assumption}"));
    }
    if !scaling.excess_ops.is_empty() {
        let rows: Vec<Vec<String>> = scaling
            .excess_ops
            .iter()
            .take(OPS)
            .map(|op| {
                let [name, class, reference, ideal, measured, excess] = scaled::excess_cells(op);
                let times = [format!("{reference} -> {measured}"), format!("ideal {ideal}"), excess];
                [vec![clean(&name, 30), clean(&class, 20)], times.to_vec()].concat()
            })
            .collect();
        text.push_str(&format!("{}\n{}", scaled::EXCESS_TITLE, aligned(&rows, &[false, false, true, true, true])));
    }
}

fn push_trend(text: &mut String, comparison: &Comparison) {
    let Some(trend) = &comparison.trend else { return };
    text.push_str(&format!("\nOver time, by {}\n", trend.ordered_by.label().replace('_', " ")));
    let rows: Vec<Vec<String>> = trend
        .points
        .iter()
        .map(|point| {
            let margin = point.margin_us.map(|margin| format!("± {}", format::time_us(margin))).unwrap_or_default();
            let change = trend.change_points.iter().any(|change| change.run == point.run);
            let is_apart = trend.outliers.iter().any(|outlier| outlier.run == point.run);
            vec![
                clean(&point.label, 24),
                format::optional_time_us(point.step_time_us),
                margin,
                format::optional_percent(point.compute_util_percent),
                match (change, is_apart) {
                    (true, _) => "<- changes here".to_owned(),
                    (false, true) => "<- outlier".to_owned(),
                    (false, false) => String::new(),
                },
            ]
        })
        .collect();
    text.push_str(&aligned(&rows, &[false, true, true, true]));
    let texts = trend.change_points.iter().map(|change| &change.text);
    let texts = texts.chain(trend.drift.iter().map(|drift| &drift.text));
    for sentence in texts.chain(trend.outliers.iter().map(|outlier| &outlier.text)) {
        push_wrapped(text, "  ", sentence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::comparison::example;

    #[test]
    fn the_text_fits_a_screen_and_begins_with_the_answer() {
        let text = text(&example::comparison());
        assert!(text.lines().count() <= 64, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH + 30), "{text}");
        assert!(text.contains("2.00x faster (−50.0 ms)"), "{text}");
        assert!(text.contains("1 of 3 conditions are the same"), "{text}");
        assert!(text.contains("−20.0 ms") && text.contains("--------"), "{text}");
        assert!(text.contains("without a partner: 100 µs of new and none of main."), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
        let position = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
        assert!(position("twice as fast") < position("Fairness") && position("Fairness") < position("Scored"));
    }
}
