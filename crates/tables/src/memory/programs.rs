//! Table of the memory that compiled programs use: one row per program, or one row per memory space.

use super::errors;
use crate::profile_table::{float, int, text};
use crate::record::{Made, TableRecord};
use crate::shown::{RowKey, Shown};
use base::sort;
use memory::{MAIN, ProgramMemory, Recorded, RecordedProgram, SpaceMemory, space_name, xla_peak};
use table::{Cell, Column, Table, Unit, column};

pub(crate) const TABLE: TableRecord = TableRecord {
    forms: &["program", "space"],
    shown: Shown {
        leading: &[
            "module",
            "memory_space",
            "peak_heap_bytes",
            "parameter_bytes",
            "output_bytes",
            "aliased_bytes",
            "temporary_bytes",
            "fragmentation_percent",
        ],
        row_keys: &[RowKey::new("module", &["module"])],
        ..Shown::WHOLE
    },
    ..TableRecord::new("program-memory", columns, Made::Memory(|recorded, form| Box::new(table(recorded, form))))
};

/// One memory space of a program.
struct Row<'p> {
    program: &'p RecordedProgram,
    space: Option<(&'p ProgramMemory, &'p SpaceMemory)>,
    space_name: String,
}

impl<'p> Row<'p> {
    fn bytes(&self, of: impl Fn(&'p SpaceMemory) -> u64) -> Cell {
        int(self.space.map(|(_, space)| of(space)))
    }

    fn peak(&self) -> Option<u64> {
        self.space.map(|(_, space)| space.peak_bytes())
    }
}

type CellOf = fn(&Row<'_>) -> Cell;

static COLUMNS: [(Column, CellOf); 27] = [
    (column("module", "Program", Unit::Text, "Program with its number."), |row| text(&row.program.name)),
    (
        column(
            "memory_space",
            "Memory space",
            Unit::Text,
            "`HBM`, `VMEM`, `CMEM`, `SMEM`, `host`, ..., or `main \
            memory` for a CPU.",
        )
        .source("The allocation's colour."),
        |row| if row.space_name.is_empty() { Cell::Absent } else { text(&row.space_name) },
    ),
    (
        column(
            "peak_heap_bytes",
            "Peak",
            Unit::Bytes,
            "Largest number of bytes alive at once: the permanent allocations, which exist as long as the program \
                runs, plus the peak of the heap.",
        )
        .source("The heap trace that XProf selects, replayed as XProf does.")
        .caveat(
            "Follows the order of the program's instructions, not time. Excludes other programs and the \
            runtime's pool.",
        )
        .xprof("peakHeapMib"),
        |row| int(row.peak()),
    ),
    (
        column(
            "peak_unpadded_heap_bytes",
            "Peak without padding",
            Unit::Bytes,
            "Peak without the padding that layouts add to temporary values.",
        )
        .caveat("Permanent allocations include their padding, as in XProf.")
        .xprof("peakUnpaddedHeapMib"),
        |row| row.bytes(SpaceMemory::peak_unpadded_bytes),
    ),
    (
        column(
            "xla_peak_bytes",
            "Peak, XLA",
            Unit::Bytes,
            "Peak that XLA itself reports, as \
            `compiled.memory_analysis().peak_memory_in_bytes`.",
        )
        .caveat(
            "Covers all memory spaces together and all heap traces in sequence, so it may differ from \
                `peak_heap_bytes`. For a CPU program, `memory_analysis()` excludes the heap traces. Shown in the \
                row of the main memory.",
        ),
        |row| int(row.space.filter(|(_, space)| space.space == MAIN).map(|(memory, _)| xla_peak(&memory.assignment))),
    ),
    (
        column(
            "total_allocation_bytes",
            "Allocated",
            Unit::Bytes,
            "Bytes of all allocations except the memory of calls.",
        )
        .xprof("totalBufferAllocationMib"),
        |row| row.bytes(|space| space.total_bytes),
    ),
    (
        column(
            "indefinite_bytes",
            "Resident",
            Unit::Bytes,
            "Bytes of allocations that exist as long as the program runs: arguments, results, constants.",
        )
        .xprof("indefiniteBufferAllocationMib"),
        |row| row.bytes(|space| space.resident_bytes),
    ),
    (
        column("parameter_bytes", "Arguments", Unit::Bytes, "Bytes of allocations that hold arguments.")
            .xprof("entryComputationParametersMib"),
        |row| row.bytes(|space| space.parameter_bytes),
    ),
    (
        column("output_bytes", "Results", Unit::Bytes, "Bytes of allocations that hold results.")
            .caveat("Results that reuse the memory of an argument are included in both `parameter_bytes` and `output_bytes`.")
            .xprof("maybeLiveOutMib"),
        |row| row.bytes(|space| space.output_bytes),
    ),
    (
        column(
            "aliased_bytes",
            "Aliased",
            Unit::Bytes,
            "Bytes of allocations that hold both an argument and a \
            result: donated arguments.",
        ),
        |row| row.bytes(|space| space.aliased_bytes),
    ),
    (
        column("constant_bytes", "Constants", Unit::Bytes, "Bytes of allocations that hold constants of the program."),
        |row| row.bytes(|space| space.constant_bytes),
    ),
    (column("temporary_bytes", "Temporaries", Unit::Bytes, "Bytes of allocations for temporary values."), |row| {
        row.bytes(|space| space.temporary_bytes)
    }),
    (
        column(
            "untraced_bytes",
            "Without order",
            Unit::Bytes,
            "Bytes of allocations for temporary values whose lifetimes are not in the file.",
        )
        .caveat("The peaks exclude these bytes. Even with them, the peak is at most `total_allocation_bytes`."),
        |row| row.bytes(|space| space.untraced_bytes),
    ),
    (
        column(
            "thread_local_bytes",
            "Memory of calls",
            Unit::Bytes,
            "Bytes of allocations that exist once per call of \
        a computation.",
        ),
        |row| row.bytes(|space| space.thread_local_bytes),
    ),
    (
        column("non_reusable_bytes", "Not reusable", Unit::Bytes, "Bytes of tuple tables and of the memory of calls.")
            .xprof("nonReusableMib"),
        |row| row.bytes(|space| space.fixed_bytes),
    ),
    (
        column(
            "fragmentation_percent",
            "Fragmentation",
            Unit::Percent,
            "Share of the memory for temporary values that is free at the peak.",
        )
        .caveat(
            "`100 * (total - peak) / (total - indefinite)`. Absent if a program has no temporary values, and \
            with `untraced_bytes`.",
        ),
        |row| float(row.space.and_then(|(_, space)| space.fragmentation_percent())),
    ),
    (column("peak_instruction", "Fullest at", Unit::Text, "Instruction at the heap's peak."), |row| {
        let at_peak =
            |space: &SpaceMemory| space.heap.as_ref().and_then(|heap| *heap.instructions.get(heap.peak_event)?);
        let name = row.space.and_then(|(memory, space)| Some(memory.module.at(at_peak(space)?)?.name.as_str()));
        name.map_or(Cell::Absent, text)
    }),
    (column("buffers", "Buffers", Unit::Count, "Number of buffers in the allocations of the memory space."), |row| {
        let of_space = |(memory, space): (&ProgramMemory, &SpaceMemory)| {
            let allocations = memory.assignment.allocations.iter().filter(|it| it.space == space.space);
            allocations.map(|it| it.buffers.len() as u64).sum()
        };
        int(row.space.map(of_space))
    }),
    (
        column(
            "buffers_at_peak",
            "Alive at the peak",
            Unit::Count,
            "Number of buffers that are alive at the peak: the \
        rows of the `buffers` table.",
        ),
        |row| int(row.space.map(|(memory, space)| memory.live_at_peak(space).count() as u64)),
    ),
    (
        column(
            "heap_traces",
            "Heap traces",
            Unit::Count,
            "Number of heap traces. Each lists the order of XLA's allocations and releases of temporary values in \
            this space.",
        )
        .caveat("If there are several heap traces, the peak is the peak of the last heap trace, as in XProf."),
        |row| row.bytes(|space| space.traces as u64),
    ),
    (
        column(
            "problems",
            "Problems",
            Unit::Text,
            "Damaged or unusual parts of the program's buffer assignment, with counts. Empty if there are none.",
        )
        .caveat("The numbers cover the readable part of the buffer assignment."),
        |row| {
            let problems = match row.program.memory() {
                Some(memory) => memory.problems().to_string(),
                None => "The file contains no buffer assignment for this program.".to_owned(),
            };
            if problems.is_empty() { Cell::Absent } else { Cell::Text(problems) }
        },
    ),
    (
        column(
            "listed_bytes",
            "Listed",
            Unit::Bytes,
            "Bytes of the buffers that the text of an out-of-memory error lists.",
        )
        .caveat(
            "Only for out-of-memory errors, which list the largest buffers. `peak_heap_bytes` is the required memory \
                in the text.",
        ),
        |_| Cell::Absent,
    ),
    (
        column(
            "capacity_bytes",
            "Capacity",
            Unit::Bytes,
            "Available bytes, from the text of an out-of-memory \
            error.",
        )
        .caveat("Only for out-of-memory errors."),
        |_| Cell::Absent,
    ),
    (
        column(
            "requested_bytes",
            "Requested",
            Unit::Bytes,
            "Bytes of the allocation that failed, from the text of \
            an out-of-memory error.",
        )
        .caveat("Only for out-of-memory errors."),
        |_| Cell::Absent,
    ),
    (
        column(
            "free_bytes",
            "Free",
            Unit::Bytes,
            "Bytes that were free when an allocation failed, from the text of \
            an out-of-memory error.",
        )
        .caveat("Only for out-of-memory errors."),
        |_| Cell::Absent,
    ),
    (
        column(
            "largest_free_bytes",
            "Largest free block",
            Unit::Bytes,
            "Bytes of the largest free block when an allocation failed, from the text of an out-of-memory error.",
        )
        .caveat("Only for out-of-memory errors."),
        |_| Cell::Absent,
    ),
    (column("program_id", "Program number", Unit::Text, "Number of the program, as an unsigned decimal."), |row| {
        Cell::Text(row.program.program_id.cast_unsigned().to_string())
    }),
];

/// Returns the columns of the table.
pub(crate) fn columns() -> Vec<Column> {
    table::columns(&COLUMNS)
}

/// Returns the table of a run, sorted by peak, largest first: the main memory of each program, or
/// each of its memory spaces for the `space` variant.
pub(crate) fn table(recorded: &Recorded, variant: &str) -> Table {
    let mut rows = Vec::new();
    for program in &recorded.programs {
        let memory = program.memory().into_iter();
        let spaces = memory.flat_map(|memory| memory.spaces.iter().map(move |space| (memory, space)));
        let before = rows.len();
        rows.extend(spaces.filter(|(_, space)| space.space == MAIN || variant == "space").map(|of| Row {
            program,
            space: Some(of),
            space_name: space_name(of.1.space, &recorded.platform),
        }));
        if rows.len() == before {
            rows.push(Row { program, space: None, space_name: String::new() });
        }
    }
    sort::sort_by(&mut rows, |a, b| b.peak().cmp(&a.peak()).then_with(|| a.program.name.cmp(&b.program.name)));
    let cells = rows.iter().map(|row| COLUMNS.iter().map(|(_, cell)| cell(row)).collect());
    let cells = cells.chain(recorded.errors().into_iter().map(|error| errors::program(&error, &columns())));
    Table::new("program-memory", columns(), cells.collect())
}
