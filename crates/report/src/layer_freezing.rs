//! Trained and frozen parameters of a training step.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Trained and frozen parameters, as the compiled training step treats them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct LayerFreezing {
    /// Name of the program that computes the gradients.
    pub program: String,
    /// Confidence in the split: `high` if parameters are recognised by name and the program returns all of them.
    /// `medium` if the program does not return some parameters (they are frozen, or another program trains them), or if
    /// parameters are recognised only because they are updated.
    pub confidence: String,
    /// Parameter arrays whose updated values the program returns.
    pub trained_arrays: u64,
    /// Parameter arrays that the program returns unchanged or does not return. A sharded array is included only if the
    /// program returns it unchanged, because the new value of a shard may be computed from other shards. Other sharded
    /// arrays are counted neither as trained nor as frozen.
    pub frozen_arrays: u64,
    /// Number of elements in the trained arrays. Absent if the arrays are sharded, because the program contains only one shard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trained_params: Option<u64>,
    /// Number of elements in the frozen arrays. Absent if the arrays are sharded, because the program contains only one shard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen_params: Option<u64>,
    /// Names of the first 100 frozen arrays, sorted by name. If all arrays of a scope are frozen, the scope is listed instead
    /// of its arrays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frozen: Vec<String>,
}
