//! Trends of a lake: the document that `crossprof lake export` writes. docs/fleet.md describes its JSON. This document
//! is not a part of the unified profile, which describes one run.

/// The workloads of a lake with their captures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LakeTrends {
    /// Workloads, in document order.
    pub workloads: Vec<LakeWorkload>,
}

/// Captures of the same program on the same devices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LakeWorkload {
    /// Hash that identifies the workload in the lake.
    pub key: String,
    /// Name of the program.
    pub program: Option<String>,
    /// Model of the devices.
    pub device_kind: Option<String>,
    /// Number of devices.
    pub num_devices: Option<u64>,
    /// Samples per step.
    pub batch_size: Option<u64>,
    /// Tokens per sample.
    pub seq_length: Option<u64>,
    /// Captures, oldest first.
    pub captures: Vec<LakeCapture>,
    /// Comparisons that `crossprof lake regressions --record` wrote, oldest first: all comparisons that found a change,
    /// and the last comparison.
    pub verdicts: Vec<LakeVerdict>,
}

/// A capture of a workload. Times are in picoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LakeCapture {
    /// Hash of the contents of the capture.
    pub id: String,
    /// Name of the run.
    pub run: String,
    /// Path that the capture was read from.
    pub path: String,
    /// Time of the capture in ISO 8601. Local time if it does not end with `Z`.
    pub time: Option<String>,
    /// Commit of the program.
    pub git_sha: Option<String>,
    /// Typical step time.
    pub typical_step_ps: Option<f64>,
    /// Median time of the counted steps.
    pub median_step_time_ps: Option<f64>,
    /// Lower quartile of the times of the counted steps.
    pub p25_step_time_ps: Option<f64>,
    /// Upper quartile of the times of the counted steps.
    pub p75_step_time_ps: Option<f64>,
    /// Number of counted steps.
    pub num_steps_counted: Option<u64>,
    /// Time of each part of the mean step, in the order of [`STEP_PARTS`](crate::STEP_PARTS). Absent if the capture has no parts.
    pub parts_ps: Vec<Option<f64>>,
    /// Ids of the rules that found the most serious problems, each with its severity.
    pub findings: Vec<(String, String)>,
}

/// A recorded comparison of the last captures of a workload with the captures before them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LakeVerdict {
    /// Id of the last capture.
    pub capture_id: String,
    /// Time of the last capture.
    pub time: Option<String>,
    /// Verdict on the step time: `slower`, `faster`, `same`, `within_noise`, `unstable`, `equal` or `unknown`.
    pub verdict: String,
    /// Mean step time of the captures before the last captures.
    pub before_ps: Option<f64>,
    /// Mean step time of the last captures.
    pub after_ps: Option<f64>,
    /// Change of the step time.
    pub change_percent: Option<f64>,
    /// Half of the 95 % confidence interval of the change.
    pub margin_percent: Option<f64>,
    /// Smallest change that captures like these would reveal in four of five cases.
    pub least_provable_percent: Option<f64>,
    /// Smallest difference that is treated as a change.
    pub threshold_percent: Option<f64>,
    /// Id of the first of the last captures. At a change point, this is the first capture after the change.
    pub first_capture_id: Option<String>,
    /// Id of the first capture of the slower level.
    pub first_bad_capture_id: Option<String>,
    /// Id of the last capture before the slower level.
    pub last_good_capture_id: Option<String>,
    /// Part of the step that takes more time.
    pub cause_part: Option<String>,
    /// Scope that takes more time.
    pub cause_scope: Option<String>,
    /// Op that takes more time.
    pub cause_op: Option<String>,
    /// Host that the other hosts wait for.
    pub cause_host: Option<String>,
}
