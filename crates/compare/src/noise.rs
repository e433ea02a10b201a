//! Mean step times of runs in time, with the noise of each; of two runs the noise of their difference is in `difference.rs`.

pub use super::t_quantile::t_quantile_975;
use report::UnifiedProfile;

/// A difference below this share is no difference where the noise is unknown.
pub const LEAST_RELATIVE_DIFFERENCE: f64 = 0.01;

/// Step times of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Steps; 1 where only the mean is known.
    pub count: u64,
    /// Mean time of the steps.
    pub mean_us: f64,
    /// Sample standard deviation of the step times; 0 for one step.
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
