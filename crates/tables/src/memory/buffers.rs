//! Table of the buffers that are alive at the peak of a program's memory: individually, or by class, scope or source line.

use super::errors;
use super::groups::{Part, groups, said, share};
use crate::profile_table::{float, int, text};
use crate::record::{Made, TableRecord};
use crate::shown::{RowKey, Shown};
use base::sort;
use hlo::Instruction;
use memory::{
    Classification, Classifier, LiveBuffer, ProgramMemory, Recorded, RecordedProgram, SpaceMemory, space_name,
};
use table::{Cell, Column, Table, Unit, column};

pub(crate) const TABLE: TableRecord = TableRecord {
    forms: &["buffer", "class", "scope", "source"],
    shown: Shown {
        leading: &[
            "buffer",
            "class",
            "scope",
            "source",
            "bytes",
            "peak_percent",
            "padding_bytes",
            "shape",
            "buffers",
            "largest",
        ],
        row_keys: &[
            RowKey::new("class", &["class"]).of_form("class"),
            RowKey::new("scope", &["scope"]).of_form("scope"),
            RowKey::new("source", &["source"]).of_form("source"),
            RowKey::new("buffer", &["buffer"]),
        ],
        ..Shown::WHOLE
    },
    ..TableRecord::new("buffers", columns, Made::KeptMemory(table, |recorded, _| has_rows(recorded)))
};

/// Columns that name the program and memory space, in all forms.
const OF_PROGRAM: [Column; 2] = [
    column("module", "Program", Unit::Text, "Program with its number."),
    column(
        "memory_space",
        "Memory space",
        Unit::Text,
        "`HBM`, `VMEM`, `CMEM`, `SMEM`, `host`, ..., or `main memory` for a CPU.",
    ),
];

const CLASS: Column = column(
    "class",
    "Class",
    Unit::Text,
    "`parameter`, `optimizer state`, `gradient`, `activation` (kept for the backward pass), `input`, `output`, `constant`, `collective \
     scratch`, `temporary` or `unknown`.",
);
const SCOPE: Column = column(
    "scope",
    "Scope",
    Unit::Text,
    "Scopes of the framework path. For an argument, its path in the argument tree.",
);
const SOURCE: Column = column("source", "Source", Unit::Text, "Source line that creates the value: `file:line`.")
    .caveat("Absent if the file does not record the line, as for arguments.");

const SIZES: [Column; 4] = [
    column("bytes", "Bytes", Unit::Bytes, "Bytes of the buffer. The buffers of a memory space add up to its peak.")
        .caveat("Buffers that share memory are counted once. XProf merges buffers under 16 KiB into one row."),
    column("peak_percent", "Share of peak", Unit::Percent, "Bytes as a share of the peak of the memory space."),
    column(
        "unpadded_bytes",
        "Without padding",
        Unit::Bytes,
        "Bytes of the value in the default layout, without tiles.",
    ),
    column("padding_bytes", "Padding", Unit::Bytes, "Bytes that the layout adds as padding."),
];

