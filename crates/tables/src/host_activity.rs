//! Tables of threads and programs of the hosts, and of devices of unknown kinds, for captures
//! without device ops.

use super::TableName;
use super::profile_table::{ProfileColumns, of_rows, optional_text, text};
use crate::record::{Made, TableRecord};
use crate::shown::{RowKey, Shown};
use report::{HostProgram, HostThread, OtherDevice, OtherDeviceEvent, UnifiedProfile};
use table::{Cell, Column, Table, Unit, column, columns};

pub(super) const HOST_THREADS_TABLE: TableRecord = TableRecord {
    shown: Shown { row_keys: &[RowKey::new("thread_name", &["thread_name"])], ..Shown::WHOLE },
    ..TableRecord::new("host-threads", || columns(&THREADS), Made::Profile(threads))
};

pub(super) const HOST_PROGRAMS_TABLE: TableRecord = TableRecord {
    shown: Shown { row_keys: &[RowKey::new("program", &["program"])], ..Shown::WHOLE },
    ..TableRecord::new("host-programs", || columns(&PROGRAMS), Made::Profile(programs))
};

pub(super) const OTHER_DEVICES_TABLE: TableRecord = TableRecord {
    shown: Shown { row_keys: &[RowKey::new("device_name", &["device_name"])], ..Shown::WHOLE },
    ..TableRecord::new("other-devices", || columns(&OTHER_DEVICES), Made::Profile(other_devices))
};

pub(super) const OTHER_DEVICE_EVENTS_TABLE: TableRecord = TableRecord {
    shown: Shown { row_keys: &[RowKey::new("device_name", &["device_name"])], ..Shown::WHOLE },
    ..TableRecord::new("other-device-events", || columns(&OTHER_DEVICE_EVENTS), Made::Profile(other_device_events))
};

pub(super) static THREADS: ProfileColumns<HostThread, 7> = [
    (Column::of_field("thread_name", "Thread", Unit::Text, "host_activity.threads[].name"), |it| text(&it.name)),
    (Column::of_field("host", "Host", Unit::Text, "host_activity.threads[].host"), |it| optional_text(&it.host)),
    (Column::of_field("role", "Role", Unit::Text, "host_activity.threads[].role"), |it| text(&it.role)),
    (Column::of_field("num_events", "Events", Unit::Count, "host_activity.threads[].num_events"), |it| {
        Cell::Int(it.num_events)
    }),
    (Column::of_field("busy_time_us", "Busy", Unit::TimeUs, "host_activity.threads[].busy_time_us"), |it| {
        Cell::Float(it.busy_time_us)
    }),
    (
        Column::of_field("busy_percent", "Share of capture", Unit::Percent, "host_activity.threads[].busy_percent"),
        |it| Cell::Float(it.busy_percent),
    ),
    (Column::of_field("top_span", "Most self time", Unit::Text, "host_activity.threads[].top_span"), |it| {
        text(&it.top_span)
    }),
];

/// Lists the threads with the most busy time.
pub(crate) fn threads(profile: &UnifiedProfile) -> Table {
    of_rows("host-threads", &THREADS, profile.host_activity.iter().flat_map(|host| &host.threads))
}

pub(super) static PROGRAMS: ProfileColumns<HostProgram, 6> = [
    (Column::of_field("program", "Program", Unit::Text, "host_activity.programs[].name"), |it| text(&it.name)),
    (Column::of_field("activity", "Activity", Unit::Text, "host_activity.programs[].activity"), |it| {
        text(&it.activity)
    }),
    (Column::of_field("calls", "Count", Unit::Count, "host_activity.programs[].calls"), |it| Cell::Int(it.calls)),
    (Column::of_field("total_time_us", "Time", Unit::TimeUs, "host_activity.programs[].total_time_us"), |it| {
        Cell::Float(it.total_time_us)
    }),
    (column("avg_time_us", "Mean", Unit::TimeUs, "Mean duration of a call."), |it| {
        Cell::Float(it.total_time_us / it.calls.max(1) as f64)
    }),
    (Column::of_field("max_time_us", "Longest", Unit::TimeUs, "host_activity.programs[].max_time_us"), |it| {
        Cell::Float(it.max_time_us)
    }),
];

/// Lists programs that were called, executed or compiled.
pub(crate) fn programs(profile: &UnifiedProfile) -> Table {
    of_rows("host-programs", &PROGRAMS, profile.host_activity.iter().flat_map(|host| &host.programs))
}

