//! The events of one lane, which do not overlap, and the time that these events cover.

use base::Ps;
use trace::{EventId, Interval, LineEvents, Trace};

use crate::events::search::{partition_point, quick};

/// Number of events between two stored sums of lengths.
const BLOCK: usize = 16;

/// Number of entries of one level of [`Lane::longest`] that one entry of the next level covers.
const FAN: usize = 32;

/// Placeholder for a length that does not fit into 32 bits and must be read from the event.
const LONG: u32 = u32::MAX;

/// Non-overlapping events of a line, by ascending start. A lane takes 4.6 bytes per event. A lane that has only some of
/// the line's events, or whose events are not in file order, takes 4 bytes more per event.
#[derive(Clone, Debug)]
pub struct Lane {
    events: LineEvents,
    /// Lengths of the events in picoseconds, or [`LONG`]. The lengths are stored contiguously, because drawing many
    /// events requires many of them.
    lengths: Vec<u32>,
    /// Total length of the events before each group of [`BLOCK`] events.
    covered: Vec<Ps>,
    /// Position of the longest event in each group of events. Level 0 has groups of 32 events, level 1 groups of 1024,
    /// and so on.
    longest: Vec<Vec<u32>>,
}

impl Lane {
    /// Creates a lane from events that do not overlap.
    pub fn new(trace: &Trace, events: LineEvents) -> Lane {
        let mut covered = Vec::with_capacity(events.len().div_ceil(BLOCK) + 1);
        let mut level: Vec<(u32, Ps)> = Vec::with_capacity(events.len().div_ceil(FAN));
        let mut lengths = Vec::with_capacity(events.len());
        let (mut sum, mut place) = (Ps::ZERO, 0usize);
        trace.for_each_on_thread(&events, |_, interval| {
            if place.is_multiple_of(BLOCK) {
                covered.push(sum);
            }
            let length = interval.length();
            lengths.push(u32::try_from(length.as_ps()).unwrap_or(LONG));
            match level.last_mut().filter(|_| !place.is_multiple_of(FAN)) {
                Some(longest) if longest.1 >= length => {}
                Some(longest) => *longest = (place as u32, length),
                None => level.push((place as u32, length)),
            }
            sum += length;
            place += 1;
        });
        covered.push(sum);
        let mut longest = Vec::new();
        while !level.is_empty() {
            longest.push(level.iter().map(|&(place, _)| place).collect());
            // If several events are equally long, returns the first.
            let best = |entries: &[(u32, Ps)]| entries.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a });
            level = if level.len() > 1 { level.chunks(FAN).filter_map(best).collect() } else { Vec::new() };
        }
        Lane { events, lengths, covered, longest }
    }

    /// Returns the number of events in the lane.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Returns true if the lane has no events.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Returns the event at a position.
    pub fn event(&self, place: usize) -> Option<EventId> {
        self.events.get(place)
    }

    /// Returns the interval of the event at a position.
    #[inline]
    pub fn time(&self, trace: &Trace, place: usize) -> Option<Interval> {
        Some(trace.occupied(self.events.get(place)?)?.1)
    }

    /// Returns the length of the event at a position.
    #[inline]
    pub fn length(&self, trace: &Trace, place: usize) -> Ps {
        match self.lengths.get(place) {
            Some(&LONG) => self.time(trace, place).map_or(Ps::ZERO, Interval::length),
            Some(&length) => Ps::new(i64::from(length)),
            None => Ps::ZERO,
        }
    }

    /// Returns the position of the first event that ends after `time`. The search starts at the position `from`, which must
    /// not be later than the result.
    pub fn first_ending_after(&self, trace: &Trace, from: usize, time: Ps) -> usize {
        self.partition_point(from, |place| self.time(trace, place).is_some_and(|at| at.end <= time))
    }

    /// Returns the position of the first event that starts at `time` or later. The search starts at the position
    /// `from`, as in [`first_ending_after`](Lane::first_ending_after).
    pub fn first_starting_at(&self, trace: &Trace, from: usize, time: Ps) -> usize {
        self.partition_point(from, |place| self.time(trace, place).is_some_and(|at| at.start < time))
    }

    /// Returns the position of the first event that ends after `time` or starts at `time` or later. The result may be
    /// an event of length 0.
    pub fn first_from(&self, trace: &Trace, time: Ps) -> usize {
        let starting = self.first_starting_at(trace, 0, time);
        let before = starting.checked_sub(1);
        before.filter(|&before| self.time(trace, before).is_some_and(|at| at.end > time)).unwrap_or(starting)
    }

    /// Returns the position of `event`, which starts at `start`. Returns `None` if the event is in another lane.
    pub fn place_of(&self, trace: &Trace, event: EventId, start: Ps) -> Option<usize> {
        let first = self.first_starting_at(trace, 0, start);
        let same_start = |place: &usize| self.time(trace, *place).is_some_and(|time| time.start == start);
        (first..self.len()).take_while(same_start).find(|&place| self.event(place) == Some(event))
    }

    /// Returns the start or end that is nearest to `time`, among all events of the lane.
    pub fn nearest_edge(&self, trace: &Trace, time: Ps) -> Option<Ps> {
        let next = self.first_starting_at(trace, 0, time);
        // All events before the one that starts last end no later than its start.
        let before = next.checked_sub(1).and_then(|place| self.time(trace, place));
        let edges = before.map_or([None; 2], |at| [Some(at.start), Some(at.end)]);
        let next = self.time(trace, next).map(|at| at.start);
        let edges = edges.into_iter().chain([next]).flatten();
        edges.min_by_key(|edge| (*edge - time).as_ps().unsigned_abs())
    }

    /// Finds the first position for which `before` is false. Doubles the distance from `from` until the result is
    /// passed, and then bisects, because the result is usually near.
    fn partition_point(&self, from: usize, before: impl Fn(usize) -> bool) -> usize {
        let (mut low, mut stride) = (from, 1);
        while low + stride <= self.len() {
            let place = quick(low, low + stride - 1);
            if !before(place) {
                break;
            }
            low = place + 1;
            stride *= 2;
        }
        partition_point(low..(low + stride - 1).min(self.len()), before)
    }

    /// Returns the total length of the events before a position.
    pub fn covered_before(&self, trace: &Trace, place: usize) -> Ps {
        let place = place.min(self.len());
        let block = place / BLOCK;
        let sum = self.covered.get(block).copied().unwrap_or(Ps::ZERO);
        (block * BLOCK..place).fold(sum, |sum, place| sum + self.length(trace, place))
    }

    /// Returns the total time that the events cover before `time`. The event at `place` must be the first that ends
    /// after `time`.
    pub fn covered_until(&self, trace: &Trace, place: usize, time: Ps) -> Ps {
        let inside = self.time(trace, place).map_or(Ps::ZERO, |at| Interval::new(at.start, at.end.min(time)).length());
        self.covered_before(trace, place) + inside
    }

    /// Returns the time within `range` that the events cover.
    pub fn covered_in(&self, trace: &Trace, range: Interval) -> Ps {
        let first = self.first_ending_after(trace, 0, range.start);
        let last = self.first_ending_after(trace, first, range.end);
        self.covered_until(trace, last, range.end) - self.covered_until(trace, first, range.start)
    }

    /// Returns the position of the longest event at the positions from `first` to `end - 1`. If several events are
    /// equally long, returns the first.
    pub fn longest_of(&self, trace: &Trace, first: usize, end: usize) -> Option<usize> {
        let mut best: Option<(usize, Ps)> = None;
        let mut look = |place: usize| {
            let length = self.length(trace, place);
            if best.is_none_or(|(known, longest)| length > longest || (length == longest && place < known)) {
                best = Some((place, length));
            }
        };
        // The entries of the first level are events. Each level has larger groups, as long as whole groups are inside the
        // range.
        let (mut from, mut to, mut level) = (first, end.min(self.len()), 0);
        while from < to {
            let groups = (from.div_ceil(FAN), to / FAN);
            let entry = |at: usize| match level {
                0 => Some(at),
                _ => self.longest.get(level - 1)?.get(at).map(|&place| place as usize),
            };
            if groups.0 >= groups.1 {
                (from..to).filter_map(entry).for_each(&mut look);
                break;
            }
            (from..groups.0 * FAN).chain(groups.1 * FAN..to).filter_map(entry).for_each(&mut look);
            (from, to, level) = (groups.0, groups.1, level + 1);
        }
        best.map(|(place, _)| place)
    }

    /// Returns the memory that the lane allocates, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let list = match &self.events {
            LineEvents::Run(_) => 0,
            LineEvents::List(list) => list.capacity() * size_of::<EventId>(),
        };
        let longest = self.longest.iter().map(|level| level.capacity() * size_of::<u32>()).sum::<usize>();
        list + self.lengths.capacity() * size_of::<u32>() + self.covered.capacity() * size_of::<Ps>() + longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Lanes;
    use proptest::prelude::*;
    use trace::{ByLine, LineId, TraceBuilder};

    const US: i64 = 1_000_000;

    fn trace(events: &[(i64, i64)]) -> (Trace, LineId) {
        let mut b = TraceBuilder::new();
        let line = b.line("/host:CPU", "python");
        for &(start, length) in events {
            b.event(line, "f", start, length);
        }
        let trace = b.build();
        let line = trace.events.iter().next().map(|event| event.line).unwrap_or_default();
        (trace, line)
    }

    fn at(start: i64, end: i64) -> Interval {
        Interval::new(Ps::new(start * US), Ps::new(end * US))
    }

    proptest! {
        #[test]
        fn a_lane_covers_what_its_events_cover(
            events in prop::collection::vec((0i64..2_000, 0i64..60), 1..200),
            ranges in prop::collection::vec((-5i64..2_100, 0i64..500), 1..8),
        ) {
            let (trace, line) = trace(&events);
            let by_line = ByLine::new(&trace);
            let lanes = Lanes::new(trace.lines.len());
            let lanes = lanes.of_line(&trace, &by_line, line);
            prop_assert_eq!(lanes.iter().map(Lane::len).sum::<usize>(), events.len());
            for (start, length) in ranges {
                let range = at(start, start + length);
                let inside = events.iter().filter_map(|&(start, length)| at(start, start + length).clip(range));
                let covered: Ps = lanes.iter().map(|lane| lane.covered_in(&trace, range)).sum();
                prop_assert_eq!(covered, inside.map(Interval::length).sum());
                for lane in lanes {
                    let times: Vec<Interval> = (0..lane.len()).filter_map(|place| lane.time(&trace, place)).collect();
                    let starting = times.iter().position(|time| time.start >= range.start).unwrap_or(times.len());
                    let ending = times.iter().position(|time| time.end > range.start).unwrap_or(times.len());
                    prop_assert_eq!(lane.first_starting_at(&trace, 0, range.start), starting);
                    prop_assert_eq!(lane.first_ending_after(&trace, 0, range.start), ending);
                    let edges = times.iter().flat_map(|time| [time.start, time.end]);
                    let away = |edge: Ps| (edge - range.start).as_ps().abs();
                    prop_assert_eq!(lane.nearest_edge(&trace, range.start).map(away), edges.map(away).min());
                    let (first, end) = (starting, lane.first_starting_at(&trace, starting, range.end));
                    let longest = (first..end).max_by_key(|&place| (times[place].length(), std::cmp::Reverse(place)));
                    prop_assert_eq!(lane.longest_of(&trace, first, end), longest);
                }
            }
        }
    }

    #[test]
    fn the_longest_of_many_is_found_on_every_level() {
        let events: Vec<(i64, i64)> = (0..5_000).map(|at| (10 * at, 1 + at % 7)).collect();
        let (trace, line) = trace(&events);
        let by_line = ByLine::new(&trace);
        let lanes = Lanes::new(trace.lines.len());
        let [lane] = lanes.of_line(&trace, &by_line, line) else { panic!("one lane") };
        for (first, end) in [(0, 5_000), (1, 4_999), (31, 33), (100, 101), (7, 7), (1_023, 2_049)] {
            let longest = (first..end).max_by_key(|&place| (events[place].1, std::cmp::Reverse(place)));
            assert_eq!(lane.longest_of(&trace, first, end), longest);
        }
        // Event ids are not stored if the events are in file order.
        assert!(lane.memory_bytes() < 25_000);
    }
}
