//! Charts of step times: differences with their intervals, speed-up by number of devices, and runs
//! over time. Each has a table next to it.

use crate::export::comparison::{name_of, scaled, words};
use crate::export::html::page::{Align, Px, Table, WIDTH, drawing};
use base::format;
use compare::{Comparison, Scaling, ScalingMode, ScalingPoint, ScalingSource, Trend};
use maud::{Markup, html};

const HEIGHT: f64 = 260.0;
/// Space for labels to the left of and below a plot.
const LEFT: f64 = 80.0;
const BOTTOM: f64 = 30.0;
const TOP: f64 = 14.0;
const RIGHT: f64 = 20.0;
const ROW: f64 = 24.0;

pub fn label(x: f64, y: f64, anchor: &str, text: &str) -> Markup {
    html! { text class="q" x=(Px(x)) y=(Px(y)) text-anchor=(anchor) { (text) } }
}

fn dot(x: f64, y: f64) -> Markup {
    html! { circle class="dot" cx=(Px(x)) cy=(Px(y)) r="4" {} }
}

/// Draws the difference of each run's step time from the baseline's around 0, with its 95 %
/// confidence interval.
pub fn intervals(comparison: &Comparison) -> Markup {
    let shown = || {
        let known = |change: &&compare::StepTimeChange| change.typical_delta_us.is_some() && change.margin_us.is_some();
        comparison.step_time.iter().filter(known)
    };
    let reach = shown().fold(0.0_f64, |most, change| {
        most.max(change.typical_delta_us.unwrap_or(0.0).abs() + change.margin_us.unwrap_or(0.0))
    });
    if reach == 0.0 {
        return html! {};
    }
    let rows = shown().count() as f64;
    let names = 190.0;
    let middle = names + (WIDTH - names - RIGHT) / 2.0;
    let x = |us: f64| middle + us / reach * (WIDTH - names - RIGHT) / 2.0;
    let axis = rows * ROW + 20.0;
    let shapes = html! {
        path class="axis" d={ "M" (Px(middle)) " 4V" (Px(rows * ROW + 4.0)) } {}
        @for (row, change) in shown().enumerate() {
            @let (delta, margin) = (change.typical_delta_us.unwrap_or(0.0), change.margin_us.unwrap_or(0.0));
            @let y = (row as f64 + 0.5) * ROW + 4.0;
            (label(0.0, y + 4.0, "start", &format::shorten(name_of(comparison, change.run), 28)))
            path class="whisker" d={ "M" (Px(x(delta - margin))) " " (Px(y)) "H" (Px(x(delta + margin))) } {}
            (dot(x(delta), y))
        }
        (label(names, axis, "start", &format!("{} (faster)", words::delta_us(-reach))))
        (label(middle, axis, "middle", "0"))
        (label(WIDTH - RIGHT, axis, "end", &format!("{} (slower)", words::delta_us(reach))))
    };
    drawing("Difference of the typical steps with its 95 % interval", (rows + 1.0) * ROW + 6.0, &shapes)
}

/// Plot with linear axes: x starts at 0, y at its smallest value.
struct Plot {
    x_most: f64,
    y_least: f64,
    y_most: f64,
}

impl Plot {
    fn x(&self, value: f64) -> f64 {
        LEFT + value / self.x_most * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - (value - self.y_least) / (self.y_most - self.y_least) * (HEIGHT - BOTTOM - TOP)
    }

    fn frame(&self) -> Markup {
        html! { path class="axis" d={ "M" (LEFT) " " (TOP) "V" (HEIGHT - BOTTOM) "H" (Px(WIDTH - RIGHT)) } {} }
    }

    /// Draws a horizontal line with its value.
    fn grid(&self, value: f64, text: &str) -> Markup {
        let y = self.y(value);
        html! {
            path class="grid" d={ "M" (LEFT) " " (Px(y)) "H" (Px(WIDTH - RIGHT)) } {}
            (label(LEFT - 6.0, y + 4.0, "end", text))
        }
    }

    fn line(&self, class: &str, points: impl Iterator<Item = (f64, f64)>) -> Markup {
        let mut path = String::new();
        for (x, y) in points {
            let command = if path.is_empty() { 'M' } else { 'L' };
            path.push_str(&format!("{command}{:.1} {:.1}", self.x(x), self.y(y)));
        }
        html! { path class=(class) d=(path) {} }
    }

    fn dot(&self, x: f64, y: f64) -> Markup {
        dot(self.x(x), self.y(y))
    }
}

