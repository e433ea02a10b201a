//! Binary search in the sorted events of a line.

use std::ops::Range;

use base::Ps;
use trace::{LineEvents, Trace};

/// Returns the number of events of a line that start before `time`. The same number is the position of the first event
/// that starts at `time` or later.
pub(crate) fn starting_before(trace: &Trace, events: &LineEvents, time: Ps) -> usize {
    let start = |place: usize| events.get(place).and_then(|id| trace.events.time(id)).map(|(start, _)| start);
    partition_point(0..events.len(), |place| start(place).is_some_and(|start| start < time))
}

/// Returns the first position for which `before` is false, or the end of `places` if there is no such position.
pub(crate) fn partition_point(places: Range<usize>, before: impl Fn(usize) -> bool) -> usize {
    let Range { start: mut low, end: mut high } = places;
    while low < high {
        let middle = quick(low, low + (high - low) / 2);
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Returns the last position between `low` and `place` that is quick to read. Among [packed](trace::Events::push_packed)
/// events, every 16th is quick to read.
pub(crate) fn quick(low: usize, place: usize) -> usize {
    let quick = place & !15;
    if quick >= low { quick } else { place }
}
