//! Models weak scaling by the time that each doubling of the devices adds to a step, and forecasts
//! more devices.
//!
//! The work per device is constant, so a step would ideally take the same time on any number of devices. In practice,
//! communication grows at each doubling with the depth of the tree or the number of rings. The wait for the slowest device
//! grows too.

use super::amdahl::FORECAST_SIZES;
use super::line::through_origin;
use super::{ScaledRun, ScalingForecast};

/// Assumption of the forecast, as a sentence.
pub(super) const ASSUMPTION: &str = "The forecast assumes that each further doubling of the devices adds as much \
    time to a step as the measured doublings did.";

/// Share of the reference's step that each doubling adds.
///
/// ```text
/// step / reference's step = 1 + b d        d: doublings of the devices
/// b = sum(d y) / sum(d d)  with  y = step / reference's step - 1        least squares; the reference itself has d = 0
/// variance of b = sum((y - b d)^2) / (m - 1) / sum(d d)        m: runs on more devices than the reference
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DoublingFit {
    /// Added share per doubling. 0 if steps become shorter.
    pub added: f64,
    /// 95 % confidence interval of `added`, from Student's t with `m - 1` degrees of freedom. The ends of the interval
    /// are clamped at 0. `None` if only one run is fitted, because that fit is exact.
    pub interval: Option<[f64; 2]>,
}

impl DoublingFit {
    /// Fits the model to `(growth of the devices, step time over the reference's)` of the runs on more devices than the
    /// reference. Returns `None` if there are no such runs.
    pub(super) fn of(runs: &[(f64, f64)]) -> Option<DoublingFit> {
        let points: Vec<(f64, f64)> = runs.iter().map(|(growth, time)| (doublings(*growth), time - 1.0)).collect();
        let (slope, margin) = through_origin(&points)?;
        let interval = margin.map(|margin| [slope - margin, slope + margin].map(not_below_0));
        Some(DoublingFit { added: not_below_0(slope), interval })
    }

    /// Returns the forecast for two and four times the devices of `most`. The forecast assumes that the work grows with
    /// the devices.
    pub(super) fn forecast(self, reference: &ScaledRun<'_>, most: &ScaledRun<'_>) -> Vec<ScalingForecast> {
        let of_size = |times: &u64| {
            let size = most.devices.checked_mul(*times)?;
            let growth = size as f64 / reference.devices as f64;
            let time = |added: f64| reference.step_time_us * (1.0 + added * doublings(growth));
            let speedup = growth * reference.step_time_us / time(self.added);
            Some(ScalingForecast {
                series: None,
                devices: size,
                step_time_us: time(self.added),
                interval_us: self.interval.map(|interval| interval.map(time)),
                speedup,
                efficiency_percent: 100.0 * speedup / growth,
            })
        };
        FORECAST_SIZES.iter().filter_map(of_size).collect()
    }
}

/// Returns the number of doublings that give `growth`: 1 for 2, 2 for 4, interpolated linearly
/// between powers of 2.
fn doublings(growth: f64) -> f64 {
    let (mut power, mut count) = (1.0, 0.0);
    while power * 2.0 <= growth && power < 1e18 {
        (power, count) = (2.0 * power, count + 1.0);
    }
    count + (growth / power - 1.0).max(0.0)
}

/// Replaces a negative share by 0, without negative zero.
fn not_below_0(share: f64) -> f64 {
    if share > 0.0 { share } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn the_fit_matches_a_calculation_by_hand() {
        // 1.05, 1.10 and 1.18 times the reference's step on 2, 4 and 8 times the devices: sum(d y) = 0.05 +
        // 0.2 + 0.54, sum(d d) = 14.
        let fit = DoublingFit::of(&[(2.0, 1.05), (4.0, 1.10), (8.0, 1.18)]).unwrap();
        assert!(close(fit.added, 0.79 / 14.0));
        let b = 0.79 / 14.0;
        let squares: f64 = [(1.0, 0.05), (2.0, 0.10), (3.0, 0.18)].iter().map(|(d, y)| (y - b * d) * (y - b * d)).sum();
        // t(2) = 4.303 from the table.
        let margin = 4.303 * (squares / 2.0 / 14.0).sqrt();
        let [low, high] = fit.interval.unwrap();
        assert!((low - (b - margin).max(0.0)).abs() < 1e-5 && (high - (b + margin)).abs() < 1e-5);
        assert_eq!(DoublingFit::of(&[(2.0, 0.9)]), Some(DoublingFit { added: 0.0, interval: None }));
        assert_eq!(DoublingFit::of(&[]), None);
    }

    #[test]
    fn doublings_are_in_proportion_between_powers_of_two() {
        let found: Vec<f64> = [1.0, 2.0, 3.0, 4.0, 6.0, 1024.0].into_iter().map(doublings).collect();
        assert_eq!(found, [0.0, 1.0, 1.5, 2.0, 2.5, 10.0]);
    }
}
