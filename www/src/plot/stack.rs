//! Stacked columns as SVG paths. There is one path per part, for any number of columns.
//!
//! ```text
//! 100 +--------------------------+ y = 0
//!     |  ##          ##          |   columns are 1 unit of x apart, with a gap of `GAP`
//!     |  ==    ##    ==    ##    |   value 0 is at y = HEIGHT
//!   0 +--==----==----==----==----+ y = HEIGHT
//!        0     1     2     3  x
//! ```

use std::fmt::Write;

/// Height of the drawing in its own units.
pub const HEIGHT: f64 = 100.0;
/// Gap between columns, as a fraction of a column's width.
const GAP: f64 = 0.22;

/// Returns the path of each part. `columns[i]` contains the sizes of the parts of column `i`, from the lowest part
/// upwards. Sizes that are negative or not finite are drawn as zero. `max` is the value at the upper edge.
pub fn paths(columns: &[Vec<f64>], parts: usize, max: f64) -> Vec<String> {
    let mut paths = vec![String::new(); parts];
    let gap = if columns.len() > 120 { 0.0 } else { GAP };
    for (index, column) in columns.iter().enumerate() {
        let left = index as f64 + gap / 2.0;
        let mut below = 0.0;
        for (path, size) in paths.iter_mut().zip(column) {
            let size = if size.is_finite() { size.max(0.0) } else { 0.0 };
            if size > 0.0 {
                let bottom = y_of(below, max);
                let top = y_of(below + size, max);
                // Writing to a String cannot fail.
                let _ = write!(path, "M{left:.3} {bottom:.3}V{top:.3}h{:.3}V{bottom:.3}z", 1.0 - gap);
            }
            below += size;
        }
    }
    paths
}

/// Returns the distance of a value from the upper edge.
pub fn y_of(value: f64, max: f64) -> f64 {
    if max > 0.0 { HEIGHT * (1.0 - (value / max).clamp(0.0, 1.0)) } else { HEIGHT }
}

/// Returns the column at position `x` of a drawing with this width.
pub fn column_at(x: f64, width: f64, columns: usize) -> Option<usize> {
    if columns == 0 || !x.is_finite() || width <= 0.0 || x < 0.0 || x >= width {
        return None;
    }
    Some(((x / width * columns as f64) as usize).min(columns - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_stacked() {
        let paths = paths(&[vec![1.0, 3.0], vec![0.0, 2.0]], 2, 4.0);
        assert_eq!(paths[0], "M0.110 100.000V75.000h0.780V100.000z");
        assert_eq!(paths[1], "M0.110 75.000V0.000h0.780V75.000zM1.110 100.000V50.000h0.780V100.000z");
    }

    #[test]
    fn odd_values_draw_nothing() {
        assert_eq!(paths(&[vec![f64::NAN, -1.0]], 2, 0.0), ["", ""]);
        assert_eq!(y_of(9.0, 4.0), 0.0);
    }

    #[test]
    fn pointers_find_their_column() {
        assert_eq!(column_at(0.0, 100.0, 4), Some(0));
        assert_eq!(column_at(99.9, 100.0, 4), Some(3));
        assert_eq!(column_at(100.0, 100.0, 4), None);
        assert_eq!(column_at(1.0, 100.0, 0), None);
    }
}
