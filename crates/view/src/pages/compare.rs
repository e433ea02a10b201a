//! Page of a comparison: the answer in sentences, the fairness checks, every scored number with one
//! column per run, and the parts of the difference of step times.
//!
//! Uses only a [`Comparison`] and decides nothing: it already contains the winner and the noise. A
//! word, a sign and a symbol mark better and worse; the colour only repeats them.

use super::{
    Block, CellStatus, ColourClass, Figure, Grid, GridCell, Line, Page, Point, Scatter, Status, Waterfall,
    WaterfallPart,
};
use crate::export::comparison::front::{self, status};
use crate::export::comparison::words::Judgement;
use crate::export::comparison::{scaled as scaled_cells, words};
use crate::table::{Filter, Unit};
use base::format;
use base::number::decimal;
use compare::{
    CauseKind, Change, ComparedMetric, Comparison, ComparisonKind, Direction, ExcessOp, FairnessStatus, MatchedBy,
    OrderedBy, Scaling, ScalingForecast, StepTimeChange, Trend,
};
use metrics::StepPart;

mod memory;

/// Largest number of rows in a list of ops or kernels. The downloads contain all of them.
const MOST_ROWS: usize = 60;

/// Number of waterfalls next to the answer. Those of more runs are folded.
const MOST_WATERFALLS: usize = 2;

/// Returns the page. `filter` selects ops and kernels. The answer, its parts and the fairness
/// checks fit on one screen; all details are folded below.
pub fn page(comparison: &Comparison, filter: &str) -> Page {
    let filter = Filter::parse(filter);
    let mut blocks = front::blocks(comparison);
    let mut further = Vec::new();
    // For a series, the chart is the answer.
    let mut charts: Vec<Block> = Vec::new();
    charts.extend(comparison.scaling.iter().map(|scaling| Block::Scatter(speed_up(scaling, comparison))));
    if let Some(trend) = &comparison.trend {
        charts.push(Block::Scatter(over_time(trend, comparison)));
        // If the comparison is a trend, the summary already contains these sentences.
        let is_in_summary = comparison.kind == ComparisonKind::Trend;
        let changes = trend.change_points.iter().map(|change| &change.text);
        let texts = changes.chain(trend.drift.iter().map(|drift| &drift.text));
        let texts = texts.chain(trend.outliers.iter().map(|outlier| &outlier.text)).filter(|_| !is_in_summary);
        further.extend(texts.cloned());
    }
    if !further.is_empty() {
        blocks.push(Block::Note { text: further.join("\n") });
    }
    if !comparison.step_time.is_empty() {
        blocks.insert(1, Block::Figures { figures: figures(comparison) });
    }
    let is_series = !charts.is_empty();
    blocks.extend(charts);
    let mut by_part = Vec::new();
    for change in &comparison.step_time {
        if change.is_of_other_work() {
            let beside = parts(comparison, change.run);
            by_part.extend((!beside.rows.is_empty()).then_some(Block::Grid(beside)));
        } else {
            by_part.extend(waterfall(comparison, change));
        }
    }
    let folded = by_part.split_off(if is_series { 0 } else { MOST_WATERFALLS.min(by_part.len()) });
    blocks.extend(by_part);
    let fairness = vec![Block::Grid(fairness(comparison))];
    if comparison.is_of_memory_alone() {
        // Files about memory alone have no steps whose conditions could differ.
        blocks.extend(memory::blocks(comparison));
    } else {
        blocks.extend(fold(&fairness_title(comparison), fairness));
    }
    blocks.extend(fold("Each run by its parts", folded));
    let scored = metrics("Scored metrics", &comparison.metrics, comparison);
    if !scored.rows.is_empty() {
        let legend = Block::Note { text: words::LEGEND.to_owned() };
        blocks.extend(fold("Scored metrics", vec![legend, Block::Grid(scored)]));
    }
    let lists = [
        comparison.scaling.as_ref().map(|scaling| scaled(scaling, comparison)),
        comparison.scaling.as_ref().map(excess_ops),
        comparison.scaling.as_ref().map(forecast),
        (comparison.causes.len() > comparison.answer.causes.len()).then(|| causes(comparison)),
        Some(changes(
            words::of_steps(comparison, "Time by class of op, per step and device", "Time by class of op, per device"),
            &comparison.categories,
            comparison,
            None,
        )),
        Some(changes("Ops, largest difference first", &comparison.ops, comparison, Some(&filter))),
        Some(changes("Kernels, largest difference first", &comparison.kernels, comparison, Some(&filter))),
        Some(collectives(comparison)),
        memory::figures(comparison).filter(|_| !comparison.is_of_memory_alone()),
        memory::changes(comparison).filter(|_| !comparison.is_of_memory_alone()),
        Some(metrics("Numbers of one platform, not scored", &comparison.platform_metrics, comparison)),
        Some(matching(comparison)),
    ];
    let lists = lists.into_iter().flatten().filter(|grid| !grid.rows.is_empty());
    blocks.extend(lists.flat_map(|grid| fold(&grid.title.clone(), vec![Block::Grid(grid)])));
    Page { blocks }
}

