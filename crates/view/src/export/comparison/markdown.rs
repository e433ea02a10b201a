//! Renders a comparison as Markdown (GitHub's dialect), for a pull request. The answer, the most
//! important numbers and the causes fit on one screen; everything else is folded.

use super::words::{self, Judgement};
use super::{chosen, front, is_told, name_of, others, scaled, unfair};
use crate::document;
use crate::export::markdown::escape;
use base::format;
use base::home::shared;
use compare::{Cause, Change, ComparedMetric, Comparison, FairnessStatus};

/// Largest number of rows in a table of ops.
const OPS: usize = 10;
/// Number of causes of a run that are not folded.
const CAUSES: usize = 5;
/// Numbers that are not folded: of each list, the first that a run has.
const KEY_NUMBERS: [&[&str]; 5] = [
    &["step_time.typical_us"],
    &["throughput.tokens_per_sec", "throughput.samples_per_sec", "throughput.steps_per_sec"],
    &["compute_utilization.compute_util_percent"],
    &["step_breakdown.parts.communication_us"],
    &["roofline.mfu_percent"],
];

/// Returns the comparison as Markdown.
pub fn markdown(comparison: &Comparison) -> String {
    let names: Vec<String> = comparison.runs.iter().map(|run| escape(&run.name)).collect();
    let chosen = chosen(comparison);
    let mut text = match &chosen {
        Some(chosen) => format!("## {} runs\n\n{}\n\n", names.len(), escape(chosen)),
        None => format!("## {}\n\n", names.join(" and ")),
    };
    text.push_str(&document::markdown::blocks(&front::blocks(comparison)));
    // These tables have a column for each run.
    let has_columns = chosen.is_none();
    if has_columns {
        push_key_numbers(&mut text, comparison, &names);
    }
    others(comparison).for_each(|run| push_causes(&mut text, comparison, run));
    push_scaling(&mut text, comparison);
    push_trend(&mut text, comparison);
    if has_columns {
        push_fairness(&mut text, comparison, &names);
        push_metrics(&mut text, comparison, &names);
        push_memory(&mut text, comparison, &names);
    }
    for run in others(comparison) {
        push_waterfall(&mut text, comparison, run);
        push_changes(&mut text, comparison, run, "Ops", &comparison.ops);
        push_changes(&mut text, comparison, run, "Kernels", &comparison.kernels);
    }
    shared(text)
}

/// Appends the memory of the runs, with the buffers that were added or removed.
fn push_memory(text: &mut String, comparison: &Comparison, names: &[String]) {
    let Some(memory) = &comparison.memory else { return };
    let mut body = String::new();
    let titles: Vec<&str> = [""].into_iter().chain(names.iter().map(String::as_str)).collect();
    let right: Vec<bool> = (0..titles.len()).map(|column| column > 0).collect();
    push_head(&mut body, &titles, &right);
    super::memory::figures(comparison).iter().for_each(|row| push_row(&mut body, row));
    for run in others(comparison) {
        let changes = super::memory::changes(memory, run);
        let name = names.get(run as usize).map_or("", String::as_str);
        if !changes.is_empty() {
            body.push_str(&format!("\nChanges of {name} against the baseline:\n\n"));
        }
        changes.iter().for_each(|line| body.push_str(&format!("- {}\n", escape(line))));
    }
    push_folded(text, super::memory::heading(comparison), &body);
}

/// Appends a section that opens with a click on its title.
fn push_folded(text: &mut String, title: &str, body: &str) {
    text.push_str(&format!("\n<details>\n<summary>{title}</summary>\n\n{body}\n</details>\n"));
}

fn push_row(text: &mut String, cells: &[String]) {
    text.push_str(&format!("| {} |\n", cells.join(" | ")));
}

/// Appends the header of a table. Numbers are right-aligned.
fn push_head(text: &mut String, titles: &[&str], right: &[bool]) {
    push_row(text, &titles.iter().map(|title| (*title).to_owned()).collect::<Vec<_>>());
    let rule = |column| if right.get(column).copied().unwrap_or(false) { "---:" } else { "---" };
    push_row(text, &(0..titles.len()).map(|column| rule(column).to_owned()).collect::<Vec<_>>());
}

/// Appends the number of conditions that are the same, and the others in a fold.
fn push_fairness(text: &mut String, comparison: &Comparison, names: &[String]) {
    if comparison.fairness.is_empty() {
        return;
    }
    let same = comparison.fairness.iter().filter(|check| check.status == FairnessStatus::Same).count();
    let title = format!("Fairness: {same} of {} conditions are the same", comparison.fairness.len());
    if unfair(comparison).next().is_none() {
        text.push_str(&format!("\n{title}.\n"));
        return;
    }
    let mut table = String::new();
    let mut titles = vec!["Condition", ""];
    titles.extend(names.iter().map(String::as_str));
    titles.push("Note");
    push_head(&mut table, &titles, &[]);
    for check in unfair(comparison) {
        let mut row = vec![escape(&check.title), words::fairness(check.status).to_owned()];
        row.extend(check.values.iter().map(|value| value.as_deref().map_or(format::DASH.to_owned(), escape)));
        row.push(escape(&check.note));
        push_row(&mut table, &row);
    }
    push_folded(text, &title, &table);
}

