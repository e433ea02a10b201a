//! Table of copies and fills by direction, kind and memory. Columns that the unified profile also contains have the same keys
//! there.

use crate::record::{Made, TableRecord};
use crate::shown::{RowKey, Shown};
use metrics::{Context, CopyRow};
use table::{CellRef, Column, Rows, Unit, column, columns};

pub(super) const TABLE: TableRecord = TableRecord {
    shown: Shown {
        leading: &[
            "direction",
            "source_memory",
            "target_memory",
            "count",
            "total_time_us",
            "in_flight_us",
            "total_bytes",
            "bandwidth_gb_per_sec",
            "call_site",
        ],
        row_keys: &[RowKey::new("direction", &["direction"])],
        ..Shown::WHOLE
    },
    ..TableRecord::new(
        "transfers",
        || columns(&COLUMNS),
        Made::Events(|context, _| Box::new(TransferTable::new(context)), Some(crate::report::transfers)),
    )
};

type CellOf = for<'t> fn(&'t CopyRow) -> CellRef<'t>;

pub(super) static COLUMNS: [(Column, CellOf); 17] = [
    (
        column(
            "direction",
            "Direction",
            Unit::Text,
            "`h2d`, `d2h`, `d2d` (within a device), `p2p`, `memset` or `other`.",
        )
        .source(
            "The event or, if it lacks the direction, the call that launched it (ROCm runs copies as kernels, \
                which do not record the direction).",
        ),
        |it| CellRef::Text(it.class.direction.label()),
    ),
    (
        column(
            "kind",
            "Kind",
            Unit::Text,
            "`copy` (GPU stream), `host offload` (TPU), `infeed`, `outfeed` or `host call`.",
        )
        .caveat(
            "A host offload is a copy to or from host memory (memory space 5); it lasts from the start of \
                `copy-start` to the end of `copy-done`. A host call starts a TPU transfer; its time is the time \
                of the call on the host.",
        ),
        |it| CellRef::Text(it.class.kind.label()),
    ),
    (
        column("source_memory", "From", Unit::Text, "`pageable`, `pinned` or `device`; `host` for a TPU.")
            .source("The collector."),
        |it| CellRef::text(&it.class.source_memory),
    ),
    (
        column(
            "target_memory",
            "To",
            Unit::Text,
            "Memory of the target: `pageable`, `pinned` or `device`; `host` for a TPU.",
        )
        .source("The collector."),
        |it| CellRef::text(&it.class.target_memory),
    ),
    (
        column("asynchronous", "Asynchronous", Unit::Flag, "True if the caller continued immediately.")
            .source("The collector's record or, if there is none, the name of the call."),
        |it| CellRef::flag(it.class.asynchronous),
    ),
    (column("measured_on", "Measured on", Unit::Text, "`device` or `host`."), |it| {
        CellRef::Text(if it.class.kind.on_device() { "device" } else { "host" })
    }),
    (column("count", "Count", Unit::Count, "Number of copies and fills."), |it| CellRef::Int(it.count)),
    (
        column(
            "total_time_us",
            "Time",
            Unit::TimeUs,
            "Sum of durations. Overlapping transfers are counted separately.",
        ),
        |it| CellRef::Float(it.time.as_us()),
    ),
    (column("avg_time_us", "Mean", Unit::TimeUs, "Mean duration."), |it| {
        CellRef::Float(it.time.as_us() / it.count.max(1) as f64)
    }),
    (column("min_time_us", "Shortest", Unit::TimeUs, "Shortest duration."), |it| CellRef::Float(it.min.as_us())),
    (column("max_time_us", "Longest", Unit::TimeUs, "Longest duration."), |it| CellRef::Float(it.max.as_us())),
    (
        column("total_bytes", "Bytes", Unit::Bytes, "Bytes of copies and fills with a known size.").source(
            "`memcpy_details`, Kineto's `bytes`, or the call. For offloaded arrays, the size of the array, \
                because `bytes_accessed` may count an array twice.",
        ),
        |it| CellRef::int(it.bytes),
    ),
    (column("sized_count", "Of known size", Unit::Count, "Number of copies and fills with a known size."), |it| {
        CellRef::Int(it.sized_count)
    }),
    (
        column(
            "in_flight_us",
            "In flight",
            Unit::TimeUs,
            "Time during which at least one transfer with a known size is in flight, summed over devices.",
        )
        .caveat("Less than `total_time_us` if transfers of a device overlap."),
        |it| CellRef::Float(it.sized_time.as_us()),
    ),
    (
        column("bandwidth_gb_per_sec", "Bandwidth", Unit::GigabytesPerSecond, "Bytes divided by the time in flight.")
            .caveat("XProf does not show the bytes of copies."),
        |it| CellRef::float(it.bandwidth_gb_per_sec()),
    ),
    (column("wait_us", "Waited for", Unit::TimeUs, "Time during which the core waited in `copy-done`."), |it| {
        CellRef::float(it.wait.map(|wait| wait.as_us()))
    }),
    (
        column(
            "call_site",
            "Call site",
            Unit::Text,
            "Innermost span around the call on the calling thread. If there is no span, the op. If there are several \
                such spans, the span with the most time.",
        ),
        |it| CellRef::text(it.call_site.as_deref().unwrap_or("")),
    ),
];

/// Transfers of a run, by direction.
pub(crate) struct TransferTable<'a> {
    rows: &'a [CopyRow],
    columns: Vec<Column>,
}

impl<'a> TransferTable<'a> {
    /// Creates the table for `context`.
    pub(crate) fn new(context: &Context<'a>) -> TransferTable<'a> {
        TransferTable { rows: &context.analysis.copies.rows, columns: columns(&COLUMNS) }
    }
}

impl Rows for TransferTable<'_> {
    fn name(&self) -> &'static str {
        "transfers"
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
        match (self.rows.get(row), COLUMNS.get(column)) {
            (Some(copy), Some((_, cell))) => cell(copy),
            _ => CellRef::Absent,
        }
    }
}