/// Folds details under their title. Returns `None` without details.
#[inline(never)]
fn fold(title: &str, blocks: Vec<Block>) -> Option<Block> {
    (!blocks.is_empty()).then(|| Block::Fold { title: title.to_owned(), blocks })
}

/// Returns the number of equal and unknown conditions, and the names of those that differ.
fn fairness_title(comparison: &Comparison) -> String {
    let of = |status: FairnessStatus| comparison.fairness.iter().filter(move |check| check.status == status);
    let differs: Vec<String> = of(FairnessStatus::Differs).map(|check| check.title.to_lowercase()).collect();
    let names = if differs.is_empty() { String::new() } else { format!(" ({})", differs.join(", ")) };
    format!(
        "Fairness: {} of {} conditions are equal, {} differ{names}, {} are unknown",
        of(FairnessStatus::Same).count(),
        comparison.fairness.len(),
        differs.len(),
        of(FairnessStatus::Unknown).count()
    )
}

fn name(comparison: &Comparison, run: u32) -> String {
    comparison.runs.get(run as usize).map_or_else(String::new, |run| run.name.clone())
}

/// Returns the names of all runs as headings, with the baseline marked.
fn run_columns(comparison: &Comparison) -> impl Iterator<Item = String> {
    comparison.runs.iter().enumerate().map(|(index, run)| {
        if index == comparison.baseline as usize { format!("◆ {} (baseline)", run.name) } else { run.name.clone() }
    })
}

/// Returns the cell of a time against the baseline's. Less is better.
fn delta_cell(delta_us: f64, largest_us: f64) -> GridCell {
    judged_cell(Judgement::of_time(delta_us), delta_us, largest_us)
}

fn judged_cell(judgement: Judgement, delta_us: f64, largest_us: f64) -> GridCell {
    GridCell {
        text: format!("{} {}", judgement.symbol(), words::delta_us(delta_us)),
        status: status(judgement),
        bar: (largest_us > 0.0).then(|| (delta_us.abs() / largest_us).min(1.0)),
        ..GridCell::default()
    }
}

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.map(f64::abs).filter(|value| value.is_finite()).fold(0.0, f64::max)
}

/// Returns the step time of every run, with the difference from the baseline and its interval.
fn figures(comparison: &Comparison) -> Vec<Figure> {
    let figure = |label: String, value: Option<f64>, note: String, status: Option<Status>| Figure {
        label,
        value,
        unit: Unit::TimeUs,
        note,
        status,
        definition: words::TYPICAL_STEP.to_owned(),
        ..Figure::default()
    };
    let base = comparison.step_time.first().and_then(|change| change.baseline_typical_us);
    let first = figure(name(comparison, comparison.baseline), base, "typical step, the baseline".to_owned(), None);
    let other = |change: &StepTimeChange| {
        let (judgement, said) = words::step_time(change);
        let status = match judgement {
            Judgement::Better => Some(Status::Good),
            Judgement::Worse => Some(Status::Bad),
            Judgement::Same | Judgement::Noise | Judgement::Unknown => None,
        };
        figure(name(comparison, change.run), change.typical_us, format!("{} {said}", judgement.symbol()), status)
    };
    std::iter::once(first).chain(comparison.step_time.iter().map(other)).collect()
}

