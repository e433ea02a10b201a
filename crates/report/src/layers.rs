//! The layers section: time spent in each phase of a training step and in each layer of the model.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Phase of a training step.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, Fields,
)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Computes the loss.
    Forward,
    /// Computes the gradients.
    Backward,
    /// Computes values of the forward pass again, to save memory.
    Recomputed,
    /// Uses the gradients: reduces, clips and applies them.
    Update,
    /// Does not belong to a phase, for example because it prepares the input, draws random numbers or computes metrics,
    /// or because the program computes no gradients.
    #[default]
    Other,
}

impl Phase {
    /// All phases, in the order of a step.
    pub const ALL: [Phase; 5] = [Phase::Forward, Phase::Backward, Phase::Recomputed, Phase::Update, Phase::Other];

    /// Returns the phase's word in profiles and tables.
    pub fn key(self) -> &'static str {
        match self {
            Phase::Forward => "forward",
            Phase::Backward => "backward",
            Phase::Recomputed => "recomputed",
            Phase::Update => "update",
            Phase::Other => "other",
        }
    }

    /// Returns the display name.
    pub fn title(self) -> &'static str {
        match self {
            Phase::Forward => "Forward",
            Phase::Backward => "Backward",
            Phase::Recomputed => "Recomputed",
            Phase::Update => "Update",
            Phase::Other => "Other",
        }
    }
}

/// Time spent in each phase of a training step and in each layer of the model. Absent if no op has a framework path. Added in
/// 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Layers {
    /// Self time of ops without a name scope, as a share of `op_statistics.op_time_us`. The path of such an op contains only
    /// the function and the primitive, or the op has no path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_scope_percent: Option<f64>,
    /// Self time of fusions that contain ops of several phases, as a share of `op_statistics.op_time_us`. Each such fusion is
    /// assigned to one phase. Absent if no program computes gradients, or if the file contains no programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mixed_percent: Option<f64>,
    /// Phases with their time, in the order of a step. Empty if no program computes gradients.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseTime>,
    /// Layers of the model, largest self time first. At most 100 layers are listed, each with at least 0.5 % of
    /// `op_statistics.op_time_us`. Layers that differ only in their numbers form one entry, whose path has `*` in place
    /// of the numbers. A layer includes the layers whose path begins with its own path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<LayerTime>,
}

/// Time of one phase. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct PhaseTime {
    /// Phase of the step. See [Phases](#phases).
    pub phase: Phase,
    /// Self time of the phase's ops, summed over devices.
    pub self_time_us: f64,
    /// Self time as a share of `op_statistics.op_time_us`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_self_time_percent: Option<f64>,
}

/// Time of one layer. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct LayerTime {
    /// Program and name scopes, outermost first: `jit_train_step/layer_*/attention`.
    pub path: String,
    /// Number of layers that the path stands for. 1 if it contains no `*`.
    pub members: u64,
    /// Self time of the layer's ops, summed over devices.
    pub self_time_us: f64,
    /// Self time as a share of `op_statistics.op_time_us`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_self_time_percent: Option<f64>,
    /// Known FLOPs of the layer's ops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flops: Option<f64>,
    /// Known bytes that the layer's ops read and write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_accessed: Option<f64>,
    /// Time of the layer's collectives during which their device computes nothing, summed over devices. Absent if the layer has
    /// no collective.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposed_communication_us: Option<f64>,
    /// Layer with the most self time among the `members` whose known FLOPs are within 5 % of the median. Absent if
    /// there are fewer than 4 such layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest_member: Option<String>,
    /// Self time of the slowest member divided by the median self time of the members that do the same work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest_ratio: Option<f64>,
}
