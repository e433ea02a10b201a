//! Scaling over devices: the speed-up compared with the ideal, the causes of lost efficiency, the ops that do not
//! shrink, and a forecast.

use super::{Block, Grid, GridCell, headings, largest, name_of, note, section, words};
use base::format;
use compare::{Comparison, ExcessOp, Scaling, ScalingForecast, ScalingMode, ScalingPoint, ScalingSource};
use document::{Line, LineKind, Place, Point, Scatter, Section};
use metrics::StepPart;

/// Returns the sections of a comparison of runs on different numbers of devices.
pub(super) fn sections(comparison: &Comparison) -> Vec<Section> {
    let Some(scaling) = &comparison.scaling else { return Vec::new() };
    let points = Block::Grid(points(scaling, comparison));
    let curve = Block::Scatter(speed_up(scaling, comparison));
    let mut sections = vec![section("scaling", "Scaling", Place::Front, vec![note(&[basis(scaling)]), curve, points])];
    if !scaling.excess_ops.is_empty() {
        let title = "Ops that do not shrink as devices are added (per step per device, in the run on the most devices)";
        let grid = Block::Grid(excess_ops(scaling));
        sections.push(section("excess-ops", title, Place::Detail, vec![grid]));
    }
    if !scaling.forecast.is_empty() {
        let assumption = scaling.forecast_assumption.clone().unwrap_or_default();
        let blocks = vec![note(&[assumption]), Block::Grid(forecast(scaling))];
        sections.push(section("forecast", "Forecast by Amdahl's law", Place::Detail, blocks));
    }
    sections
}

/// Describes the kind of scaling, how it was determined, and the serial part of the work.
fn basis(scaling: &Scaling) -> String {
    let mode = match scaling.mode {
        ScalingMode::Strong => "Strong scaling (the same work on more devices)",
        ScalingMode::Weak => "Weak scaling (the work grows in proportion to the devices)",
        ScalingMode::Mixed => "Mixed scaling (the work changes, but not in proportion to the devices)",
    };
    let source = match scaling.mode_source {
        ScalingSource::Given => "as given",
        ScalingSource::BatchSize => "determined from the batch sizes",
        ScalingSource::Assumed => "assumed",
    };
    let serial = serial(scaling).map(|serial| format!(" Serial part of the work (Amdahl): {serial}."));
    format!("{mode}, {source}.{}", serial.unwrap_or_default())
}

/// Draws the speed-up by number of devices, with the ideal and the limit from the fitted serial share.
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
        point(name_of(comparison, it.run), it.devices as f64, it.speedup, notes.into_iter().flatten().collect())
    });
    // Programs that scale separately are separate lines.
    let mut series: Vec<Option<&str>> = Vec::new();
    for point in &scaling.points {
        if !series.contains(&point.series.as_deref()) {
            series.push(point.series.as_deref());
        }
    }
    let lines = series.iter().flat_map(|&name| {
        let of_series: Vec<&ScalingPoint> = scaling.points.iter().filter(|it| it.series.as_deref() == name).collect();
        lines_of(name, &of_series)
    });
    Scatter {
        title: "Speed-up over devices".to_owned(),
        x_label: "devices".to_owned(),
        y_label: "speed-up".to_owned(),
        // With logarithmic axes, ideal scaling is a straight line and each doubling has the same width.
        logarithmic: true,
        points: points.collect(),
        lines: lines.collect(),
    }
}

/// Returns the ideal, the measured and the fitted line of a series.
fn lines_of(series: Option<&str>, points: &[&ScalingPoint]) -> Vec<Line> {
    let label = |what: &str| series.map_or_else(|| what.to_owned(), |series| format!("{what}, {series}"));
    let line = |what: &str, kind: LineKind, speed_up: &dyn Fn(&ScalingPoint) -> Option<f64>| Line {
        label: label(what),
        kind,
        points: points.iter().filter_map(|it| Some((it.devices as f64, speed_up(it)?))).collect(),
    };
    let lines = vec![
        line("ideal", LineKind::Reference, &|it| Some(it.ideal_speedup)),
        line("measured", LineKind::Measured, &|it| Some(it.speedup)),
        line("Amdahl", LineKind::Model, &|it| it.amdahl_speedup),
    ];
    lines.into_iter().filter(|line| line.points.len() > 1).collect()
}

