//! Launches by call and by what they started.

use crate::table::{CellRef, Column, Rows, Unit};
use metrics::{Context, LaunchGroup, demangle};
use trace::Trace;

const fn column(key: &'static str, title: &'static str, unit: Unit) -> Column {
    Column { key, title, unit }
}

const COLUMNS: [Column; 16] = [
    column("call", "Call on the host", Unit::Text),
    column("kernel_name", "Started", Unit::Text),
    column("launches", "Launches", Unit::Count),
    column("device_ops", "Device ops", Unit::Count),
    column("total_host_us", "Time in calls", Unit::TimeUs),
    column("avg_host_us", "Mean call", Unit::TimeUs),
    column("max_host_us", "Longest call", Unit::TimeUs),
    column("total_device_us", "Time on the device", Unit::TimeUs),
    column("avg_device_us", "Mean on the device", Unit::TimeUs),
    column("avg_launch_delay_us", "Mean delay", Unit::TimeUs),
    column("median_launch_delay_us", "Median delay", Unit::TimeUs),
    column("p95_launch_delay_us", "95th percentile", Unit::TimeUs),
    column("max_launch_delay_us", "Longest delay", Unit::TimeUs),
    column("short_kernels", "Shorter than their call", Unit::Count),
    column("runtime_outliers", "Calls over 50 µs", Unit::Count),
    column("launch_delay_outliers", "Delays over 100 µs", Unit::Count),
];

/// The launches of a run, most delay first.
pub struct LaunchTable<'a> {
    groups: &'a [LaunchGroup],
    trace: &'a Trace,
    /// Names of what was started, where the trace has them mangled.
    names: Vec<Option<String>>,
}

impl<'a> LaunchTable<'a> {
    /// The table of `context`.
    pub fn new(context: &Context<'a>) -> LaunchTable<'a> {
        let (groups, trace) = (context.analysis.launches.groups.as_slice(), context.trace());
        let names = groups.iter().map(|group| demangle(trace.text(group.kernel))).collect();
        LaunchTable { groups, trace, names }
    }
}

impl Rows for LaunchTable<'_> {
    fn name(&self) -> &'static str {
        "launches"
    }

    fn columns(&self) -> &[Column] {
        &COLUMNS
    }

    fn len(&self) -> usize {
        self.groups.len()
    }

    fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
        let Some(group) = self.groups.get(row) else { return CellRef::Absent };
        let of = &group.statistics;
        match COLUMNS.get(column).map_or("", |column| column.key) {
            "call" => CellRef::text(self.trace.text(group.call)),
            "kernel_name" => match self.names.get(row) {
                Some(Some(name)) => CellRef::Text(name),
                _ => CellRef::text(self.trace.text(group.kernel)),
            },
            "launches" => CellRef::Int(of.launches),
            "device_ops" => CellRef::Int(of.device_ops),
            "total_host_us" => CellRef::Float(of.host.as_us()),
            "avg_host_us" => CellRef::float(of.mean_us(of.host)),
            "max_host_us" => CellRef::Float(of.host_max.as_us()),
            "total_device_us" => CellRef::Float(of.device.as_us()),
            "avg_device_us" => CellRef::float(of.mean_us(of.device)),
            "avg_launch_delay_us" => CellRef::float(of.mean_us(of.delay)),
            "median_launch_delay_us" => CellRef::Float(of.delay_median.as_us()),
            "p95_launch_delay_us" => CellRef::Float(of.delay_p95.as_us()),
            "max_launch_delay_us" => CellRef::Float(of.delay_max.as_us()),
            "short_kernels" => CellRef::Int(of.short_kernels),
            "runtime_outliers" => CellRef::Int(of.runtime_outliers),
            "launch_delay_outliers" => CellRef::Int(of.delay_outliers),
            _ => CellRef::Absent,
        }
    }
}
