//! What a comparison holds of the ops that do not scale, and of sizes that were not measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::MatchedBy;

/// An op that takes longer on the most devices of its series than the ideal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExcessOp {
    /// Index of the run on the most devices.
    pub run: u32,
    /// Name of the run's series, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    /// Name of the op in the run.
    pub name: String,
    /// Class of op.
    pub family: String,
    /// The framework's path, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework_op: Option<String>,
    /// How the op was matched with the reference's; `none` where the reference lacks it.
    pub matched_by: MatchedBy,
    /// Ops that are compared together, in the run and in the reference.
    pub ops: [u64; 2],
    /// Self time per step and device in the reference.
    pub reference_us: f64,
    /// `reference_us` times the growth of the work over that of the devices: strong scaling divides it by the devices, weak scaling keeps it.
    pub ideal_us: f64,
    /// Self time per step and device in the run.
    pub measured_us: f64,
    /// `measured_us - ideal_us`, at least 0.1 % of the run's step.
    pub excess_us: f64,
}

/// What the fitted law gives for more devices than were measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScalingForecast {
    /// Name of the run's series, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    /// Devices: twice and four times the most that were measured.
    pub devices: u64,
    /// Step time by the fitted serial fraction; of weak scaling by what each doubling of the devices adds.
    pub step_time_us: f64,
    /// Step times with the ends of the fit's 95 % interval. Absent where that is.
    pub interval_us: Option<[f64; 2]>,
    /// The reference's step time over `step_time_us`, times the growth of the work (1 for strong scaling).
    pub speedup: f64,
    /// `speedup` over the growth of the number of devices, in percent.
    pub efficiency_percent: f64,
}
