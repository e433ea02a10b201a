//! The address map: which addresses of an allocation belong to which buffer, and when.

use crate::heap::Lifetime;
use crate::program::{ProgramMemory, SpaceMemory};

/// A rectangle of addresses by order of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// When the block is taken, and by which buffer.
    pub lifetime: Lifetime,
    /// Index of the allocation that it lies in.
    pub allocation: usize,
    /// First byte in the allocation.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// Index of the event that allocates it.
    pub start: usize,
    /// Index of the event that frees it; the number of events where nothing does.
    pub end: usize,
}

/// The blocks of a memory space's heap, in the order of their starts. Buffers that share memory are one block.
pub fn blocks<'a>(program: &'a ProgramMemory, space: &'a SpaceMemory) -> impl Iterator<Item = Block> + 'a {
    let lifetimes = space.heap.iter().flat_map(|heap| heap.lifetimes.iter().map(|it| (it, heap.instructions.len())));
    lifetimes.filter_map(|(lifetime, events)| {
        let buffer = program.assignment.buffers.get(lifetime.memory_of)?;
        let (start, end) = (lifetime.start, lifetime.end.unwrap_or(events));
        let (allocation, offset, size) = (buffer.allocation?, buffer.offset, buffer.size);
        Some(Block { lifetime: *lifetime, allocation, offset, size, start, end })
    })
}
