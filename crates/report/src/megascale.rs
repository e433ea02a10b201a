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

/// One collective between slices: all its runs with one rendezvous name. A run begins with a `send` and ends with the matching
/// `recv-done`. Times are means over runs on all devices. XProf averages over the first device of each host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct MegascaleCollective {
    /// Name that XLA gives the collective: the `_xla_host_transfer_rendezvous` attribute of its sends and receives.
    pub rendezvous_name: String,
    /// Name of its `recv-done`.
    pub recv_op_name: String,
    /// Name of its `send`.
    pub send_op_name: String,
    /// `ALL_REDUCE`, `ALL_GATHER`, `REDUCE_SCATTER`, `ALL_TO_ALL`, `ONE_TO_ONE` or `RAGGED_ALL_TO_ALL`. Absent if the program does
    /// not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer_type: Option<String>,
    /// Runs in the capture, on all devices. Runs whose `send` or `recv-done` is outside the capture are excluded.
    pub occurrences: u64,
    /// Number of devices that ran it.
    pub num_devices: u64,
    /// Time that the network has for the data without stalling the device: from the start of the `send` to the start of the
    /// `recv-done`, minus the time that the device spends in sends and receives of any collective in between.
    pub slack_time_us: f64,
    /// Time from the start of the `send` to the end of the `recv-done`.
    pub observed_duration_us: f64,
    /// Time that the device spends in the `send`.
    pub send_stall_us: f64,
    /// Time that the device spends in the `send-done`.
    pub send_done_stall_us: f64,
    /// Time that the device spends in the `recv`. XProf divides it by a further million.
    pub recv_stall_us: f64,
    /// Time that the device spends in the `recv-done`.
    pub recv_done_stall_us: f64,
    /// Median over runs of the time in the `recv-done`.
    pub recv_done_p50_us: f64,
    /// 90th percentile of these times, by nearest rank.
    pub recv_done_p90_us: f64,
    /// 99th percentile of these times, by nearest rank.
    pub recv_done_p99_us: f64,
    /// Time for which a run stalls the device: in its `send`, `send-done` and `recv-done`, and in a `recv` after the `send`.
    pub stall_duration_us: f64,
    /// Time for which all runs stall devices. `stall_duration_us * occurrences`.
    pub total_stall_us: f64,
    /// Bytes that a run moves over the network for one device. With `b` bytes of the `recv-done` and a group of `g` members:
    /// `b (g-1) / g` for all-gather and all-to-all, twice that for all-reduce, `b (g-1)` for reduce-scatter, and `b` for one-to-one.
    /// Absent if the size or the group is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub net_tx_bytes: Option<u64>,
    /// Minimum bandwidth for the transfer to fit in the slack: `net_tx_bytes / slack_time_us`, for one device. In 1e9 bytes per
    /// second. Absent if there is no slack. XProf shows 1e9 bits per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_gb_per_sec: Option<f64>,
}