/// Explains why the table of host threads or host programs is empty for a run with device ops, and names the tables to read
/// instead. Returns `None` for other tables and runs.
pub(crate) fn why_empty(name: TableName, profile: &UnifiedProfile) -> Option<String> {
    let instead = match name {
        TableName::HostThreads => {
            "range --by line for the time of each thread, and host-ops for the activity of \
            the threads"
        }
        TableName::HostPrograms => {
            "op-groups --by program for the time of each program, and host-ops for calls on the host"
        }
        _ => return why_not_parallel(name, profile),
    };
    let has_device_ops = profile.host_activity.is_none() && profile.metadata.num_devices > 0;
    has_device_ops.then(|| {
        format!(
            "The table {} covers only captures without device ops, but this run has device ops. Use {instead}.",
            name.key()
        )
    })
}

/// Explains why a table about parallel execution is empty, and what a capture needs for it.
fn why_not_parallel(name: TableName, profile: &UnifiedProfile) -> Option<String> {
    let (is_absent, why) = match name {
        TableName::Megascale => (
            profile.megascale.is_none(),
            "No collective between TPU slices ran, or its ops do not name it. Capture a program on several slices, and open the \
             *.xplane.pb, which embeds the program.",
        ),
        TableName::Pipeline => (
            profile.pipeline.is_none(),
            "The devices do not form a pipeline: they run the same programs without a loop that passes microbatches on, or the hosts' \
             clocks are not aligned. Open the *.xplane.pb of all hosts together.",
        ),
        TableName::Experts => (
            profile.experts.is_none(),
            "No op names experts. Wrap them in `with jax.named_scope(\"experts\"):`, or each in a scope such as `expert_3`, and open \
             the *.xplane.pb, which has the names.",
        ),
        TableName::Goodput => {
            (profile.goodput.is_none(), "No device ran in the capture, so there is no productive time.")
        }
        _ => return None,
    };
    is_absent.then(|| why.to_owned())
}

pub(super) static OTHER_DEVICES: ProfileColumns<OtherDevice, 7> = [
    (Column::of_field("device_name", "Device", Unit::Text, "other_devices[].name"), |it| text(&it.name)),
    (Column::of_field("kind", "Kind", Unit::Text, "other_devices[].kind"), |it| text(&it.kind)),
    (Column::of_field("num_lines", "Lines", Unit::Count, "other_devices[].num_lines"), |it| Cell::Int(it.num_lines)),
    (Column::of_field("num_events", "Events", Unit::Count, "other_devices[].num_events"), |it| {
        Cell::Int(it.num_events)
    }),
    (Column::of_field("busy_time_us", "Busy", Unit::TimeUs, "other_devices[].busy_time_us"), |it| {
        Cell::Float(it.busy_time_us)
    }),
    (Column::of_field("total_time_us", "Active span", Unit::TimeUs, "other_devices[].total_time_us"), |it| {
        Cell::Float(it.total_time_us)
    }),
    (Column::of_field("busy_percent", "Busy share", Unit::Percent, "other_devices[].busy_percent"), |it| {
        Cell::Float(it.busy_percent)
    }),
];

/// Lists devices of unknown kinds.
pub(crate) fn other_devices(profile: &UnifiedProfile) -> Table {
    of_rows("other-devices", &OTHER_DEVICES, &profile.other_devices)
}

pub(super) static OTHER_DEVICE_EVENTS: ProfileColumns<(String, OtherDeviceEvent), 6> = [
    (Column::of_field("name", "Event", Unit::Text, "other_devices[].top_events[].name"), |(_, it)| text(&it.name)),
    (Column::of_field("device_name", "Device", Unit::Text, "other_devices[].name"), |(device, _)| text(device)),
    (Column::of_field("occurrences", "Count", Unit::Count, "other_devices[].top_events[].occurrences"), |(_, it)| {
        Cell::Int(it.occurrences)
    }),
    (
        Column::of_field("total_time_us", "Time", Unit::TimeUs, "other_devices[].top_events[].total_time_us"),
        |(_, it)| Cell::Float(it.total_time_us),
    ),
    (
        Column::of_field("self_time_us", "Self time", Unit::TimeUs, "other_devices[].top_events[].self_time_us"),
        |(_, it)| Cell::Float(it.self_time_us),
    ),
    (
        Column::of_field("max_time_us", "Longest", Unit::TimeUs, "other_devices[].top_events[].max_time_us"),
        |(_, it)| Cell::Float(it.max_time_us),
    ),
];

/// Lists the events of other devices with the most time.
pub(crate) fn other_device_events(profile: &UnifiedProfile) -> Table {
    let of = |device: &OtherDevice| {
        device.top_events.iter().map(|event| (device.name.clone(), event.clone())).collect::<Vec<_>>()
    };
    let events: Vec<_> = profile.other_devices.iter().flat_map(of).collect();
    of_rows("other-device-events", &OTHER_DEVICE_EVENTS, &events)
}
