//! Tables of all allocators, and of the contents of each allocator at its peak.

use memory::Recorded;
use memory::allocator::{Allocator, AllocatorEvent, Contents, Labels, xprof};

use super::{TIME, host_name, timeline};
use crate::profile_table::{float, int, text};
use crate::record::{Made, TableRecord};
use crate::shown::{RowKey, Shown};
use table::{Cell, Column, Table, Unit, column};

pub(crate) const ALLOCATORS_TABLE: TableRecord = TableRecord {
    shown: Shown {
        leading: &[
            "allocator",
            "host",
            "peak_bytes",
            "peak_percent",
            "capacity_bytes",
            "peak_time_us",
            "before_capture_bytes",
            "fragmentation_percent",
        ],
        row_keys: &[RowKey::new("allocator", &["allocator"])],
        ..Shown::WHOLE
    },
    ..TableRecord::new("allocators", allocator_columns, Made::Memory(|recorded, _| Box::new(allocator_table(recorded))))
};

pub(crate) const ALLOCATIONS_TABLE: TableRecord = TableRecord {
    forms: &["peak", "xprof"],
    shown: Shown {
        leading: &["allocator", "kind", "count", "bytes", "peak_percent", "time_us", "tf_op_name", "shape"],
        row_keys: &[RowKey::new("allocator", &["allocator"])],
        ..Shown::WHOLE
    },
    ..TableRecord::new("allocations", columns, Made::Memory(|recorded, form| Box::new(table(recorded, form))))
};

const KIND: Column = column(
    "kind",
    "What",
    Unit::Text,
    "`allocation`, `before the capture` (in use, but allocated earlier: weights, optimizer state, ...) or \
        `reserved` (the stack of programs).",
)
.caveat("In the `xprof` form, the last two kinds have XProf's names: `unused preallocated device memory` and `stack`.");

const COUNT: Column = column(
    "count",
    "Count",
    Unit::Count,
    "Number of allocations that differ only in address and \
    time.",
);
const BYTES: Column = column("bytes", "Bytes", Unit::Bytes, "Total bytes of the allocations in the row.").caveat(
    "The rows of an allocator add up to `peak_bytes` in the `allocators` table, unless the capture lost events.",
);
const PERCENT: Column =
    column("peak_percent", "Share of peak", Unit::Percent, "Bytes as a share of the bytes used at the peak.");

/// Columns of events that also apply to one allocation, or to several identical allocations.
fn of_event() -> impl Iterator<Item = Column> {
    const KEYS: [&str; 6] = ["requested_bytes", "allocation_bytes", "address", "tf_op_name", "region_type", "shape"];
    timeline::COLUMNS.iter().map(|(column, _)| *column).filter(|column| KEYS.contains(&column.key))
}

/// Returns the columns of the table of allocations.
pub(crate) fn columns() -> Vec<Column> {
    let [allocator, host] = [timeline::COLUMNS[0].0, timeline::COLUMNS[1].0];
    [allocator, host, KIND, COUNT, BYTES, PERCENT, TIME].into_iter().chain(of_event()).collect()
}

/// Lists the allocations that are alive at an allocator's peak, largest first. The `xprof` variant lists the allocations that
/// XProf lists.
pub(crate) fn table(recorded: &Recorded, variant: &str) -> Table {
    let mut cells = Vec::new();
    let is_xprof = variant == "xprof";
    for allocator in &recorded.allocators {
        let as_xprof = is_xprof.then(|| xprof::allocator(allocator));
        let allocator = as_xprof.as_ref().unwrap_or(allocator);
        let Some(peak) = (if is_xprof { xprof::peak(allocator) } else { allocator.peak() }) else { continue };
        let (contents, [before, reserved]) = if is_xprof {
            let listed = xprof::listed(allocator);
            let contents = Contents {
                alive: listed.alive,
                before_capture_bytes: listed.unused_preallocated_bytes.unwrap_or(0),
                reserved_bytes: listed.stack_bytes.unwrap_or(0),
            };
            (contents, ["unused preallocated device memory", "stack"])
        } else {
            (allocator.contents(peak), ["before the capture", "reserved"])
        };
        let used = allocator.events.get(peak).map_or(0, AllocatorEvent::used_bytes);
        let share = |bytes: u64| float((used > 0).then(|| 100.0 * bytes as f64 / used as f64));
        let start = |kind: &str, count: u64, bytes: u64| {
            vec![
                text(&allocator.title),
                host(recorded, allocator),
                text(kind),
                Cell::Int(count),
                Cell::Int(bytes),
                share(bytes),
            ]
        };
        let mut rows: Vec<(u64, Vec<Cell>)> = Vec::new();
        for alive in &contents.alive {
            let Some(event) = allocator.events.get(alive.event) else { continue };
            let bytes = event.allocation_bytes.unwrap_or(0).saturating_mul(alive.count);
            let mut row = start("allocation", alive.count, bytes);
            row.extend([Cell::Float(event.time.as_us()), int(event.requested_bytes), int(event.allocation_bytes)]);
            row.push(Cell::Int(event.address));
            row.extend(texts(allocator.labels_of(event)).map(said));
            rows.push((bytes, row));
        }
        for (kind, bytes) in [(before, contents.before_capture_bytes), (reserved, contents.reserved_bytes)] {
            if bytes > 0 {
                let mut row = start(kind, 1, bytes);
                row.resize(columns().len(), Cell::Absent);
                rows.push((bytes, row));
            }
        }
        base::sort::sort_by(&mut rows, |a, b| b.0.cmp(&a.0));
        cells.extend(rows.into_iter().map(|(_, row)| row));
    }
    Table::new("allocations", columns(), cells)
}