/// Returns a point of a chart with the name of its run.
pub(super) fn point(label: &str, x: f64, y: f64, notes: Vec<String>) -> Point {
    let label = label.to_owned();
    Point { label, x, y, size: 0.2, extent: None, class: StepPart::Compute.into(), notes, link: None }
}

/// Returns the runs with the causes of lost efficiency.
fn points(scaling: &Scaling, comparison: &Comparison) -> Grid {
    let percent = |value: Option<f64>| GridCell::text(&format::optional_percent(value));
    let rows = scaling.points.iter().map(|it| {
        vec![
            GridCell::text(name_of(comparison, it.run)),
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
            GridCell::text(&it.amdahl_speedup.map_or_else(|| format::DASH.to_owned(), words::times)),
        ]
    });
    let columns = headings(&[
        "Run",
        "Devices",
        "Step time",
        "Speed-up",
        "Ideal",
        "Efficiency",
        "Lost to communication",
        "To idle",
        "To other causes",
        "Imbalance",
        "Amdahl",
    ]);
    Grid { title: String::new(), rows: rows.collect(), columns }
}

/// Lists for each op by how much its time exceeds the ideal time, which follows from the op's time in the reference
/// run.
fn excess_ops(scaling: &Scaling) -> Grid {
    let most = largest(scaling.excess_ops.iter().map(|op| op.excess_us));
    let row = |op: &ExcessOp| {
        let mut cells = excess_cells(op).map(|cell| GridCell::text(&cell)).to_vec();
        if let Some(last) = cells.last_mut() {
            last.bar = (most > 0.0).then(|| (op.excess_us / most).clamp(0.0, 1.0));
        }
        cells
    };
    let columns = headings(&["Op", "Class", "In the reference", "Ideal", "Measured", "Above ideal"]);
    Grid { title: String::new(), columns, rows: scaling.excess_ops.iter().map(row).collect() }
}

/// Returns the predicted step times for more devices than were measured.
fn forecast(scaling: &Scaling) -> Grid {
    let row = |size: &ScalingForecast| forecast_cells(size).map(|cell| GridCell::text(&cell)).to_vec();
    let columns = headings(&["Devices", "Step time", "95 % interval", "Speed-up", "Efficiency"]);
    Grid { title: String::new(), columns, rows: scaling.forecast.iter().map(row).collect() }
}

/// Returns the cells of an op, with names as recorded in the trace.
fn excess_cells(op: &ExcessOp) -> [String; 6] {
    [
        of_series(op.series.as_deref(), &op.name),
        op.family.clone(),
        format::time_us(op.reference_us),
        format::time_us(op.ideal_us),
        format::time_us(op.measured_us),
        compare::signed(op.excess_us),
    ]
}

/// Returns the cells of a forecast, with the name of its series as recorded in the profiles.
fn forecast_cells(size: &ScalingForecast) -> [String; 5] {
    let interval = size.interval_us.map(|[low, high]| format!("{} to {}", format::time_us(low), format::time_us(high)));
    [
        of_series(size.series.as_deref(), &format::count(size.devices)),
        format::time_us(size.step_time_us),
        interval.unwrap_or_else(|| format::DASH.to_owned()),
        words::times(size.speedup),
        format::percent(size.efficiency_percent),
    ]
}

fn of_series(series: Option<&str>, what: &str) -> String {
    series.map_or_else(|| what.to_owned(), |series| format!("{series}: {what}"))
}

/// Describes the serial part of the work, with its interval.
fn serial(scaling: &Scaling) -> Option<String> {
    let percent = |share: f64| format::percent(100.0 * share);
    let interval = scaling.serial_interval.map(|[low, high]| format!(" (95 %: {} to {})", percent(low), percent(high)));
    scaling.serial_fraction.map(|serial| format!("{}{}", percent(serial), interval.unwrap_or_default()))
}
