//! Arguments of the compiled programs and their distribution over the devices.

use crate::record::{Made, TableRecord};
use crate::shown::Shown;
use metrics::{Argument, Context};
use table::{CellRef, Column, Rows, Unit, column, columns};

pub(super) const TABLE: TableRecord = TableRecord {
    shown: Shown {
        leading: &["argument", "shape", "bytes_per_device", "placement", "copies", "module"],
        ..Shown::WHOLE
    },
    ..TableRecord::new(
        "arguments",
        || columns(&COLUMNS),
        Made::Events(|context, _| Box::new(ArgumentRows::new(context)), None),
    )
};

type CellOf = for<'t> fn(&'t ArgumentRow<'t>) -> CellRef<'t>;

pub(super) static COLUMNS: [(Column, CellOf); 12] = [
    (
        column(
            "argument",
            "Argument",
            Unit::Text,
            "Name of the argument in the framework (`state.params['w']`), or the name of its instruction if the \
             framework has none.",
        ),
        |it| CellRef::text(&it.argument.name),
    ),
    (column("module", "Program", Unit::Text, "Program with its number."), |it| CellRef::text(&it.argument.program)),
    (column("number", "Number", Unit::Count, "Position among the program's arguments, from 0."), |it| {
        CellRef::int(u64::try_from(it.argument.number).ok())
    }),
    (column("shape", "Shape per device", Unit::Text, "Shape on one device."), |it| CellRef::text(&it.argument.shape)),
    (
        column(
            "bytes_per_device",
            "Bytes per device",
            Unit::Bytes,
            "Number of elements on one device, times the size of the data type.",
        )
        .caveat("Excludes tile padding.")
        .real(),
        |it| CellRef::Float(it.argument.bytes_per_device),
    ),
    (
        column(
            "placement",
            "Placement",
            Unit::Text,
            "`replicated` (each device holds the whole argument), `sharded`, `one device`, or `manual` (the program \
                decides, as in `shard_map`).",
        )
        .caveat("Empty if the program does not record the placement."),
        |it| CellRef::text(it.argument.placement.as_ref().map_or("", |placement| placement.label())),
    ),
    (column("split", "Split dimensions", Unit::Text, "Split dimensions with the number of parts: `0 into 8`."), |it| {
        CellRef::text(&it.split)
    }),
    (
        column(
            "copies",
            "Copies of each part",
            Unit::Count,
            "Number of devices that hold the same part of the argument.",
        )
        .caveat("If the number is above 1, sharding could save memory."),
        |it| CellRef::int(it.argument.copies()),
    ),
    (
        column(
            "devices",
            "Devices",
            Unit::Count,
            "Number of devices that the program was compiled for (replicas times partitions).",
        ),
        |it| CellRef::int(it.argument.devices),
    ),
    (
        column("whole_bytes", "Total bytes", Unit::Bytes, "`bytes_per_device` times the number of different parts.")
            .real(),
        |it| CellRef::float(it.argument.whole_bytes()),
    ),
    (column("sharding", "Sharding", Unit::Text, "Sharding in HLO text syntax."), |it| {
        CellRef::text(&it.argument.sharding)
    }),
    (column("program_id", "Program number", Unit::Text, "Number of the program, as an unsigned decimal."), |it| {
        CellRef::text(&it.program_id)
    }),
];

/// Argument with the texts derived from it.
pub(super) struct ArgumentRow<'a> {
    argument: &'a Argument,
    split: String,
    program_id: String,
}

/// Table of arguments, sorted by their size on a device, largest first.
pub(crate) struct ArgumentRows<'a> {
    rows: Vec<ArgumentRow<'a>>,
    columns: Vec<Column>,
}

impl<'a> ArgumentRows<'a> {
    /// Creates the table for `context`.
    pub(crate) fn new(context: &Context<'a>) -> ArgumentRows<'a> {
        let row = |argument: &'a Argument| ArgumentRow {
            argument,
            split: argument.placement.as_ref().map(|placement| placement.split()).unwrap_or_default(),
            program_id: argument.program_id.cast_unsigned().to_string(),
        };
        let mut rows: Vec<_> = context.arguments().iter().map(row).collect();
        base::sort::sort_by(&mut rows, |a, b| {
            let place = |it: &Argument| (it.host, it.program_id, it.number);
            let (a, b) = (a.argument, b.argument);
            b.bytes_per_device.total_cmp(&a.bytes_per_device).then_with(|| place(a).cmp(&place(b)))
        });
        ArgumentRows { rows, columns: columns(&COLUMNS) }
    }
}

impl Rows for ArgumentRows<'_> {
    fn name(&self) -> &'static str {
        "arguments"
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
        match (self.rows.get(row), COLUMNS.get(column)) {
            (Some(row), Some((_, cell))) => cell(row),
            _ => CellRef::Absent,
        }
    }
}
