//! Reads a buffer assignment and the lifetimes of its values, from the text that XLA dumps next to HLO text.
//!
//! ```text
//! BufferAssignment:
//! allocation 1: size 256, color 1, parameter 0, shape |f32[8,8]| at ShapeIndex {}:
//!  value: <48 x.1{0} @0> (size=256,offset=0): f32[8,8]{1,0}
//! allocation 2: size 1128, preallocated-temp:
//!
//! HloLiveRange (max 33):
//!   InstructionSequence:
//!     0:x.1
//!   BufferLiveRange:
//!     x.1{0}:0-33
//! ```

use hlo::{InstructionIndex, Module};
use rustc_hash::FxHashMap;

use crate::assignment::{
    Allocation, Assignment, AssignmentReader, Buffer, BufferIndex, Category, HeapEvent, HeapEventKind, HeapTrace,
};
use crate::problems::Problem;

const START: &str = "BufferAssignment:";

const LIFETIMES: &str = "HloLiveRange";

/// Reads the buffer assignment that follows HLO text whose module was read from the same bytes. Returns `None` if the text
/// contains no assignment.
pub(crate) fn assignment(text: &[u8], module: &Module) -> Option<Assignment> {
    let mut reader = AssignmentReader::new(module);
    read(&find(text)?, &mut reader);
    Some(reader.assignment)
}

/// Returns the buffer assignment in a text that starts with a module. `None` if the text contains no assignment.
fn find(text: &[u8]) -> Option<String> {
    let at = memchr::memmem::find(text, b"\nBufferAssignment:")?;
    Some(String::from_utf8_lossy(text.get(at + 1..)?).into_owned())
}

fn read(text: &str, reader: &mut AssignmentReader<'_>) {
    let mut lines = text.lines().peekable();
    let mut sequence: Vec<Option<InstructionIndex>> = Vec::new();
    let mut lives: Vec<(BufferIndex, usize, usize)> = Vec::new();
    let mut by_name: FxHashMap<String, BufferIndex> = FxHashMap::default();
    let mut section = START;
    while let Some(line) = lines.next() {
        if line.starts_with(LIFETIMES) {
            section = LIFETIMES;
        } else if matches!(line.trim(), "InstructionSequence:" | "BufferLiveRange:") {
            section = line.trim();
        } else if let Some(allocation) = line.strip_prefix("allocation ").filter(|_| section == START) {
            let place = reader.assignment.allocations.len();
            let mut buffers = Vec::new();
            let mut is_tuple = false;
            while let Some(line) = lines.next_if(|line| line.starts_with(" value: <")) {
                match value(line, place, reader) {
                    Some((index, name, of_tuple)) => {
                        by_name.insert(name, index);
                        buffers.push(index);
                        is_tuple |= of_tuple;
                    }
                    None => reader.assignment.problems.add(Problem::Unreadable),
                }
            }
            match self::allocation(allocation, reader) {
                Some(read) => reader.assignment.allocations.push(Allocation {
                    is_tuple: is_tuple && !allocation.contains("preallocated-temp"),
                    buffers,
                    ..read
                }),
                None => reader.assignment.problems.add(Problem::Unreadable),
            }
        } else if section == "InstructionSequence:" {
            let name = line.split_once(':').map_or("", |(_, name)| name.trim());
            sequence.push(reader.instruction(name.as_bytes()));
        } else if section == "BufferLiveRange:" {
            // Names contain no colon. A list of the values that are live at the peak follows.
            let parts = line.trim().rsplit_once(':').and_then(|(name, range)| {
                let (start, end) = range.split_once('-')?;
                Some((*by_name.get(name)?, start.parse().ok()?, end.parse().ok()?))
            });
            lives.extend(parts);
        }
    }
    traces(&lives, &sequence, reader);
}

/// Reads `1: size 256, color 1, parameter 0, shape |f32[8,8]| at ShapeIndex {}:`.
fn allocation(line: &str, reader: &mut AssignmentReader<'_>) -> Option<Allocation> {
    let (index, rest) = line.split_once(": size ")?;
    // Shapes contain commas.
    let shapes = |part: &str| part.split('|').step_by(2).collect::<String>();
    let rest = shapes(rest.trim_end().strip_suffix(':')?);
    let mut flags = rest.split(", ");
    let size = reader.size(flags.next()?.parse().ok()?, reader.allocation_bytes);
    reader.allocation_bytes += size;
    let mut read = Allocation { index: index.parse().ok()?, size, ..Allocation::default() };
    for flag in flags {
        let (name, value) = flag.split_once(' ').unwrap_or((flag, ""));
        match name {
            "color" => read.space = value.parse().ok()?,
            "parameter" => read.parameter = Some(value.parse().ok()?),
            "shape" => {
                let index = rest.split_once("ShapeIndex {").and_then(|(_, index)| index.split('}').next());
                read.parameter_index = numbers(index.unwrap_or_default());
            }
            "constant" => read.is_constant = true,
            "thread-local" => read.is_thread_local = true,
            "maybe-live-out" => read.is_output = true,
            _ => {}
        }
    }
    Some(read)
}

