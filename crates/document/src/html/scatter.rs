//! Draws points in a plane with their lines, as an SVG without a script.
//!
//! ```text
//! 20 ms |      i        .-o      o measured point     i interval of a point
//!       |   .--o--o----'         - line
//! 10 ms |  o                     : mark of a change
//!       +-----------------
//!          1   2  3       9      positions of points, as many as fit
//! ```

use crate::html::parts::{Px, WIDTH, drawing};
use crate::{Line, LineKind, Scatter};
use base::format;
use maud::{Markup, html};

const HEIGHT: f64 = 260.0;
const LEFT: f64 = 80.0;
const BOTTOM: f64 = 30.0;
const TOP: f64 = 18.0;
const RIGHT: f64 = 30.0;
/// Space that a label of the horizontal axis takes.
const LABEL: f64 = 70.0;

/// Maps the values of one axis to pixels.
struct Axis {
    logarithmic: bool,
    /// Values at both ends.
    ends: [f64; 2],
    /// Pixels at both ends.
    pixels: [f64; 2],
}

impl Axis {
    /// Creates an axis that contains all values. Returns `None` if no value is finite.
    fn of(values: impl Iterator<Item = f64>, logarithmic: bool, pixels: [f64; 2]) -> Option<Axis> {
        let known = values.filter(|value| value.is_finite() && (!logarithmic || *value > 0.0));
        let [low, high] = known.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], it| [low.min(it), high.max(it)]);
        let ends = match logarithmic {
            true => [low, high],
            // If the axis started at 0, a change of only a few percent would be invisible.
            false => [(low - (high - low).max(0.02 * high.abs())).max(0.0).min(low), high],
        };
        let is_flat = ends[0] >= ends[1];
        let ends = if is_flat { [ends[0] * 0.5, ends[1] * 1.5 + f64::MIN_POSITIVE] } else { ends };
        (low <= high).then_some(Axis { logarithmic, ends, pixels })
    }

    fn pixel(&self, value: f64) -> f64 {
        let place = |value: f64| if self.logarithmic { log2(value) } else { value };
        let [low, high] = self.ends;
        let share = (place(value.clamp(low, high)) - place(low)) / (place(high) - place(low));
        self.pixels[0] + share * (self.pixels[1] - self.pixels[0])
    }
}

/// Returns the logarithm to base 2, precise to 0.1 of a pixel. The standard function differs between platforms, but the
/// same profile must give the same bytes.
fn log2(value: f64) -> f64 {
    let (mut rest, mut whole) = (value.max(f64::MIN_POSITIVE), 0.0);
    while rest >= 2.0 {
        (rest, whole) = (rest / 2.0, whole + 1.0);
    }
    while rest < 1.0 {
        (rest, whole) = (rest * 2.0, whole - 1.0);
    }
    // Each squaring of a value in [1, 2) gives one binary digit.
    let mut digit = 0.5;
    for _ in 0..20 {
        rest *= rest;
        if rest >= 2.0 {
            rest /= 2.0;
            whole += digit;
        }
        digit /= 2.0;
    }
    whole
}

/// Draws the chart. Empty if no point can be shown.
pub(super) fn scatter(scatter: &Scatter) -> Markup {
    let drawn = || scatter.lines.iter().filter(|line| line.kind != LineKind::Mark);
    let xs = scatter.points.iter().map(|it| it.x).chain(drawn().flat_map(|line| line.points.iter().map(|it| it.0)));
    let ys = scatter.points.iter().map(|it| it.y).chain(drawn().flat_map(|line| line.points.iter().map(|it| it.1)));
    let is_log = scatter.logarithmic;
    let (Some(x), Some(y)) =
        (Axis::of(xs, is_log, [LEFT + 20.0, WIDTH - RIGHT]), Axis::of(ys, is_log, [HEIGHT - BOTTOM, TOP]))
    else {
        return html! {};
    };
    let shapes = html! {
        @for value in marks(&y) {
            @let at = y.pixel(value);
            path class="grid" d={ "M" (LEFT) " " (Px(at)) "H" (Px(WIDTH - RIGHT)) } {}
            text class="q" x=(Px(LEFT - 6.0)) y=(Px(at + 4.0)) text-anchor="end" { (plain(value)) }
        }
        path class="axis" d={ "M" (LEFT) " " (TOP) "V" (HEIGHT - BOTTOM) "H" (Px(WIDTH - RIGHT)) } {}
        @for value in labelled(scatter, &x) {
            text class="q" x=(Px(x.pixel(value))) y=(Px(HEIGHT - 12.0)) text-anchor="middle" { (plain(value)) }
        }
        @for line in &scatter.lines { (self::line(line, &x, &y)) }
        @for point in &scatter.points {
            circle class="dot" cx=(Px(x.pixel(point.x))) cy=(Px(y.pixel(point.y))) r="4" {
                title { (point.label) @for note in &point.notes { ", " (note) } }
            }
        }
    };
    html! {
        p.note { "Upward: " (scatter.y_label) ". Across: " (scatter.x_label) "." (legend(scatter)) }
        (drawing(&scatter.title, HEIGHT, &shapes))
    }
}

