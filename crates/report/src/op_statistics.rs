//! The op statistics section: total op and idle time, and the largest ops.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Op statistics. Absent if no device ran an op. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct OpStatistics {
    /// Number of distinct ops, as defined in [Ops](#ops).
    pub num_ops: u64,
    /// Summed lengths of the windows of all devices that ran ops. With `--window active`, the sum equals XProf's total
    /// time (`rawTime` of its op profile) on TPUs.
    pub device_time_us: f64,
    /// Self time of all ops.
    pub op_time_us: f64,
    /// Time in the windows during which no op runs. On a TPU, this time equals `device_time_us - op_time_us`. On a
    /// device with several streams, ops overlap, so `op_time_us` exceeds the busy time.
    pub idle_time_us: f64,
    /// Share of the windows during which no op runs. `100 * idle_time_us / device_time_us`. XProf calls this share
    /// `device_idle_time_percent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_percent: Option<f64>,
    /// Self time of ops with known FLOPs or bytes, as a share of `op_time_us`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_cost_percent: Option<f64>,
    /// The ops with the most self time, at most 50.
    pub top_ops: Vec<TopOp>,
}

/// One op. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct TopOp {
    /// Name of the instruction, or of the kernel if there is no instruction. `top_ops` contains at most 50 ops, most
    /// self time first.
    pub name: String,
    /// XLA's category.
    pub category: String,
    /// ID of the program, as an unsigned decimal number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_id: Option<String>,
    /// Framework path of the op.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework_op: Option<String>,
    /// Source file and line: the innermost frame outside libraries in the op's call stack; see [Source lines](#source-lines).
    /// Absent for ops that XLA added without a source line, such as copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Function that contains the source line. Absent if the program does not record call stacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Shape of the result without its layout, like `f32[4,2048]`. Absent if the capture does not contain the instruction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_shape: Option<String>,
    /// Number of operands. Absent if the capture does not contain the instruction.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub num_operands: u64,
    /// Shapes of the four largest operands, in the order in which the instruction lists them. Empty if the capture does
    /// not contain the instruction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operand_shapes: Vec<String>,
    /// Number of events. On GPUs, this is the number of kernels, and one execution of the op may launch several
    /// kernels.
    pub occurrences: u64,
    /// Number of executions of the instruction; see the [`ops` table](#table-ops). Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executions: Option<u64>,
    /// Summed durations.
    pub total_time_us: f64,
    /// Time during which the op runs and no op that started later runs on the same line; see [Ops](#ops).
    pub self_time_us: f64,
    /// Self time as a share of `device_time_us`, which includes idle time. Tables call it "Share of measured time".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_time_percent: Option<f64>,
    /// Self time as a share of the self time of all ops (`op_time_us`), excluding idle time. Tables call it "Share of busy time".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_self_time_percent: Option<f64>,
    /// FLOPs of all executions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flops: Option<f64>,
    /// Bytes that all executions read from and write to all memories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_accessed: Option<f64>,
    /// Source of FLOPs and bytes: `profile`, `hlo` or `from shapes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_source: Option<String>,
    /// Limit that the op is closest to; see [Roofline](#roofline). Absent if the op's cost or the device's peaks are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_by: Option<String>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
