//! Which parameters a training step trains, and which it leaves as they are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Trained and frozen parameters, as the compiled training step treats them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayerFreezing {
    /// Name of the program that computes the gradients.
    pub program: String,
    /// `high` where all parameters are arguments of one name and come back, `medium` where some do not come back (they are frozen
    /// or trained by another program).
    pub confidence: String,
    /// Arrays of parameters that come back changed.
    pub trained_arrays: u64,
    /// Arrays of parameters that come back unchanged, or not at all.
    pub frozen_arrays: u64,
    /// Elements of the trained arrays. Absent where the program holds only parts of them, since they are sharded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trained_params: Option<u64>,
    /// Elements of the frozen arrays. Absent where the program holds only parts of them, since they are sharded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen_params: Option<u64>,
    /// Names of the frozen arrays, the first 100 by name; where all arrays of a scope are frozen, the scope's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frozen: Vec<String>,
}
