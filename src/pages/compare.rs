//! The page that shows runs beside each other: the answer in sentences, whether it is fair, every scored number with one
//! column a run, and what the difference of the step times consists of.
//!
//! It is made of a [`Comparison`] alone and decides nothing: who wins and what is noise stands there. Better and worse are
//! said by a word, a sign and a symbol; the colour only repeats them.

use super::{Block, Figure, Grid, GridCell, Line, Page, Point, Scatter, Waterfall, WaterfallPart};
use crate::compare::{Change, ComparedMetric, Comparison, Scaling, StepTimeChange, Trend};
use crate::format;
use crate::table::{Filter, Unit};

/// Rows of a list of ops or kernels: the downloads hold all.
const MOST_ROWS: usize = 60;

/// The page; `filter` chooses among ops and kernels.
pub fn page(comparison: &Comparison, filter: &str) -> Page {
    let filter = Filter::parse(filter);
    let mut blocks = vec![heading("In short", None)];
    blocks.extend(comparison.summary.iter().map(|text| Block::Note { text: text.clone() }));
    if !comparison.step_time.is_empty() {
        blocks.push(Block::Figures { figures: figures(comparison) });
    }
    blocks.push(Block::Grid(metrics("Scored metrics", &comparison.metrics, comparison)));
    blocks.push(Block::Grid(fairness(comparison)));
    blocks.extend(comparison.step_time.iter().filter_map(|change| waterfall(comparison, change)));
    let lists = [
        causes(comparison),
        changes("Time by class of op, a step and device", &comparison.categories, comparison, None),
        changes("Ops, largest difference first", &comparison.ops, comparison, Some(&filter)),
        changes("Kernels, largest difference first", &comparison.kernels, comparison, Some(&filter)),
        collectives(comparison),
        metrics("Numbers of one platform, not scored", &comparison.platform_metrics, comparison),
        matching(comparison),
    ];
    blocks.extend(lists.into_iter().filter(|grid| !grid.rows.is_empty()).map(Block::Grid));
    blocks.extend(comparison.scaling.iter().map(|scaling| Block::Scatter(speed_up(scaling, comparison))));
    if let Some(trend) = &comparison.trend {
        blocks.push(Block::Scatter(over_time(trend, comparison)));
        blocks.extend(trend.change_points.iter().map(|change| Block::Note { text: change.text.clone() }));
    }
    if !comparison.warnings.is_empty() {
        blocks.push(heading("What limits this comparison", None));
        blocks.extend(comparison.warnings.iter().map(|text| Block::Note { text: text.clone() }));
    }
    Page { blocks }
}

fn heading(text: &str, note: Option<&str>) -> Block {
    Block::Heading { text: text.to_owned(), note: note.map(str::to_owned) }
}

fn name(comparison: &Comparison, run: u32) -> String {
    comparison.runs.get(run as usize).map_or_else(String::new, |run| run.name.clone())
}

/// The names of all runs as headings, the baseline marked.
fn run_columns(comparison: &Comparison) -> impl Iterator<Item = String> {
    comparison.runs.iter().enumerate().map(|(index, run)| {
        if index == comparison.baseline as usize { format!("{} (baseline)", run.name) } else { run.name.clone() }
    })
}

/// A difference with its sign.
fn signed_us(delta_us: f64) -> String {
    let sign = if delta_us > 0.0 {
        "+"
    } else if delta_us < 0.0 {
        "−"
    } else {
        "±"
    };
    format!("{sign}{}", format::time_us(delta_us.abs()))
}

/// What more or less time is.
fn status_of_time(delta_us: f64) -> Option<String> {
    let status = if delta_us > 0.0 { "worse" } else { "better" };
    (delta_us != 0.0).then(|| status.to_owned())
}

/// A time beside the baseline's: the arrow is where the time goes.
fn delta_cell(delta_us: f64, largest_us: f64) -> GridCell {
    let arrow = if delta_us > 0.0 {
        " ▲"
    } else if delta_us < 0.0 {
        " ▼"
    } else {
        ""
    };
    GridCell {
        text: format!("{}{arrow}", signed_us(delta_us)),
        status: status_of_time(delta_us),
        bar: (largest_us > 0.0).then(|| (delta_us.abs() / largest_us).min(1.0)),
        ..GridCell::default()
    }
}

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.map(f64::abs).filter(|value| value.is_finite()).fold(0.0, f64::max)
}

