//! Table of launches, with one row for each pair of a call and the work that it launched.

use crate::record::{Made, TableRecord};
use crate::shown::{RowKey, Shown};
use metrics::{Context, LaunchGroup, LaunchStatistics, demangle};
use table::{CellRef, Column, Rows, Unit, column, columns};
use trace::Trace;

pub(super) const TABLE: TableRecord = TableRecord {
    shown: Shown {
        leading: &[
            "kernel_name",
            "call",
            "launches",
            "median_launch_delay_us",
            "p95_launch_delay_us",
            "avg_host_us",
            "avg_device_us",
            "short_kernels",
        ],
        row_keys: &[RowKey::new("kernel_name", &["kernel_name"])],
        ..Shown::WHOLE
    },
    ..TableRecord::new(
        "launches",
        || columns(&COLUMNS),
        Made::Events(|context, _| Box::new(LaunchTable::new(context)), None),
    )
};

/// Group of launches with the data for its cells.
pub(super) struct LaunchRow<'a> {
    trace: &'a Trace,
    group: &'a LaunchGroup,
    /// Name of the launched work.
    kernel: &'a str,
}

impl<'a> LaunchRow<'a> {
    fn of(&self) -> &'a LaunchStatistics {
        &self.group.statistics
    }
}

type CellOf = for<'t> fn(&LaunchRow<'t>) -> CellRef<'t>;

pub(super) static COLUMNS: [(Column, CellOf); 17] = [
    (column("call", "Call on the host", Unit::Text, "Name of the call on the host."), |it| {
        CellRef::text(it.trace.text(it.group.call))
    }),
    (column("kernel_name", "Started", Unit::Text, "Name of the launched work. For a graph, its first op."), |it| {
        CellRef::text(it.kernel)
    }),
    (column("launches", "Launches", Unit::Count, "Number of launches."), |it| CellRef::Int(it.of().launches)),
    (
        column(
            "device_ops",
            "Device ops",
            Unit::Count,
            "Number of ops that the launches started. A graph launch starts several ops.",
        ),
        |it| CellRef::Int(it.of().device_ops),
    ),
    (column("total_host_us", "Time in calls", Unit::TimeUs, "Total duration of the calls."), |it| {
        CellRef::Float(it.of().host.as_us())
    }),
    (column("avg_host_us", "Mean call", Unit::TimeUs, "Mean duration of the call."), |it| {
        CellRef::float(it.of().mean_us(it.of().host))
    }),
    (column("max_host_us", "Longest call", Unit::TimeUs, "Longest call."), |it| {
        CellRef::Float(it.of().host_max.as_us())
    }),
    (column("total_device_us", "Time on the device", Unit::TimeUs, "Time of the launched ops."), |it| {
        CellRef::Float(it.of().device.as_us())
    }),
    (column("avg_device_us", "Mean on the device", Unit::TimeUs, "Mean time on the device per launch."), |it| {
        CellRef::float(it.of().mean_us(it.of().device))
    }),
    (
        column(
            "avg_launch_delay_us",
            "Mean delay",
            Unit::TimeUs,
            "Mean time from the end of the call to the start on the device. 0 if the work starts before the call \
                ends, and unknown if the work starts before the call does.",
        ),
        |it| CellRef::float(it.of().mean_delay_us()),
    ),
    (
        column(
            "median_launch_delay_us",
            "Median delay",
            Unit::TimeUs,
            "Median delay from the end of the call to the start on the device.",
        ),
        |it| CellRef::float(it.of().delay_us(it.of().delay_median)),
    ),
    (column("p95_launch_delay_us", "95th percentile", Unit::TimeUs, "95th percentile of the delay."), |it| {
        CellRef::float(it.of().delay_us(it.of().delay_p95))
    }),
    (column("max_launch_delay_us", "Longest delay", Unit::TimeUs, "Longest delay."), |it| {
        CellRef::float(it.of().delay_us(it.of().delay_max))
    }),
    (Column::of_field("early_launches", "Before their call", Unit::Count, "launches.early_count"), |it| {
        CellRef::Int(it.of().early)
    }),
    (Column::of_field("short_kernels", "Shorter than their call", Unit::Count, "launches.short_kernel_count"), |it| {
        CellRef::Int(it.of().short_kernels)
    }),
    (Column::of_field("runtime_outliers", "Calls over 50 µs", Unit::Count, "launches.runtime_outlier_count"), |it| {
        CellRef::Int(it.of().runtime_outliers)
    }),
    (
        Column::of_field(
            "launch_delay_outliers",
            "Delays over 100 µs",
            Unit::Count,
            "launches.launch_delay_outlier_count",
        ),
        |it| CellRef::Int(it.of().delay_outliers),
    ),
];

/// Launches of a run, sorted by delay, largest first.
pub(crate) struct LaunchTable<'a> {
    groups: &'a [LaunchGroup],
    trace: &'a Trace,
    /// Demangled names of the launched work, if the trace contains mangled ones.
    names: Vec<Option<String>>,
    columns: Vec<Column>,
}

impl<'a> LaunchTable<'a> {
    /// Creates the table for `context`.
    pub(crate) fn new(context: &Context<'a>) -> LaunchTable<'a> {
        let (groups, trace) = (context.analysis.launches.groups.as_slice(), context.trace());
        let names = groups.iter().map(|group| demangle(trace.text(group.kernel))).collect();
        LaunchTable { groups, trace, names, columns: columns(&COLUMNS) }
    }
}

impl Rows for LaunchTable<'_> {
    fn name(&self) -> &'static str {
        "launches"
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.groups.len()
    }

    fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
        let (Some(group), Some((_, cell))) = (self.groups.get(row), COLUMNS.get(column)) else {
            return CellRef::Absent;
        };
        let demangled = self.names.get(row).and_then(Option::as_deref);
        let kernel = demangled.unwrap_or_else(|| self.trace.text(group.kernel));
        cell(&LaunchRow { trace: self.trace, group, kernel })
    }
}
