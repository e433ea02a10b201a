//! Which types of op run on the devices, and which on the host although a device was meant.

use crate::analysis::Context;
use crate::metrics::placement::Placement;
use crate::table::{CellRef, Column, Rows, Unit};

const fn column(key: &'static str, title: &'static str, unit: Unit) -> Column {
    Column { key, title, unit }
}

const COLUMNS: [Column; 7] = [
    column("op_type", "Op type", Unit::Text),
    column("runs_on", "Runs on", Unit::Text),
    column("reason", "As", Unit::Text),
    column("num_ops", "Ops", Unit::Count),
    column("occurrences", "Count", Unit::Count),
    column("time_us", "Time", Unit::TimeUs),
    column("percent", "Share", Unit::Percent),
];

/// The types of op of a run: those of the devices first, most time first.
pub struct OpPlacementRows<'a> {
    placement: &'a Placement,
    platform: &'static str,
}

impl<'a> OpPlacementRows<'a> {
    /// The table of `context`.
    pub fn new(context: &Context<'a>) -> OpPlacementRows<'a> {
        let platform = context.analysis.devices.platform.map_or("", |platform| platform.label());
        OpPlacementRows { placement: context.analysis.placement(context.trace()), platform }
    }
}

impl Rows for OpPlacementRows<'_> {
    fn name(&self) -> &'static str {
        "op-placement"
    }

    fn columns(&self) -> &[Column] {
        &COLUMNS
    }

    fn len(&self) -> usize {
        self.placement.rows.len()
    }

    fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
        let Some(row) = self.placement.rows.get(row) else { return CellRef::Absent };
        match COLUMNS.get(column).map_or("", |column| column.key) {
            "runs_on" => CellRef::Text(if row.reason.is_some() { "host" } else { "device" }),
            "op_type" => CellRef::text(&row.op_type),
            "reason" => CellRef::Text(row.reason.map_or(self.platform, |reason| reason.label())),
            "num_ops" => CellRef::Int(row.num_ops),
            "occurrences" => CellRef::Int(row.occurrences),
            "time_us" => CellRef::Float(row.time.as_us()),
            "percent" => {
                let whole = self.placement.time(row.reason.is_some()).0;
                CellRef::float((whole > 0).then(|| 100.0 * row.time.0 as f64 / whole as f64))
            }
            _ => CellRef::Absent,
        }
    }
}