fn host(recorded: &Recorded, allocator: &Allocator) -> Cell {
    said(host_name(recorded, allocator.host))
}

/// Returns framework op, region and shape.
fn texts(labels: Option<&Labels>) -> [&str; 3] {
    labels.map_or([""; 3], |labels| [&labels.op, &labels.region, &labels.shape])
}

fn said(value: &str) -> Cell {
    if value.is_empty() { Cell::Absent } else { text(value) }
}

/// Returns the columns of the table of allocators.
pub(crate) fn allocator_columns() -> Vec<Column> {
    let [allocator, host] = [timeline::COLUMNS[0].0, timeline::COLUMNS[1].0];
    let own = [
        column(
            "peak_bytes",
            "Peak",
            Unit::Bytes,
            "Largest number of bytes in use at once in the capture, allocated or reserved.",
        )
        .xprof("peakStats.peakBytesInUse"),
        column(
            "peak_time_us",
            "Peak at",
            Unit::TimeUs,
            "Time of the peak, from the start of the capture. If several peaks are equally high, the first.",
        )
        .caveat("XProf shows the time of the last peak, from the start of the line."),
        column(
            "capacity_bytes",
            "Capacity",
            Unit::Bytes,
            "Limit of the allocator: used and available bytes at the peak.",
        )
        .xprof("memoryCapacity"),
        column("peak_percent", "Peak of capacity", Unit::Percent, "Peak as a share of the capacity."),
        column(
            "lifetime_peak_bytes",
            "Peak of process",
            Unit::Bytes,
            "Largest number of bytes in use at once since the process started.",
        )
        .xprof("peakBytesUsageLifetime"),
        column(
            "fragmentation_percent",
            "Fragmentation",
            Unit::Percent,
            "Share of the pool's free memory that is outside its largest free block, at the peak.",
        ),
        column(
            "before_capture_bytes",
            "Before the capture",
            Unit::Bytes,
            "Bytes in use at the peak that were allocated before the capture.",
        ),
        column(
            "reserved_bytes",
            "Reserved",
            Unit::Bytes,
            "Bytes reserved for the stack of programs, at the peak (TPU).",
        ),
        column("allocations", "Allocations", Unit::Count, "Allocations in the capture."),
        column("releases", "Releases", Unit::Count, "Releases in the capture."),
        column(
            "releases_of_older",
            "Of older memory",
            Unit::Count,
            "Number of releases of memory that was allocated before the capture.",
        ),
        column(
            "name_in_file",
            "Name in the file",
            Unit::Text,
            "Name of the allocator in the file, for example \
            `GPU_0_bfc`.",
        ),
    ];
    [allocator, host].into_iter().chain(own).collect()
}

/// Returns one row per allocator, in the order of the devices.
pub(crate) fn allocator_table(recorded: &Recorded) -> Table {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for allocator in &recorded.allocators {
        let Some((index, peak)) = allocator.peak().and_then(|at| Some((at, allocator.events.get(at)?))) else {
            continue;
        };
        let (used, capacity) = (peak.used_bytes(), allocator.capacity_bytes(index).unwrap_or(0));
        let contents = allocator.contents(index);
        let allocations =
            allocator.events.iter().filter(|it| it.activity == memory::allocator::Activity::Allocation).count() as u64;
        let row = vec![
            text(&allocator.title),
            host(recorded, allocator),
            Cell::Int(used),
            Cell::Float(peak.time.as_us()),
            Cell::Int(capacity),
            float((capacity > 0).then(|| 100.0 * used as f64 / capacity as f64)),
            int(allocator.lifetime_peak_bytes()),
            float(peak.fragmentation_percent()),
            Cell::Int(contents.before_capture_bytes),
            Cell::Int(contents.reserved_bytes),
            Cell::Int(allocations),
            Cell::Int((allocator.events.len() as u64).saturating_sub(allocations)),
            Cell::Int(allocator.releases_of_older()),
            text(&allocator.name),
        ];
        rows.push(row);
    }
    Table::new("allocators", allocator_columns(), rows)
}