/// The step time of every run, the others with their difference and its interval.
fn figures(comparison: &Comparison) -> Vec<Figure> {
    let figure = |label: String, value: Option<f64>, note: String, status: Option<&str>| Figure {
        label,
        value,
        unit: Unit::TimeUs,
        note,
        status: status.map(str::to_owned),
        metric: Some("step_timing.avg_step_time_us".to_owned()),
        link: None,
    };
    let base = comparison.step_time.first().and_then(|change| change.baseline_us);
    let first = figure(name(comparison, comparison.baseline), base, "step time, the baseline".to_owned(), None);
    let other = |change: &StepTimeChange| {
        let status = match change.verdict.as_str() {
            "faster" => Some("good"),
            "slower" => Some("bad"),
            _ => None,
        };
        figure(name(comparison, change.run), change.step_time_us, step_note(change), status)
    };
    std::iter::once(first).chain(comparison.step_time.iter().map(other)).collect()
}

/// The difference of a step time in words.
fn step_note(change: &StepTimeChange) -> String {
    let verdict = match change.verdict.as_str() {
        "faster" => "▼ faster",
        "slower" => "▲ slower",
        "within_noise" => "≈ within the noise",
        "equal" => "= equal",
        _ => return "its steps, or the baseline's, are unknown".to_owned(),
    };
    let delta = change.delta_us.map(signed_us).unwrap_or_default();
    let margin = match change.margin_us {
        Some(margin) => format!(" ± {} (95 %, Welch)", format::time_us(margin)),
        None => " (too few steps to tell noise)".to_owned(),
    };
    format!("{verdict}: {delta}{margin}")
}

/// A value in its unit.
fn value(value: Option<f64>, unit: &str) -> String {
    let Some(value) = value else { return format::DASH.to_owned() };
    match unit {
        "us" => format::time_us(value),
        "ms" => format::time_us(value * 1e3),
        "percent" => format::percent(value),
        "bytes" if value >= 0.0 => format::bytes(value as u64),
        "count" | "" => format::number(value),
        unit => format!("{} {unit}", format::number(value)),
    }
}

/// One row a metric, one column a run.
fn metrics(title: &str, metrics: &[ComparedMetric], comparison: &Comparison) -> Grid {
    let mut columns = vec!["Metric".to_owned()];
    columns.extend(run_columns(comparison));
    columns.push("Holds if".to_owned());
    let row = |metric: &ComparedMetric| {
        let direction = match metric.direction.as_str() {
            "higher" => "higher is better",
            "lower" => "lower is better",
            _ => "",
        };
        let mut row = vec![GridCell { note: direction.to_owned(), ..GridCell::text(&metric.title) }];
        let most = largest(metric.values.iter().flatten().copied());
        for (run, number) in metric.values.iter().enumerate() {
            let (note, status) = judged(metric, run, comparison.baseline as usize);
            row.push(GridCell {
                text: value(*number, &metric.unit),
                note,
                status,
                bar: number.filter(|_| most > 0.0).map(|number| (number.abs() / most).min(1.0)),
            });
        }
        row.push(caveat(metric, comparison));
        row
    };
    Grid { title: title.to_owned(), columns, rows: metrics.iter().map(row).collect() }
}

/// How a run's number stands to the baseline's: in words with a symbol, and whether that is good.
fn judged(metric: &ComparedMetric, run: usize, baseline: usize) -> (String, Option<String>) {
    let is_winner = metric.winner.is_some_and(|winner| winner as usize == run);
    let crown = if is_winner { "★ best" } else { "" };
    let ratio = metric.ratios.get(run).copied().flatten();
    let (Some(ratio), false) = (ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0), run == baseline) else {
        return (crown.to_owned(), is_winner.then(|| "better".to_owned()));
    };
    let of_speed = matches!(metric.unit.as_str(), "us" | "ms" | "1/s") || metric.unit.ends_with("/s");
    let (better, worse) = if of_speed { ("faster", "slower") } else { ("better", "worse") };
    let text = match ratio {
        1.0 => "= equal".to_owned(),
        ratio if ratio > 1.0 => format!("▲ {ratio:.2}x {better}"),
        ratio => format!("▼ {:.2}x {worse}", 1.0 / ratio),
    };
    if metric.winner.is_none() {
        let noise = if ratio == 1.0 { "" } else { " ≈ not scored" };
        return (format!("{text}{noise}"), None);
    }
    let status = if ratio > 1.0 {
        Some("better")
    } else if ratio < 1.0 {
        Some("worse")
    } else {
        None
    };
    (format!("{text} {crown}").trim_end().to_owned(), status.map(str::to_owned))
}