/// Returns a table with one row per metric and one column per run.
#[inline(never)]
fn metrics(title: &str, metrics: &[ComparedMetric], comparison: &Comparison) -> Grid {
    let mut columns = vec!["Metric".to_owned()];
    columns.extend(run_columns(comparison));
    let row = |metric: &ComparedMetric| {
        let direction = match metric.direction {
            Direction::Higher => "higher is better",
            Direction::Lower => "lower is better",
            Direction::Neither => "",
        };
        let mut row = vec![GridCell { note: direction.to_owned(), ..GridCell::text(&metric.title) }];
        let most = largest(metric.values.iter().flatten().copied());
        for (run, number) in metric.values.iter().enumerate() {
            let (said, status) = judged(metric, run as u32);
            let parts: Vec<String> = [Some(said), words::spread(metric, run)].into_iter().flatten().collect();
            let note = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
            row.push(GridCell {
                text: words::value_of_run(metric, run),
                note,
                status,
                bar: number.filter(|_| most > 0.0).map(|number| (number.abs() / most).min(1.0)),
                ..GridCell::default()
            });
        }
        row
    };
    Grid { title: title.to_owned(), columns, rows: metrics.iter().map(row).collect() }
}

/// Describes a run's number against the baseline's in words with a symbol, and whether it is
/// better.
fn judged(metric: &ComparedMetric, run: u32) -> (String, Option<CellStatus>) {
    let crown = if metric.winner == Some(run) { "★ best" } else { "" };
    let Some((judgement, said)) = words::verdict(metric, run) else {
        return (crown.to_owned(), (!crown.is_empty()).then_some(CellStatus::Better));
    };
    (format!("{} {said} {crown}", judgement.symbol()).trim_end().to_owned(), status(judgement))
}

fn fairness(comparison: &Comparison) -> Grid {
    let mut columns = vec!["Condition".to_owned(), "Status".to_owned()];
    columns.extend(run_columns(comparison));
    let rows = comparison.fairness.iter().map(|check| {
        let status = match check.status {
            FairnessStatus::Same => CellStatus::Same,
            FairnessStatus::Differs => CellStatus::Warning,
            FairnessStatus::Unknown => CellStatus::Unknown,
        };
        let mut row = vec![
            GridCell { note: check.note.clone(), ..GridCell::text(&check.title) },
            GridCell { status: Some(status), ..GridCell::text(words::fairness(check.status)) },
        ];
        row.extend(check.values.iter().map(|value| GridCell::text(value.as_deref().unwrap_or(format::DASH))));
        row
    });
    Grid { title: "Fairness".to_owned(), rows: rows.collect(), columns }
}

/// Returns the waterfall from the baseline's step to a run's. Returns `None` without parts.
fn waterfall(comparison: &Comparison, change: &StepTimeChange) -> Option<Block> {
    let parts: Vec<WaterfallPart> = comparison
        .waterfall
        .iter()
        .filter(|part| part.run == change.run && part.delta_us_per_step != 0.0)
        .map(|part| WaterfallPart {
            label: part.title.clone(),
            delta: part.delta_us_per_step,
            class: ColourClass::of_label(&part.class),
        })
        .collect();
    let of_run = || comparison.waterfall.iter().filter(|part| part.run == change.run);
    let (start, end) = (of_run().map(|part| part.baseline_us).sum(), of_run().map(|part| part.run_us).sum());
    let time = words::time_of_parts(comparison, change.run);
    let (from, to) = (name(comparison, comparison.baseline), name(comparison, change.run));
    (!parts.is_empty()).then(|| {
        Block::Waterfall(Waterfall {
            title: format!("{time}, from {from} to {to}"),
            unit: Unit::TimeUs,
            start: (from, start),
            parts,
            end: (to, end),
        })
    })
}

/// Lists the parts of a run that does different work next to those of the baseline.
fn parts(comparison: &Comparison, run: u32) -> Grid {
    let [ours, baseline] = [run, comparison.baseline].map(|run| name(comparison, run));
    let rows = comparison.waterfall.iter().filter(|part| part.run == run).map(|part| {
        let times = [part.baseline_us, part.run_us].map(|us| GridCell::text(&format::time_us(us)));
        [GridCell::text(&part.title)].into_iter().chain(times).collect()
    });
    Grid {
        title: words::parts_title(comparison, run, &ours, &baseline),
        rows: rows.collect(),
        columns: words_of(&["Part", &baseline, &ours]),
    }
}

