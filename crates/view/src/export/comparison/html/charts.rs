//! The charts of step times: differences with their intervals, speed-up over devices, runs in time. Each has a table beside it.

use crate::export::comparison::{name_of, words};
use crate::export::html::page::{Align, Table, escape, push};
use base::format;
use compare::{Comparison, ScalingMode, ScalingSource};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 260.0;
/// Room for labels left of and below a plot.
const LEFT: f64 = 80.0;
const BOTTOM: f64 = 30.0;
const TOP: f64 = 14.0;
const RIGHT: f64 = 20.0;
const ROW: f64 = 24.0;

fn open(page: &mut String, label: &str, height: f64) {
    page.push_str(&format!(
        "<svg role=\"img\" aria-label=\"{label}\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" width=\"{WIDTH:.0}\" height=\"{height:.0}\">\n"
    ));
}

fn label(page: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    page.push_str(&format!(
        "<text class=\"q\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>\n",
        escape(text)
    ));
}

/// The difference of each run's step time to the baseline's, with its 95 % interval, around 0.
pub fn intervals(page: &mut String, comparison: &Comparison) {
    let shown = || {
        let known = |change: &&compare::StepTimeChange| change.delta_us.is_some() && change.margin_us.is_some();
        comparison.step_time.iter().filter(known)
    };
    let reach = shown()
        .fold(0.0_f64, |most, change| most.max(change.delta_us.unwrap_or(0.0).abs() + change.margin_us.unwrap_or(0.0)));
    if reach == 0.0 {
        return;
    }
    let rows = shown().count() as f64;
    let height = (rows + 1.0) * ROW + 6.0;
    open(page, "Difference of the step times with its 95 % interval", height);
    let names = 190.0;
    let middle = names + (WIDTH - names - RIGHT) / 2.0;
    let x = |us: f64| middle + us / reach * (WIDTH - names - RIGHT) / 2.0;
    page.push_str(&format!("<path class=\"axis\" d=\"M{middle:.1} 4V{:.1}\"/>\n", rows * ROW + 4.0));
    for (row, change) in shown().enumerate() {
        let (delta, margin) = (change.delta_us.unwrap_or(0.0), change.margin_us.unwrap_or(0.0));
        let y = (row as f64 + 0.5) * ROW + 4.0;
        label(page, 0.0, y + 4.0, "start", &format::shorten(name_of(comparison, change.run), 28));
        page.push_str(&format!(
            "<path class=\"whisker\" d=\"M{:.1} {y:.1}H{:.1}\"/><circle class=\"dot\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4\"/>\n",
            x(delta - margin),
            x(delta + margin),
            x(delta)
        ));
    }
    let axis = rows * ROW + 20.0;
    label(page, names, axis, "start", &format!("{} (faster)", words::delta_us(-reach)));
    label(page, middle, axis, "middle", "0");
    label(page, WIDTH - RIGHT, axis, "end", &format!("{} (slower)", words::delta_us(reach)));
    page.push_str("</svg>\n");
}

/// A plot: x and y from 0 to their largest, linear.
struct Plot {
    x_most: f64,
    y_most: f64,
}

impl Plot {
    fn x(&self, value: f64) -> f64 {
        LEFT + value / self.x_most * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - value / self.y_most * (HEIGHT - BOTTOM - TOP)
    }

    fn frame(&self, page: &mut String) {
        page.push_str(&format!("<path class=\"axis\" d=\"M{LEFT} {TOP}V{:.1}H{:.1}\"/>\n", self.y(0.0), WIDTH - RIGHT));
    }

    /// A horizontal line with its value.
    fn grid(&self, page: &mut String, value: f64, text: &str) {
        let y = self.y(value);
        page.push_str(&format!("<path class=\"grid\" d=\"M{LEFT} {y:.1}H{:.1}\"/>\n", WIDTH - RIGHT));
        label(page, LEFT - 6.0, y + 4.0, "end", text);
    }

    fn line(&self, page: &mut String, class: &str, points: impl Iterator<Item = (f64, f64)>) {
        let mut path = String::new();
        for (x, y) in points {
            let command = if path.is_empty() { 'M' } else { 'L' };
            path.push_str(&format!("{command}{:.1} {:.1}", self.x(x), self.y(y)));
        }
        push(page, &["<path class=\"", class, "\" d=\"", &path, "\"/>\n"]);
    }

