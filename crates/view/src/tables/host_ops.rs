//! What the threads of the hosts spend their time on, by name.

use crate::table::{CellRef, Column, Rows, Unit};
use metrics::{Context, HostOps};
use trace::Trace;

const fn column(key: &'static str, title: &'static str, unit: Unit) -> Column {
    Column { key, title, unit }
}

const COLUMNS: [Column; 9] = [
    column("host_op_name", "Name", Unit::Text),
    column("role", "What it does", Unit::Text),
    column("occurrences", "Count", Unit::Count),
    column("threads", "Threads", Unit::Count),
    column("total_time_us", "Time", Unit::TimeUs),
    column("avg_time_us", "Mean", Unit::TimeUs),
    column("max_time_us", "Longest", Unit::TimeUs),
    column("total_self_time_us", "Self time", Unit::TimeUs),
    column("self_time_percent", "Share", Unit::Percent),
];

/// The host ops of a run, most self time first.
pub struct HostOpRows<'a> {
    ops: &'a HostOps,
    trace: &'a Trace,
}

impl<'a> HostOpRows<'a> {
    /// The table of `context`.
    pub fn new(context: &Context<'a>) -> HostOpRows<'a> {
        HostOpRows { ops: context.analysis.host_ops(context.trace()), trace: context.trace() }
    }
}

impl Rows for HostOpRows<'_> {
    fn name(&self) -> &'static str {
        "host-ops"
    }

    fn columns(&self) -> &[Column] {
        &COLUMNS
    }

    fn len(&self) -> usize {
        self.ops.rows.len()
    }

    fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
        let Some(row) = self.ops.rows.get(row) else { return CellRef::Absent };
        match COLUMNS.get(column).map_or("", |column| column.key) {
            "host_op_name" => CellRef::text(self.trace.text(row.name)),
            "role" => CellRef::Text(row.role.label()),
            "occurrences" => CellRef::Int(row.tally.occurrences),
            "threads" => CellRef::Int(row.threads),
            "total_time_us" => CellRef::Float(row.tally.total.as_us()),
            "avg_time_us" => CellRef::Float(row.tally.total.as_us() / row.tally.occurrences.max(1) as f64),
            "max_time_us" => CellRef::Float(row.tally.longest.as_us()),
            "total_self_time_us" => CellRef::Float(row.tally.self_time.as_us()),
            "self_time_percent" => CellRef::float(self.ops.percent(row.tally.self_time)),
            _ => CellRef::Absent,
        }
    }
}
