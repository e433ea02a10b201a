//! What the user of a comparison said of a run: the report of a comparison keeps it in the metadata of each profile, so that dropping
//! the report gives the same comparison.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use base::fields::Fields;

/// What the user said of a run in a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Compared {
    /// Power of one device in watts, as the user gave it in a comparison. No trace holds it; reports keep it. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watts_per_device: Option<f64>,
    /// Price of one device in dollars an hour, as the user gave it in a comparison. No trace holds it; reports keep it.
    /// Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dollars_per_device_hour: Option<f64>,
    /// True for the baseline of the comparison whose report this profile is in. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison_baseline: Option<bool>,
    /// `strong` or `weak`, where the user said so in the comparison whose report this profile is in. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison_scaling: Option<String>,
    /// Name of the run that this capture is one of several of, in the comparison whose report this profile is in. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison_group: Option<String>,
    /// Share from which on a difference counts, where the user set it in the comparison whose report this profile is
    /// in. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison_threshold: Option<f64>,
}
