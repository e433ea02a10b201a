//! Data model of scaling: speed by number of devices, the ops that do not scale, and the forecast.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{MatchedBy, ScalingMode, ScalingSource};

/// Op that takes longer than ideal scaling allows, in the run with the most devices of a series.
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
    /// Framework path, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework_op: Option<String>,
    /// Method by which the op was matched to an op of the reference, or `none` if the reference lacks the op.
    pub matched_by: MatchedBy,
    /// Number of ops that are compared together, in the run and in the reference.
    pub ops: [u64; 2],
    /// Self time per step per device, in the reference.
    pub reference_us: f64,
    /// `reference_us` times the growth of the work, divided by the growth of the devices. For strong scaling, this is
    /// `reference_us` divided by the growth of the devices; for weak scaling, it is `reference_us`.
    pub ideal_us: f64,
    /// Self time per step per device, in the run.
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
    /// Number of devices: two or four times the largest number that was measured.
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

/// Speed by number of devices.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scaling {
    /// Kind of scaling: `strong` (the same work on more devices), `weak` (the work grows in proportion
    /// to the devices) or `mixed` (the work grows in another way).
    pub mode: ScalingMode,
    /// Source of the mode: `given`, `batch_size`, or `assumed` if the runs do not show it.
    pub mode_source: ScalingSource,
    /// Index of the run that speed-ups are relative to: the run with the fewest devices. If there are several series,
    /// it is the reference of the first series.
    pub reference: u32,
    /// Points by device count, grouped by series if there are several.
    pub points: Vec<ScalingPoint>,
    /// Share of the reference's step that more devices do not shorten, fitted by least squares (Amdahl's law; strong
    /// scaling only). If there are several series, this is the value of the first series. Absent if more devices are
    /// slower overall.
    pub serial_fraction: Option<f64>,
    /// 95 % confidence interval of `serial_fraction` from the residuals of the fit (Student's t). The interval is
    /// clamped to the range 0 to 1. Absent if fewer than two runs have more devices than the reference.
    #[serde(default)]
    pub serial_interval: Option<[f64; 2]>,
    /// Programs or platforms that scale separately. Empty if there is only one series.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<ScalingSeries>,
    /// Ops that take longer on the most devices than with ideal scaling, largest excess first, at most 20 per series.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excess_ops: Vec<ExcessOp>,
    /// Forecast by the fitted law for two and four times the largest number of devices that was measured. Empty if no
    /// law fits (mixed scaling), or if fewer devices are faster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forecast: Vec<ScalingForecast>,
    /// Assumption of the forecast, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast_assumption: Option<String>,
}

/// Maximum number of ops above their ideal time that are listed per series.
pub(crate) const MAX_EXCESS_OPS: usize = 20;

/// Runs of one program on one platform, on different numbers of devices.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScalingSeries {
    /// Name of the experiment. If the experiment has no name, this is the name of the platform. Points refer to this
    /// name as `series`.
    pub name: String,
    /// Index of the run that the speed-ups are relative to.
    pub reference: u32,
    /// Serial fraction of this series.
    pub serial_fraction: Option<f64>,
    /// 95 % confidence interval of the serial fraction of this series.
    #[serde(default)]
    pub serial_interval: Option<[f64; 2]>,
}

/// Speed of one run, relative to the reference.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScalingPoint {
    /// Index of the run.
    pub run: u32,
    /// Name of the run's series, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    /// Number of devices.
    pub devices: u64,
    /// Typical step time.
    pub step_time_us: f64,
    /// Step time of the reference divided by the step time of this run, times the growth of the work (1 for strong scaling).
    pub speedup: f64,
    /// `speedup` divided by the growth of the number of devices, in percent.
    pub efficiency_percent: f64,
    /// Speed-up in proportion to the number of devices.
    pub ideal_speedup: f64,
    /// Speed-up that the fitted serial fraction allows.
    pub amdahl_speedup: Option<f64>,
    /// Percentage of the step spent in exposed communication.
    pub exposed_communication_percent: Option<f64>,
    /// Percentage of the step during which a device is idle.
    pub idle_percent: Option<f64>,
    /// Percentage by which perfect balance would reduce the work of the busiest device.
    pub imbalance_percent: Option<f64>,
    /// Percentage points of efficiency lost to more exposed communication than in the reference. The three `lost_to_*`
    /// fields add up to `100 - efficiency_percent`. Negative if there is less communication than in the reference.
    pub lost_to_communication_percent: Option<f64>,
    /// Percentage points of efficiency lost to more idle time than in the reference.
    pub lost_to_idle_percent: Option<f64>,
    /// Percentage points of efficiency lost to everything else, for example computation that does not
    /// shrink with the number of devices, and transfers.
    pub lost_to_rest_percent: Option<f64>,
}