    fn dot(&self, page: &mut String, x: f64, y: f64) {
        page.push_str(&format!("<circle class=\"dot\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"/>\n", self.x(x), self.y(y)));
    }
}

/// Speed-up over devices, with the ideal and Amdahl's line.
pub fn scaling(page: &mut String, comparison: &Comparison) {
    let Some(scaling) = &comparison.scaling else { return };
    page.push_str("<section id=\"scaling\">\n<h2>Scaling</h2>\n");
    let source = match scaling.mode_source {
        ScalingSource::Given => "as given",
        ScalingSource::BatchSize => "told by the batch sizes",
        ScalingSource::Assumed => "assumed",
    };
    let serial = scaling
        .serial_fraction
        .map(|it| format!(" Serial part of the work (Amdahl): {}.", format::percent(it * 100.0)));
    let mode = match scaling.mode {
        ScalingMode::Strong => "Strong scaling (the same work on more devices)",
        ScalingMode::Weak => "Weak scaling (the work grows with the devices)",
        ScalingMode::Mixed => "Mixed scaling (the work grows, but not with the devices)",
    };
    push(page, &["<p class=\"note\">", mode, ", ", source, ".", &serial.unwrap_or_default(), "</p>\n"]);
    let points = &scaling.points;
    let x_most = points.iter().fold(1.0_f64, |most, point| most.max(point.devices as f64));
    let y_most = points.iter().fold(1.0_f64, |most, point| most.max(point.speedup).max(point.ideal_speedup));
    let plot = Plot { x_most, y_most };
    open(page, "Speed-up over the number of devices, with the ideal and Amdahl's line", HEIGHT);
    for point in points {
        plot.grid(page, point.ideal_speedup, &words::times(point.ideal_speedup));
        label(page, plot.x(point.devices as f64), HEIGHT - 12.0, "middle", &format::count(point.devices));
    }
    plot.frame(page);
    // Programs that scale apart are separate lines.
    let mut series: Vec<Option<&str>> = Vec::new();
    for point in points {
        if !series.contains(&point.series.as_deref()) {
            series.push(point.series.as_deref());
        }
    }
    for name in &series {
        let of = || points.iter().filter(move |point| point.series.as_deref() == *name);
        plot.line(page, "ideal", of().map(|point| (point.devices as f64, point.ideal_speedup)));
        plot.line(page, "amdahl", of().filter_map(|point| Some((point.devices as f64, point.amdahl_speedup?))));
        plot.line(page, "line", of().map(|point| (point.devices as f64, point.speedup)));
        for point in of() {
            plot.dot(page, point.devices as f64, point.speedup);
        }
        if let (Some(name), Some(last)) = (name, of().next_back()) {
            let (x, y) = (plot.x(last.devices as f64), plot.y(last.speedup));
            label(page, x - 8.0, y - 8.0, "end", &format::shorten(name, 30));
        }
    }
    page.push_str(
        "</svg>\n<p class=\"note\">Line with dots: measured. Dashed: ideal. Dotted: Amdahl's law. Across: devices.</p>\n",
    );
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
    for point in points {
        table.row(
            "",
            &[
                escape(name_of(comparison, point.run)),
                format::count(point.devices),
                format::time_us(point.step_time_us),
                words::times(point.speedup),
                words::times(point.ideal_speedup),
                point.amdahl_speedup.map_or_else(|| format::DASH.to_owned(), words::times),
                format::percent(point.efficiency_percent),
                format::optional_percent(point.lost_to_communication_percent),
                format::optional_percent(point.lost_to_idle_percent),
                format::optional_percent(point.lost_to_rest_percent),
                format::optional_percent(point.imbalance_percent),
            ],
        );
    }
    push(page, &[&table.finish(), "</section>\n"]);
}

/// Step times in the order of time, with where they change for good.
pub fn trend(page: &mut String, comparison: &Comparison) {
    let Some(trend) = &comparison.trend else { return };
    push(
        page,
        &[
            "<section id=\"trend\">\n<h2>Over time</h2>\n<p class=\"note\">Ordered by ",
            &escape(&trend.ordered_by.label().replace('_', " ")),
            ".</p>\n",
        ],
    );
    if !trend.change_points.is_empty() {
        page.push_str("<ul>\n");
        for change in &trend.change_points {
            push(page, &["<li>", &escape(&change.text), "</li>\n"]);
        }
        page.push_str("</ul>\n");
    }
    let points = &trend.points;
    let y_most = points
        .iter()
        .fold(0.0_f64, |most, point| most.max(point.step_time_us.unwrap_or(0.0) + point.margin_us.unwrap_or(0.0)));
    if y_most > 0.0 {
        let plot = Plot { x_most: points.len() as f64, y_most };
        open(page, "Step time of the runs in their order", HEIGHT);
        for part in [0.5, 1.0] {
            plot.grid(page, y_most * part, &format::time_us(y_most * part));
        }
        plot.frame(page);
        let place = |index: usize| index as f64 + 0.5;
        let known = || points.iter().enumerate().filter_map(|(index, point)| Some((place(index), point.step_time_us?)));
        for (index, point) in points.iter().enumerate() {
            let x = plot.x(place(index));
            if trend.change_points.iter().any(|change| change.run == point.run) {
                let x = plot.x(index as f64);
                page.push_str(&format!("<path class=\"change\" d=\"M{x:.1} {TOP}V{:.1}\"/>\n", plot.y(0.0)));
            }
            if let (Some(time), Some(margin)) = (point.step_time_us, point.margin_us) {
                let (low, high) = (plot.y((time - margin).max(0.0)), plot.y(time + margin));
                page.push_str(&format!("<path class=\"whisker\" d=\"M{x:.1} {low:.1}V{high:.1}\"/>\n"));
            }
        }
        plot.line(page, "line", known());
        for (x, y) in known() {
            plot.dot(page, x, y);
        }
        // Labels that would stand on each other are left to the table.
        let every = points.len().div_ceil(8).max(1);
        for (index, point) in points.iter().enumerate().filter(|(index, _)| index % every == 0) {
            label(page, plot.x(place(index)), HEIGHT - 12.0, "middle", &format::shorten(&point.label, 14));
        }
        page.push_str("</svg>\n");
    }
    let mut table = Table::new(&[
        ("Run", Align::Name),
        ("At", Align::Name),
        ("Step time", Align::Right),
        ("± (95 %)", Align::Right),
        ("Device busy", Align::Right),
    ]);
    for point in points {
        table.row(
            "",
            &[
                escape(name_of(comparison, point.run)),
                escape(&point.label),
                format::optional_time_us(point.step_time_us),
                format::optional_time_us(point.margin_us),
                format::optional_percent(point.compute_util_percent),
            ],
        );
    }
    push(page, &[&table.finish(), "</section>\n"]);
}