fn is_known(metric: &&ComparedMetric) -> bool {
    metric.values.iter().any(Option::is_some)
}

fn push_key_numbers(text: &mut String, comparison: &Comparison, names: &[String]) {
    let named = |path: &&str| comparison.metrics.iter().filter(is_known).find(|metric| metric.metric == **path);
    let shown: Vec<&ComparedMetric> = KEY_NUMBERS.iter().filter_map(|paths| paths.iter().find_map(named)).collect();
    if !shown.is_empty() {
        text.push('\n');
        push_numbers(text, comparison, names, &shown);
    }
}

/// Appends all numbers in folds.
fn push_metrics(text: &mut String, comparison: &Comparison, names: &[String]) {
    for (title, metrics) in [
        ("All scored numbers", &comparison.metrics),
        ("Numbers of one platform, not scored", &comparison.platform_metrics),
    ] {
        let shown: Vec<&ComparedMetric> = metrics.iter().filter(is_known).collect();
        if !shown.is_empty() {
            let mut table = String::new();
            push_numbers(&mut table, comparison, names, &shown);
            push_folded(text, title, &table);
        }
    }
}

fn push_numbers(text: &mut String, comparison: &Comparison, names: &[String], shown: &[&ComparedMetric]) {
    let mut titles = vec!["Number"];
    let baseline = names.get(comparison.baseline as usize).map(|name| format!("{name} (baseline)")).unwrap_or_default();
    for (index, name) in names.iter().enumerate() {
        titles.push(if index == comparison.baseline as usize { &baseline } else { name });
    }
    let right: Vec<bool> = (0..titles.len()).map(|column| column > 0 && column <= names.len()).collect();
    push_head(text, &titles, &right);
    for metric in shown {
        let mut row = vec![escape(&metric.title)];
        for (index, mut cell) in words::values(&metric.values, &metric.unit).into_iter().enumerate() {
            let run = u32::try_from(index).unwrap_or(u32::MAX);
            if let Some((judgement, said)) = words::verdict(metric, run).filter(|_| run != comparison.baseline) {
                cell.push_str(&format!(", {} {said}", judgement.symbol()));
            }
            row.push(if metric.winner == Some(run) { format!("**{cell}**") } else { cell });
        }
        push_row(text, &row);
    }
}

/// Appends the causes of a run's difference that are not in the summary.
fn push_causes(text: &mut String, comparison: &Comparison, run: u32) {
    let is_said = |cause: &&Cause| is_told(comparison, cause);
    let mut left = comparison.causes.iter().filter(|cause| cause.run == run && !is_said(cause)).take(CAUSES).peekable();
    if left.peek().is_none() {
        return;
    }
    let of = if others(comparison).count() > 1 {
        format!(" of {}", escape(name_of(comparison, run)))
    } else {
        String::new()
    };
    text.push_str(&format!("\nFurther causes of the difference{of}:\n\n"));
    left.for_each(|cause| text.push_str(&format!("1. {}\n", escape(&cause.text))));
}

fn push_waterfall(text: &mut String, comparison: &Comparison, run: u32) {
    let mut parts =
        comparison.waterfall.iter().filter(|part| part.run == run && part.delta_us_per_step != 0.0).peekable();
    if parts.peek().is_none() {
        return;
    }
    let (name, baseline) = (escape(name_of(comparison, run)), escape(name_of(comparison, comparison.baseline)));
    let columns = if comparison.is_of_other_work(run) { 3 } else { 4 };
    let titles = ["Part", &baseline, &name, "Difference"];
    let mut table = String::new();
    push_head(&mut table, titles.get(..columns).unwrap_or_default(), &[false, true, true, true]);
    let sums = words::sums_of_parts(comparison, run);
    let [whole, _] = sums;
    let mut sum = 0.0;
    for part in parts {
        sum += part.delta_us_per_step;
        let delta = format!(
            "{} {}",
            Judgement::of_part(part.delta_us_per_step, whole).symbol(),
            words::delta_us(part.delta_us_per_step)
        );
        let times = [format::time_us(part.baseline_us), format::time_us(part.run_us)];
        let row = [vec![escape(&part.title)], times.to_vec(), vec![delta]].concat();
        push_row(&mut table, row.get(..columns).unwrap_or_default());
    }
    if columns == 4 {
        let sum = format!("**{}**", words::delta_us(sum));
        let [before, after] = sums.map(|us| format!("**{}**", format::time_us(us)));
        push_row(&mut table, &["**Sum**".to_owned(), before, after, sum]);
    }
    if let Some(sentence) = words::without_partner(comparison, run) {
        table.push_str(&format!("\n{}\n", escape(&sentence)));
    }
    push_folded(text, &words::parts_title(comparison, run, &name, &baseline), &table);
}

