//! Table of the hosts, made from a unified profile.

use super::part_metric;
use super::profile_table::{float, int, optional_text, text};
use crate::record::{Made, TableRecord};
use crate::shown::{RowKey, Shown};
use metrics::StepPart;
use report::{HostStats, STEP_PARTS, UnifiedProfile};
use table::{Cell, Column, Table, Unit, column};

pub(super) const TABLE: TableRecord = TableRecord {
    shown: Shown {
        leading: &[
            "host",
            "num_devices",
            "num_steps",
            "step_time_us",
            "median_step_us",
            "slowest_step_us",
            "bottleneck",
            "input_bound_us",
            "idle_us",
            "communication_us",
            "caused_wait_us",
            "peak_memory_bytes",
        ],
        row_keys: &[RowKey::new("host", &["host"])],
        ..Shown::WHOLE
    },
    ..TableRecord::new("hosts", columns, Made::Profile(hosts))
};

/// Columns before the parts of a step.
const FIRST: [Column; 9] = [
    Column::of_field("host", "Host", Unit::Text, "multi_device.hosts[].host"),
    Column::of_field("num_devices", "Devices", Unit::Count, "multi_device.hosts[].num_devices"),
    Column::of_field("num_steps", "Steps", Unit::Count, "multi_device.hosts[].num_steps"),
    Column::of_field("step_time_us", "Mean step", Unit::TimeUs, "multi_device.hosts[].step_time_us"),
    Column::of_field("median_step_us", "Median step", Unit::TimeUs, "multi_device.hosts[].median_step_us"),
    Column::of_field("slowest_step_us", "Slowest step", Unit::TimeUs, "multi_device.hosts[].slowest_step_us"),
    Column::of_field("slowest_step", "Position of slowest step", Unit::Count, "multi_device.hosts[].slowest_step"),
    Column::of_field("slowest_device", "Slowest device", Unit::Text, "multi_device.hosts[].slowest_device"),
    column("bottleneck", "Largest part", Unit::Text, "Part of the mean step that takes the most time."),
];

/// Columns after the parts of a step.
const LAST: [Column; 4] = [
    column("idle_us", "Idle", Unit::TimeUs, "Sum of the parts that are idle."),
    Column::of_field("wait_time_us", "Waited for others", Unit::TimeUs, "multi_device.hosts[].wait_time_us"),
    Column::of_field("caused_wait_us", "Wait caused", Unit::TimeUs, "multi_device.hosts[].caused_wait_us"),
    Column::of_field("peak_memory_bytes", "Peak memory", Unit::Bytes, "multi_device.hosts[].peak_memory_bytes"),
];

/// Returns the first columns, one column for each part of a step, and the last columns.
fn columns() -> Vec<Column> {
    let part = |part: StepPart| {
        let metric = part_metric(part);
        let key = metric.path.rsplit('.').next().unwrap_or(metric.path);
        column(key, part.title(), Unit::TimeUs, metric.definition)
    };
    FIRST.into_iter().chain(StepPart::ALL.map(part)).chain(LAST).collect()
}

/// Returns the hosts with devices that ran ops.
fn hosts(profile: &UnifiedProfile) -> Table {
    let hosts = profile.multi_device.iter().flat_map(|devices| &devices.hosts);
    Table::new("hosts", columns(), hosts.map(row).collect())
}

fn row(host: &HostStats) -> Vec<Cell> {
    let parts = host.parts.as_ref().map(|parts| parts.values_us()).unwrap_or_default();
    let largest = STEP_PARTS.iter().zip(parts).filter_map(|((_, title), time)| Some((time?, *title)));
    let largest = largest.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(time, _)| *time > 0.0);
    let first = [
        optional_text(&host.host),
        Cell::Int(host.num_devices),
        int(host.num_steps),
        float(host.step_time_us),
        float(host.median_step_us),
        float(host.slowest_step_us),
        int(host.slowest_step),
        optional_text(&host.slowest_device),
        largest.map_or(Cell::Absent, |(_, title)| text(title)),
    ];
    let last = [
        float(host.parts.as_ref().map(|parts| parts.idle_us())),
        float(host.wait_time_us),
        float(host.caused_wait_us),
        int(host.peak_memory_bytes),
    ];
    first.into_iter().chain(parts.map(float)).chain(last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::{MultiDevice, StepParts};

    #[test]
    fn a_row_has_the_parts_of_its_own_host() {
        let parts =
            StepParts { compute_us: 4.0, other_idle_us: 2.0, input_bound_us: Some(7.0), ..StepParts::default() };
        let host = HostStats { host: Some("a".to_owned()), parts: Some(parts), ..HostStats::default() };
        let hosts_of_run = vec![host, HostStats { host: Some("b".to_owned()), ..HostStats::default() }];
        let multi_device = Some(MultiDevice { hosts: hosts_of_run, ..MultiDevice::default() });
        let table = hosts(&UnifiedProfile { multi_device, ..UnifiedProfile::default() });
        let cell = |row: usize, key: &str| {
            let at = table.columns.iter().position(|column| column.key == key).unwrap();
            table.rows[row][at].clone()
        };
        assert_eq!(cell(0, "bottleneck"), Cell::Text("Idle: input pipeline".to_owned()));
        assert_eq!((cell(0, "idle_us"), cell(0, "input_bound_us")), (Cell::Float(9.0), Cell::Float(7.0)));
        assert_eq!((cell(1, "bottleneck"), cell(1, "compute_us")), (Cell::Absent, Cell::Absent));
    }
}
