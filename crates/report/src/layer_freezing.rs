//! Which parameters a training step trains, and which it leaves as they are.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Trained and frozen parameters, as the compiled training step treats them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct LayerFreezing {
    /// Name of the program that computes the gradients.
    pub program: String,
    /// `high` where parameters are recognised by name and all come back; `medium` where some do not come back (frozen, or trained by
    /// another program) or are recognised only by being updated.
    pub confidence: String,
    /// Arrays of parameters that come back updated.
    pub trained_arrays: u64,
    /// Arrays of parameters that come back unchanged or not at all; of sharded ones only those that come back unchanged, since
    /// the new value of a part may be computed from other parts: the rest is counted nowhere.
    pub frozen_arrays: u64,
    /// Elements of the trained arrays. Absent where they are sharded, since the program holds one part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trained_params: Option<u64>,
    /// Elements of the frozen arrays. Absent where they are sharded, since the program holds one part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen_params: Option<u64>,
    /// Names of the frozen arrays, the first 100 by name; where all arrays of a scope are frozen, the scope's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frozen: Vec<String>,
}
