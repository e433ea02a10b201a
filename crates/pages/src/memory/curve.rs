//! Draws bytes in program order or over time, as a line for a chart of 1,000 pixels.

use document::{Line, LineKind};

/// Maximum number of points in a line: two for each pixel of a wide chart.
const MOST_POINTS: usize = 2_000;

/// Returns the name of the unit for values up to `most_bytes`, and the number of bytes in the unit.
pub(super) fn unit_of(most_bytes: u64) -> (&'static str, f64) {
    const UNITS: [(&str, f64); 4] =
        [("GiB", (1u64 << 30) as f64), ("MiB", (1u64 << 20) as f64), ("KiB", 1024.0), ("bytes", 1.0)];
    UNITS.into_iter().find(|(_, bytes)| most_bytes as f64 >= *bytes).unwrap_or(("bytes", 1.0))
}

/// Returns a line through these points. If there are many points, keeps the lowest and the highest point of each
/// segment, so that no peak is lost.
///
/// ```text
///  all   . .:'. . .:.  | .:'.. . .
///  kept  .  ^ v     ^  v .  ^    v
/// ```
pub(super) fn line(label: &str, points: &[(f64, f64)]) -> Line {
    let label = label.to_owned();
    if points.len() <= MOST_POINTS {
        return Line { label, points: points.to_vec(), ..Line::default() };
    }
    let mut kept = Vec::with_capacity(MOST_POINTS + 2);
    kept.extend(points.first());
    for part in points.chunks(points.len().div_ceil(MOST_POINTS / 2)) {
        let by_height = |a: &(usize, &(f64, f64)), b: &(usize, &(f64, f64))| a.1.1.total_cmp(&b.1.1);
        let (Some(low), Some(high)) =
            (part.iter().enumerate().min_by(by_height), part.iter().enumerate().max_by(by_height))
        else {
            continue;
        };
        let (first, second) = if low.0 < high.0 { (low, high) } else { (high, low) };
        kept.extend([*first.1, *second.1]);
    }
    kept.extend(points.last());
    Line { label, points: kept, ..Line::default() }
}

/// Returns a horizontal line between two values of x.
pub(super) fn level(label: &str, from: f64, to: f64, height: f64) -> Line {
    Line { label: label.to_owned(), kind: LineKind::Reference, points: vec![(from, height), (to, height)] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thinned_line_keeps_its_ends_and_every_extreme() {
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|at| (f64::from(at), f64::from(at % 7))).collect();
        points[54_321].1 = 99.0;
        points[77_777].1 = -5.0;
        let kept = line("", &points).points;
        assert!(kept.len() <= MOST_POINTS + 2, "{}", kept.len());
        for point in [points[0], points[54_321], points[77_777], points[99_999]] {
            assert!(kept.contains(&point), "{point:?}");
        }
        assert!(kept.is_sorted_by_key(|point| point.0));
        assert_eq!(line("", &points[..9]).points, points[..9]);
    }

    #[test]
    fn units_are_those_of_the_highest_value() {
        assert_eq!([0, 2_000, 3 << 20, 5 << 30].map(|bytes| unit_of(bytes).0), ["bytes", "KiB", "MiB", "GiB"]);
    }
}
