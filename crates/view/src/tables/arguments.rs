//! The arguments of the compiled programs and how they are spread over the devices.

use crate::table::{CellRef, Column, Rows, Unit};
use metrics::{Argument, Context};

const fn column(key: &'static str, title: &'static str, unit: Unit) -> Column {
    Column { key, title, unit }
}

const COLUMNS: [Column; 12] = [
    column("argument", "Argument", Unit::Text),
    column("module", "Program", Unit::Text),
    column("number", "Number", Unit::Count),
    column("shape", "Shape per device", Unit::Text),
    column("bytes_per_device", "Bytes per device", Unit::Bytes),
    column("placement", "Placement", Unit::Text),
    column("split", "Split dimensions", Unit::Text),
    column("copies", "Copies of each part", Unit::Count),
    column("devices", "Devices", Unit::Count),
    column("whole_bytes", "Bytes of the whole", Unit::Bytes),
    column("sharding", "Sharding", Unit::Text),
    column("program_id", "Program number", Unit::Text),
];

/// The arguments, largest on a device first.
pub struct ArgumentRows<'a> {
    rows: Vec<(&'a Argument, String, String)>,
}

impl<'a> ArgumentRows<'a> {
    /// The table of `context`.
    pub fn new(context: &Context<'a>) -> ArgumentRows<'a> {
        let split = |it: &Argument| it.placement.as_ref().map(|placement| placement.split()).unwrap_or_default();
        let number = |it: &Argument| it.program_id.cast_unsigned().to_string();
        let all = context.analysis.arguments(context.trace());
        let mut rows: Vec<_> = all.iter().map(|it| (it, split(it), number(it))).collect();
        base::sort::sort_by(&mut rows, |(a, ..), (b, ..)| {
            let place = |it: &Argument| (it.host, it.program_id, it.number);
            b.bytes_per_device.total_cmp(&a.bytes_per_device).then_with(|| place(a).cmp(&place(b)))
        });
        ArgumentRows { rows }
    }
}

impl Rows for ArgumentRows<'_> {
    fn name(&self) -> &'static str {
        "arguments"
    }

    fn columns(&self) -> &[Column] {
        &COLUMNS
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
        let Some((argument, split, number)) = self.rows.get(row) else { return CellRef::Absent };
        let count = |value: Option<u64>| value.map_or(CellRef::Absent, CellRef::Int);
        match COLUMNS.get(column).map_or("", |column| column.key) {
            "argument" => CellRef::text(&argument.name),
            "module" => CellRef::text(&argument.program),
            "number" => count(u64::try_from(argument.number).ok()),
            "shape" => CellRef::text(&argument.shape),
            "bytes_per_device" => CellRef::Float(argument.bytes_per_device),
            "placement" => CellRef::text(argument.placement.as_ref().map_or("", |placement| placement.label())),
            "split" => CellRef::text(split),
            "copies" => count(argument.copies()),
            "devices" => count(argument.devices),
            "whole_bytes" => CellRef::float(argument.whole_bytes()),
            "sharding" => CellRef::text(&argument.sharding),
            "program_id" => CellRef::text(number),
            _ => CellRef::Absent,
        }
    }
}
