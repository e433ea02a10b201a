//! The ops of a step in the unified profile, for the comparison of runs.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Ops and kernels of a step, with means over counted steps and devices. Absent if no device ran an op. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct StepOps {
    /// Number of (step, device) pairs in the window, or number of devices if the window does not consist of steps.
    pub device_steps: u64,
    /// Self time of all ops in a step. This time may exceed the step time, because ops on several streams overlap.
    pub op_time_us: f64,
    /// Number of distinct ops that run in a step.
    pub num_ops: u64,
    /// Self time by op family, most time first.
    pub families: Vec<StepFamily>,
    /// The ops with the most time, at most 300.
    pub ops: Vec<StepOp>,
    /// The kernels with the most time, at most 200 (GPU).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<StepKernel>,
    /// Operands of the ops by data type, most bytes first. The operands show the types that the program computes with
    /// and stores its weights in. Empty if the trace contains no HLO expressions. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operand_types: Vec<OperandType>,
}

/// Operands with one data type. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct OperandType {
    /// Type of the elements, as HLO names it: `bf16`, `f4e2m1fn`.
    pub data_type: String,
    /// Share of the bytes of all operands. Each operand is counted once for every run of its op, with its full size
    /// even if the op reads only a part of it. Operands of loops, calls and tuples are excluded, because they are also
    /// operands of the ops inside these ops.
    pub percent: f64,
}

/// A family of ops in a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct StepFamily {
    /// Op family, see [kernel categories](#kernel-categories).
    pub family: String,
    /// Self time of the family's ops.
    pub self_time_us: f64,
    /// Number of runs of the family's ops.
    pub occurrences: f64,
}

/// One op in a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct StepOp {
    /// Name of the instruction, or of the kernel if there is no instruction. `ops` contains the 300 ops with the most
    /// time.
    pub name: String,
    /// Number of ops that this entry combines. The number is 1 unless the program has more than 300 ops. In such a
    /// program, matching ops of repeated layers (the same computation, and the same framework path except for numbers)
    /// form one entry, named after the op with the most time.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub instances: u64,
    /// Family of the op, see [kernel categories](#kernel-categories).
    pub family: String,
    /// Name of the op's program, without the number that changes with every compilation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Framework path of the op. If the entry combines ops with different paths, each number in the path is replaced by `*`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework_op: Option<String>,
    /// Source file with its folder, and line (`model/attention.py:52`), as defined in [Source lines](#source-lines).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Hash of the op's HLO expression. The hash is the same for the same instruction in another build, even if its
    /// number differs. The hash differs if a shape differs. The hash is the 64-bit FNV-1a of the expression without its
    /// name, names of operands and computations, layouts, channel, metadata and backend configuration, as 16
    /// hexadecimal digits. Absent if the trace contains no expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Self time.
    pub self_time_us: f64,
    /// Variation of the self time from step to step: the sample standard deviation over the first 200 counted steps.
    /// The time in a step is the mean over the devices that ran the op. An op belongs to the step in which it starts.
    /// Absent if there are fewer than two steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stddev_us: Option<f64>,
    /// Time of a communication op during which its device does not compute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposed_time_us: Option<f64>,
    /// Number of runs of the op (on GPUs, of its kernels).
    pub occurrences: f64,
}

fn one() -> u64 {
    1
}

fn is_one(count: &u64) -> bool {
    *count <= 1
}

/// One kernel in a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct StepKernel {
    /// Demangled name of a GPU kernel. Kernels with the same name form one entry, regardless of their ops. `kernels`
    /// contains the 200 kernels with the most time.
    pub name: String,
    /// Family of the kernel, see [kernel categories](#kernel-categories).
    pub family: String,
    /// Self time.
    pub time_us: f64,
    /// Number of runs of the kernel.
    pub occurrences: f64,
}
