//! Reads `xla.BufferAssignmentProto`: which values a program keeps, in which allocations, and in what order they come and go.
//!
//! ```text
//! HloProto  1 hlo_module  3 buffer_assignment
//! BufferAssignmentProto  1 logical_buffers*  2 buffer_aliases*  3 buffer_allocations*  4 heap_simulator_traces*
//! HeapSimulatorTrace     1 events*  2 whole_module_simulation  3 buffer_allocation_index (not to be trusted, XLA says)
//! ```
//!
//! The lists are walked with our own reader, so that what follows a damaged message is found; each message in them is decoded
//! by itself.

use hlo::{InstructionIndex, Module};
use prost::Message;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::messages::messages;
use crate::problems::{MOST_BYTES, Problem, Problems};
use crate::proto;

/// Index of a buffer in [`Assignment::buffers`].
pub type BufferIndex = usize;

/// A value, or an element of one, that the program keeps in memory (XLA's logical buffer).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buffer {
    /// XLA's number of the buffer.
    pub id: i64,
    /// Bytes, the padding of its layout included.
    pub size: u64,
    /// The memory space that it asks for. Its allocation may be in another.
    pub space: i64,
    /// The instruction that makes it.
    pub instruction: Option<InstructionIndex>,
    /// Which element of the instruction's result the buffer is; empty for all of it.
    pub shape_index: Vec<i64>,
    /// Index of the buffer's allocation in [`Assignment::allocations`].
    pub allocation: Option<usize>,
    /// Where the buffer lies in its allocation, bytes.
    pub offset: u64,
}

/// Memory that is reserved as one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// XLA's number of the allocation.
    pub index: i64,
    /// Size in bytes.
    pub size: u64,
    /// Memory space of the allocation.
    pub space: i64,
    /// Which of the program's arguments the allocation holds.
    pub parameter: Option<i64>,
    /// Which element of that argument the allocation holds; empty for all of it.
    pub parameter_index: Vec<i64>,
    /// Does the allocation hold a result of the program?
    pub is_output: bool,
    /// Does each call of its computation have a copy of the allocation?
    pub is_thread_local: bool,
    /// Does the allocation hold a constant?
    pub is_constant: bool,
    /// Does the allocation hold a tuple's table of pointers?
    pub is_tuple: bool,
    /// The buffers in it.
    pub buffers: Vec<BufferIndex>,
}

/// What an allocation is for, in the words of XProf's memory viewer: the first of these that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// An argument of the program.
    Parameter,
    /// A result.
    Output,
    /// Memory of a call.
    ThreadLocal,
    /// A constant of the program.
    Constant,
    /// Anything that comes and goes while the program runs.
    Temporary,
}

impl Category {
    /// Name of the category in XProf.
    pub fn name(self) -> &'static str {
        match self {
            Category::Parameter => "Parameter",
            Category::Output => "Output",
            Category::ThreadLocal => "Thread-local",
            Category::Constant => "Constant",
            Category::Temporary => "Temporary",
        }
    }
}

impl Allocation {
    /// What the allocation is for.
    pub fn category(&self) -> Category {
        match self {
            Allocation { parameter: Some(_), .. } => Category::Parameter,
            Allocation { is_output: true, .. } => Category::Output,
            Allocation { is_thread_local: true, .. } => Category::ThreadLocal,
            Allocation { is_constant: true, .. } => Category::Constant,
            _ => Category::Temporary,
        }
    }

    /// Is the allocation there as long as the program runs? XProf says that its lifetime is indefinite. Memory of a
    /// call is not.
    pub fn is_resident(&self) -> bool {
        !self.is_thread_local && self.category() != Category::Temporary
    }

    /// Can the allocation's memory not be given to other values? So of tuples' tables and of memory of calls.
    pub fn is_fixed(&self) -> bool {
        self.is_thread_local || self.is_tuple
    }
}

/// What happens to a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeapEventKind {
    /// The buffer gets memory.
    Allocate,
    /// The buffer's memory is free again, unless another shares it.
    Free,
    /// The buffer gets the memory of another one; `None` where that one is not there.
    Share(Option<BufferIndex>),
    /// A kind that is not known.
    Unknown,
}

