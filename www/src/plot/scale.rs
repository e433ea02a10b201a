//! An axis of a plane, linear or logarithmic, with round ticks.

use super::ticks;

/// An axis between two values.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// Lower end of the axis.
    pub min: f64,
    /// Upper end of the axis.
    pub max: f64,
    /// True if the axis is logarithmic.
    pub logarithmic: bool,
}

impl Scale {
    /// Creates an axis that covers these values. Ignores values that are not finite. On a logarithmic axis, also
    /// ignores values that are not positive. A linear axis includes zero if the smallest value is at most half of the
    /// largest. Otherwise, an axis from zero would hide changes of a few percent. A logarithmic axis has a margin of a
    /// quarter of a decade at both ends.
    pub fn covering(values: impl Iterator<Item = f64>, logarithmic: bool) -> Scale {
        let usable = values.filter(|value| value.is_finite() && (*value > 0.0 || !logarithmic));
        let (low, high) = usable.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
        let is_empty = low > high;
        if !logarithmic {
            if high > low && low > 0.5 * high {
                // Labels have three digits, so the ticks differ by at least a hundredth.
                let range = (high - low).max(0.04 * high);
                let (low, high) = (0.5 * (low + high - range), 0.5 * (low + high + range));
                let width = ticks::axis(range, 4).width();
                return Scale { min: (low / width).floor() * width, max: (high / width).ceil() * width, logarithmic };
            }
            let max = ticks::axis(if is_empty { 1.0 } else { high }, 4).max;
            return Scale { min: if is_empty { 0.0 } else { low.min(0.0) }, max, logarithmic };
        }
        let (low, high) = if is_empty { (1.0, 10.0) } else { (low, high) };
        let margin = 1.778_279_410_038_922_8;
        Scale { min: low / margin, max: high * margin, logarithmic }
    }

    /// Returns the position of a value as a fraction of the axis. The fraction may be below 0 or above 1. Returns
    /// `None` if the axis cannot show the value.
    pub fn at(&self, value: f64) -> Option<f64> {
        let (value, min, max) = if self.logarithmic {
            if value <= 0.0 {
                return None;
            }
            (value.log10(), self.min.log10(), self.max.log10())
        } else {
            (value, self.min, self.max)
        };
        let at = (value - min) / (max - min);
        at.is_finite().then_some(at)
    }

    /// Returns round values inside the axis. On a linear axis, the values come from [`ticks::axis`]. On a logarithmic
    /// axis, the values are powers of ten. A long axis uses only every second or third power, and a short axis also
    /// uses 2 and 5 times each power.
    pub fn ticks(&self) -> Vec<f64> {
        if !self.logarithmic {
            let start = self.min.max(0.0);
            let ticks = ticks::axis(self.max - start, 4).ticks.into_iter().map(|tick| start + tick);
            return ticks.filter(|tick| *tick <= self.max * 1.000_001).collect();
        }
        let (first, last) = (self.min.log10().ceil() as i32, self.max.log10().floor() as i32);
        if last - first < 2 {
            let all = (first - 1..=last).flat_map(|power| [1.0, 2.0, 5.0].map(|part| part * 10f64.powi(power)));
            return all.filter(|tick| (self.min..=self.max).contains(tick)).collect();
        }
        let step = ((last - first) / 6 + 1).max(1);
        (first..=last).filter(|power| power.rem_euclid(step) == 0).map(|power| 10f64.powi(power)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decades_are_equally_long() {
        let scale = Scale { min: 1.0, max: 1000.0, logarithmic: true };
        assert_eq!(scale.at(1.0), Some(0.0));
        assert!((scale.at(10.0).unwrap() - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(scale.at(0.0), None);
        assert_eq!(scale.ticks(), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(Scale { min: 0.4, max: 6.0, logarithmic: true }.ticks(), [0.5, 1.0, 2.0, 5.0]);
    }

    #[test]
    fn small_changes_are_visible() {
        let scale = Scale::covering([97.2, 100.1, 99.0].into_iter(), false);
        assert_eq!((scale.min, scale.max, scale.ticks()), (96.0, 102.0, vec![96.0, 98.0, 100.0, 102.0]));
        let from_zero = Scale::covering([1.0, 14.0].into_iter(), false);
        assert_eq!((from_zero.min, from_zero.ticks()[0]), (0.0, 0.0));
        for (low, high) in [(6.8, 7.1), (5.1, 10.0), (1e9, 1e9 + 1.0), (3.0, 3.000_001)] {
            let scale = Scale::covering([low, high].into_iter(), false);
            assert!(scale.min <= low && scale.max >= high, "{scale:?}");
            let ticks = scale.ticks();
            assert!((3..=9).contains(&ticks.len()), "{ticks:?}");
            assert!(ticks.iter().all(|tick| scale.at(*tick).unwrap() < 1.001), "{ticks:?}");
            assert!(ticks.windows(2).all(|pair| pair[1] > 1.009 * pair[0]), "{ticks:?}");
        }
    }

    #[test]
    fn odd_values_do_not_stretch_an_axis() {
        let scale = Scale::covering([f64::NAN, -1.0, 0.0, 2.0, 200.0, f64::INFINITY].into_iter(), true);
        assert!(scale.min > 1.0 && scale.min < 2.0 && scale.max > 200.0 && scale.max < 400.0);
        let empty = Scale::covering(std::iter::empty(), true);
        assert!(empty.at(3.0).is_some());
        assert!(Scale::covering([1e-30, 1e30].into_iter(), true).ticks().len() < 10);
    }
}
