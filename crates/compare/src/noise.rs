//! Computes the typical step time of each run in a trend, with its noise. `difference.rs` computes the noise of the difference
//! between two runs.

use super::Subject;
use super::level::Level;
pub use super::t_quantile::t_quantile_975;

/// Minimum relative difference that is treated as a change if the noise is unknown.
pub const LEAST_RELATIVE_DIFFERENCE: f64 = 0.01;

/// Step times of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Number of steps. 1 if only the mean is known.
    pub count: u64,
    /// Typical time of the steps, in microseconds.
    pub mean_us: f64,
    /// Standard error of the typical time, times the square root of the number of steps. 0 for one
    /// step.
    pub stddev_us: f64,
}

impl Sample {
    /// Returns half the width of the 95 % confidence interval of the mean, in microseconds. Returns
    /// `None` for one step.
    pub fn margin_us(&self) -> Option<f64> {
        let count = self.count as f64;
        (self.count >= 2).then(|| t_quantile_975(count - 1.0) * self.stddev_us / count.sqrt())
    }
}

/// Reads the counted steps of a run. Returns `None` if the steps are unknown.
pub fn of_steps(subject: &Subject) -> Option<Sample> {
    of_levels(&subject.captures().iter().map(Level::typical).collect::<Option<Vec<Level>>>()?)
}

/// Returns the sample of a run from the levels of its captures. Returns `None` if `levels` is empty.
pub fn of_levels(levels: &[Level]) -> Option<Sample> {
    let captures = levels.len() as f64;
    let mean_us = Level::mean_us(levels)?;
    let count = levels.iter().map(|level| level.steps).sum::<u64>();
    let variance: Option<f64> = levels.iter().map(|level| level.variance_us2).sum();
    Some(match variance.map(|sum| sum / (captures * captures)) {
        Some(variance) if count >= 2 => Sample { count, mean_us, stddev_us: (variance * count as f64).sqrt() },
        _ => Sample { count: 1, mean_us, stddev_us: 0.0 },
    })
}