/// An event of the heap, in the order of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapEvent {
    /// What happens.
    pub kind: HeapEventKind,
    /// The buffer that it happens to; `None` where it is not there.
    pub buffer: Option<BufferIndex>,
    /// The instruction at which it happens.
    pub instruction: Option<InstructionIndex>,
}

/// The order in which the buffers of an allocation come and go, as XLA simulated it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapTrace {
    /// Events of the trace.
    pub events: Vec<HeapEvent>,
}

impl HeapTrace {
    /// The allocation that it is of: that of its first event's buffer.
    pub fn allocation(&self, buffers: &[Buffer]) -> Option<usize> {
        buffers.get(self.events.first()?.buffer?)?.allocation
    }
}

/// A program's buffer assignment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assignment {
    /// Buffers of the program, in the order of the file.
    pub buffers: Vec<Buffer>,
    /// Allocations of the program, in the order of the file.
    pub allocations: Vec<Allocation>,
    /// Heap traces of the program, in the order of the file.
    pub traces: Vec<HeapTrace>,
    /// What could not be read or understood.
    pub problems: Problems,
}

impl Assignment {
    /// Reads the buffer assignment of an `xla.HloProto` whose module was read from the same bytes. `None` where the file holds none,
    /// as before the compiler assigned buffers.
    pub fn read(hlo_proto: &[u8], module: &Module) -> Option<Assignment> {
        let mut problems = Problems::default();
        // A message that is written in several pieces is one.
        let pieces: Vec<&[u8]> = messages(hlo_proto, &mut problems)
            .into_iter()
            .filter_map(|(number, message)| (number == 3).then_some(message))
            .collect();
        if pieces.is_empty() {
            return None;
        }
        let mut parts = Vec::new();
        pieces.iter().for_each(|message| parts.extend(messages(message, &mut problems)));
        let mut reader = AssignmentReader {
            module,
            instructions: module.instructions().iter().zip(0..).map(|(it, index)| (it.id, index)).collect(),
            buffers: FxHashMap::default(),
            allocations: FxHashSet::default(),
            buffer_bytes: 0,
            allocation_bytes: 0,
            assignment: Assignment { problems, ..Assignment::default() },
        };
        let of = |number: u32| parts.iter().filter(move |part| part.0 == number).map(|part| part.1);
        of(1).for_each(|message| reader.buffer(message));
        of(3).for_each(|message| reader.allocation(message));
        of(4).for_each(|message| reader.trace(message));
        Some(reader.assignment)
    }

    /// The largest buffer of an allocation, the first of equals; `None` where all are empty.
    pub fn largest(&self, allocation: &Allocation) -> Option<BufferIndex> {
        let size = |buffer: BufferIndex| self.buffers.get(buffer).map_or(0, |buffer| buffer.size);
        let larger = |a: BufferIndex, b: BufferIndex| if size(b) > size(a) { b } else { a };
        allocation.buffers.iter().copied().filter(|&buffer| size(buffer) > 0).reduce(larger)
    }

    /// The allocation that a buffer lies in.
    pub fn allocation_of(&self, buffer: BufferIndex) -> Option<&Allocation> {
        self.allocations.get(self.buffers.get(buffer)?.allocation?)
    }
}

/// Turns messages into an [`Assignment`].
struct AssignmentReader<'m> {
    module: &'m Module,
    /// Instructions by their ids.
    instructions: FxHashMap<i64, InstructionIndex>,
    /// Buffers by their ids.
    buffers: FxHashMap<i64, BufferIndex>,
    /// Numbers of the allocations.
    allocations: FxHashSet<i64>,
    /// Bytes of all buffers so far.
    buffer_bytes: u64,
    /// Bytes of all allocations so far.
    allocation_bytes: u64,
    assignment: Assignment,
}

