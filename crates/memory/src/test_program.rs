//! Programs built by hand for the tests of this crate.

use wire_writer::{Message, message};

use crate::ProgramMemory;

/// A program. Instructions and buffers keep the ids with which they are added.
#[derive(Clone, Debug, Default)]
pub(crate) struct TestProgram {
    instructions: Vec<Message>,
    buffers: Vec<Message>,
    allocations: Vec<Message>,
    traces: Vec<Message>,
}

pub(crate) const ALLOCATE: i64 = 0;
pub(crate) const FREE: i64 = 1;
pub(crate) const SHARE: i64 = 2;

/// `f32[size]`.
fn shape(size: i64) -> Message {
    message().int(2, 11).int(3, size)
}

impl TestProgram {
    /// Adds an instruction `opcode.id` with a result of `elements` numbers of four bytes.
    pub(crate) fn instruction(self, id: i64, opcode: &str, path: &str, elements: i64) -> Self {
        let metadata = message().bytes(2, path);
        let instruction = message().bytes(1, format!("{opcode}.{id}")).bytes(2, opcode).message(3, shape(elements));
        self.raw_instruction(instruction.message(7, metadata).int(35, id))
    }

    pub(crate) fn raw_instruction(mut self, instruction: Message) -> Self {
        self.instructions.push(instruction);
        self
    }

    /// Adds a buffer of the instruction with the same id.
    pub(crate) fn buffer(self, id: i64, size: i64) -> Self {
        self.raw_buffer(message().int(1, id).int(2, size).message(3, message().int(4, id)))
    }

    pub(crate) fn raw_buffer(mut self, buffer: Message) -> Self {
        self.buffers.push(buffer);
        self
    }

    /// Adds an allocation with these buffers in sequence. `flag` is the field number of its kind, or 0 for temporary
    /// values.
    pub(crate) fn allocation(mut self, size: i64, flag: u32, buffers: &[i64]) -> Self {
        let mut allocation = message().int(1, self.allocations.len() as i64).int(2, size);
        if flag > 0 {
            allocation = allocation.int(flag, 1);
        }
        for (place, &buffer) in buffers.iter().enumerate() {
            allocation = allocation.message(9, message().int(1, buffer).int(2, 64 * place as i64).int(3, 64));
        }
        self.allocations.push(allocation);
        self
    }

    pub(crate) fn raw_allocation(mut self, allocation: Message) -> Self {
        self.allocations.push(allocation);
        self
    }

    /// Adds a heap trace of `(kind, buffer, shared with)`. Each event names the instruction of its buffer, like XLA's events.
    pub(crate) fn trace(mut self, events: &[(i64, i64, i64)]) -> Self {
        let mut trace = message();
        for &(kind, buffer, with) in events {
            let name = format!("add.{buffer}");
            trace = trace.message(1, message().int(1, kind).int(2, buffer).bytes(4, name).int(5, with));
        }
        self.traces.push(trace);
        self
    }

    /// Returns the `xla.HloProto`.
    pub(crate) fn proto(&self) -> Vec<u8> {
        let mut computation = message().bytes(1, "main").int(5, 1);
        for instruction in &self.instructions {
            computation = computation.message(2, instruction.clone());
        }
        let root = self.instructions.len() as i64;
        let module = message().bytes(1, "jit_f").bytes(2, "main").message(3, computation.int(6, root)).int(6, 1);
        let mut assignment = message();
        for (number, parts) in [(1, &self.buffers), (3, &self.allocations), (4, &self.traces)] {
            for part in parts {
                assignment = assignment.message(number, part.clone());
            }
        }
        message().message(1, module).message(3, assignment).0
    }

    pub(crate) fn look<T>(&self, look: impl FnOnce(&ProgramMemory) -> T) -> T {
        look_at(&self.proto(), look).expect("a buffer assignment")
    }
}

/// Calls `look` with the memory of the program that `proto` contains.
pub(crate) fn look_at<T>(proto: &[u8], look: impl FnOnce(&ProgramMemory) -> T) -> Option<T> {
    ProgramMemory::read(proto).map(|program| look(&program))
}
