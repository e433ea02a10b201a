//! The compiled programs of a run in the unified profile: their identity and their arguments.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One compiled program that ran in the window and whose HLO the capture embeds. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Program {
    /// Name of the program, without the number that changes with every compilation. `programs` contains at most 20
    /// programs, most time first.
    pub name: String,
    /// Self time of the program's ops, per step per device (`step_ops.device_steps`).
    pub self_time_us: f64,
    /// Hash of the program's instructions. Two builds that compiled to the same instructions have the same hash. The
    /// hash is the 64-bit FNV-1a of the fingerprints (`step_ops.ops[].fingerprint`) of all instructions in order. The
    /// hash ignores names, numbers, layouts, metadata and backend configuration.
    pub fingerprint: String,
    /// Number of partitions that the program was compiled for. `parameters` lists the arguments of one partition.
    /// Absent if the program does not record the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_partitions: Option<u64>,
    /// Number of arguments of the program: parameters of the model, optimizer state, batch.
    pub num_parameters: u64,
    /// Hash of the types and shapes of all arguments, independent of their order.
    pub parameter_fingerprint: String,
    /// Arguments by type and shape, most bytes first, at most 100 shapes.
    pub parameters: Vec<ProgramParameters>,
}

/// Arguments of a program with one type and shape. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct ProgramParameters {
    /// Type and shape: `bf16[8,128]`.
    pub shape: String,
    /// Number of arguments.
    pub count: u64,
    /// Bytes of all these arguments.
    pub bytes: u64,
}