/// What spoils a number, by the names of the checks.
fn caveat(metric: &ComparedMetric, comparison: &Comparison) -> GridCell {
    let titles = |checks: &[String]| {
        let title = |check: &String| {
            let found = comparison.fairness.iter().find(|it| it.check == *check);
            found.map_or_else(|| check.clone(), |it| it.title.clone())
        };
        checks.iter().map(title).collect::<Vec<_>>().join(", ")
    };
    let unknown = titles(&metric.unknown);
    let note = if unknown.is_empty() { String::new() } else { format!("? unknown: {unknown}") };
    match metric.spoiled_by.is_empty() {
        true => GridCell { note, ..GridCell::default() },
        false => GridCell {
            text: format!("≠ differs: {}", titles(&metric.spoiled_by)),
            status: Some("warning".to_owned()),
            note,
            bar: None,
        },
    }
}

fn fairness(comparison: &Comparison) -> Grid {
    let mut columns = vec!["Condition".to_owned(), "Status".to_owned()];
    columns.extend(run_columns(comparison));
    let rows = comparison.fairness.iter().map(|check| {
        let (text, status) = match check.status.as_str() {
            "same" => ("= same", "same"),
            "differs" => ("≠ differs", "warning"),
            _ => ("? unknown", "unknown"),
        };
        let mut row = vec![
            GridCell { note: check.note.clone(), ..GridCell::text(&check.title) },
            GridCell { status: Some(status.to_owned()), ..GridCell::text(text) },
        ];
        row.extend(check.values.iter().map(|value| GridCell::text(value.as_deref().unwrap_or(format::DASH))));
        row
    });
    Grid { title: "Is it fair?".to_owned(), rows: rows.collect(), columns }
}

/// From the baseline's step to a run's; absent without parts.
fn waterfall(comparison: &Comparison, change: &StepTimeChange) -> Option<Block> {
    let parts: Vec<WaterfallPart> = comparison
        .waterfall
        .iter()
        .filter(|part| part.run == change.run && part.delta_us_per_step != 0.0)
        .map(|part| WaterfallPart {
            label: part.title.clone(),
            delta: part.delta_us_per_step,
            class: part.class.clone(),
        })
        .collect();
    let (start, end) = (change.baseline_us?, change.step_time_us?);
    let (from, to) = (name(comparison, comparison.baseline), name(comparison, change.run));
    (!parts.is_empty()).then(|| {
        Block::Waterfall(Waterfall {
            title: format!("Step time, from {from} to {to}"),
            unit: Unit::TimeUs,
            start: (from, start),
            parts,
            end: (to, end),
        })
    })
}

fn causes(comparison: &Comparison) -> Grid {
    let most = largest(comparison.causes.iter().map(|cause| cause.delta_us_per_step));
    let rows = comparison.causes.iter().take(MOST_ROWS).map(|cause| {
        let share = cause
            .percent_of_difference
            .map_or_else(String::new, |share| format!("{} of the difference", format::percent(share)));
        vec![
            GridCell::text(&name(comparison, cause.run)),
            GridCell { note: share, ..delta_cell(cause.delta_us_per_step, most) },
            GridCell::text(&cause.text),
        ]
    });
    Grid { title: "Why, largest first".to_owned(), columns: words(&["Run", "A step", "What"]), rows: rows.collect() }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Ops, kernels or classes against the baseline's.
fn changes(title: &str, changes: &[Change], comparison: &Comparison, filter: Option<&Filter>) -> Grid {
    let most = largest(changes.iter().map(|change| change.delta_us_per_step));
    let passes = |change: &&Change| {
        let path = change.framework_op.as_deref().unwrap_or("");
        filter.is_none_or(|filter| filter.passes_texts(&[&change.name, &change.family, path, &change.change]))
    };
    let row = |change: &Change| {
        let [ours, theirs] = change.time_us;
        let how = match (&change.baseline_name, change.matched_by.as_str()) {
            (_, "none" | "") => String::new(),
            (Some(other), how) => format!("is {other}, matched by {}", how.replace('_', " ")),
            (None, how) => format!("matched by {}", how.replace('_', " ")),
        };
        let slowdown = match change.slowdown {
            Some(ratio) if ratio > 1.0 => format!("each {ratio:.2}x slower"),
            Some(ratio) if ratio < 1.0 && ratio > 0.0 => format!("each {:.2}x faster", 1.0 / ratio),
            _ => String::new(),
        };
        vec![
            GridCell { note: how, ..GridCell::text(&change.name) },
            GridCell::text(&name(comparison, change.run)),
            GridCell { note: slowdown, ..GridCell::text(&change.change.replace('_', " ")) },
            GridCell::text(&format::time_us(theirs)),
            GridCell::text(&format::time_us(ours)),
            delta_cell(change.delta_us_per_step, most),
        ]
    };
    let columns = words(&["Name", "Run", "Change", "Baseline", "Run's", "A step"]);
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
            status: None,
        }));
        row
    });
    Grid { title: "Collectives, whole captures".to_owned(), rows: rows.collect(), columns }
}

