//! Table of the host threads' activity, by name.

use crate::record::{Made, TableRecord};
use crate::shown::{RowKey, Shown};
use metrics::{Context, HostOp, HostOps};
use table::{CellRef, Column, Rows, Unit, column, columns};
use trace::Trace;

pub(super) const TABLE: TableRecord = TableRecord {
    shown: Shown { row_keys: &[RowKey::new("host_op_name", &["host_op_name"])], ..Shown::WHOLE },
    ..TableRecord::new(
        "host-ops",
        || columns(&COLUMNS),
        Made::Events(|context, _| Box::new(HostOpRows::new(context)), None),
    )
};

type CellOf = for<'t> fn(&'t HostOpRows<'t>, &'t HostOp) -> CellRef<'t>;

pub(super) static COLUMNS: [(Column, CellOf); 9] = [
    (column("host_op_name", "Name", Unit::Text, "Name of the events."), |rows, op| {
        CellRef::text(rows.trace.text(op.name))
    }),
    (
        column(
            "role",
            "What it does",
            Unit::Text,
            "Kind of activity: `python`, `launch`, `input`, `compile`, `transfer`, `wait` or `other`.",
        )
        .source(
            "The event's name (`crates/facts/src/host_spans.csv`; a Python frame is `python`). If the name is \
                unknown, the thread (`crates/facts/src/host_threads.csv`).",
        ),
        |_, op| CellRef::Text(op.role.label()),
    ),
    (
        column("occurrences", "Count", Unit::Count, "Number of events that are at least partly in the window.").caveat(
            "An event nested in another event of the same name on its thread is not counted separately. Excludes \
                ops of a CPU backend, which are device work.",
        ),
        |_, op| CellRef::Int(op.tally.occurrences),
    ),
    (column("threads", "Threads", Unit::Count, "Number of threads with these events."), |_, op| {
        CellRef::Int(op.threads)
    }),
    (
        column("total_time_us", "Time", Unit::TimeUs, "Sum of the events' durations inside the window.")
            .caveat("Includes nested events. The time of a recursive function is counted once."),
        |_, op| CellRef::Float(op.tally.total.as_us()),
    ),
    (column("avg_time_us", "Mean", Unit::TimeUs, "Mean duration inside the window."), |_, op| {
        CellRef::Float(op.tally.total.as_us() / op.tally.occurrences.max(1) as f64)
    }),
    (column("max_time_us", "Longest", Unit::TimeUs, "Longest duration."), |_, op| {
        CellRef::Float(op.tally.longest.as_us())
    }),
    (
        column(
            "total_self_time_us",
            "Self time",
            Unit::TimeUs,
            "Part of the events' time during which no nested event ran on their thread. Ops of a CPU backend are \
                treated as nested events.",
        )
        .caveat(
            "If spans overlap, only the span that started last is treated as running. Threads run in parallel, so the \
                sum over rows may exceed the window.",
        ),
        |_, op| CellRef::Float(op.tally.self_time.as_us()),
    ),
    (
        column(
            "self_time_percent",
            "Share of host ops",
            Unit::Percent,
            "Self time as a share of the sum over all rows.",
        ),
        |rows, op| CellRef::float(rows.ops.percent(op.tally.self_time)),
    ),
];

/// Host ops of a run, sorted by self time, largest first.
pub(crate) struct HostOpRows<'a> {
    ops: &'a HostOps,
    trace: &'a Trace,
    columns: Vec<Column>,
}

impl<'a> HostOpRows<'a> {
    /// Creates the table for `context`.
    pub(crate) fn new(context: &Context<'a>) -> HostOpRows<'a> {
        HostOpRows { ops: context.host_ops(), trace: context.trace(), columns: columns(&COLUMNS) }
    }
}

impl Rows for HostOpRows<'_> {
    fn name(&self) -> &'static str {
        "host-ops"
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.ops.rows.len()
    }

    fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
        match (self.ops.rows.get(row), COLUMNS.get(column)) {
            (Some(op), Some((_, cell))) => cell(self, op),
            _ => CellRef::Absent,
        }
    }
}
