//! Copies and fills by direction, kind and memory. The columns that the unified profile has too keep their keys.

use crate::table::{CellRef, Column, Rows, Unit};
use metrics::{Context, CopyRow};

const fn column(key: &'static str, title: &'static str, unit: Unit) -> Column {
    Column { key, title, unit }
}

const COLUMNS: [Column; 16] = [
    column("direction", "Direction", Unit::Text),
    column("kind", "Kind", Unit::Text),
    column("source_memory", "From", Unit::Text),
    column("target_memory", "To", Unit::Text),
    column("asynchronous", "Asynchronous", Unit::Flag),
    column("measured_on", "Measured on", Unit::Text),
    column("count", "Count", Unit::Count),
    column("total_time_us", "Time", Unit::TimeUs),
    column("avg_time_us", "Mean", Unit::TimeUs),
    column("min_time_us", "Shortest", Unit::TimeUs),
    column("max_time_us", "Longest", Unit::TimeUs),
    column("total_bytes", "Bytes", Unit::Bytes),
    column("sized_count", "Of known size", Unit::Count),
    column("bandwidth_gb_per_sec", "Bandwidth", Unit::GigabytesPerSecond),
    column("wait_us", "Waited for", Unit::TimeUs),
    column("call_site", "Call site", Unit::Text),
];

/// The transfers of a run, by direction.
pub struct TransferTable<'a> {
    rows: &'a [CopyRow],
}

impl<'a> TransferTable<'a> {
    /// The table of `context`.
    pub fn new(context: &Context<'a>) -> TransferTable<'a> {
        TransferTable { rows: &context.analysis.copies.rows }
    }
}

impl Rows for TransferTable<'_> {
    fn name(&self) -> &'static str {
        "transfers"
    }

    fn columns(&self) -> &[Column] {
        &COLUMNS
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
        let Some(row) = self.rows.get(row) else { return CellRef::Absent };
        let class = &row.class;
        match COLUMNS.get(column).map_or("", |column| column.key) {
            "direction" => CellRef::Text(class.direction.label()),
            "kind" => CellRef::Text(class.kind.label()),
            "source_memory" => CellRef::text(&class.source_memory),
            "target_memory" => CellRef::text(&class.target_memory),
            "asynchronous" => CellRef::flag(class.asynchronous),
            "measured_on" => CellRef::Text(if class.kind.on_device() { "device" } else { "host" }),
            "count" => CellRef::Int(row.count),
            "total_time_us" => CellRef::Float(row.time.as_us()),
            "avg_time_us" => CellRef::Float(row.time.as_us() / row.count.max(1) as f64),
            "min_time_us" => CellRef::Float(row.min.as_us()),
            "max_time_us" => CellRef::Float(row.max.as_us()),
            "total_bytes" => CellRef::int(row.bytes),
            "sized_count" => CellRef::Int(row.sized_count),
            "bandwidth_gb_per_sec" => CellRef::float(row.bandwidth_gb_per_sec()),
            "wait_us" => CellRef::float(row.wait.map(|wait| wait.as_us())),
            "call_site" => CellRef::text(row.call_site.as_deref().unwrap_or("")),
            _ => CellRef::Absent,
        }
    }
}
