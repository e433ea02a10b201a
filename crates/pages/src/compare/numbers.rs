//! Numbers of the runs side by side: step times with their noise, the most important numbers, and then all numbers.

use super::{
    BESIDE, Block, CellStatus, Grid, GridCell, headings, largest, name_of, note, others, run_columns, section, status,
    words,
};
use base::format;
use compare::{ComparedMetric, ComparedRun, Comparison, Direction, StepTimeChange};
use document::{Figure, Judgement, Place, Section};
use report::Level;
use table::Unit;

/// Most important numbers. From each list, the first number that a run has is shown.
const KEY_NUMBERS: [&[&str]; 8] = [
    &["step_time.typical_us"],
    &["step_timing.device_work_us"],
    &["throughput.tokens_per_sec", "throughput.samples_per_sec", "throughput.steps_per_sec"],
    &["compute_utilization.compute_util_percent"],
    &["compute_utilization.overhead_time_us"],
    &["step_breakdown.parts.communication_us"],
    &["step_timing.kernels_per_step"],
    &["roofline.mfu_percent"],
];

/// Number of metrics that are shown as columns if runs are rows.
const FEW: usize = 4;

const NOT_SCORED: &str = "These numbers mean different things on different platforms, or exist on only one platform.";

/// Returns the step time of the runs that are compared in detail, with the difference from the baseline and its interval.
pub(super) fn figures(comparison: &Comparison) -> Vec<Figure> {
    let figure = |label: &str, value: Option<f64>, note: String, level: Option<Level>| Figure {
        label: label.to_owned(),
        value,
        unit: Unit::TimeUs,
        note,
        level,
        definition: words::TYPICAL_STEP.to_owned(),
        ..Figure::default()
    };
    let base = comparison.step_time.first().and_then(|change| change.baseline_typical_us);
    let baseline = name_of(comparison, comparison.baseline);
    let first = figure(baseline, base, "typical step, the baseline".to_owned(), None);
    let other = |change: &StepTimeChange| {
        let (judgement, said) = words::step_time(change);
        let level = match judgement {
            Judgement::Better => Some(Level::Good),
            Judgement::Worse => Some(Level::Bad),
            Judgement::Same | Judgement::Noise | Judgement::Unknown => None,
        };
        let note = format!("{} {said}", judgement.symbol());
        figure(name_of(comparison, change.run), change.typical_us, note, level)
    };
    std::iter::once(first).chain(in_detail(comparison).map(other)).collect()
}

fn in_detail(comparison: &Comparison) -> impl Iterator<Item = &StepTimeChange> {
    let detailed = comparison.detailed();
    comparison.step_time.iter().filter(move |change| detailed.contains(&change.run))
}

/// Returns the step times with the test of their difference.
pub(super) fn step_times(comparison: &Comparison) -> Section {
    let row = |change: &StepTimeChange| {
        let (judgement, said) = words::step_time(change);
        let [ours, theirs] = change.steps.map(format::count);
        vec![
            GridCell::text(name_of(comparison, change.run)),
            GridCell::text(&format::optional_time_us(change.typical_us)),
            GridCell::text(&format::optional_time_us(change.baseline_typical_us)),
            GridCell { status: status(judgement), ..GridCell::text(&format!("{} {said}", judgement.symbol())) },
            GridCell::text(&format!("{ours} and {theirs}")),
        ]
    };
    let rows: Vec<_> = in_detail(comparison).map(row).collect();
    let mut blocks = Vec::new();
    if !rows.is_empty() {
        blocks.push(Block::Note {
            text: "The difference between the typical steps (means without the fastest and the slowest quarter) with \
                its 95 % interval. The interval comes from the variation among the captures of a run or, with one \
                capture, among its steps. If the interval contains 0, the difference is within the noise."
                .to_owned(),
        });
        let columns = headings(&["Run", "Typical step", "Baseline", "Difference", "Steps"]);
        blocks.push(Block::Grid(Grid { title: String::new(), columns, rows }));
    }
    section("step-time", "Step time and its noise", Place::Appendix, blocks)
}

/// Returns the most important numbers.
pub(super) fn key_numbers(comparison: &Comparison) -> Section {
    let known = |path: &&str| comparison.metrics.iter().filter(is_known).find(|metric| metric.metric == **path);
    let shown: Vec<&ComparedMetric> = KEY_NUMBERS.iter().filter_map(|paths| paths.iter().find_map(known)).collect();
    section("numbers", "Key numbers", Place::Front, grids(comparison, &shown))
}

