//! Places in the order of a line, found by halves.

use std::ops::Range;

use base::Ps;
use trace::{LineEvents, Trace};

/// How many events of a line start before `time`: the place of the first that does not.
pub(crate) fn starting_before(trace: &Trace, events: &LineEvents, time: Ps) -> usize {
    let start = |place: usize| events.get(place).and_then(|id| trace.events.time(id)).map(|(start, _)| start);
    partition_point(0..events.len(), |place| start(place).is_some_and(|start| start < time))
}

/// The first of the places of which `before` does not hold, else the end.
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

/// The last place from `low` to `place` that is quick to look at: of [packed](trace::Events::push_packed) events every
/// 16th is.
pub(crate) fn quick(low: usize, place: usize) -> usize {
    let quick = place & !15;
    if quick >= low { quick } else { place }
}
