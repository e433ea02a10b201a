//! Differences between the compiled programs of a run and the programs of the baseline.
//!
//! Unified profiles contain no programs. Callers that have the programs call `session::program_changes` and pass the result in
//! [`Subject::program_changes`](super::Subject).

use std::sync::Arc;

use base::Ps;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A compiled program of a run, for comparison with the programs of other runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ComparedProgram {
    /// Name with the number of the program: `jit_f(17)`.
    pub name: String,
    /// True if the costs of the program are computed as for GPU kernels.
    pub is_of_gpu: bool,
    /// Self time of the program's ops in the window. `None` if no time was measured.
    pub time: Option<Ps>,
    /// Peak device memory according to the buffer assignment. `None` if the file contains no buffer assignment.
    pub peak_bytes: Option<u64>,
    /// Name, self time and number of executions of each op in the window.
    pub ops: Vec<(String, Ps, u64)>,
    /// HLO proto or text.
    #[serde(skip)]
    pub bytes: Arc<[u8]>,
}

/// A compiled program of a run and the same program of the baseline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramChange {
    /// Index of the run.
    pub run: u32,
    /// Program of the run: its name with its number.
    pub program: String,
    /// Program of the baseline that the run's program is compared with: the program with the same module name. If several
    /// programs have that name, it is the one with the same instructions, or else the one with the same rank by device time.
    pub baseline_program: String,
    /// Numbers of the program of the run.
    pub numbers: ProgramNumbers,
    /// Numbers of the program of the baseline.
    pub baseline_numbers: ProgramNumbers,
    /// Number of instructions that do not differ. Includes instructions inside fusions and reductions.
    pub same: u64,
    /// Number of instructions that differ from the matching instruction of the baseline.
    pub changed: u64,
    /// Number of instructions that the program of the baseline lacks.
    pub new: u64,
    /// Number of instructions that the program of the run lacks.
    pub gone: u64,
    /// Instructions that differ, sorted by device time (in the run or the baseline, whichever is longer), then by the
    /// bytes that they move, largest first. Lists at most 40 instructions, and none inside fusions and reductions.
    pub instructions: Vec<InstructionChange>,
}

/// Size of a compiled program and the cost of one execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramNumbers {
    /// Self time of the program's ops per execution per device, in microseconds. Absent if the window contains no
    /// execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_us: Option<f64>,
    /// Number of instructions, including instructions inside fusions and reductions.
    pub instructions: u64,
    /// Number of fusions.
    pub fusions: u64,
    /// FLOPs of one execution, excluding the instructions in `unknown_cost`.
    pub flops: f64,
    /// Bytes that one execution reads and writes, excluding the instructions in `unknown_cost`.
    pub bytes: f64,
    /// Number of instructions whose cost is unknown: library calls.
    pub unknown_cost: u64,
    /// Peak device memory according to the buffer assignment. Absent if the file contains no buffer assignment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
}

/// An instruction that is new, gone or changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InstructionChange {
    /// Name of the instruction in the program of the run. Absent if the instruction is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Name of the instruction in the program of the baseline. Absent if the instruction is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_name: Option<String>,
    /// Opcode.
    pub opcode: String,
    /// Type, dimensions and layout of the result.
    pub shape: String,
    /// Pass and name scopes: `forward/layer_3/attn`. Empty if the program does not record them.
    pub scope: String,
    /// Self time per execution of the program per device, in microseconds. Absent if the time was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_us: Option<f64>,
    /// Self time in the baseline, per execution of the program per device, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_time_us: Option<f64>,
    /// Bytes that one execution of the instruction reads and writes. Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<f64>,
    /// Aspects in which a changed instruction differs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<AspectChange>,
}

/// Aspect in which two instructions differ.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AspectChange {
    /// Aspect: `shape`, `data_type`, `layout`, `sharding`, `contents`, `operands` or `attributes`.
    pub aspect: String,
    /// Text of the aspect in the program of the run. Long texts are cut.
    pub run: String,
    /// Text of the aspect in the program of the baseline.
    pub baseline: String,
}
