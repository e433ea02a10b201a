//! What a report says of a capture without device ops: its hosts, and devices of unknown kinds.

use crate::tables::TableName;
use base::format::{self, percent, printable, shorten, time_us};
use report::UnifiedProfile;

/// A table of a report: which, its heading, its rows and its columns.
pub(super) type Part = (TableName, &'static str, usize, &'static [&'static str]);

/// What is listed, the most informative first.
pub(super) const TABLES: &[Part] = &[
    (
        TableName::OtherDevices,
        "Devices and processes of unknown kind",
        8,
        &["device_name", "kind", "num_events", "busy_time_us", "total_time_us", "busy_percent"],
    ),
    (
        TableName::OtherDeviceEvents,
        "Their events by self time",
        12,
        &["name", "device_name", "occurrences", "total_time_us", "self_time_us"],
    ),
    (
        TableName::HostPrograms,
        "Programs: calls, executions, compilations (they lie inside each other)",
        10,
        &["program", "activity", "calls", "total_time_us", "avg_time_us", "max_time_us"],
    ),
    (
        TableName::HostThreads,
        "Host threads",
        8,
        &["thread_name", "role", "num_events", "busy_time_us", "busy_percent", "top_span"],
    ),
];

/// Headline figures.
pub(super) fn headlines(profile: &UnifiedProfile) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let accelerators = profile.other_devices.iter().filter(|device| device.kind == "accelerator");
    let busy: Vec<String> = accelerators
        .take(4)
        .map(|device| format!("{} {}", printable(&shorten(&device.name, 30)), percent(device.busy_percent)))
        .collect();
    if !busy.is_empty() {
        lines.push(("Devices busy", format!("{} of their active spans", busy.join(", "))));
    }
    let Some(host) = &profile.host_activity else { return lines };
    lines.push((
        "Host busy",
        format!(
            "{}, {} of the capture, on {}",
            time_us(host.busy_time_us),
            percent(host.busy_percent),
            format::counted(host.num_threads, "thread")
        ),
    ));
    let spans: Vec<String> = host
        .top_spans
        .iter()
        .take(3)
        .map(|span| format!("{} {}", printable(&shorten(&span.name, 40)), time_us(span.self_time_us)))
        .collect();
    if !spans.is_empty() {
        lines.push(("Self time", spans.join(", ")));
    }
    let calls: Vec<_> = host.programs.iter().filter(|program| program.activity == "call").collect();
    if !calls.is_empty() {
        let sum: u64 = calls.iter().map(|program| program.calls).sum();
        lines.push((
            "Programs",
            format!("{} called, {}", format::count(calls.len() as u64), format::counted(sum, "call")),
        ));
    }
    lines
}
