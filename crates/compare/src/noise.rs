//! Mean step times of runs in a row (over time, over device counts) with their noise: is a difference more than what steps vary by?
//!
//! Welch's test for two means of unequal variance. It takes steps as independent and says nothing of what two captures of
//! the same program differ by; docs/comparing.md says what follows from that.

pub use super::t_quantile::t_quantile_975;
use report::UnifiedProfile;

/// A difference below this share is no difference where the noise is unknown.
pub const LEAST_RELATIVE_DIFFERENCE: f64 = 0.01;

/// Step times of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Steps; 1 where only the mean is known.
    pub count: u64,
    /// Their mean.
    pub mean_us: f64,
    /// Their sample standard deviation; 0 for one step.
    pub stddev_us: f64,
}

impl Sample {
    /// Half the width of the 95 % confidence interval of the mean; `None` for one step.
    pub fn margin_us(&self) -> Option<f64> {
        let count = self.count as f64;
        (self.count >= 2).then(|| t_quantile_975(count - 1.0) * self.stddev_us / count.sqrt())
    }
}

/// The counted steps of a run; `None` where steps are unknown.
pub fn of_steps(profile: &UnifiedProfile) -> Option<Sample> {
    let timing = &profile.step_timing;
    let mean_us = timing.avg_step_time_us.filter(|mean| *mean > 0.0 && mean.is_finite())?;
    Some(match (timing.num_steps_counted, timing.stddev_step_time_us) {
        (Some(count), Some(stddev_us)) if count >= 2 => Sample { count, mean_us, stddev_us },
        _ => Sample { count: 1, mean_us, stddev_us: 0.0 },
    })
}

/// A difference of two means with its noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// Half the width of the 95 % confidence interval of the difference.
    pub margin_us: f64,
    /// Degrees of freedom.
    pub degrees_of_freedom: f64,
}

/// The noise of `a.mean_us - b.mean_us`; `None` where either has one step.
pub fn welch(a: &Sample, b: &Sample) -> Option<Welch> {
    if a.count < 2 || b.count < 2 {
        return None;
    }
    let variance_of_mean = |sample: &Sample| sample.stddev_us * sample.stddev_us / sample.count as f64;
    let (va, vb) = (variance_of_mean(a), variance_of_mean(b));
    let (na, nb) = (a.count as f64 - 1.0, b.count as f64 - 1.0);
    let both = va + vb;
    let degrees_of_freedom = if both > 0.0 { both * both / (va * va / na + vb * vb / nb) } else { na + nb };
    Some(Welch { margin_us: t_quantile_975(degrees_of_freedom) * both.sqrt(), degrees_of_freedom })
}

/// Whether the means differ by more than the noise; where that is unknown, by more than [`LEAST_RELATIVE_DIFFERENCE`].
pub fn is_beyond_noise(a: &Sample, b: &Sample) -> bool {
    let delta = (a.mean_us - b.mean_us).abs();
    match welch(a, b) {
        Some(welch) => delta > welch.margin_us,
        None => delta > LEAST_RELATIVE_DIFFERENCE * a.mean_us.min(b.mean_us),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10, 12, 11, 13, 12 against 14, 15, 13, 16.
    #[test]
    fn welch_agrees_with_a_textbook() {
        let a = Sample { count: 5, mean_us: 11.6, stddev_us: 1.140_175_425_099_138 };
        let b = Sample { count: 4, mean_us: 14.5, stddev_us: 1.290_994_448_735_805_6 };
        let welch = welch(&a, &b).unwrap();
        // By hand: va = 1.3/5 = 0.26, vb = 1.6667/4 = 0.41667, df = 0.67667^2 / (0.26^2/4 + 0.41667^2/3) = 6.1239.
        assert!((welch.degrees_of_freedom - 6.1239).abs() < 1e-3, "{welch:?}");
        // t(6.1239) is between 2.447 and 2.365; times sqrt(0.67667) = 0.8226.
        assert!((1.99..2.02).contains(&welch.margin_us), "{welch:?}");
        assert!(is_beyond_noise(&a, &b));
    }

    #[test]
    fn without_spread_any_difference_counts_and_without_steps_a_percent() {
        let sample = |count, mean_us| Sample { count, mean_us, stddev_us: 0.0 };
        assert!(is_beyond_noise(&sample(5, 100.0), &sample(5, 100.001)));
        assert!(!is_beyond_noise(&sample(5, 100.0), &sample(5, 100.0)));
        assert!(!is_beyond_noise(&sample(1, 100.0), &sample(5, 100.9)));
        assert!(is_beyond_noise(&sample(1, 100.0), &sample(1, 101.1)));
    }
}