impl AssignmentReader<'_> {
    fn buffer(&mut self, message: &[u8]) {
        let Some(read) = self.decode::<proto::LogicalBuffer>(message) else { return };
        if self.buffers.contains_key(&read.id) {
            self.assignment.problems.add(Problem::RepeatedId);
            return;
        }
        let location = read.defined_at.unwrap_or_default();
        let by_name = || self.instruction(&location.instruction_name);
        let instruction = self.instructions.get(&location.instruction_id).copied().or_else(by_name);
        if instruction.is_none() {
            self.assignment.problems.add(Problem::UnknownInstruction);
        }
        self.buffers.insert(read.id, self.assignment.buffers.len());
        let size = self.size(read.size, self.buffer_bytes);
        self.buffer_bytes += size;
        self.assignment.buffers.push(Buffer {
            id: read.id,
            size,
            space: read.color,
            instruction,
            shape_index: location.shape_index,
            ..Buffer::default()
        });
    }

    fn allocation(&mut self, message: &[u8]) {
        let Some(read) = self.decode::<proto::BufferAllocation>(message) else { return };
        if !self.allocations.insert(read.index) {
            self.assignment.problems.add(Problem::RepeatedId);
            return;
        }
        let place = self.assignment.allocations.len();
        let mut buffers = Vec::with_capacity(read.assigned.len());
        for assigned in &read.assigned {
            let Some(index) = self.find(assigned.logical_buffer_id) else { continue };
            let offset = self.size(assigned.offset, 0);
            if let Some(buffer) = self.assignment.buffers.get_mut(index) {
                (buffer.allocation, buffer.offset) = (Some(place), offset);
            }
            buffers.push(index);
        }
        let size = self.size(read.size, self.allocation_bytes);
        self.allocation_bytes += size;
        self.assignment.allocations.push(Allocation {
            index: read.index,
            size,
            space: read.color,
            parameter: read.is_entry_computation_parameter.then_some(read.parameter_number),
            parameter_index: read.parameter_shape_index,
            is_output: read.maybe_live_out,
            is_thread_local: read.is_thread_local,
            is_constant: read.is_constant,
            is_tuple: read.is_tuple,
            buffers,
        });
    }

    fn trace(&mut self, message: &[u8]) {
        let parts = messages(message, &mut self.assignment.problems);
        let mut trace = HeapTrace::default();
        for (_, message) in parts.into_iter().filter(|part| part.0 == 1) {
            let Some(read) = self.decode::<proto::Event>(message) else { continue };
            let kind = match read.kind {
                0 => HeapEventKind::Allocate,
                1 => HeapEventKind::Free,
                2 => HeapEventKind::Share(self.find(read.share_with_canonical_id)),
                _ => HeapEventKind::Unknown,
            };
            let buffer = self.find(read.buffer_id);
            let instruction = self.named_or_own(&read.instruction_name, buffer);
            trace.events.push(HeapEvent { kind, buffer, instruction });
        }
        let allocation = trace.allocation(&self.assignment.buffers);
        let of_other = |event: &HeapEvent| {
            event.buffer.and_then(|it| self.assignment.buffers.get(it)).is_some_and(|it| it.allocation != allocation)
        };
        if trace.events.iter().any(of_other) {
            self.assignment.problems.add(Problem::SeveralAllocations);
        }
        self.assignment.traces.push(trace);
    }

    fn decode<M: Message + Default>(&mut self, message: &[u8]) -> Option<M> {
        let read = M::decode(message);
        if read.is_err() {
            self.assignment.problems.add(Problem::Unreadable);
        }
        read.ok()
    }

    /// The buffer of an id.
    fn find(&mut self, id: i64) -> Option<BufferIndex> {
        let found = self.buffers.get(&id).copied();
        if found.is_none() {
            self.assignment.problems.add(Problem::UnknownBuffer);
        }
        found
    }

    /// The instruction that an event names: nearly always the one that makes its buffer, which needs no search.
    fn named_or_own(&self, name: &[u8], buffer: Option<BufferIndex>) -> Option<InstructionIndex> {
        let own = buffer.and_then(|buffer| self.assignment.buffers.get(buffer)?.instruction);
        let is_named = |&index: &InstructionIndex| self.module.at(index).is_some_and(|it| it.name.as_bytes() == name);
        own.filter(is_named).or_else(|| self.instruction(name))
    }

    fn instruction(&self, name: &[u8]) -> Option<InstructionIndex> {
        let name = std::str::from_utf8(name).ok().filter(|name| !name.is_empty())?;
        self.module.index_of(self.module.instruction(name)?)
    }

    /// A size or an offset, which follows `before` bytes: 0 if it, or the sum, is more than any memory has.
    fn size(&mut self, value: i64, before: u64) -> u64 {
        let size = u64::try_from(value).ok().filter(|&size| size < MOST_BYTES - before);
        size.unwrap_or_else(|| {
            self.assignment.problems.add(Problem::ImpossibleSize);
            0
        })
    }
}
