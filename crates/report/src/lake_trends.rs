//! Trends of a lake: the document that `crossprof lake export` writes. docs/fleet.md describes its JSON. It is not a part of the
//! unified profile, which describes one run.

/// The workloads of a lake with their captures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LakeTrends {
    /// Workloads in the order of the document.
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
    /// Captures in the order of time.
    pub captures: Vec<LakeCapture>,
    /// Comparisons that `crossprof lake regressions --record` wrote, in the order in which it wrote them: those that found a
    /// change, and the last one.
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
    /// Median of the counted steps.
    pub median_step_time_ps: Option<f64>,
    /// Lower quartile of the counted steps.
    pub p25_step_time_ps: Option<f64>,
    /// Upper quartile of the counted steps.
    pub p75_step_time_ps: Option<f64>,
    /// Number of counted steps.
    pub num_steps_counted: Option<u64>,
    /// Time of each part of the mean step, in the order of [`STEP_PARTS`](crate::STEP_PARTS). Absent if the capture has no parts.
    pub parts_ps: Vec<Option<f64>>,
    /// Ids of the rules that found the most serious problems, each with its severity.
    pub findings: Vec<(String, String)>,
}

/// A recorded comparison of the last captures of a workload with those before them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LakeVerdict {
    /// Id of the last capture.
    pub capture_id: String,
    /// Time of the last capture.
    pub time: Option<String>,
    /// Verdict on the step time: `slower`, `faster`, `same`, `within_noise`, `unstable`, `equal` or `unknown`.
    pub verdict: String,
    /// Mean step time before.
    pub before_ps: Option<f64>,
    /// Mean step time of the last captures.
    pub after_ps: Option<f64>,
    /// Change of the step time.
    pub change_percent: Option<f64>,
    /// Half of the 95 % confidence interval of the change.
    pub margin_percent: Option<f64>,
    /// Smallest change that such captures would show in four of five cases.
    pub least_provable_percent: Option<f64>,
    /// Smallest change that counts.
    pub threshold_percent: Option<f64>,
    /// Id of the first of the captures that were compared with those before them. At a change point, it is the first capture
    /// after the change.
    pub first_capture_id: Option<String>,
    /// Id of the first capture of the slower level.
    pub first_bad_capture_id: Option<String>,
    /// Id of the last capture before it.
    pub last_good_capture_id: Option<String>,
    /// Part of the step that takes more time.
    pub cause_part: Option<String>,
    /// Scope that takes more time.
    pub cause_scope: Option<String>,
    /// Op that takes more time.
    pub cause_op: Option<String>,
    /// Host that the others wait for.
    pub cause_host: Option<String>,
}
