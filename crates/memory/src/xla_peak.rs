//! Peak as reported by XLA: `compiled.memory_analysis().peak_memory_in_bytes`.

use crate::assignment::{Assignment, BufferIndex, HeapEventKind};
use crate::references::References;

/// Returns the largest total of the buffers that are alive at the same time, like XLA's `ComputePeakMemory`. Adds up all memory
/// spaces. Includes arguments, results and constants from the start: the largest buffer of each allocation. Excludes the memory
/// of calls. Plays heap traces one after another.
pub fn xla_peak(assignment: &Assignment) -> u64 {
    let size = |buffer: BufferIndex| assignment.buffers.get(buffer).map_or(0, |buffer| u128::from(buffer.size));
    let mut references = References::new(assignment.buffers.len());
    let mut bytes = 0u128;
    for allocation in assignment.allocations.iter().filter(|it| it.is_resident()) {
        if let Some(largest) = assignment.largest(allocation) {
            references.hold(largest);
            bytes += size(largest);
        }
    }
    let mut peak = bytes;
    for event in assignment.traces.iter().flat_map(|trace| &trace.events) {
        let Some(buffer) = event.buffer else { continue };
        // Inconsistencies are not counted here, because the heap already counts them.
        match event.kind {
            HeapEventKind::Allocate if references.allocate(buffer).is_ok() => bytes += size(buffer),
            HeapEventKind::Free => {
                let freed = references.free(buffer).ok().flatten();
                bytes = bytes.saturating_sub(freed.map_or(0, size));
            }
            HeapEventKind::Share(Some(with)) => {
                bytes += references.share(buffer, with).ok().flatten().map_or(0, size);
            }
            _ => {}
        }
        peak = peak.max(bytes);
    }
    u64::try_from(peak).unwrap_or(u64::MAX)
}
