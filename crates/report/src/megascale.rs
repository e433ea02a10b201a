//! Collectives between TPU slices over the data-centre network.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Collectives between TPU slices (DCN, megascale), over all devices and the whole capture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Megascale {
    /// Share of the devices' time that is stalled: the sum of `total_stall_us` divided by the sum of the devices' active spans.
    pub stall_percent: f64,
    /// Sum of `collectives[].total_stall_us`.
    pub total_stall_us: f64,
    /// Collectives, most stall first.
    pub collectives: Vec<MegascaleCollective>,
}

/// One collective between slices: all runs that share a rendezvous name. A run begins with a `send` and ends with the
/// matching `recv-done`. Times are means over runs on all devices. XProf averages only over the first device of each
/// host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct MegascaleCollective {
    /// Name that XLA gives the collective: the `_xla_host_transfer_rendezvous` attribute of its sends and receives.
    pub rendezvous_name: String,
    /// Name of the collective's `recv-done`.
    pub recv_op_name: String,
    /// Name of the collective's `send`.
    pub send_op_name: String,
    /// `ALL_REDUCE`, `ALL_GATHER`, `REDUCE_SCATTER`, `ALL_TO_ALL`, `ONE_TO_ONE` or `RAGGED_ALL_TO_ALL`. Absent if the program does
    /// not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer_type: Option<String>,
    /// Runs in the capture, on all devices. Runs whose `send` or `recv-done` is outside the capture are excluded.
    pub occurrences: u64,
    /// Number of devices that ran the collective.
    pub num_devices: u64,
    /// Time that the network has for the data without stalling the device. This is the time from the start of the
    /// `send` to the start of the `recv-done`, without the time in between that the device spends in sends and receives
    /// of any collective.
    pub slack_time_us: f64,
    /// Time from the start of the `send` to the end of the `recv-done`.
    pub observed_duration_us: f64,
    /// Time that the device spends in the `send`.
    pub send_stall_us: f64,
    /// Time that the device spends in the `send-done`.
    pub send_done_stall_us: f64,
    /// Time that the device spends in the `recv`. XProf divides this time by a further million.
    pub recv_stall_us: f64,
    /// Time that the device spends in the `recv-done`.
    pub recv_done_stall_us: f64,
    /// Median time of a run in the `recv-done`.
    pub recv_done_p50_us: f64,
    /// 90th percentile of the time of a run in the `recv-done`, by nearest rank.
    pub recv_done_p90_us: f64,
    /// 99th percentile of the time of a run in the `recv-done`, by nearest rank.
    pub recv_done_p99_us: f64,
    /// Time for which a run stalls the device: in its `send`, `send-done` and `recv-done`, and in a `recv` after the `send`.
    pub stall_duration_us: f64,
    /// Total time for which all runs of the collective stall devices. `stall_duration_us * occurrences`.
    pub total_stall_us: f64,
    /// Bytes that a run moves over the network for one device. For a `recv-done` of `b` bytes and a group of `g`
    /// members, the number is `b (g-1) / g` for all-gather and all-to-all, twice that for all-reduce, `b (g-1)` for
    /// reduce-scatter, and `b` for one-to-one. Absent if the size or the group is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub net_tx_bytes: Option<u64>,
    /// Minimum bandwidth for the transfer to fit in the slack: `net_tx_bytes / slack_time_us`, for one device. The unit
    /// is 1e9 bytes per second. Absent if there is no slack. XProf shows 1e9 bits per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_gb_per_sec: Option<f64>,
}