/// Columns that only the form by buffer has.
const OF_BUFFER: [Column; 12] = [
    column("class_rule", "Why", Unit::Text, "Rule that determined the class."),
    column(
        "class_confidence",
        "Confidence",
        Unit::Text,
        "Confidence in the class: `high` (from the compiler or a name), `medium` or `low`.",
    ),
    column(
        "category",
        "Category",
        Unit::Text,
        "Content of the allocation, as XProf's memory viewer names it: `Parameter`, `Output`, `Temporary`, ...",
    )
    .xprof("groupName"),
    column("shape", "Shape", Unit::Text, "Type and shape of the value with its layout.").xprof("shapeString"),
    column("opcode", "Opcode", Unit::Text, "Operation of the instruction.").xprof("opCode"),
    column("tf_op_name", "Framework op", Unit::Text, "Path of the framework op. For an argument, its name.")
        .xprof("tfOpName"),
    column("allocation", "Allocation", Unit::Count, "Number of the allocation that contains the buffer."),
    column("offset_bytes", "Offset", Unit::Bytes, "Offset of the buffer in its allocation."),
    column("allocated_at", "Allocated at", Unit::Text, "Instruction at which the buffer is allocated.")
        .caveat("Absent if the buffer exists as long as the program runs."),
    column("freed_at", "Freed at", Unit::Text, "Last instruction that allocates memory before the buffer is freed.")
        .caveat(
            "XLA does not record the last use of a value. The last use is this instruction, or a later one that \
                allocates no memory. Absent if the buffer exists as long as the program runs, or is never freed.",
        ),
    column("logical_buffer_id", "Buffer number", Unit::Count, "XLA's number of the buffer.").xprof("logicalBufferId"),
    column("stated_bytes", "As stated", Unit::Bytes, "Rounded bytes in the text of an out-of-memory error.").caveat(
        "Only for out-of-memory errors. `bytes` is computed from the shape if the result rounds to the number in the \
            text.",
    ),
];

const BUFFER: Column = column(
    "buffer",
    "Buffer",
    Unit::Text,
    "Instruction that creates the value, with the element of its result: `copy-start{0}`.",
)
.xprof("instructionName");
const COUNT: Column = column("buffers", "Buffers", Unit::Count, "Number of buffers in the group.");
const LARGEST: Column = column("largest", "Largest", Unit::Text, "Largest buffer of the group.");

/// Returns the columns of all forms.
pub(crate) fn columns() -> Vec<Column> {
    let own = [BUFFER, CLASS].into_iter().chain(SIZES).chain([SCOPE, SOURCE]).chain(OF_BUFFER);
    OF_PROGRAM.into_iter().chain(own).chain([COUNT, LARGEST]).collect()
}

/// Buffer that is alive at the peak of a memory space.
struct Row<'p> {
    space: &'p Space<'p>,
    live: LiveBuffer,
    class: Classification,
}

/// Memory space of a program.
struct Space<'p> {
    program: &'p RecordedProgram,
    memory: &'p ProgramMemory,
    classifier: &'p Classifier,
    space: &'p SpaceMemory,
    name: String,
}

/// Returns true if a buffer is alive at a peak. The table then has rows in every form.
pub(crate) fn has_rows(recorded: &Recorded) -> bool {
    let has_any =
        |memory: &ProgramMemory| memory.spaces.iter().any(|space| memory.live_at_peak(space).next().is_some());
    recorded.programs.iter().filter_map(RecordedProgram::memory).any(has_any)
        || recorded.errors().iter().any(|error| !error.buffers.is_empty())
}

/// Returns the table of a run, sorted by the peak of the program and then by the size of the buffer, largest first. The
/// variants `class`, `scope` and `source` give one row for each class, scope or source line.
pub(crate) fn table(recorded: &Recorded, variant: &str) -> Table {
    let mut spaces = Vec::new();
    for program in &recorded.programs {
        if let Some(classifier) = program.classifier() {
            let memory = &**classifier.program();
            spaces.extend(memory.spaces.iter().map(|space| Space {
                program,
                memory,
                classifier,
                space,
                name: space_name(space.space, &recorded.platform),
            }));
        }
    }
    let largest = |space: &Space<'_>| (space.space.space != memory::MAIN, std::cmp::Reverse(space.space.peak_bytes()));
    sort::sort_by(&mut spaces, |a, b| largest(a).cmp(&largest(b)).then_with(|| a.program.name.cmp(&b.program.name)));
    let mut cells = Vec::new();
    for space in &spaces {
        let row = |live: LiveBuffer| Row { space, class: space.classifier.classify(space.space, &live), live };
        let mut rows: Vec<Row<'_>> = space.memory.live_at_peak(space.space).map(row).collect();
        sort::by_number(
            &mut rows,
            |row| i64::try_from(row.live.bytes).unwrap_or(i64::MAX),
            |_, _| std::cmp::Ordering::Equal,
        );
        match variant {
            "class" => space.groups(&rows, |row| row.class.class.label().to_owned(), &mut cells),
            "scope" => space.groups(&rows, |row| row.scope().to_owned(), &mut cells),
            "source" => space.groups(&rows, |row| row.source().unwrap_or_default(), &mut cells),
            _ => cells.extend(rows.iter().map(Row::cells)),
        }
    }
    for error in recorded.errors() {
        errors::add_buffers(&error, variant, &mut cells);
    }
    let key = match variant {
        "class" => CLASS,
        "scope" => SCOPE,
        "source" => SOURCE,
        _ => {
            let all = columns().into_iter().filter(|column| column.key != COUNT.key && column.key != LARGEST.key);
            return Table::new("buffers", all.collect(), cells);
        }
    };
    let columns = OF_PROGRAM.into_iter().chain([key]).chain(SIZES).chain([COUNT, LARGEST]).collect();
    Table::new("buffers", columns, cells)
}

