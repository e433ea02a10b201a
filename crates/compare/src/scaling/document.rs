//! Data model of the ops that do not scale, and of the forecast.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::MatchedBy;

/// Op that takes longer on the most devices of its series than ideal scaling would give.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExcessOp {
    /// Index of the run on the most devices.
    pub run: u32,
    /// Name of the run's series, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    /// Name of the op in the run.
    pub name: String,
    /// Class of op.
    pub family: String,
    /// Path of the framework, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework_op: Option<String>,
    /// Method by which the op was matched with the reference's, or `none` if the reference lacks it.
    pub matched_by: MatchedBy,
    /// Number of ops that are compared together, in the run and in the reference.
    pub ops: [u64; 2],
    /// Self time per step and device, in the reference.
    pub reference_us: f64,
    /// `reference_us` times the growth of the work divided by that of the devices. Strong scaling
    /// divides it by the growth of the devices; weak scaling leaves it unchanged.
    pub ideal_us: f64,
    /// Self time per step and device, in the run.
    pub measured_us: f64,
    /// `measured_us - ideal_us`, at least 0.1 % of the run's step.
    pub excess_us: f64,
}

/// Prediction of the fitted law for more devices than were measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScalingForecast {
    /// Name of the run's series, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    /// Number of devices: two or four times the most that were measured.
    pub devices: u64,
    /// Step time predicted from the fitted serial fraction or, for weak scaling, from the time that
    /// each doubling of the devices adds.
    pub step_time_us: f64,
    /// Step times at the ends of the fit's 95 % confidence interval. Absent if the fit has no interval.
    pub interval_us: Option<[f64; 2]>,
    /// Step time of the reference divided by `step_time_us`, times the growth of the work (1 for strong
    /// scaling).
    pub speedup: f64,
    /// `speedup` divided by the growth of the number of devices, in percent.
    pub efficiency_percent: f64,
}