fn push_changes(text: &mut String, comparison: &Comparison, run: u32, what: &str, changes: &[Change]) {
    let of_run = || changes.iter().filter(|change| change.run == run && change.delta_us_per_step != 0.0);
    let count = of_run().count();
    if count == 0 {
        return;
    }
    let name = escape(name_of(comparison, run));
    let basis = words::time_basis(comparison);
    let title = format!("{what} of {name} that differ most ({} of {count}), {basis}", count.min(OPS));
    let mut table = String::new();
    push_head(
        &mut table,
        &["Difference", "", "Name", "Class", "Before", "After", "Matched by"],
        &[true, false, false, false, true, true],
    );
    for change in of_run().take(OPS) {
        let delta = change.delta_us_per_step;
        push_row(
            &mut table,
            &[
                format!("{} {}", Judgement::of_change(change).symbol(), words::delta_us(delta)),
                escape(&words::change(change)),
                escape(&format::shorten(&change.title(), 80)),
                escape(&words::class(&change.family)),
                format::time_us(change.time_us[1]),
                format::time_us(change.time_us[0]),
                escape(words::matched_by(change.matched_by)),
            ],
        );
    }
    push_folded(text, &title, &table);
}

fn push_scaling(text: &mut String, comparison: &Comparison) {
    let Some(scaling) = &comparison.scaling else { return };
    text.push_str(&format!("\n### Scaling ({})\n\n", escape(scaling.mode.label())));
    push_head(text, &["Devices", "Step time", "Speed-up", "Ideal", "Efficiency"], &[true; 5]);
    for point in &scaling.points {
        push_row(
            text,
            &[
                format::count(point.devices),
                format::time_us(point.step_time_us),
                words::times(point.speedup),
                words::times(point.ideal_speedup),
                format::percent(point.efficiency_percent),
            ],
        );
    }
    if let Some(serial) = scaled::serial(scaling) {
        text.push_str(&format!("\nSerial part of the work (Amdahl): {serial}.\n"));
    }
    if !scaling.excess_ops.is_empty() {
        text.push_str(&format!("\n{}:\n\n", scaled::EXCESS_TITLE));
        push_head(text, &scaled::EXCESS_COLUMNS, &[false, false, true, true, true, true]);
        for op in scaling.excess_ops.iter().take(OPS) {
            push_row(text, &scaled::excess_cells(op).map(|cell| escape(&cell)));
        }
    }
    if !scaling.forecast.is_empty() {
        text.push_str(&format!("\n{}:\n\n", scaled::FORECAST_TITLE));
        push_head(text, &scaled::FORECAST_COLUMNS, &[true; 5]);
        for size in &scaling.forecast {
            push_row(text, &scaled::forecast_cells(size).map(|cell| escape(&cell)));
        }
        text.push_str(&format!("\n{}\n", escape(scaling.forecast_assumption.as_deref().unwrap_or_default())));
    }
}

fn push_trend(text: &mut String, comparison: &Comparison) {
    let Some(trend) = &comparison.trend else { return };
    text.push_str("\n### Over time\n\n");
    push_head(text, &["Run", "Step time", "Device busy", ""], &[false, true, true]);
    for point in &trend.points {
        let change = trend.change_points.iter().find(|change| change.run == point.run).map(|change| &change.text);
        let apart = trend.outliers.iter().find(|outlier| outlier.run == point.run).map(|outlier| &outlier.text);
        push_row(
            text,
            &[
                escape(&point.label),
                format::optional_time_us(point.step_time_us),
                format::optional_percent(point.compute_util_percent),
                change.or(apart).map(|text| escape(text)).unwrap_or_default(),
            ],
        );
    }
    if let Some(drift) = &trend.drift {
        text.push_str(&format!("\n{}\n", escape(&drift.text)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::comparison::example;

    #[test]
    fn it_has_the_answer_and_no_markup_of_a_trace() {
        let text = markdown(&example::comparison());
        assert!(text.starts_with("## main and new\n\nnew is twice as fast"), "{text}");
        assert!(text.contains("| Step time | 100 ms | **50.0 ms, ▲ 2.00x faster** |"), "{text}");
        assert!(text.contains("without a partner: 100 µs of new and none of main."), "{text}");
        assert!(text.contains("&lt;img onerror=x>") && !text.contains("<img"), "{text}");
        let opened = text.matches("<details>\n<summary>").count();
        assert!(opened > 4 && text.matches("</details>").count() == opened, "{text}");
        for row in text.lines().filter(|line| line.starts_with('|')) {
            assert!(row.ends_with(" |"), "{row}");
        }
    }
}
