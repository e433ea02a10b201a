//! The communication section: collectives and what they cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Communication between devices. Absent where none ran. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Communication {
    /// Runs of collectives, sends and receives on all devices.
    pub num_collectives: u64,
    /// Summed durations.
    pub total_time_us: f64,
    /// The part in which the device computes nothing.
    pub exposed_time_us: f64,
    /// `100 * (1 - exposed_time_us / total_time_us)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden_percent: Option<f64>,
    /// Time until the last device arrived, over the runs found on several devices; absent where none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_time_us: Option<f64>,
    /// Time after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer_time_us: Option<f64>,
    /// The device that arrives last far more often than the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub straggler: Option<String>,
    /// Share of the compared runs in which it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub straggler_percent: Option<f64>,
    /// By kind, most time first.
    pub kinds: Vec<CommunicationKind>,
    /// The ops with the most time, at most 50.
    pub top_ops: Vec<CommunicationOp>,
    /// What is no op of a device or repeats one: part of no sum above. At most 50, by track and time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub apart: Vec<CommunicationApart>,
}

/// Communication that is measured apart. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommunicationApart {
    /// The instruction, or the collective that the messages belong to.
    pub name: String,
    /// `all-gather`, ..., `megascale-send`, `megascale-receive`.
    pub kind: String,
    /// `async`: in flight by the line `Async XLA Ops`. `megascale`: messages between slices.
    pub track: String,
    /// How often.
    pub count: u64,
    /// Summed durations.
    pub total_time_us: f64,
    /// The part in which the device computes nothing. Absent for messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposed_time_us: Option<f64>,
    /// Bytes of all messages. Absent where they are not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// One kind of communication. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommunicationKind {
    /// `all-reduce`, `all-gather`, ...
    pub kind: String,
    /// Runs.
    pub count: u64,
    /// Summed durations.
    pub total_time_us: f64,
    /// The part in which the device computes nothing.
    pub exposed_time_us: f64,
}

/// One collective instruction. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommunicationOp {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// Runs.
    pub count: u64,
    /// Summed durations.
    pub total_time_us: f64,
    /// The part in which the device computes nothing.
    pub exposed_time_us: f64,
    /// Bytes of one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Devices of a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_size: Option<u64>,
    /// Bytes of a run over its mean time, in 1e9 bytes a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm_gb_per_sec: Option<f64>,
    /// What each link carries, in 1e9 bytes a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus_gb_per_sec: Option<f64>,
}
