//! Settings of a run in a comparison. The report of a comparison stores them in the metadata of each profile, so that opening the
//! report restores the comparison.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use base::fields::Fields;

/// Settings that the user made for a run in a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Compared {
    /// Power of one device in watts. The user enters the power in a comparison, because no trace contains it. Reports
    /// store it. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watts_per_device: Option<f64>,
    /// Price of one device in dollars per hour. The user enters the price in a comparison, because no trace contains
    /// it. Reports store it. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dollars_per_device_hour: Option<f64>,
    /// True for the baseline of the comparison whose report contains this profile. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison_baseline: Option<bool>,
    /// Kind of scaling (`strong` or `weak`) that the user set in the comparison whose report contains this profile. Added in
    /// 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison_scaling: Option<String>,
    /// Name of the run that this capture belongs to, if several captures form one run in the comparison whose report contains
    /// this profile. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison_group: Option<String>,
    /// Smallest relative difference that is treated as a change. Present if the user set this difference in the
    /// comparison whose report contains this profile. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison_threshold: Option<f64>,
}
