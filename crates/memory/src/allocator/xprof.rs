//! Reproduces the figures of XProf's memory profile for captures whose events are not grouped by step, such as all JAX
//! captures.

use rustc_hash::FxHashMap;

use super::read::in_time_of_lines;
use super::{Activity, Alive, Allocator};

/// The list that XProf shows for the peak.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listed {
    /// Allocations that are not released, largest first.
    pub alive: Vec<Alive>,
    /// Bytes of the row "unused preallocated device memory". `None` if XProf shows no such row.
    pub unused_preallocated_bytes: Option<u64>,
    /// Bytes of the row "stack". `None` if XProf shows no such row.
    pub stack_bytes: Option<u64>,
}

/// Returns an allocator with times since the start of each event's line. XProf sorts events by these times, so events
/// of lines with different starts are not in chronological order.
pub fn allocator(of: &Allocator) -> Allocator {
    in_time_of_lines(of)
}

/// Returns the index of the event after which the most bytes are used. If several events qualify, returns the last in
/// file order.
pub fn peak(allocator: &Allocator) -> Option<usize> {
    let used = allocator.events.iter().map(|event| (event.used_bytes(), event.place)).enumerate();
    used.reduce(|most, it| if it.1 > most.1 { it } else { most }).map(|(index, _)| index)
}

/// Returns the list that XProf shows for the peak. One row holds the bytes that XProf cannot account for: bytes in use,
/// minus all allocations, plus all releases of known size, minus the releases of memory that was allocated before the
/// capture.
pub fn listed(allocator: &Allocator) -> Listed {
    let Some(moment) = peak(allocator).and_then(|at| allocator.events.get(at)) else {
        return Listed::default();
    };
    let mut rest = i128::from(moment.in_use_bytes);
    let mut alive: FxHashMap<u64, usize> = FxHashMap::default();
    // All events at the time of the peak are included, even those after the peak.
    let until = allocator.events.iter().take_while(|event| event.time <= moment.time);
    for (index, event) in until.enumerate() {
        let bytes = i128::from(event.allocation_bytes.unwrap_or(0));
        match event.activity {
            Activity::Allocation => {
                alive.insert(event.address, index);
                rest -= bytes;
            }
            Activity::Release if alive.remove(&event.address).is_some() => rest += bytes,
            // A release of memory from before the capture is added once and subtracted once, so it has no effect.
            Activity::Release => {}
        }
    }
    let mut alive: Vec<usize> = alive.into_values().collect();
    alive.sort_unstable();
    Listed {
        alive: allocator.merged(alive),
        unused_preallocated_bytes: u64::try_from(rest).ok().filter(|&bytes| bytes > 0),
        stack_bytes: Some(moment.reserved_bytes).filter(|&bytes| bytes > 0),
    }
}