/// Draws the speed-up by number of devices, with the ideal and Amdahl's law.
pub fn scaling(comparison: &Comparison) -> Markup {
    let Some(scaling) = &comparison.scaling else { return html! {} };
    let source = match scaling.mode_source {
        ScalingSource::Given => "as given",
        ScalingSource::BatchSize => "seen from the batch sizes",
        ScalingSource::Assumed => "assumed",
    };
    let mode = match scaling.mode {
        ScalingMode::Strong => "Strong scaling (the same work on more devices)",
        ScalingMode::Weak => "Weak scaling (the work grows with the devices)",
        ScalingMode::Mixed => "Mixed scaling (the work grows, but not with the devices)",
    };
    html! {
        section id="scaling" {
            h2 { "Scaling" }
            p.note {
                (mode) ", " (source) "."
                @if let Some(serial) = scaled::serial(scaling) { " Serial part of the work (Amdahl): " (serial) "." }
            }
            (scaling_chart(scaling))
            p.note { "Line with dots: measured. Dashed: ideal. Dotted: Amdahl's law. Across: devices." }
            (scaling_table(comparison, scaling))
            (excess_and_forecast(scaling))
        }
    }
}

/// Renders the ops that do not shrink with the devices, and the forecast for more devices.
fn excess_and_forecast(scaling: &Scaling) -> Markup {
    let align = [Align::Name, Align::Name, Align::Right, Align::Right, Align::Right, Align::Right];
    let mut ops = Table::new(&scaled::EXCESS_COLUMNS.into_iter().zip(align).collect::<Vec<_>>());
    for op in &scaling.excess_ops {
        ops.row_of(&scaled::excess_cells(op));
    }
    let mut sizes = Table::new(&scaled::FORECAST_COLUMNS.map(|column| (column, Align::Right)));
    for size in &scaling.forecast {
        sizes.row_of(&scaled::forecast_cells(size));
    }
    html! {
        @if !scaling.excess_ops.is_empty() {
            h3 { (scaled::EXCESS_TITLE) }
            (ops)
        }
        @if !scaling.forecast.is_empty() {
            h3 { (scaled::FORECAST_TITLE) }
            @if let Some(assumption) = &scaling.forecast_assumption { p.note { (assumption) } }
            (sizes)
        }
    }
}

fn scaling_chart(scaling: &Scaling) -> Markup {
    let points = &scaling.points;
    let x_most = points.iter().fold(1.0_f64, |most, point| most.max(point.devices as f64));
    let y_most = points.iter().fold(1.0_f64, |most, point| most.max(point.speedup).max(point.ideal_speedup));
    let plot = Plot { x_most, y_least: 0.0, y_most };
    // Programs that scale separately are separate lines.
    let mut series: Vec<Option<&str>> = Vec::new();
    for point in points {
        if !series.contains(&point.series.as_deref()) {
            series.push(point.series.as_deref());
        }
    }
    let shapes = html! {
        @for point in points {
            (plot.grid(point.ideal_speedup, &words::times(point.ideal_speedup)))
            (label(plot.x(point.devices as f64), HEIGHT - 12.0, "middle", &format::count(point.devices)))
        }
        (plot.frame())
        @for name in series {
            @let of_series: Vec<&ScalingPoint> = points.iter().filter(|it| it.series.as_deref() == name).collect();
            (scaling_lines(&plot, name, &of_series))
        }
    };
    drawing("Speed-up over the number of devices, with the ideal and Amdahl's line", HEIGHT, &shapes)
}

fn scaling_lines(plot: &Plot, name: Option<&str>, points: &[&ScalingPoint]) -> Markup {
    let devices = |point: &ScalingPoint| point.devices as f64;
    html! {
        (plot.line("ideal", points.iter().map(|point| (devices(point), point.ideal_speedup))))
        (plot.line("amdahl", points.iter().filter_map(|point| Some((devices(point), point.amdahl_speedup?)))))
        (plot.line("line", points.iter().map(|point| (devices(point), point.speedup))))
        @for point in points { (plot.dot(devices(point), point.speedup)) }
        @if let (Some(name), Some(last)) = (name, points.last()) {
            @let (x, y) = (plot.x(devices(last)), plot.y(last.speedup));
            (label(x - 8.0, y - 8.0, "end", &format::shorten(name, 30)))
        }
    }
}

