//! Threads and programs of the hosts, and devices of unknown kinds: what a capture without device ops tells.

use crate::table::{Cell, Column, Table, Unit};
use report::{HostProgram, HostThread, OtherDevice, UnifiedProfile};

const fn column(key: &'static str, title: &'static str, unit: Unit) -> Column {
    Column { key, title, unit }
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

/// The threads with the most busy time.
pub fn threads(profile: &UnifiedProfile) -> Table {
    let row = |thread: &HostThread| {
        vec![
            text(&thread.name),
            thread.host.as_deref().map_or(Cell::Absent, text),
            text(&thread.role),
            Cell::Int(thread.num_events),
            Cell::Float(thread.busy_time_us),
            Cell::Float(thread.busy_percent),
            text(&thread.top_span),
        ]
    };
    Table::new(
        "host-threads",
        vec![
            column("thread_name", "Thread", Unit::Text),
            column("host", "Host", Unit::Text),
            column("role", "Role", Unit::Text),
            column("num_events", "Events", Unit::Count),
            column("busy_time_us", "Busy", Unit::TimeUs),
            column("busy_percent", "Share of capture", Unit::Percent),
            column("top_span", "Most self time", Unit::Text),
        ],
        profile.host_activity.iter().flat_map(|host| &host.threads).map(row).collect(),
    )
}

/// What was called, executed and compiled.
pub fn programs(profile: &UnifiedProfile) -> Table {
    let row = |program: &HostProgram| {
        vec![
            text(&program.name),
            text(&program.activity),
            Cell::Int(program.calls),
            Cell::Float(program.total_time_us),
            Cell::Float(program.total_time_us / program.calls.max(1) as f64),
            Cell::Float(program.max_time_us),
        ]
    };
    Table::new(
        "host-programs",
        vec![
            column("program", "Program", Unit::Text),
            column("activity", "Activity", Unit::Text),
            column("calls", "Count", Unit::Count),
            column("total_time_us", "Time", Unit::TimeUs),
            column("avg_time_us", "Mean", Unit::TimeUs),
            column("max_time_us", "Longest", Unit::TimeUs),
        ],
        profile.host_activity.iter().flat_map(|host| &host.programs).map(row).collect(),
    )
}

/// Devices of kinds that crossprof does not know.
pub fn other_devices(profile: &UnifiedProfile) -> Table {
    let row = |device: &OtherDevice| {
        vec![
            text(&device.name),
            text(&device.kind),
            Cell::Int(device.num_lines),
            Cell::Int(device.num_events),
            Cell::Float(device.busy_time_us),
            Cell::Float(device.total_time_us),
            Cell::Float(device.busy_percent),
        ]
    };
    Table::new(
        "other-devices",
        vec![
            column("device_name", "Device", Unit::Text),
            column("kind", "Kind", Unit::Text),
            column("num_lines", "Lines", Unit::Count),
            column("num_events", "Events", Unit::Count),
            column("busy_time_us", "Busy", Unit::TimeUs),
            column("total_time_us", "Active span", Unit::TimeUs),
            column("busy_percent", "Busy share", Unit::Percent),
        ],
        profile.other_devices.iter().map(row).collect(),
    )
}

/// What they spend their time on.
pub fn other_device_events(profile: &UnifiedProfile) -> Table {
    let rows = profile.other_devices.iter().flat_map(|device| {
        device.top_events.iter().map(|event| {
            vec![
                text(&event.name),
                text(&device.name),
                Cell::Int(event.occurrences),
                Cell::Float(event.total_time_us),
                Cell::Float(event.self_time_us),
                Cell::Float(event.max_time_us),
            ]
        })
    });
    Table::new(
        "other-device-events",
        vec![
            column("name", "Event", Unit::Text),
            column("device_name", "Device", Unit::Text),
            column("occurrences", "Count", Unit::Count),
            column("total_time_us", "Time", Unit::TimeUs),
            column("self_time_us", "Self time", Unit::TimeUs),
            column("max_time_us", "Longest", Unit::TimeUs),
        ],
        rows.collect(),
    )
}
