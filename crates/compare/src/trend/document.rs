//! Data model of a trend.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::OrderedBy;

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
    /// Sentence that describes the drift with its numbers.
    pub text: String,
}

/// Run that differs from the runs before and after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutlierRun {
    /// Index of the run.
    pub run: u32,
    /// Typical step time of the run.
    pub step_time_us: f64,
    /// Median of the mean step times of the neighbouring runs, up to three on each side.
    pub neighbours_us: f64,
    /// Sentence that describes the outlier with its numbers.
    pub text: String,
}

/// Part or op that changed at a change point. The run with the median step time before the change is compared with the run with
/// the median step time after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelChange {
    /// Name of the part of the step, or of the op.
    pub name: String,
    /// True for an op, false for a part of the step.
    pub is_op: bool,
    /// Time per step per device before the change.
    pub before_us: f64,
    /// Time per step per device after the change.
    pub after_us: f64,
}

/// Runs over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trend {
    /// Source of the order: `training_step` (from the names of the runs) or `timestamp`.
    pub ordered_by: OrderedBy,
    /// Runs in chronological order.
    pub points: Vec<TrendPoint>,
    /// Points at which the step time changes permanently. Empty if the step time drifts.
    pub change_points: Vec<ChangePoint>,
    /// Line through the step times. Present if the line fits the step times better than change points do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
    /// Single runs that differ from the runs before and after them. These runs belong neither to a level nor to a
    /// drift.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outliers: Vec<OutlierRun>,
}

/// One run of a trend.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendPoint {
    /// Index of the run.
    pub run: u32,
    /// Position of the run in time: a training step (`1000` from `step_00001000`) or a timestamp.
    pub label: String,
    /// Typical step time. Absent if the steps are unknown.
    pub step_time_us: Option<f64>,
    /// Half the width of the 95 % confidence interval of the mean. Absent if there are fewer than two steps.
    pub margin_us: Option<f64>,
    /// Percentage of the time during which the devices are busy.
    pub compute_util_percent: Option<f64>,
}

/// Permanent change of the step time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangePoint {
    /// Index of the first run after the change.
    pub run: u32,
    /// Mean of the typical step times of the runs before the change, back to the previous change.
    pub before_us: f64,
    /// Mean of the typical step times of the runs after the change, up to the next change.
    pub after_us: f64,
    /// Median of the mean step times of the runs before the change, and of the runs after it.
    #[serde(default)]
    pub medians_us: [f64; 2],
    /// Number of runs before the change, and after it.
    #[serde(default)]
    pub runs: [u64; 2],
    /// Parts of the step and ops that change most, in the direction of the change, between the runs with the median step times.
    /// Lists at most three parts and three ops, each with at least 5 % of the change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<LevelChange>,
    /// Sentence that describes the change with its numbers.
    pub text: String,
}