/// Formats a value on an axis without its unit, because the name of the axis contains the unit.
fn plain(value: f64) -> String {
    let is_whole = value >= 0.0 && value % 1.0 == 0.0 && value < 1e15;
    if is_whole { format::count(value as u64) } else { format::number(value) }
}

/// Describes the lines that are in the chart.
fn legend(scatter: &Scatter) -> String {
    let has = |kind: LineKind| scatter.lines.iter().any(|line| line.kind == kind);
    let said = [
        (LineKind::Reference, " Dashed: ideal or limit."),
        (LineKind::Model, " Dotted: fitted."),
        (LineKind::Mark, " Upright: permanent change."),
    ];
    said.into_iter().filter(|(kind, _)| has(*kind)).map(|(_, text)| text).collect()
}

fn line(line: &Line, x: &Axis, y: &Axis) -> Markup {
    let class = match line.kind {
        LineKind::Measured => "line",
        LineKind::Reference => "ideal",
        LineKind::Model => "amdahl",
        LineKind::Interval => "whisker",
        LineKind::Mark => "change",
    };
    let mut path = String::new();
    for (at, value) in &line.points {
        let command = if path.is_empty() { 'M' } else { 'L' };
        path.push_str(&format!("{command}{:.1} {:.1}", x.pixel(*at), y.pixel(*value)));
    }
    let label = line.points.last().filter(|_| line.kind == LineKind::Mark);
    html! {
        path class=(class) d=(path) {}
        @if let Some((at, _)) = label {
            @let at = x.pixel(*at);
            @let anchor = if at > WIDTH - 160.0 { "end" } else { "start" };
            text class="q" x=(Px(at)) y=(Px(TOP - 6.0)) text-anchor=(anchor) { (line.label) }
        }
    }
}

/// Returns the values of the horizontal lines: for a logarithmic axis, the powers of 2, and for a linear axis, both
/// ends and the middle.
fn marks(axis: &Axis) -> Vec<f64> {
    let [low, high] = axis.ends;
    if !axis.logarithmic {
        return vec![low, (low + high) / 2.0, high];
    }
    let mut values = vec![1.0];
    while values.last().is_some_and(|last| last * 2.0 <= high) && values.len() < 12 {
        values.push(values.last().copied().unwrap_or(1.0) * 2.0);
    }
    values.retain(|value| *value >= low);
    if values.is_empty() { vec![low, high] } else { values }
}

/// Returns the positions with a label below the axis. Marks come first, then points, until there is no more room.
fn labelled(scatter: &Scatter, x: &Axis) -> Vec<f64> {
    let of_marks =
        scatter.lines.iter().filter(|line| line.kind == LineKind::Mark).filter_map(|line| line.points.last());
    let all = of_marks.map(|it| it.0).chain(scatter.points.iter().map(|it| it.x));
    let mut kept: Vec<f64> = Vec::new();
    for value in all {
        if kept.iter().all(|other| (x.pixel(*other) - x.pixel(value)).abs() >= LABEL) {
            kept.push(value);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_exact_for_powers_and_close_for_others() {
        assert_eq!([log2(1.0), log2(8.0), log2(0.25)], [0.0, 3.0, -2.0]);
        assert!((log2(10.0) - std::f64::consts::LOG2_10).abs() < 1e-5);
    }

    #[test]
    fn doublings_have_the_same_width_and_small_changes_are_visible() {
        let axis = Axis::of([1.0, 2.0, 4.0].into_iter(), true, [0.0, 100.0]).unwrap();
        assert_eq!([1.0, 2.0, 4.0].map(|it| axis.pixel(it)), [0.0, 50.0, 100.0]);
        let axis = Axis::of([100.0, 103.0].into_iter(), false, [0.0, 100.0]).unwrap();
        assert!(axis.pixel(103.0) - axis.pixel(100.0) > 40.0);
        let flat = Axis::of([5.0].into_iter(), false, [0.0, 100.0]).unwrap();
        assert!(flat.pixel(5.0).is_finite());
        assert!(Axis::of([f64::NAN].into_iter(), false, [0.0, 1.0]).is_none());
    }
}
