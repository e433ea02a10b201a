//! Reads `xla.BufferAssignmentProto`: the values that a program keeps in memory, their allocations, and the order in
//! which they are allocated and freed.
//!
//! ```text
//! HloProto  1 hlo_module  3 buffer_assignment
//! BufferAssignmentProto  1 logical_buffers*  2 buffer_aliases*  3 buffer_allocations*  4 heap_simulator_traces*
//! HeapSimulatorTrace     1 events*  2 whole_module_simulation  3 buffer_allocation_index (unreliable, according to XLA)
//! ```
//!
//! Our own reader walks the lists, so that messages after a damaged message are found. Each message in the lists is decoded
//! separately.

use hlo::{InstructionIndex, Module};
use prost::Message;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::messages::messages;
use crate::problems::{MOST_BYTES, Problem, Problems};
use crate::proto;

/// Index of a buffer in [`Assignment::buffers`].
pub type BufferIndex = usize;

/// A value that the program keeps in memory, or an element of such a value (XLA's logical buffer).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buffer {
    /// XLA's id of the buffer.
    pub id: i64,
    /// Size in bytes, including the padding of its layout.
    pub size: u64,
    /// Memory space that the buffer requests. The buffer's allocation may be in another memory space.
    pub space: i64,
    /// Instruction that makes the buffer.
    pub instruction: Option<InstructionIndex>,
    /// Index of the element that the buffer holds in the instruction's result. Empty for the whole result.
    pub shape_index: Vec<i64>,
    /// Index of the buffer's allocation in [`Assignment::allocations`].
    pub allocation: Option<usize>,
    /// Offset of the buffer in its allocation, in bytes.
    pub offset: u64,
}

/// A contiguous block of reserved memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// XLA's number of the allocation.
    pub index: i64,
    /// Size in bytes.
    pub size: u64,
    /// Memory space of the allocation.
    pub space: i64,
    /// Number of the program's argument that the allocation holds.
    pub parameter: Option<i64>,
    /// Index of the argument's element that the allocation holds. Empty for the whole argument.
    pub parameter_index: Vec<i64>,
    /// True if the allocation holds a result of the program.
    pub is_output: bool,
    /// True if each call of the computation has its own copy of the allocation.
    pub is_thread_local: bool,
    /// True if the allocation holds a constant.
    pub is_constant: bool,
    /// True if the allocation holds a tuple's table of pointers.
    pub is_tuple: bool,
    /// Buffers in the allocation.
    pub buffers: Vec<BufferIndex>,
}

/// Purpose of an allocation in the terms of XProf's memory viewer. If several purposes apply, the first is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// An argument of the program.
    Parameter,
    /// A result of the program.
    Output,
    /// Local memory of a call.
    ThreadLocal,
    /// A constant of the program.
    Constant,
    /// A value that is allocated and freed while the program runs.
    Temporary,
}

impl Category {
    /// Returns the name of the category in XProf.
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
    /// Returns the purpose of the allocation.
    pub fn category(&self) -> Category {
        match self {
            Allocation { parameter: Some(_), .. } => Category::Parameter,
            Allocation { is_output: true, .. } => Category::Output,
            Allocation { is_thread_local: true, .. } => Category::ThreadLocal,
            Allocation { is_constant: true, .. } => Category::Constant,
            _ => Category::Temporary,
        }
    }

    /// Returns true if the allocation exists as long as the program runs. XProf calls this an indefinite lifetime.
    /// Returns false for the memory of a call.
    pub fn is_resident(&self) -> bool {
        !self.is_thread_local && self.category() != Category::Temporary
    }

    /// Returns true if other values cannot reuse the allocation's memory. Tuples' tables and the memory of calls are
    /// fixed.
    pub fn is_fixed(&self) -> bool {
        self.is_thread_local || self.is_tuple
    }
}

/// Type of a heap event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeapEventKind {
    /// The buffer is allocated.
    Allocate,
    /// The buffer is freed. The memory of the buffer becomes free unless another buffer shares it.
    Free,
    /// The buffer shares the memory of another buffer. `None` if the other buffer is missing.
    Share(Option<BufferIndex>),
    /// An unknown type.
    Unknown,
}

/// A heap event, in program order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapEvent {
    /// Type of the event.
    pub kind: HeapEventKind,
    /// Buffer of the event. `None` if the buffer is missing.
    pub buffer: Option<BufferIndex>,
    /// Instruction of the event.
    pub instruction: Option<InstructionIndex>,
}

/// Order in which the buffers of an allocation are allocated and freed, as simulated by XLA.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapTrace {
    /// Events in program order.
    pub events: Vec<HeapEvent>,
}

impl HeapTrace {
    /// Returns the allocation that the trace belongs to: the allocation of its first event's buffer.
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
    /// Parts that were unreadable or inconsistent.
    pub problems: Problems,
}