fn causes(comparison: &Comparison) -> Grid {
    let most = largest(comparison.causes.iter().map(|cause| cause.delta_us_per_step));
    let rows = comparison.causes.iter().take(MOST_ROWS).map(|cause| {
        let share = cause.percent_of_difference.map_or_else(String::new, |share| match share < 0.0 {
            true => "works against the difference".to_owned(),
            false => format!("{} of the difference between the typical steps", format::percent(share)),
        });
        vec![
            GridCell::text(&name(comparison, cause.run)),
            match cause.kind {
                CauseKind::Condition => GridCell::text(format::DASH),
                _ => GridCell { note: share, ..delta_cell(cause.delta_us_per_step, most) },
            },
            GridCell::text(&cause.text),
        ]
    });
    Grid {
        title: "Causes, largest first".to_owned(),
        columns: words_of(&["Run", words::of_steps(comparison, "Per step", "Difference"), "What"]),
        rows: rows.collect(),
    }
}

fn words_of(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Lists ops, kernels or classes against the baseline's.
fn changes(title: &str, changes: &[Change], comparison: &Comparison, filter: Option<&Filter>) -> Grid {
    let most = largest(changes.iter().map(|change| change.delta_us_per_step));
    let passes = |change: &&Change| {
        let path = change.framework_op.as_deref().unwrap_or("");
        filter.is_none_or(|filter| filter.passes_texts(&[&change.name, &change.family, path, change.change.label()]))
    };
    let is_class = filter.is_none();
    let per_step = words::of_steps(comparison, " per step", "");
    let row = |change: &Change| {
        let [ours, theirs] = change.time_us;
        let how = match (&change.baseline_name, change.matched_by) {
            // A class is identified by its name.
            (None, MatchedBy::Class) | (_, MatchedBy::None) => String::new(),
            (Some(other), how) => format!("was {other}, matched by {}", words::matched_by(how)),
            (None, how) => format!("matched by {}", words::matched_by(how)),
        };
        let [runs, before] = change.per_step.map(words::per_step);
        let often = if runs == before { format!("{runs}{per_step}") } else { format!("{before} → {runs}{per_step}") };
        vec![
            GridCell {
                note: how,
                ..GridCell::text(&if is_class { words::class(&change.name) } else { change.title() })
            },
            GridCell::text(&name(comparison, change.run)),
            GridCell { note: often, ..GridCell::text(&words::change(change)) },
            GridCell::text(&format::time_us(theirs)),
            GridCell::text(&format::time_us(ours)),
            judged_cell(Judgement::of_change(change), change.delta_us_per_step, most),
        ]
    };
    let columns = words_of(&[
        "Name",
        "Run",
        "Change",
        "Baseline",
        "Run's",
        words::of_steps(comparison, "Per step", "Difference"),
    ]);
    Grid { title: title.to_owned(), columns, rows: changes.iter().filter(passes).take(MOST_ROWS).map(row).collect() }
}

fn collectives(comparison: &Comparison) -> Grid {
    let mut columns = vec!["Collective".to_owned()];
    columns.extend(run_columns(comparison));
    let rows = comparison.collectives.iter().map(|change| {
        let mut row = vec![GridCell::text(&change.kind)];
        let most = largest(change.total_time_us.iter().copied());
        let times = change.total_time_us.iter().zip(&change.exposed_time_us);
        row.extend(change.counts.iter().zip(times).map(|(count, (total, exposed))| GridCell {
            text: format!("{} times, {}", format::count(*count), format::time_us(*total)),
            note: format!("{} exposed", format::time_us(*exposed)),
            bar: (most > 0.0).then(|| (total / most).min(1.0)),
            ..GridCell::default()
        }));
        row
    });
    Grid { title: "Collectives, in each run's window".to_owned(), rows: rows.collect(), columns }
}

fn matching(comparison: &Comparison) -> Grid {
    let rows = comparison.matching.iter().map(|matching| {
        let how = |it: &compare::MatchedTime| {
            format!("{} by {}", format::time_us(it.time_us), it.matched_by.label().replace('_', " "))
        };
        let pair = |[ours, theirs]: [f64; 2]| format!("{} / {}", format::time_us(ours), format::time_us(theirs));
        vec![
            GridCell::text(&name(comparison, matching.run)),
            GridCell::text(&matching.matched_us.iter().map(how).collect::<Vec<_>>().join(", ")),
            GridCell::text(&pair(matching.unmatched_us)),
            GridCell::text(&pair(matching.unlisted_us)),
        ]
    });
    let columns =
        words_of(&["Run", "Matched", "Without a partner, run's / baseline's", "Not listed, run's / baseline's"]);
    Grid {
        title: words::of_steps(
            comparison,
            "How well ops could be matched, time per step",
            "How well ops could be matched",
        )
        .to_owned(),
        columns,
        rows: rows.collect(),
    }
}

fn point(label: String, x: f64, y: f64, notes: Vec<String>) -> Point {
    Point { label, x, y, size: 0.2, extent: None, class: StepPart::Compute.into(), notes, link: None }
}

/// Draws the speed-up by number of devices, with the ideal and the limit from the fitted serial
/// share.
fn speed_up(scaling: &Scaling, comparison: &Comparison) -> Scatter {
    let points = scaling.points.iter().map(|it| {
        let lost = |what: &str, percent: Option<f64>| percent.map(|it| format!("{what}: {}", format::percent(it)));
        let notes = [
            Some(format!("{:.2}x on {} devices", it.speedup, it.devices)),
            lost("efficiency", Some(it.efficiency_percent)),
            lost("exposed communication", it.exposed_communication_percent),
            lost("idle", it.idle_percent),
            lost("imbalance", it.imbalance_percent),
        ];
        point(name(comparison, it.run), it.devices as f64, it.speedup, notes.into_iter().flatten().collect())
    });
    // If several programs scale separately, the lines belong to the first.
    let first = scaling.points.first().and_then(|it| it.series.clone());
    let of_first = || scaling.points.iter().filter(|it| it.series == first);
    let ideal = of_first().map(|it| (it.devices as f64, it.ideal_speedup)).collect();
    let amdahl: Vec<_> = of_first().filter_map(|it| Some((it.devices as f64, it.amdahl_speedup?))).collect();
    let measured = of_first().map(|it| (it.devices as f64, it.speedup)).collect();
    let mut lines = vec![
        Line { label: "ideal".to_owned(), points: ideal },
        Line { label: "measured".to_owned(), points: measured },
    ];
    if amdahl.len() > 1 {
        lines.push(Line { label: "Amdahl".to_owned(), points: amdahl });
    }
    Scatter {
        title: format!(
            "Speed-up over devices ({} scaling, {})",
            scaling.mode.label(),
            scaling.mode_source.label().replace('_', " ")
        ),
        x_label: "devices".to_owned(),
        y_label: "speed-up".to_owned(),
        // With logarithmic axes, ideal scaling is a straight line and each doubling has the same width.
        logarithmic: true,
        points: points.collect(),
        lines,
    }
}

/// Returns the scaling as a table, with the causes of lost efficiency.
fn scaled(scaling: &Scaling, comparison: &Comparison) -> Grid {
    let columns = [
        "Run",
        "Devices",
        "Step time",
        "Speed-up",
        "Ideal",
        "Efficiency",
        "Lost to communication",
        "To idle",
        "To the rest",
        "Imbalance",
    ];
    let percent = |value: Option<f64>| GridCell::text(&words::value(value, "percent"));
    let rows = scaling.points.iter().map(|it| {
        vec![
            GridCell::text(&name(comparison, it.run)),
            GridCell::text(&format::count(it.devices)),
            GridCell::text(&format::time_us(it.step_time_us)),
            GridCell::text(&words::times(it.speedup)),
            GridCell::text(&words::times(it.ideal_speedup)),
            GridCell {
                bar: Some((it.efficiency_percent / 100.0).clamp(0.0, 1.0)),
                ..percent(Some(it.efficiency_percent))
            },
            percent(it.lost_to_communication_percent),
            percent(it.lost_to_idle_percent),
            percent(it.lost_to_rest_percent),
            percent(it.imbalance_percent),
        ]
    });
    Grid {
        title: "Scaling, and what efficiency is lost to".to_owned(),
        rows: rows.collect(),
        columns: words_of(&columns),
    }
}

/// Lists the time of each op beyond its ideal share of the reference's.
fn excess_ops(scaling: &Scaling) -> Grid {
    let most = largest(scaling.excess_ops.iter().map(|op| op.excess_us));
    let row = |op: &ExcessOp| {
        let mut cells = scaled_cells::excess_cells(op).map(|cell| GridCell::text(&cell)).to_vec();
        if let Some(last) = cells.last_mut() {
            last.bar = Some((op.excess_us / most).clamp(0.0, 1.0));
        }
        cells
    };
    Grid {
        title: scaled_cells::EXCESS_TITLE.to_owned(),
        columns: words_of(&scaled_cells::EXCESS_COLUMNS),
        rows: scaling.excess_ops.iter().map(row).collect(),
    }
}

/// Returns the predicted step time for more devices than were measured.
fn forecast(scaling: &Scaling) -> Grid {
    let row = |size: &ScalingForecast| scaled_cells::forecast_cells(size).map(|cell| GridCell::text(&cell)).to_vec();
    let assumption = scaling.forecast_assumption.as_deref().unwrap_or_default();
    Grid {
        title: format!("{}. {assumption}", scaled_cells::FORECAST_TITLE),
        columns: words_of(&scaled_cells::FORECAST_COLUMNS),
        rows: scaling.forecast.iter().map(row).collect(),
    }
}

/// Draws step times in order, each with the confidence interval of its mean, and the levels between
/// changes.
fn over_time(trend: &Trend, comparison: &Comparison) -> Scatter {
    let by_step = trend.ordered_by == OrderedBy::TrainingStep;
    let place = |at: usize, label: &str| decimal(label).filter(|_| by_step).unwrap_or(at as f64 + 1.0);
    let measured = || {
        trend.points.iter().enumerate().filter_map(|(at, it)| Some((place(at, &it.label), it, it.step_time_us? / 1e3)))
    };
    let points = measured().map(|(at, it, time_ms)| {
        let margin = it.margin_us.map(|margin| format!("± {} (95 %)", format::time_us(margin)));
        let notes = [Some(it.label.clone()), Some(format::time_us(time_ms * 1e3)), margin];
        point(name(comparison, it.run), at, time_ms, notes.into_iter().flatten().collect())
    });
    let mut lines = vec![Line {
        label: "step time".to_owned(),
        points: measured().map(|(at, _, time_ms)| (at, time_ms)).collect(),
    }];
    lines.extend(measured().filter_map(|(at, it, time_ms)| {
        let margin_ms = it.margin_us? / 1e3;
        Some(Line { label: String::new(), points: vec![(at, time_ms - margin_ms), (at, time_ms + margin_ms)] })
    }));
    lines.extend(drift_line(trend, &measured().map(|(at, ..)| at).collect::<Vec<_>>()));
    let is_change = |run: u32| trend.change_points.iter().find(|change| change.run == run);
    for (at, change) in measured().filter_map(|(at, it, _)| Some((at, is_change(it.run)?))) {
        let top = change.before_us.max(change.after_us) / 1e3;
        let [before_us, after_us] = change.medians_us;
        let percent = 100.0 * (after_us / before_us - 1.0);
        let place = if by_step { format!("{at:.0}") } else { format!("run {at:.0}") };
        lines.push(Line { label: format!("{place}: {percent:+.1} %"), points: vec![(at, 0.0), (at, top)] });
    }
    Scatter {
        title: format!("Step time of runs, ordered by {}", trend.ordered_by.label().replace('_', " ")),
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
    let ends = [(*places.first()?, drift.first_us / 1e3), (*places.last()?, drift.last_us / 1e3)];
    Some(Line { label: format!("drift: {:+.2} % per run", drift.percent_per_run), points: ends.to_vec() })
}

#[cfg(test)]
mod tests;
