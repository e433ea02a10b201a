//! Round values for an axis that starts at zero.

use crossprof::table::{Unit, unit};
use crossprof::text::format::without_zeros;

/// An axis from zero to a round value that covers the data.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Upper end of the axis.
    pub max: f64,
    /// Round values from 0 to `max`, including both.
    pub ticks: Vec<f64>,
}

impl Axis {
    /// Returns the distance between two ticks.
    pub fn width(&self) -> f64 {
        self.ticks.get(1).copied().unwrap_or(1.0)
    }
}

/// Returns an axis for values up to `largest`, with about `wanted` intervals. The width of an interval is 1, 2, 2.5 or
/// 5 times a power of ten. Without a positive finite value, the axis ends at 1.
pub fn axis(largest: f64, wanted: u32) -> Axis {
    let largest = if largest.is_finite() && largest > 0.0 { largest } else { 1.0 };
    let rough = largest / f64::from(wanted.max(1));
    let power = 10f64.powi(rough.log10().floor() as i32);
    let width = [1.0, 2.0, 2.5, 5.0].into_iter().map(|step| step * power).find(|step| *step >= rough * 0.999_999);
    let width = width.unwrap_or(10.0 * power);
    let count = (largest / width - 1e-6).ceil().max(1.0) as u32;
    let ticks: Vec<f64> = (0..=count).map(|index| f64::from(index) * width).collect();
    Axis { max: f64::from(count) * width, ticks }
}

/// Returns the label of a tick, without trailing zeros.
pub fn label(value: f64, of: Unit) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    without_zeros(&unit::short(value, of))
}

#[cfg(test)]
mod tests {
    use super::{Unit, axis, label};

    #[test]
    fn labels_are_short() {
        let labels = [0.0, 20_000.0, 2_500_000.0, 100.0].map(|us| label(us, Unit::TimeUs));
        assert_eq!(labels, ["0", "20 ms", "2.5 s", "100 µs"]);
    }

    #[test]
    fn ticks_are_round_and_cover_the_data() {
        assert_eq!(axis(33.1, 4).ticks, [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert_eq!(axis(100.0, 4).ticks, [0.0, 25.0, 50.0, 75.0, 100.0]);
        assert_eq!(axis(0.0, 4).max, 1.0);
        assert_eq!(axis(f64::NAN, 4).max, 1.0);
        for exponent in -12..12 {
            let largest = 7.3 * 10f64.powi(exponent);
            let axis = axis(largest, 4);
            assert!(axis.max >= largest && axis.max < 2.0 * largest, "{largest}: {axis:?}");
            assert!((3..=9).contains(&axis.ticks.len()), "{axis:?}");
        }
    }
}
