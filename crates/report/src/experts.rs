//! Balance of the experts of a mixture-of-experts model.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Confidence;

/// Load of the experts of a mixture-of-experts model, in the window. An op belongs to the experts if its framework path
/// contains the word `expert` or `experts`, or if it is a ragged or grouped matrix product (`ragged_dot`, `gmm`,
/// `grouped_gemm`, `fused_moe`). Collectives do not belong to the experts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Experts {
    /// Confidence in the imbalance. `high`: shapes show the number of tokens of each expert, or the device with the
    /// most time in ops of experts also arrives last at collectives. `medium`: only the times of the same ops on
    /// several devices show the imbalance. `low`: only the times of single experts with the same shapes show the
    /// imbalance. A slow device or padding may also explain such times.
    pub confidence: Confidence,
    /// Evidence for the imbalance, in a sentence.
    pub evidence: String,
    /// Time of the experts' ops as a share of the time of all ops.
    pub time_percent: f64,
    /// Number of experts: the group dimension of a ragged product, or the number of experts with a number in their
    /// framework path (`expert_3`). Absent if neither number is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_experts: Option<u64>,
    /// Largest number of tokens of an expert divided by the mean number. 1 if all experts have the same number of
    /// tokens. The value is also 1 if shapes are padded to a capacity, because padding hides the routing. Absent if the
    /// tokens of an expert are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_max_to_mean: Option<f64>,
    /// Longest time of an expert divided by the mean time of all experts. Absent if ops do not name their expert.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expert_max_to_mean: Option<f64>,
    /// Longest time of a device in ops of experts divided by the mean time of all devices. Absent if there is only one
    /// device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_max_to_mean: Option<f64>,
    /// Share of the window that an equal time on all devices would save: `100 * (longest time - mean time) / window`.
    /// The times are the devices' times in ops of experts. Absent if there is only one device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_percent: Option<f64>,
    /// Experts sorted by number, then devices.
    pub loads: Vec<ExpertLoad>,
}

/// Work of one expert, or of one device for its experts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct ExpertLoad {
    /// `expert` or `device`.
    pub kind: String,
    /// Number of the expert, or name of the device.
    pub name: String,
    /// Number of devices that ran the ops of this entry.
    pub num_devices: u64,
    /// Self time of the entry's ops, summed over devices: per step, or in the window if the steps are unknown.
    pub time_us: f64,
    /// Time of the entry divided by the mean time of all entries of this kind. 1 if all entries take the same time.
    pub time_to_mean: f64,
    /// Tokens of the expert in one run of the program: the median number of rows in the results of its matrix products
    /// in the forward pass. Absent if the entry describes a device, or if the shapes are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<f64>,
    /// Tokens of the expert divided by the mean number of tokens of all experts. 1 if all experts have the same number
    /// of tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_to_mean: Option<f64>,
}
