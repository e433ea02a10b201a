//! The figures of XProf's memory profile, as XProf makes them where nothing groups its events by step, as in all captures of JAX.

use rustc_hash::FxHashMap;

use super::read::in_time_of_lines;
use super::{Activity, Alive, Allocator};

/// What XProf lists at the peak.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listed {
    /// Allocations that are not released, the largest first.
    pub alive: Vec<Alive>,
    /// Bytes of the row "unused preallocated device memory"; `None` where there is no such row.
    pub unused_preallocated_bytes: Option<u64>,
    /// Bytes of the row "stack"; `None` where there is no such row.
    pub stack_bytes: Option<u64>,
}

/// An allocator with times since the start of each event's line, by which XProf sorts them: events of several lines that do not
/// start at once are not in the order in which they happened.
pub fn allocator(of: &Allocator) -> Allocator {
    in_time_of_lines(of)
}

/// Index of the event after which most bytes are used, the last of equals in the order of the file.
pub fn peak(allocator: &Allocator) -> Option<usize> {
    let used = allocator.events.iter().map(|event| (event.used_bytes(), event.place)).enumerate();
    used.reduce(|most, it| if it.1 > most.1 { it } else { most }).map(|(index, _)| index)
}

/// What XProf lists at the peak. What it cannot account for is one row: bytes that are given out, less all allocations, plus all
/// releases of known size, less those of what was allocated before.
pub fn listed(allocator: &Allocator) -> Listed {
    let Some(moment) = peak(allocator).and_then(|at| allocator.events.get(at)) else {
        return Listed::default();
    };
    let mut rest = i128::from(moment.in_use_bytes);
    let mut alive: FxHashMap<u64, usize> = FxHashMap::default();
    // All events of the peak's time count, also those behind it.
    let until = allocator.events.iter().take_while(|event| event.time <= moment.time);
    for (index, event) in until.enumerate() {
        let bytes = i128::from(event.allocation_bytes.unwrap_or(0));
        match event.activity {
            Activity::Allocation => {
                alive.insert(event.address, index);
                rest -= bytes;
            }
            Activity::Release if alive.remove(&event.address).is_some() => rest += bytes,
            // Added as a release, and taken off as one of what was there before.
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
