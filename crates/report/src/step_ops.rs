//! The ops of a step in the unified profile: what two runs are compared by.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What runs in a step: means over counted steps and devices. Absent where no device was used. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct StepOps {
    /// Windows of steps on devices: the window's steps times the devices that ran them (where it is none of steps: devices).
    pub device_steps: u64,
    /// Self time of all ops. On several streams ops overlap: it may exceed the step.
    pub op_time_us: f64,
    /// Distinct ops that run in a step.
    pub num_ops: u64,
    /// Self time by class of op, most first.
    pub families: Vec<StepFamily>,
    /// The ops with the most time, at most 300.
    pub ops: Vec<StepOp>,
    /// The kernels with the most time, at most 200 (GPU).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<StepKernel>,
    /// Operands of the ops by the type of their elements, most bytes first: with which types the program computes, and
    /// how its weights are stored. Empty where the trace holds no HLO expressions. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operand_types: Vec<OperandType>,
}

/// Operands of one type. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct OperandType {
    /// Type of the elements, as HLO names it: `bf16`, `f4e2m1fn`.
    pub data_type: String,
    /// Share of the bytes of all operands, each as often as its op runs. An operand counts whole, whatever part of it
    /// the op reads; those of loops, calls and tuples do not count, since the ops inside have them.
    pub percent: f64,
}

/// A class of ops in a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct StepFamily {
    /// Class of op, see [kernel categories](#kernel-categories).
    pub family: String,
    /// Self time of the class's ops, most first.
    pub self_time_us: f64,
    /// How often ops of the class run.
    pub occurrences: f64,
}

/// One op in a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct StepOp {
    /// Name of the instruction, else of the kernel. At most the 300 ops with the most time are listed.
    pub name: String,
    /// Equal ops that are summed here. 1 but in a program of more than 300 ops, whose equal ops of repeated layers (the
    /// same computation, the same framework path but for numbers) are one entry, named after the one with the most
    /// time.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub instances: u64,
    /// Class of the op, see [kernel categories](#kernel-categories).
    pub family: String,
    /// Name of the op's program, without the number that every compilation gives anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Framework path of the op; of several with different ones, with each number as `*`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework_op: Option<String>,
    /// Source file with its folder, and line that it comes from (`model/attention.py:52`), as [Source lines](#source-lines) says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Hash of the op's HLO expression: equal for the same instruction of another build, whatever its number, and
    /// different where a shape differs. 64-bit FNV-1a of the expression without its name, names of operands and
    /// computations, layouts, channel, metadata and backend configuration, as 16 hexadecimal digits. Absent where the
    /// trace holds no expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Self time.
    pub self_time_us: f64,
    /// How much the self time varies from step to step: the sample standard deviation over the counted steps (the first
    /// 200) of the op's time in a step, which is the mean over the devices that ran it; an op belongs to the step that
    /// it starts in. Absent with fewer than two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stddev_us: Option<f64>,
    /// Of communication, the part of the time in which its device computes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposed_time_us: Option<f64>,
    /// How often the op runs (on GPUs: kernels).
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
    /// Name of a GPU kernel as C++ writes it, whatever op it ran for. At most the 200 with the most time are listed.
    pub name: String,
    /// Class of the kernel, see [kernel categories](#kernel-categories).
    pub family: String,
    /// Self time.
    pub time_us: f64,
    /// How often the kernel runs.
    pub occurrences: f64,
}
