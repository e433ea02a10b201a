//! Runs over time: the step times in order, with their changes, drift and outliers.

use super::{Block, Grid, GridCell, name_of, note, scaling, section};
use base::format;
use base::number::decimal;
use compare::{Comparison, ComparisonKind, OrderedBy, Progress, ProgressInterval, Trend, TrendPoint};
use document::{Line, LineKind, Place, Scatter, Section};

/// Maximum number of runs that are listed. The JSON contains all runs.
const MOST_ROWS: usize = 500;

/// Returns the sections of a comparison over time.
pub(super) fn sections(comparison: &Comparison) -> Vec<Section> {
    let progress = comparison.progress.as_ref().map(|progress| {
        let title = format!("Goodput between the captures, over {}", format::time_us(progress.wall_us));
        section(
            "progress",
            &title,
            Place::Front,
            vec![note(&[sentence(progress)]), Block::Grid(intervals(progress, comparison))],
        )
    });
    let Some(trend) = &comparison.trend else { return progress.into_iter().collect() };
    let mut blocks = vec![Block::Scatter(chart(trend, comparison))];
    // The answer section of a trend already contains these sentences.
    if comparison.kind != ComparisonKind::Trend {
        let texts = trend.change_points.iter().map(|change| &change.text);
        let texts = texts.chain(trend.drift.iter().map(|drift| &drift.text));
        let texts: Vec<String> = texts.chain(trend.outliers.iter().map(|outlier| &outlier.text)).cloned().collect();
        if !texts.is_empty() {
            blocks.insert(0, note(&texts));
        }
    }
    let title = format!("Over time, by {}", trend.ordered_by.label().replace('_', " "));
    let trends = [
        section("trend", &title, Place::Front, blocks),
        section(
            "trend-runs",
            "Step time of each run, in order",
            Place::Detail,
            vec![Block::Grid(runs(trend, comparison))],
        ),
    ];
    progress.into_iter().chain(trends).collect()
}

/// Describes the productive and lost time between the captures.
fn sentence(progress: &Progress) -> String {
    let restarts = progress.intervals.iter().filter(|it| it.restarts).count() as u64;
    format!(
        "The steps between the captures take {} of the time ({}). The remaining {} device hours{} are lost to \
            restarts{}, checkpoints, \
         evaluation, compilation and slow steps.",
        format::percent(progress.goodput_percent),
        format::time_us(progress.productive_us),
        format::number(progress.lost_device_hours),
        progress.lost_dollars.map_or_else(String::new, |it| format!(" ({} dollars)", format::number(it))),
        if restarts > 0 { format!(" ({} with repeated steps)", format::count(restarts)) } else { String::new() },
    )
}

fn intervals(progress: &Progress, comparison: &Comparison) -> Grid {
    let row = |it: &ProgressInterval| {
        vec![
            GridCell::text(name_of(comparison, it.from)),
            GridCell::text(name_of(comparison, it.to)),
            GridCell::text(&format!("{} to {}", it.from_step, it.to_step)),
            GridCell::text(&format::time_us(it.wall_us)),
            GridCell::text(&format::time_us(it.productive_us)),
            GridCell::text(if it.restarts { "restart" } else { "" }),
        ]
    };
    let columns = super::headings(&["From", "To", "Training steps", "Time", "Productive", "Event"]);
    Grid { title: String::new(), columns, rows: progress.intervals.iter().take(MOST_ROWS).map(row).collect() }
}

/// Draws the step times in order, each with the confidence interval of its mean. Also draws the changes between levels.
fn chart(trend: &Trend, comparison: &Comparison) -> Scatter {
    let by_step = trend.ordered_by == OrderedBy::TrainingStep;
    let place = |at: usize, label: &str| decimal(label).filter(|_| by_step).unwrap_or(at as f64 + 1.0);
    let measured = || {
        trend.points.iter().enumerate().filter_map(|(at, it)| Some((place(at, &it.label), it, it.step_time_us? / 1e3)))
    };
    let points = measured().map(|(at, it, time_ms)| {
        let margin = it.margin_us.map(|margin| format!("± {} (95 %)", format::time_us(margin)));
        let notes = [Some(it.label.clone()), Some(format::time_us(time_ms * 1e3)), margin];
        scaling::point(name_of(comparison, it.run), at, time_ms, notes.into_iter().flatten().collect())
    });
    let mut lines = vec![Line {
        label: "step time".to_owned(),
        kind: LineKind::Measured,
        points: measured().map(|(at, _, time_ms)| (at, time_ms)).collect(),
    }];
    lines.extend(measured().filter_map(|(at, it, time_ms)| {
        let margin_ms = it.margin_us? / 1e3;
        let points = vec![(at, time_ms - margin_ms), (at, time_ms + margin_ms)];
        Some(Line { label: String::new(), kind: LineKind::Interval, points })
    }));
    lines.extend(drift_line(trend, &measured().map(|(at, ..)| at).collect::<Vec<_>>()));
    let is_change = |run: u32| trend.change_points.iter().find(|change| change.run == run);
    for (at, change) in measured().filter_map(|(at, it, _)| Some((at, is_change(it.run)?))) {
        let top = change.before_us.max(change.after_us) / 1e3;
        let [before_us, after_us] = change.medians_us;
        let percent = 100.0 * (after_us / before_us - 1.0);
        let place = if by_step { format!("{at:.0}") } else { format!("run {at:.0}") };
        lines.push(Line {
            label: format!("{place}: {percent:+.1} %"),
            kind: LineKind::Mark,
            points: vec![(at, 0.0), (at, top)],
        });
    }
    Scatter {
        title: "Step time of the runs".to_owned(),
        x_label: if by_step { "training step" } else { "run" }.to_owned(),
        y_label: "ms per step, with the 95 % interval of each mean".to_owned(),
        logarithmic: false,
        points: points.collect(),
        lines,
    }
}

/// Returns the line of a drift from the first position to the last.
fn drift_line(trend: &Trend, places: &[f64]) -> Option<Line> {
    let drift = trend.drift.as_ref()?;
    let points = vec![(*places.first()?, drift.first_us / 1e3), (*places.last()?, drift.last_us / 1e3)];
    Some(Line { label: format!("drift: {:+.2} % per run", drift.percent_per_run), kind: LineKind::Model, points })
}

fn runs(trend: &Trend, comparison: &Comparison) -> Grid {
    let row = |point: &TrendPoint| {
        let margin = point.margin_us.map(|margin| format!("± {}", format::time_us(margin))).unwrap_or_default();
        let is_change = trend.change_points.iter().any(|change| change.run == point.run);
        let is_outlier = trend.outliers.iter().any(|outlier| outlier.run == point.run);
        let event = match (is_change, is_outlier) {
            (true, _) => "changes here",
            (false, true) => "outlier",
            (false, false) => "",
        };
        vec![
            GridCell::text(name_of(comparison, point.run)),
            GridCell::text(&point.label),
            GridCell { note: margin, ..GridCell::text(&format::optional_time_us(point.step_time_us)) },
            GridCell::text(&format::optional_percent(point.compute_util_percent)),
            GridCell::text(event),
        ]
    };
    let columns = super::headings(&["Run", "At", "Step time", "Device busy", "Event"]);
    Grid { title: String::new(), columns, rows: trend.points.iter().take(MOST_ROWS).map(row).collect() }
}
