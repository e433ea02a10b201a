//! The communication section: collectives and their cost.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Communication between devices. Absent if the devices did not communicate. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Communication {
    /// Number of runs of collectives, sends and receives: one per device per execution.
    pub num_collectives: u64,
    /// Summed durations of collectives, sends and receives.
    pub total_time_us: f64,
    /// Exposed communication: time during which the device communicates without computing.
    pub exposed_time_us: f64,
    /// Share of the communication time that overlaps with computation. `100 * (1 - exposed_time_us / total_time_us)`,
    /// over all runs in the window. `step_breakdown.communication_overlap_percent` covers the counted steps only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden_percent: Option<f64>,
    /// Time that devices waited for the last device of their group: the sum of `duration - shortest duration` over the
    /// compared runs. Compared runs are runs of the same instruction on the devices of a group, matched in execution
    /// order. If the file contains no groups, devices whose runs overlap and end together form a group. Absent if no
    /// run was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_time_us: Option<f64>,
    /// Communication time without waiting for other devices. Each compared run contributes the shortest duration in its group,
    /// once per device of the group. Absent if no run was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer_time_us: Option<f64>,
    /// Device that arrives last far more often than the other devices. The device with the shortest run of a collective
    /// arrived last. The straggler arrives last in a share of its compared runs that is at least twice the fair share.
    /// The fair share in a group of four is a quarter. The required share is never below 10 % or above 75 %. If several
    /// devices qualify, the straggler is the device that the other devices waited for the longest. Absent if no device
    /// qualifies, or if waiting is below 1 % of the compared time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub straggler: Option<String>,
    /// Share of the straggler's compared runs in which the straggler arrived last and another device of the group
    /// waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub straggler_percent: Option<f64>,
    /// Kinds of communication, most time first.
    pub kinds: Vec<CommunicationKind>,
    /// The ops with the most time, at most 50.
    pub top_ops: Vec<CommunicationOp>,
    /// Communication that is not a device op, or that duplicates a device op. The sums of this section exclude it. At
    /// most 50 entries, sorted by track and time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub apart: Vec<CommunicationApart>,
}

/// Communication that is measured separately. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct CommunicationApart {
    /// Name of the instruction, or of the collective that the messages belong to (`dcn_label`). The sums of the section
    /// exclude this communication, because it is not a device op or duplicates one.
    pub name: String,
    /// Kind of communication, as HLO names it. `megascale-send` and `megascale-receive` are messages between TPU slices.
    pub kind: String,
    /// `async` (spans on the profiler's line `Async XLA Ops`, whose starts and ends are also ops) or `megascale` (marks on host
    /// threads).
    pub track: String,
    /// Number of spans or messages.
    pub count: u64,
    /// Summed durations. The duration of a message comes from its `duration_us`, because its mark shows only its end.
    pub total_time_us: f64,
    /// Time during which the device communicates without computing. Absent for messages, because they belong to no
    /// device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposed_time_us: Option<f64>,
    /// Payload of all messages. Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// One kind of communication. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct CommunicationKind {
    /// Kind of communication, as HLO names it: `all-reduce`, `all-gather`, ...
    pub kind: String,
    /// Runs of this kind.
    pub count: u64,
    /// Summed durations.
    pub total_time_us: f64,
    /// Time during which the device communicates without computing.
    pub exposed_time_us: f64,
}

/// One collective instruction. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct CommunicationOp {
    /// Name of the op. `top_ops` contains at most 50 ops, most time first.
    pub name: String,
    /// Kind of communication.
    pub kind: String,
    /// Runs of the op.
    pub count: u64,
    /// Summed durations.
    pub total_time_us: f64,
    /// Time during which the device communicates without computing.
    pub exposed_time_us: f64,
    /// Bytes of one run on one device, by NCCL's convention: the size of the result for an all-gather, and the size of
    /// the operands for all other kinds. The sizes come from the embedded HLO, or else from the shapes in the op's
    /// expression. Absent if the trace contains neither HLO nor expressions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Devices per group, from `replica_groups` in any of its forms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_size: Option<u64>,
    /// Bytes of one run divided by the mean time of a run, including waiting. The unit is 1e9 bytes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm_gb_per_sec: Option<f64>,
    /// Bandwidth of each link, which can be compared with the link's peak. `algorithm_gb_per_sec` times the factor of
    /// NCCL's tests for a group of n devices, in 1e9 bytes per second. The factor is `2(n-1)/n` for an all-reduce;
    /// `(n-1)/n` for an all-gather, reduce-scatter and all-to-all; 1 for permutes, broadcasts, sends and receives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus_gb_per_sec: Option<f64>,
}
