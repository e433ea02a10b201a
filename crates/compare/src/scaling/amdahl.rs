//! Fits Amdahl's law: the part of a step that more devices do not shorten, its confidence interval,
//! and the forecast for more devices.

use super::ScalingForecast;
use super::line::through_origin;

/// Numbers of devices in the forecast, as multiples of the largest number that was measured.
pub(super) const FORECAST_SIZES: [u64; 2] = [2, 4];

/// Assumption of the forecast, as a sentence.
pub(super) const ASSUMPTION: &str = "The forecast assumes that Amdahl's law holds for more devices than were \
    measured: the serial part stays constant, all else shrinks in proportion to the devices, and nothing grows \
    with them.";

/// Serial fraction `s` of Amdahl's law: the share of the reference's step that more devices do not
/// shorten.
///
/// ```text
/// 1 / speedup = s + (1 - s) / n        n: growth of the devices
/// y = s x   with  y = 1 / speedup - 1 / n,  x = 1 - 1 / n
/// s = sum(x y) / sum(x x)              least squares; the reference itself has x = 0
/// variance of s = sum((y - s x)^2) / (m - 1) / sum(x x)      m: runs on more devices than the reference
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AmdahlFit {
    /// Serial share of the step, from 0 to 1.
    pub serial: f64,
    /// 95 % confidence interval of `serial`, from Student's t with `m - 1` degrees of freedom. The interval is clamped to
    /// the range 0 to 1. `None` if only one run is fitted, because that fit is exact.
    pub interval: Option<[f64; 2]>,
}

impl AmdahlFit {
    /// Fits the law to `(growth of the devices, speed-up)` of the runs on more devices than the
    /// reference.
    ///
    /// A speed-up beyond the ideal gives a serial fraction of 0. Returns `None` if there are no runs other than the
    /// reference, or if steps get longer with more devices overall, which Amdahl's law does not allow.
    pub(super) fn of(runs: &[(f64, f64)]) -> Option<AmdahlFit> {
        let points: Vec<(f64, f64)> =
            runs.iter().map(|(growth, speedup)| (1.0 - 1.0 / growth, 1.0 / speedup - 1.0 / growth)).collect();
        let (slope, margin) = through_origin(&points).filter(|(slope, _)| *slope <= 1.0)?;
        let interval = margin.map(|margin| [slope - margin, slope + margin].map(within_step));
        Some(AmdahlFit { serial: within_step(slope), interval })
    }

    /// Returns the speed-up on `growth` times the devices.
    pub(super) fn speedup(self, growth: f64) -> f64 {
        law(self.serial, growth)
    }

    /// Returns the forecast for two and four times `most` devices. The forecast is relative to a reference on `devices`
    /// devices whose step takes `step_time_us`.
    pub(super) fn forecast(self, devices: u64, step_time_us: f64, most: u64) -> Vec<ScalingForecast> {
        let of_size = |times: &u64| {
            let size = most.checked_mul(*times)?;
            let growth = size as f64 / devices as f64;
            let time = |serial: f64| step_time_us / law(serial, growth);
            Some(ScalingForecast {
                series: None,
                devices: size,
                step_time_us: time(self.serial),
                interval_us: self.interval.map(|interval| interval.map(time)),
                speedup: self.speedup(growth),
                efficiency_percent: 100.0 * self.speedup(growth) / growth,
            })
        };
        FORECAST_SIZES.iter().filter_map(of_size).collect()
    }
}

fn law(serial: f64, growth: f64) -> f64 {
    1.0 / (serial + (1.0 - serial) / growth.max(1.0))
}

