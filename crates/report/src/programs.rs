//! The compiled programs of a run in the unified profile: how programs are told apart, and the work that they do.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One compiled program that ran in the window and whose HLO the capture embeds. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Program {
    /// Name of the program, without the number that every compilation gives anew. At most 20 programs are listed, those
    /// with the most time first.
    pub name: String,
    /// Self time of the program's ops, per step and device (`step_ops.device_steps`).
    pub self_time_us: f64,
    /// Hash of the program's instructions: equal where two builds compiled to the same ones. 64-bit FNV-1a of the
    /// fingerprints (`step_ops.ops[].fingerprint`) of all instructions in their order: names, numbers, layouts,
    /// metadata and backend configuration do not count.
    pub fingerprint: String,
    /// Partitions that the program was compiled for: its parameters are those of one of them. Absent where the program
    /// does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_partitions: Option<u64>,
    /// Arrays that the program takes: parameters of the model, optimizer state, batch.
    pub num_parameters: u64,
    /// Hash of the types and shapes of all these arrays, whatever their order.
    pub parameter_fingerprint: String,
    /// The arrays by type and shape, those with the most bytes first, at most 100 shapes.
    pub parameters: Vec<ProgramParameters>,
}

/// Arrays of one type and shape that a program takes. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct ProgramParameters {
    /// Type and shape: `bf16[8,128]`.
    pub shape: String,
    /// Arrays.
    pub count: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}