fn scaling_table(comparison: &Comparison, scaling: &Scaling) -> Table {
    let mut table = Table::new(&[
        ("Run", Align::Name),
        ("Devices", Align::Right),
        ("Step time", Align::Right),
        ("Speed-up", Align::Right),
        ("Ideal", Align::Right),
        ("Amdahl", Align::Right),
        ("Efficiency", Align::Right),
        ("Lost to communication", Align::Right),
        ("Lost to idle", Align::Right),
        ("Lost to the rest", Align::Right),
        ("Imbalance", Align::Right),
    ]);
    for point in &scaling.points {
        table.row(&[
            &name_of(comparison, point.run),
            &format::count(point.devices),
            &format::time_us(point.step_time_us),
            &words::times(point.speedup),
            &words::times(point.ideal_speedup),
            &point.amdahl_speedup.map_or_else(|| format::DASH.to_owned(), words::times),
            &format::percent(point.efficiency_percent),
            &format::optional_percent(point.lost_to_communication_percent),
            &format::optional_percent(point.lost_to_idle_percent),
            &format::optional_percent(point.lost_to_rest_percent),
            &format::optional_percent(point.imbalance_percent),
        ]);
    }
    table
}

/// Draws step times in chronological order, with the points at which they change permanently.
pub fn trend(comparison: &Comparison) -> Markup {
    let Some(trend) = &comparison.trend else { return html! {} };
    let texts = trend.change_points.iter().map(|change| &change.text);
    let texts = texts.chain(trend.drift.iter().map(|drift| &drift.text));
    let texts: Vec<&String> = texts.chain(trend.outliers.iter().map(|outlier| &outlier.text)).collect();
    html! {
        section id="trend" {
            h2 { "Over time" }
            p.note { "Ordered by " (trend.ordered_by.label().replace('_', " ")) "." }
            @if !texts.is_empty() {
                ul { @for text in &texts { li { (text) } } }
            }
            (trend_chart(trend))
            (trend_table(comparison, trend))
        }
    }
}

fn trend_chart(trend: &Trend) -> Markup {
    let points = &trend.points;
    let y_most = points
        .iter()
        .fold(0.0_f64, |most, point| most.max(point.step_time_us.unwrap_or(0.0) + point.margin_us.unwrap_or(0.0)));
    if y_most <= 0.0 {
        return html! {};
    }
    // With an axis from 0, a change of a few percent would be invisible.
    let lows = points.iter().filter_map(|point| Some(point.step_time_us? - point.margin_us.unwrap_or(0.0)));
    let low = lows.fold(y_most, f64::min);
    let y_least = (low - (y_most - low).max(0.02 * y_most)).max(0.0);
    let plot = Plot { x_most: points.len() as f64, y_least, y_most };
    let place = |index: usize| index as f64 + 0.5;
    let known = || points.iter().enumerate().filter_map(|(index, point)| Some((place(index), point.step_time_us?)));
    // Omits labels that would overlap; the table contains them.
    let every = points.len().div_ceil(8).max(1);
    // The axis names the runs at which the time changes, and other runs if there is room.
    let is_change = |index: usize| {
        points.get(index).is_some_and(|point| trend.change_points.iter().any(|change| change.run == point.run))
    };
    let has_room = |index: usize| !(index.saturating_sub(every - 1)..index + every).any(is_change);
    let is_named = |index: usize| is_change(index) || index.is_multiple_of(every) && has_room(index);
    let shapes = html! {
        @for part in [0.0, 0.5, 1.0] {
            @let time = y_least + (y_most - y_least) * part;
            (plot.grid(time, &format::time_us(time)))
        }
        (plot.frame())
        @for (index, point) in points.iter().enumerate() {
            @if trend.change_points.iter().any(|change| change.run == point.run) {
                path class="change" d={ "M" (Px(plot.x(index as f64))) " " (TOP) "V" (HEIGHT - BOTTOM) } {}
            }
            @if let (Some(time), Some(margin)) = (point.step_time_us, point.margin_us) {
                @let (low, high) = (plot.y((time - margin).max(y_least)), plot.y(time + margin));
                path class="whisker" d={ "M" (Px(plot.x(place(index)))) " " (Px(low)) "V" (Px(high)) } {}
            }
        }
        (plot.line("line", known()))
        @for (x, y) in known() { (plot.dot(x, y)) }
        @for (index, point) in points.iter().enumerate().filter(|(index, _)| is_named(*index)) {
            (label(plot.x(place(index)), HEIGHT - 12.0, "middle", &format::shorten(&point.label, 14)))
        }
    };
    drawing("Step time of the runs in their order", HEIGHT, &shapes)
}

fn trend_table(comparison: &Comparison, trend: &Trend) -> Table {
    let mut table = Table::new(&[
        ("Run", Align::Name),
        ("At", Align::Name),
        ("Step time", Align::Right),
        ("± (95 %)", Align::Right),
        ("Device busy", Align::Right),
    ]);
    for point in &trend.points {
        table.row(&[
            &name_of(comparison, point.run),
            &point.label,
            &format::optional_time_us(point.step_time_us),
            &format::optional_time_us(point.margin_us),
            &format::optional_percent(point.compute_util_percent),
        ]);
    }
    table
}