impl Space<'_> {
    fn share(&self, bytes: u64) -> Option<f64> {
        share(bytes, self.space.peak_bytes())
    }

    fn groups<'r>(&self, rows: &'r [Row<'r>], key: impl Fn(&Row<'r>) -> String, cells: &mut Vec<Vec<Cell>>) {
        let part = |row: &'r Row<'r>| Part {
            key: key(row),
            name: self.memory.name(row.live.buffer),
            bytes: row.live.bytes,
            unpadded_bytes: row.live.unpadded_bytes,
        };
        groups([&self.program.name, &self.name], self.space.peak_bytes(), rows.iter().map(part), cells);
    }
}

impl<'p> Row<'p> {
    fn instruction(&self) -> Option<&'p Instruction> {
        self.space.memory.instruction(self.live.buffer)
    }

    fn padding(&self) -> u64 {
        self.live.bytes.saturating_sub(self.live.unpadded_bytes)
    }

    fn scope(&self) -> &'p str {
        self.space.memory.scope(self.live.buffer)
    }

    fn source(&self) -> Option<String> {
        self.space.memory.source(self.live.buffer)
    }

    /// Returns the name of the instruction that the program has reached at an event of the heap.
    fn at(&self, event: Option<usize>) -> Cell {
        let instruction =
            self.space.space.heap.as_ref().zip(event).and_then(|(heap, event)| *heap.reached.get(event)?);
        let instruction = instruction.and_then(|index| self.space.memory.module.at(index));
        instruction.map_or(Cell::Absent, |instruction| text(&instruction.name))
    }

    fn cells(&self) -> Vec<Cell> {
        let Row { space, live, class } = self;
        let memory = space.memory;
        let instruction = self.instruction();
        let buffer = memory.assignment.buffers.get(live.buffer);
        let allocation = memory.assignment.allocation_of(live.buffer);
        let number = |value: Option<i64>| int(value.and_then(|value| u64::try_from(value).ok()));
        vec![
            text(&space.program.name),
            text(&space.name),
            said(memory.name(live.buffer)),
            text(class.class.label()),
            Cell::Int(live.bytes),
            float(space.share(live.bytes)),
            Cell::Int(live.unpadded_bytes),
            Cell::Int(self.padding()),
            said(self.scope().to_owned()),
            said(self.source().unwrap_or_default()),
            text(class.rule),
            text(class.confidence.label()),
            allocation.map_or(Cell::Absent, |allocation| text(allocation.category().name())),
            said(memory.shape(live.buffer)),
            instruction.map_or(Cell::Absent, |it| text(&it.opcode)),
            said(instruction.map(|it| it.metadata.op_name.clone()).unwrap_or_default()),
            number(allocation.map(|allocation| allocation.index)),
            int(buffer.map(|buffer| buffer.offset)),
            self.at(live.lifetime.map(|lifetime| lifetime.start)),
            self.at(live.lifetime.and_then(|lifetime| lifetime.end)),
            number(buffer.map(|buffer| buffer.id)),
            Cell::Absent,
        ]
    }
}
