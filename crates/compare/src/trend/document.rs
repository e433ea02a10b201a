//! Data model of a trend, apart from its points and change points.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Step time that changes a little with every run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drift {
    /// Change from one run to the next: slope of the least-squares line through the mean step times
    /// over the positions of the runs.
    pub slope_us: f64,
    /// Half the width of the 95 % confidence interval of `slope_us`.
    pub margin_us: f64,
    /// `100 * slope_us / first_us`.
    pub percent_per_run: f64,
    /// Value of the line at the first run.
    pub first_us: f64,
    /// Value of the line at the last run.
    pub last_us: f64,
    /// Sentence with the numbers.
    pub text: String,
}

/// Run that differs from those before and after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutlierRun {
    /// Index of the run.
    pub run: u32,
    /// Typical step time of the run.
    pub step_time_us: f64,
    /// Median of the mean step times of its neighbours, up to three on each side.
    pub neighbours_us: f64,
    /// Sentence with the numbers.
    pub text: String,
}

/// Part or op that changed at a change point, between the runs with the median step times of the
/// two levels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelChange {
    /// Name of the part of the step, or of the op.
    pub name: String,
    /// True for an op, false for a part of the step.
    pub is_op: bool,
    /// Time per step and device before the change.
    pub before_us: f64,
    /// Time per step and device after the change.
    pub after_us: f64,
}
