//! The communication section: collectives and what they cost.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Communication between devices. Absent where none ran. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Communication {
    /// Runs of collectives, sends and receives, one per device and execution.
    pub num_collectives: u64,
    /// Summed durations of collectives, sends and receives.
    pub total_time_us: f64,
    /// The part of communication in which the device computes nothing.
    pub exposed_time_us: f64,
    /// `100 * (1 - exposed_time_us / total_time_us)`: overlapped communication of the window, each run counted.
    /// `step_breakdown.communication_overlap_percent` is that of the counted steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden_percent: Option<f64>,
    /// Time for which devices waited for the last of their group. `duration - shortest duration`, over the compared runs: those
    /// of one instruction on the devices of a group, matched by their order. Where the file states no groups, devices whose runs
    /// overlap and end together are a group. Absent where no run was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_time_us: Option<f64>,
    /// Time without waiting for others: the shortest duration of the group, once a device, over the compared runs. Absent where
    /// no run was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer_time_us: Option<f64>,
    /// The device that arrives last far more often than the others. It had the shortest duration, and so arrived last, in at
    /// least twice its fair share of its compared runs (one in a group of four: a quarter; at most 75 % are asked for). Of
    /// several the one for which others waited longest. Absent where none stands out, or where waiting is below 1 % of the
    /// compared time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub straggler: Option<String>,
    /// Share of the straggler's compared runs in which it arrived last and another device of the group waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub straggler_percent: Option<f64>,
    /// Kinds of communication, most time first.
    pub kinds: Vec<CommunicationKind>,
    /// The ops with the most time, at most 50.
    pub top_ops: Vec<CommunicationOp>,
    /// What is no op of a device or repeats one: part of no sum above. At most 50, by track and time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub apart: Vec<CommunicationApart>,
}

/// Communication that is measured apart. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct CommunicationApart {
    /// The instruction, or the collective that messages belong to (`dcn_label`). It is communication that is no op of a device
    /// or repeats one, and is part of no sum above, so that nothing counts twice.
    pub name: String,
    /// HLO's name of the kind; `megascale-send` and `megascale-receive` are messages between slices of TPUs.
    pub kind: String,
    /// `async` (in flight by the profiler's line `Async XLA Ops`, which repeats a start and an end that are ops) or `megascale`
    /// (marks on the threads of the hosts).
    pub track: String,
    /// Spans in flight, or messages.
    pub count: u64,
    /// Summed durations; of a message what it says it took (`duration_us`), its mark being its end.
    pub total_time_us: f64,
    /// The part in which the device computes nothing. Absent for messages, which belong to no device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposed_time_us: Option<f64>,
    /// Payload of all messages. Absent where it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// One kind of communication. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct CommunicationKind {
    /// HLO's name of the kind: `all-reduce`, `all-gather`, ...
    pub kind: String,
    /// Runs of this kind.
    pub count: u64,
    /// Summed durations.
    pub total_time_us: f64,
    /// The part of their time in which the device computes nothing.
    pub exposed_time_us: f64,
}

/// One collective instruction. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct CommunicationOp {
    /// Name of the op. At most 50 are listed, most time first.
    pub name: String,
    /// Kind of the op.
    pub kind: String,
    /// Runs of the op.
    pub count: u64,
    /// Summed durations.
    pub total_time_us: f64,
    /// The part of its time in which the device computes nothing.
    pub exposed_time_us: f64,
    /// Bytes of one run on one device, by NCCL's convention: of the result for an all-gather, of the operands for all others.
    /// Source: the embedded HLO, else the shapes in the op's expression. Absent where neither is in the trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Devices of a group. From `replica_groups` in all its forms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_size: Option<u64>,
    /// Bytes of a run over its mean time (waiting included), 1e9 bytes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm_gb_per_sec: Option<f64>,
    /// What each link carries, to be compared with its peak. `algorithm_gb_per_sec` times the factor of NCCL's tests for a group
    /// of n, in 1e9 bytes per second. The factor is `2(n-1)/n` for an all-reduce; `(n-1)/n` for an all-gather, reduce-scatter and
    /// all-to-all; 1 for permutes, broadcasts, sends and receives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus_gb_per_sec: Option<f64>,
}
