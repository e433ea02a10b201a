//! Table of memory over time: every allocation and release in the capture.

use base::Ps;
use memory::Recorded;
use memory::allocator::{Allocator, AllocatorEvent};

use super::{TIME, host_name};
use crate::record::{Made, TableRecord};
use crate::shown::{RowKey, Shown};
use table::{self, CellRef, Column, Rows, Unit, column};

pub(crate) const TABLE: TableRecord = TableRecord {
    shown: Shown {
        leading: &[
            "allocator",
            "time_us",
            "activity",
            "allocation_bytes",
            "used_bytes",
            "available_bytes",
            "fragmentation_percent",
            "tf_op_name",
        ],
        row_keys: &[RowKey::new("allocator", &["allocator"])],
        ..Shown::WHOLE
    },
    ..TableRecord::new("memory-timeline", columns, Made::Memory(|recorded, _| Box::new(TimelineRows::new(recorded))))
};

type CellOf = for<'t> fn(&'t Recorded, &'t Allocator, &'t AllocatorEvent) -> CellRef<'t>;

pub(super) static COLUMNS: [(Column, CellOf); 16] = [
    (column("allocator", "Allocator", Unit::Text, "Device and kind of the allocator's memory."), |_, allocator, _| {
        CellRef::text(&allocator.title)
    }),
    (column("host", "Host", Unit::Text, "The host."), |recorded, allocator, _| {
        CellRef::text(host_name(recorded, allocator.host))
    }),
    (TIME, |_, _, event| CellRef::Float(event.time.as_us())),
    (column("activity", "What", Unit::Text, "`allocation` or `release`."), |_, _, event| {
        CellRef::Text(event.activity.label())
    }),
    (
        column(
            "used_bytes",
            "Used",
            Unit::Bytes,
            "Bytes that are not available after the event, because they are \
            allocated or reserved.",
        ),
        |_, _, event| CellRef::Int(event.used_bytes()),
    ),
    (
        column("in_use_bytes", "In use", Unit::Bytes, "Bytes allocated after the event.").xprof("heapAllocatedBytes"),
        |_, _, event| CellRef::Int(event.in_use_bytes),
    ),
    (
        column(
            "reserved_bytes",
            "Reserved",
            Unit::Bytes,
            "Bytes reserved for the stack of programs after the event \
            (TPU).",
        )
        .xprof("stackReservedBytes"),
        |_, _, event| CellRef::Int(event.reserved_bytes),
    ),
    (
        column("available_bytes", "Available", Unit::Bytes, "Bytes that can still be allocated after the event.")
            .caveat(
                "The sum of used and available bytes is the limit of the allocator, by default three quarters of a \
                    GPU's memory in JAX. The allocator may hold \
                    less of the device's memory.",
            )
            .xprof("freeMemoryBytes"),
        |_, _, event| CellRef::Int(event.available_bytes),
    ),
    (
        column(
            "fragmentation_percent",
            "Fragmentation",
            Unit::Percent,
            "Share of the pool's free memory that is outside its largest free block, after the event.",
        )
        .caveat("Absent if the pool is full.")
        .xprof("fragmentation"),
        |_, _, event| CellRef::float(event.fragmentation_percent()),
    ),
    (
        column(
            "lifetime_peak_bytes",
            "Peak of process",
            Unit::Bytes,
            "Largest number of bytes in use at once since the process started.",
        )
        .xprof("peakBytesInUse"),
        |_, _, event| CellRef::Int(event.lifetime_peak_bytes),
    ),
    (column("requested_bytes", "Requested", Unit::Bytes, "Requested bytes.").xprof("requestedBytes"), |_, _, event| {
        CellRef::int(event.requested_bytes)
    }),
    (
        column("allocation_bytes", "Given", Unit::Bytes, "Allocated bytes, rounded up by the allocator.")
            .xprof("allocationBytes"),
        |_, _, event| CellRef::int(event.allocation_bytes),
    ),
    (column("address", "Address", Unit::Count, "Address of the memory.").xprof("address"), |_, _, event| {
        CellRef::Int(event.address)
    }),
    (
        column(
            "tf_op_name",
            "Framework op",
            Unit::Text,
            "Op that requested the memory. For a release, the op of its allocation.",
        )
        .caveat("Usually empty in JAX.")
        .xprof("tfOpName"),
        |_, allocator, event| CellRef::text(allocator.labels_of(event).map_or("", |labels| &labels.op)),
    ),
    (
        column(
            "region_type",
            "Region",
            Unit::Text,
            "Purpose of the memory. For a release, the purpose of its \
            allocation.",
        )
        .xprof("regionType"),
        |_, allocator, event| CellRef::text(allocator.labels_of(event).map_or("", |labels| &labels.region)),
    ),
    (
        column("shape", "Shape", Unit::Text, "Shape of the value. For a release, the shape of its allocation.")
            .xprof("tensorShape"),
        |_, allocator, event| CellRef::text(allocator.labels_of(event).map_or("", |labels| &labels.shape)),
    ),
];

/// Returns the columns of the table.
pub(crate) fn columns() -> Vec<Column> {
    table::columns(&COLUMNS)
}

/// Events of all allocators, sorted by time.
pub(crate) struct TimelineRows<'a> {
    recorded: &'a Recorded,
    /// `(allocator, event)` of each row.
    rows: Vec<(u32, u32)>,
    columns: Vec<Column>,
}

impl<'a> TimelineRows<'a> {
    /// Creates the table of a run.
    pub(crate) fn new(recorded: &'a Recorded) -> TimelineRows<'a> {
        let of = |(allocator, index): (&Allocator, u32)| {
            let events = (0..).zip(&allocator.events);
            events.map(move |(event, it)| (it.time, index, event)).collect::<Vec<_>>()
        };
        let mut rows: Vec<(Ps, u32, u32)> = recorded.allocators.iter().zip(0..).flat_map(of).collect();
        rows.sort_unstable();
        let rows = rows.into_iter().map(|(_, allocator, event)| (allocator, event)).collect();
        TimelineRows { recorded, rows, columns: columns() }
    }
}

impl Rows for TimelineRows<'_> {
    fn name(&self) -> &'static str {
        "memory-timeline"
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
        let found = self.rows.get(row).and_then(|&(allocator, event)| {
            let allocator = self.recorded.allocators.get(allocator as usize)?;
            Some((allocator, allocator.events.get(event as usize)?))
        });
        match (found, COLUMNS.get(column)) {
            (Some((allocator, event)), Some((_, cell))) => cell(self.recorded, allocator, event),
            _ => CellRef::Absent,
        }
    }
}