/// Clamps a share to the range 0 to 1. Never returns negative zero.
fn within_step(share: f64) -> f64 {
    if share > 0.0 { share.min(1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn the_fit_and_its_interval_match_a_calculation_by_hand() {
        // Speed-ups of 1.8 on 2 and 3 on 4 devices: x = 1/2, 3/4; y = 1/1.8 - 1/2 = 1/18, 1/3 - 1/4 = 1/12. sum(x x) = 13/16,
        // sum(x y) = 1/36 + 1/16 = 13/144: s = 1/9. Both runs are on the line: 1/18 = 1/9 * 1/2 and 1/12 = 1/9 * 3/4.
        let exact = AmdahlFit::of(&[(2.0, 1.8), (4.0, 3.0)]).unwrap();
        assert!(
            close(exact.serial, 1.0 / 9.0) && exact.interval.unwrap().iter().all(|it| (it - 1.0 / 9.0).abs() < 1e-6)
        );
        // 1.6 and 3: y = 1/8, 1/12. sum(x y) = 1/16 + 1/16 = 1/8: s = 2/13. Residuals 1/8 - 1/13 = 5/104 and 1/12 - 3/26 = -5/156.
        let fit = AmdahlFit::of(&[(2.0, 1.6), (4.0, 3.0)]).unwrap();
        assert!(close(fit.serial, 2.0 / 13.0));
        let squares: f64 = 5.0 / 104.0 * (5.0 / 104.0) + 5.0 / 156.0 * (5.0 / 156.0);
        let error = (squares / (13.0 / 16.0)).sqrt();
        // t(1) = 12.706: the interval is wider than the range of a share.
        assert!(12.706 * error > 0.8);
        let [low, high] = fit.interval.unwrap();
        assert!(low == 0.0 && close(high, (2.0 / 13.0 + 12.706 * error).min(1.0)));
        // With four runs, t(3) = 3.182 from the table.
        let runs = [(2.0, 1.81), (4.0, 3.0), (8.0, 4.6), (16.0, 6.0)];
        let fit = AmdahlFit::of(&runs).unwrap();
        let (xs, ys): (Vec<f64>, Vec<f64>) = runs.iter().map(|(n, s)| (1.0 - 1.0 / n, 1.0 / s - 1.0 / n)).unzip();
        let xx: f64 = xs.iter().map(|x| x * x).sum();
        let rest: f64 = xs.iter().zip(&ys).map(|(x, y)| (y - fit.serial * x) * (y - fit.serial * x)).sum();
        let margin = 3.182 * (rest / 3.0 / xx).sqrt();
        let [low, high] = fit.interval.unwrap();
        assert!(close(low, fit.serial - margin) && close(high, fit.serial + margin));
        assert_eq!(AmdahlFit::of(&[(4.0, 2.0)]).unwrap().interval, None);
        assert_eq!(AmdahlFit::of(&[(4.0, 0.5)]), None);
        assert_eq!(AmdahlFit::of(&[]), None);
        // Beyond the ideal: nothing is serial, and 0 has no sign.
        let beyond = AmdahlFit::of(&[(4.0, 5.0)]).unwrap();
        assert!(beyond.serial == 0.0 && beyond.serial.is_sign_positive());
    }

    #[test]
    fn the_law_forecasts_two_and_four_times_the_devices() {
        // A tenth of 1000 us is serial: 100 + 900 / 16 and 100 + 900 / 32 us.
        let fit = AmdahlFit { serial: 0.1, interval: Some([0.05, 0.2]) };
        let [twice, four] = <[ScalingForecast; 2]>::try_from(fit.forecast(1, 1000.0, 8)).unwrap();
        assert_eq!((twice.devices, four.devices), (16, 32));
        assert!(close(twice.step_time_us, 156.25) && close(four.step_time_us, 128.125));
        assert!(close(twice.speedup, 6.4) && close(twice.efficiency_percent, 40.0));
        let [low, high] = twice.interval_us.unwrap();
        assert!(close(low, 50.0 + 950.0 / 16.0) && close(high, 200.0 + 800.0 / 16.0));
        // 16 devices are four times a reference on 4.
        assert!(close(fit.forecast(4, 1000.0, 8)[0].step_time_us, 100.0 + 900.0 / 4.0));
        assert_eq!(fit.forecast(1, 1000.0, u64::MAX), []);
    }
}