/// Reads ` value: <60 arg_tuple.3{1} (phi) @0> (size=256,offset=0): f32[8,8]{1,0}`. Returns the buffer, its name with the
/// index of its element, and true if its value is a tuple.
fn value(line: &str, allocation: usize, reader: &mut AssignmentReader<'_>) -> Option<(BufferIndex, String, bool)> {
    let (inside, rest) = line.split_once('<')?.1.split_once('>')?;
    let (sizes, shape) = rest.split_once("): ")?;
    let (size, offset) = sizes.split_once("(size=")?.1.split_once(",offset=")?;
    let (id, inside) = inside.split_once(' ')?;
    let (name, space) = inside.rsplit_once(" @")?;
    let name = name.strip_suffix(" (phi)").unwrap_or(name);
    let (name, index) = name.split_once('{').unwrap_or((name, "}"));
    let index = index.strip_suffix('}')?;
    let buffer = Buffer {
        id: id.parse().ok()?,
        size: reader.size(size.parse().ok()?, reader.buffer_bytes),
        space: space.parse().ok()?,
        instruction: reader.instruction(name.as_bytes()),
        shape_index: numbers(index),
        allocation: Some(allocation),
        offset: reader.size(offset.parse().ok()?, 0),
    };
    reader.buffer_bytes += buffer.size;
    if buffer.instruction.is_none() {
        reader.assignment.problems.add(Problem::UnknownInstruction);
    }
    reader.assignment.buffers.push(buffer);
    Some((reader.assignment.buffers.len() - 1, format!("{name}{{{index}}}"), shape.starts_with('(')))
}

fn numbers(list: &str) -> Vec<i64> {
    list.split(',').filter_map(|number| number.trim().parse().ok()).collect()
}

/// Adds the order in which the values of each temporary allocation are allocated and freed. A value that starts at the place of
/// a live value of the same size shares the live value's memory.
fn traces(
    lives: &[(BufferIndex, usize, usize)],
    sequence: &[Option<InstructionIndex>],
    reader: &mut AssignmentReader<'_>,
) {
    let mut by_allocation: FxHashMap<usize, Vec<(usize, bool, BufferIndex)>> = FxHashMap::default();
    for &(index, start, end) in lives {
        let place = reader.assignment.buffers.get(index).and_then(|buffer| buffer.allocation);
        let events = place.map(|place| by_allocation.entry(place).or_default());
        events.into_iter().for_each(|events| events.extend([(start, false, index), (end.max(start), true, index)]));
    }
    for (place, allocation) in reader.assignment.allocations.iter().enumerate() {
        let of_temporary = by_allocation.remove(&place).filter(|_| allocation.category() == Category::Temporary);
        let Some(mut events) = of_temporary else { continue };
        // At each instruction, its results are allocated before its operands are freed.
        base::sort::sort_by_key(&mut events, |&(at, frees, _)| (at, frees));
        // Owner of the memory at each place, and the number of live values there.
        let mut live: FxHashMap<(u64, u64), (BufferIndex, usize)> = FxHashMap::default();
        let mut trace = HeapTrace::default();
        for (at, frees, index) in events {
            let Some(buffer) = reader.assignment.buffers.get(index) else { continue };
            let here = live.entry((buffer.offset, buffer.size)).or_insert((index, 0));
            let kind = match (frees, here.1) {
                (true, _) => HeapEventKind::Free,
                (false, 0) => HeapEventKind::Allocate,
                (false, _) => HeapEventKind::Share(Some(here.0)),
            };
            *here = match kind {
                HeapEventKind::Allocate => (index, 1),
                HeapEventKind::Free => (here.0, here.1.saturating_sub(1)),
                _ => (here.0, here.1 + 1),
            };
            let at_start = || sequence.get(at).copied().flatten();
            let instruction = if frees { buffer.instruction } else { at_start().or(buffer.instruction) };
            trace.events.push(HeapEvent { kind, buffer: Some(index), instruction });
        }
        reader.assignment.traces.push(trace);
    }
}