impl Assignment {
    /// Reads the buffer assignment of an `xla.HloProto` whose module was read from the same bytes. Returns `None` if the proto
    /// contains no buffer assignment, because it was written before the compiler assigned buffers.
    pub(crate) fn of_proto(hlo_proto: &[u8], module: &Module) -> Option<Assignment> {
        let mut reader = AssignmentReader::new(module);
        let mut problems = Problems::default();
        // A message may be split into several fields with the same number.
        let pieces: Vec<&[u8]> = messages(hlo_proto, &mut problems)
            .into_iter()
            .filter_map(|(number, message)| (number == 3).then_some(message))
            .collect();
        if pieces.is_empty() {
            return None;
        }
        let mut parts = Vec::new();
        pieces.iter().for_each(|message| parts.extend(messages(message, &mut problems)));
        reader.instructions = module.instructions().iter().zip(0..).map(|(it, index)| (it.id, index)).collect();
        reader.assignment.problems = problems;
        let of = |number: u32| parts.iter().filter(move |part| part.0 == number).map(|part| part.1);
        of(1).for_each(|message| reader.buffer(message));
        of(3).for_each(|message| reader.allocation(message));
        of(4).for_each(|message| reader.trace(message));
        Some(reader.assignment)
    }

    /// Returns the largest buffer of an allocation. If several buffers have the same size, returns the first. Returns
    /// `None` if all buffers are empty.
    pub fn largest(&self, allocation: &Allocation) -> Option<BufferIndex> {
        let size = |buffer: BufferIndex| self.buffers.get(buffer).map_or(0, |buffer| buffer.size);
        let larger = |a: BufferIndex, b: BufferIndex| if size(b) > size(a) { b } else { a };
        allocation.buffers.iter().copied().filter(|&buffer| size(buffer) > 0).reduce(larger)
    }

    /// Returns the allocation that contains a buffer.
    pub fn allocation_of(&self, buffer: BufferIndex) -> Option<&Allocation> {
        self.allocations.get(self.buffers.get(buffer)?.allocation?)
    }
}

/// Turns messages or text into an [`Assignment`].
pub(crate) struct AssignmentReader<'m> {
    module: &'m Module,
    /// Instructions by id.
    instructions: FxHashMap<i64, InstructionIndex>,
    /// Buffers by id.
    buffers: FxHashMap<i64, BufferIndex>,
    /// Numbers of the allocations that were read so far.
    allocations: FxHashSet<i64>,
    /// Total bytes of all buffers that were read so far.
    pub(crate) buffer_bytes: u64,
    /// Total bytes of all allocations that were read so far.
    pub(crate) allocation_bytes: u64,
    pub(crate) assignment: Assignment,
}

impl<'m> AssignmentReader<'m> {
    pub(crate) fn new(module: &'m Module) -> AssignmentReader<'m> {
        AssignmentReader {
            module,
            instructions: FxHashMap::default(),
            buffers: FxHashMap::default(),
            allocations: FxHashSet::default(),
            buffer_bytes: 0,
            allocation_bytes: 0,
            assignment: Assignment::default(),
        }
    }
}

impl AssignmentReader<'_> {
    fn buffer(&mut self, message: &[u8]) {
        let Some(read) = self.decode::<proto::LogicalBuffer>(message) else { return };
        if self.buffers.contains_key(&read.id) {
            self.assignment.problems.add(Problem::RepeatedId);
            return;
        }
        // Without a location, the number 0 could name a wrong instruction.
        let instruction = read.defined_at.as_ref().and_then(|location| {
            let by_name = || self.instruction(&location.instruction_name);
            self.instructions.get(&location.instruction_id).copied().or_else(by_name)
        });
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
            shape_index: read.defined_at.map(|location| location.shape_index).unwrap_or_default(),
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

    /// Returns the buffer with this id. Counts a problem if the buffer is missing.
    fn find(&mut self, id: i64) -> Option<BufferIndex> {
        let found = self.buffers.get(&id).copied();
        if found.is_none() {
            self.assignment.problems.add(Problem::UnknownBuffer);
        }
        found
    }

    /// Returns the instruction that an event names. The named instruction is nearly always the one that makes the
    /// event's buffer, so a search is seldom needed.
    fn named_or_own(&self, name: &[u8], buffer: Option<BufferIndex>) -> Option<InstructionIndex> {
        let own = buffer.and_then(|buffer| self.assignment.buffers.get(buffer)?.instruction);
        let is_named = |&index: &InstructionIndex| self.module.at(index).is_some_and(|it| it.name.as_bytes() == name);
        own.filter(is_named).or_else(|| self.instruction(name))
    }

    pub(crate) fn instruction(&self, name: &[u8]) -> Option<InstructionIndex> {
        let name = std::str::from_utf8(name).ok().filter(|name| !name.is_empty())?;
        self.module.index_of(self.module.instruction(name)?)
    }

    /// Checks a size or an offset that is added to `before` bytes. Returns 0 and counts a problem if the value or the sum
    /// exceeds any possible memory.
    pub(crate) fn size(&mut self, value: i64, before: u64) -> u64 {
        let size = u64::try_from(value).ok().filter(|&size| size < MOST_BYTES - before);
        size.unwrap_or_else(|| {
            self.assignment.problems.add(Problem::ImpossibleSize);
            0
        })
    }
}
