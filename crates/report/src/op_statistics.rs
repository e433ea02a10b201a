//! The op statistics section: how much of the run its ops explain, and the largest of them.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Op statistics. Absent where no device was used. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct OpStatistics {
    /// Distinct ops, as defined in [Ops](#ops).
    pub num_ops: u64,
    /// The windows of the used devices, added up. With `--window active` equal to XProf's total time (`rawTime` of its op
    /// profile) on TPUs.
    pub device_time_us: f64,
    /// Self time of all ops.
    pub op_time_us: f64,
    /// What the union of the ops leaves of the windows. On a TPU it is `device_time_us - op_time_us`; on several streams ops
    /// overlap, and `op_time_us` is more than the busy time.
    pub idle_time_us: f64,
    /// `100 * idle_time_us / device_time_us`: XProf's `device_idle_time_percent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_percent: Option<f64>,
    /// Share of `op_time_us` in ops with known FLOPs or bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_cost_percent: Option<f64>,
    /// The ops with the most self time, at most 50.
    pub top_ops: Vec<TopOp>,
}

/// One op. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct TopOp {
    /// Name of the instruction, else of the kernel. At most 50 ops are listed, most self time first.
    pub name: String,
    /// XLA's category.
    pub category: String,
    /// Number of the program as an unsigned decimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_id: Option<String>,
    /// The framework's path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework_op: Option<String>,
    /// Source file and line: the innermost of its call stack that is in no library; see [Source lines](#source-lines). Absent where XLA added the
    /// op itself, as it does copies, and names no line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Events; on GPUs kernels, of which an execution of the op may launch several.
    pub occurrences: u64,
    /// How often the instruction was executed; see the [table of ops](#table-ops). Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executions: Option<u64>,
    /// Summed durations.
    pub total_time_us: f64,
    /// Time in which no op that started later runs on the same line: see [Ops](#ops).
    pub self_time_us: f64,
    /// Self time as a share of `device_time_us`, idle time included. Tables call it "Share of measured time".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_time_percent: Option<f64>,
    /// Self time as a share of that of all ops, idle time left out. Of `op_time_us`; tables call it "Share of busy time".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_self_time_percent: Option<f64>,
    /// FLOPs of all executions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flops: Option<f64>,
    /// Bytes read and written by all executions, all memories together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_accessed: Option<f64>,
    /// `profile`, `hlo`, or `from shapes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_source: Option<String>,
    /// The roof of which it uses the largest share; see [Roofline](#roofline). Absent where its cost or the device's peaks are
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_by: Option<String>,
}
