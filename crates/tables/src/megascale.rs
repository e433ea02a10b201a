//! Table of the collectives between TPU slices, with the columns of XProf's `megascale_stats`.

use super::profile_table::{ProfileColumns, float, int, of_rows, optional_text, text};
use crate::record::{Made, TableRecord};
use crate::shown::Shown;
use report::{MegascaleCollective, UnifiedProfile};
use table::{Cell, Column, Table, Unit, columns};

pub(super) const TABLE: TableRecord = TableRecord {
    shown: Shown {
        leading: &[
            "rendezvous_name",
            "transfer_type",
            "occurrences",
            "total_stall_us",
            "stall_duration_us",
            "slack_time_us",
            "observed_duration_us",
            "net_tx_bytes",
            "required_gb_per_sec",
            "recv_done_p99_us",
        ],
        ..Shown::WHOLE
    },
    ..TableRecord::new("megascale", || columns(&COLUMNS), Made::Profile(table))
};

/// Declares a column for a field. XProf's column names contain no units.
macro_rules! field {
    ($key:literal, $title:literal, $unit:ident) => {
        Column::of_field($key, $title, Unit::$unit, concat!("megascale.collectives[].", $key))
    };
}

static COLUMNS: ProfileColumns<MegascaleCollective, 19> = [
    (field!("rendezvous_name", "Collective", Text).xprof("rendezvous_name"), |it| text(&it.rendezvous_name)),
    (field!("recv_op_name", "Receive", Text).xprof("recv_op_name"), |it| text(&it.recv_op_name)),
    (field!("send_op_name", "Send", Text).xprof("send_op_name"), |it| text(&it.send_op_name)),
    (field!("transfer_type", "Type", Text).xprof("transfer_type"), |it| optional_text(&it.transfer_type)),
    (field!("slack_time_us", "Slack", TimeUs).xprof("slack_time"), |it| Cell::Float(it.slack_time_us)),
    (field!("observed_duration_us", "Observed duration", TimeUs).xprof("observed_duration"), |it| {
        Cell::Float(it.observed_duration_us)
    }),
    (field!("send_stall_us", "In send", TimeUs).xprof("send_stall"), |it| Cell::Float(it.send_stall_us)),
    (field!("send_done_stall_us", "In send-done", TimeUs).xprof("send_done_stall"), |it| {
        Cell::Float(it.send_done_stall_us)
    }),
    (field!("recv_stall_us", "In recv", TimeUs).xprof("recv_stall"), |it| Cell::Float(it.recv_stall_us)),
    (field!("recv_done_stall_us", "In recv-done", TimeUs).xprof("recv_done_stall"), |it| {
        Cell::Float(it.recv_done_stall_us)
    }),
    (field!("recv_done_p50_us", "recv-done, median", TimeUs), |it| Cell::Float(it.recv_done_p50_us)),
    (field!("recv_done_p90_us", "recv-done, p90", TimeUs), |it| Cell::Float(it.recv_done_p90_us)),
    (field!("recv_done_p99_us", "recv-done, p99", TimeUs), |it| Cell::Float(it.recv_done_p99_us)),
    (field!("stall_duration_us", "Stall", TimeUs).xprof("stall_duration"), |it| Cell::Float(it.stall_duration_us)),
    (field!("total_stall_us", "Stall, all runs", TimeUs).xprof("total_stall"), |it| Cell::Float(it.total_stall_us)),
    (field!("occurrences", "Runs", Count).xprof("occurrences"), |it| Cell::Int(it.occurrences)),
    (field!("num_devices", "Devices", Count), |it| Cell::Int(it.num_devices)),
    (field!("net_tx_bytes", "Bytes sent", Bytes).xprof("net_tx_bytes"), |it| int(it.net_tx_bytes)),
    (field!("required_gb_per_sec", "Required bandwidth", GigabytesPerSecond).xprof("required_bandwidth"), |it| {
        float(it.required_gb_per_sec)
    }),
];

/// Returns a row for each collective.
fn table(profile: &UnifiedProfile) -> Table {
    of_rows("megascale", &COLUMNS, profile.megascale.iter().flat_map(|megascale| &megascale.collectives))
}
