//! Address map: the buffer at each address of an allocation, over time.

use crate::heap::Lifetime;
use crate::program::{ProgramMemory, SpaceMemory};

/// A rectangle in the plane of addresses and program order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Buffer in the block, with its lifetime.
    pub lifetime: Lifetime,
    /// Index of the allocation that contains the block.
    pub allocation: usize,
    /// Offset of the block in the allocation, in bytes.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// Index of the event that allocates the block.
    pub start: usize,
    /// Index of the event that frees the block. The number of events if no event frees the block.
    pub end: usize,
}

/// Returns the blocks of a memory space's heap, in the order of their starts. Buffers that share memory form one block.
pub fn blocks<'a>(program: &'a ProgramMemory, space: &'a SpaceMemory) -> impl Iterator<Item = Block> + 'a {
    let lifetimes = space.heap.iter().flat_map(|heap| heap.lifetimes.iter().map(|it| (it, heap.instructions.len())));
    lifetimes.filter_map(|(lifetime, events)| {
        let buffer = program.assignment.buffers.get(lifetime.memory_of)?;
        let (start, end) = (lifetime.start, lifetime.end.unwrap_or(events));
        let (allocation, offset, size) = (buffer.allocation?, buffer.offset, buffer.size);
        Some(Block { lifetime: *lifetime, allocation, offset, size, start, end })
    })
}