fn matching(comparison: &Comparison) -> Grid {
    let rows = comparison.matching.iter().map(|matching| {
        let how = |it: &crate::compare::MatchedTime| {
            format!("{} by {}", format::time_us(it.time_us), it.matched_by.replace('_', " "))
        };
        let pair = |[ours, theirs]: [f64; 2]| format!("{} / {}", format::time_us(ours), format::time_us(theirs));
        vec![
            GridCell::text(&name(comparison, matching.run)),
            GridCell::text(&matching.matched_us.iter().map(how).collect::<Vec<_>>().join(", ")),
            GridCell::text(&pair(matching.unmatched_us)),
            GridCell::text(&pair(matching.unlisted_us)),
        ]
    });
    let columns = words(&["Run", "Matched", "Without a partner, run's / baseline's", "Not listed, run's / baseline's"]);
    Grid { title: "How well ops could be matched, time a step".to_owned(), columns, rows: rows.collect() }
}

fn point(label: String, x: f64, y: f64, notes: Vec<String>) -> Point {
    Point { label, x, y, size: 0.2, class: "compute".to_owned(), notes, link: None }
}

/// Speed-up over devices, with what would be ideal and what the fitted serial share allows.
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
    // Where several programs scale apart, the lines are of the first.
    let first = scaling.points.first().and_then(|it| it.series.clone());
    let of_first = || scaling.points.iter().filter(|it| it.series == first);
    let ideal = of_first().map(|it| (it.devices as f64, it.ideal_speedup)).collect();
    let amdahl: Vec<_> = of_first().filter_map(|it| Some((it.devices as f64, it.amdahl_speedup?))).collect();
    let mut lines = vec![Line { label: "ideal".to_owned(), points: ideal }];
    if amdahl.len() > 1 {
        lines.push(Line { label: "Amdahl".to_owned(), points: amdahl });
    }
    Scatter {
        title: format!("Speed-up over devices ({} scaling, {})", scaling.mode, scaling.mode_source.replace('_', " ")),
        x_label: "devices".to_owned(),
        y_label: "speed-up".to_owned(),
        logarithmic: false,
        points: points.collect(),
        lines,
    }
}

fn over_time(trend: &Trend, comparison: &Comparison) -> Scatter {
    let measured =
        || trend.points.iter().enumerate().filter_map(|(at, it)| Some((at as f64 + 1.0, it, it.step_time_us? / 1e3)));
    let points = measured().map(|(at, it, time_ms)| {
        let margin = it.margin_us.map(|margin| format!("± {} (95 %)", format::time_us(margin)));
        let notes = [Some(it.label.clone()), Some(format::time_us(time_ms * 1e3)), margin];
        point(name(comparison, it.run), at, time_ms, notes.into_iter().flatten().collect())
    });
    let line =
        Line { label: "step time".to_owned(), points: measured().map(|(at, _, time_ms)| (at, time_ms)).collect() };
    Scatter {
        title: format!("Step time of runs, ordered by {}", trend.ordered_by.replace('_', " ")),
        x_label: "run".to_owned(),
        y_label: "ms a step".to_owned(),
        logarithmic: false,
        points: points.collect(),
        lines: vec![line],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(direction: &str, values: [f64; 2], ratio: f64, winner: Option<u32>) -> ComparedMetric {
        ComparedMetric {
            unit: "us".to_owned(),
            direction: direction.to_owned(),
            values: values.into_iter().map(Some).collect(),
            ratios: vec![Some(1.0), Some(ratio)],
            winner,
            ..ComparedMetric::default()
        }
    }

    #[test]
    fn twice_as_fast_is_said_of_the_fast_one() {
        let (text, status) = judged(&metric("lower", [10.0, 5.0], 2.0, Some(1)), 1, 0);
        assert_eq!((text.as_str(), status.as_deref()), ("▲ 2.00x faster ★ best", Some("better")));
        let (text, status) = judged(&metric("lower", [5.0, 10.0], 0.5, Some(0)), 1, 0);
        assert_eq!((text.as_str(), status.as_deref()), ("▼ 2.00x slower", Some("worse")));
    }

    #[test]
    fn what_is_within_the_noise_has_no_colour() {
        let (text, status) = judged(&metric("lower", [10.0, 9.9], 1.01, None), 1, 0);
        assert_eq!((text.as_str(), status), ("▲ 1.01x faster ≈ not scored", None));
    }

    #[test]
    fn more_time_is_worse_and_signed() {
        let cell = delta_cell(-2000.0, 4000.0);
        assert_eq!((cell.text.as_str(), cell.status.as_deref(), cell.bar), ("−2.00 ms ▼", Some("better"), Some(0.5)));
    }
}