/// Returns all scored numbers.
pub(super) fn scored(comparison: &Comparison) -> Section {
    let shown: Vec<&ComparedMetric> = comparison.metrics.iter().filter(is_known).collect();
    let mut blocks = grids(comparison, &shown);
    if !blocks.is_empty() {
        let has_one_capture = shown.iter().all(|metric| metric.winner.is_none() && metric.spreads.is_empty());
        let legend = match has_one_capture {
            true => format!("{} No run is marked as best, because each run has only one capture.", words::LEGEND),
            false => words::LEGEND.to_owned(),
        };
        blocks.insert(0, note(&[legend]));
    }
    section("scored", "All scored numbers", Place::Appendix, blocks)
}

/// Returns the numbers that are not scored.
pub(super) fn not_scored(comparison: &Comparison) -> Section {
    let shown: Vec<&ComparedMetric> = comparison.platform_metrics.iter().filter(is_known).collect();
    let mut blocks = grids(comparison, &shown);
    if !blocks.is_empty() {
        blocks.insert(0, note(&[NOT_SCORED.to_owned()]));
    }
    section("not-scored", "Numbers that only one platform has (not scored)", Place::Appendix, blocks)
}

fn is_known(metric: &&ComparedMetric) -> bool {
    metric.values.iter().any(Option::is_some)
}

/// Returns a table with one row per number. If there are too many runs for columns, returns tables with one row per run.
fn grids(comparison: &Comparison, metrics: &[&ComparedMetric]) -> Vec<Block> {
    match metrics {
        [] => Vec::new(),
        _ if comparison.runs.len() <= BESIDE => vec![Block::Grid(runs_as_columns(comparison, metrics))],
        _ => metrics.chunks(FEW).map(|few| Block::Grid(runs_as_rows(comparison, few))).collect(),
    }
}

fn runs_as_columns(comparison: &Comparison, metrics: &[&ComparedMetric]) -> Grid {
    let mut columns = vec!["Number".to_owned()];
    columns.extend(run_columns(comparison));
    let row = |metric: &&ComparedMetric| {
        let mut row = vec![GridCell { note: direction(metric).to_owned(), ..GridCell::text(&metric.title) }];
        row.extend((0..comparison.runs.len()).map(|run| cell(metric, run)));
        row
    };
    Grid { title: String::new(), columns, rows: metrics.iter().map(row).collect() }
}

fn runs_as_rows(comparison: &Comparison, metrics: &[&ComparedMetric]) -> Grid {
    let mut columns = vec!["Run".to_owned()];
    columns.extend(metrics.iter().map(|metric| match direction(metric) {
        "" => metric.title.clone(),
        direction => format!("{} ({direction})", metric.title),
    }));
    let row = |(at, run): (usize, &ComparedRun)| {
        let mut row = vec![GridCell::text(&run.name)];
        row.extend(metrics.iter().map(|metric| cell(metric, at)));
        row
    };
    let shown: Vec<u32> = std::iter::once(comparison.baseline).chain(others(comparison)).collect();
    let rows = comparison.runs.iter().enumerate().filter(|(at, _)| shown.iter().any(|run| *run as usize == *at));
    Grid { title: String::new(), columns, rows: rows.map(row).collect() }
}

fn direction(metric: &ComparedMetric) -> &'static str {
    match metric.direction {
        Direction::Higher => "higher is better",
        Direction::Lower => "lower is better",
        Direction::Neither => "",
    }
}

/// Returns the value of a run with the range of its captures, and the verdict and the difference against the baseline.
fn cell(metric: &ComparedMetric, run: usize) -> GridCell {
    let most = largest(metric.values.iter().flatten().copied());
    let number = metric.values.get(run).copied().flatten();
    let (said, status) = judged(metric, u32::try_from(run).unwrap_or(u32::MAX));
    let parts = [words::spread(metric, run).unwrap_or_default(), said];
    GridCell {
        text: words::value_of_run(metric, run),
        note: parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", "),
        status,
        bar: number.filter(|_| most > 0.0).map(|number| (number.abs() / most).min(1.0)),
        ..GridCell::default()
    }
}

/// Describes in words and with a symbol how a run's number compares with the baseline's number, and whether it is better.
pub(super) fn judged(metric: &ComparedMetric, run: u32) -> (String, Option<CellStatus>) {
    let best = if metric.winner == Some(run) { "★ best" } else { "" };
    let Some((judgement, said)) = words::verdict(metric, run) else {
        return (best.to_owned(), (!best.is_empty()).then_some(CellStatus::Better));
    };
    let difference = words::metric_difference(metric, run).map(|it| format!(" ({it})")).unwrap_or_default();
    (format!("{} {said}{difference} {best}", judgement.symbol()).trim_end().to_owned(), status(judgement))
}
