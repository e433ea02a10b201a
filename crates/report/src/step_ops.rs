//! The ops of a step in the unified profile: what two runs are compared by.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What runs in a step: means over counted steps and devices. Absent where no device was used. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepOps {
    /// Steps times devices that the means are over; where steps are unknown, the active spans of the devices.
    pub device_steps: u64,
    /// Self time of all ops.
    pub op_time_us: f64,
    /// Distinct ops that run in a counted step.
    pub num_ops: u64,
    /// Self time by class of op, most first.
    pub families: Vec<StepFamily>,
    /// The ops with the most time, at most 300.
    pub ops: Vec<StepOp>,
    /// The kernels with the most time, at most 200 (GPU).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<StepKernel>,
}

/// A class of ops in a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepFamily {
    /// `matmul`, `convolution`, `attention`, `elementwise`, `reduction`, `communication`, `data movement`, `other compute`.
    pub family: String,
    /// Self time.
    pub self_time_us: f64,
    /// Events.
    pub occurrences: f64,
}

/// One op in a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepOp {
    /// The instruction, else the kernel.
    pub name: String,
    /// What it does, coarsely.
    pub family: String,
    /// Name of its program, without a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// The framework's path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework_op: Option<String>,
    /// Hash of its expression without names, numbers of names and layouts: equal for the same instruction of another build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Self time.
    pub self_time_us: f64,
    /// Communication: the part in which the device computes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposed_time_us: Option<f64>,
    /// Events.
    pub occurrences: f64,
}

/// One kernel in a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepKernel {
    /// Its name as C++ writes it.
    pub name: String,
    /// What it does, coarsely.
    pub family: String,
    /// Summed durations less those of what is nested in it.
    pub time_us: f64,
    /// Events.
    pub occurrences: f64,
}
