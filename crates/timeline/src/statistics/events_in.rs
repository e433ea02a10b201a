//! Finds the events of a line in a range of time, without reading the events before the range.

use std::cmp::Reverse;
use std::ops::Range;

use base::Ps;
use trace::{EventId, Interval, LineEvents, LineId, Trace};

use crate::Source;
use crate::events::search::{partition_point, starting_before};

/// The events of a line that overlap a range. The events are sorted by start. Among events with the same start, the
/// longest comes first.
#[derive(Clone, Debug)]
pub struct EventsIn<'a> {
    trace: &'a Trace,
    events: Option<&'a LineEvents>,
    range: Interval,
    /// Events that start before the range and are still running when it starts.
    under_way: Vec<EventId>,
    /// Positions of the events that start in the range, among the line's events.
    starting: Range<usize>,
}

impl<'a> EventsIn<'a> {
    /// Finds the events of `line` in `range`, by binary search.
    pub fn new(source: Source<'a>, line: LineId, range: Interval) -> EventsIn<'a> {
        let trace = source.trace;
        let events = source.by_line.events.get(line.index());
        let count = events.map_or(0, LineEvents::len);
        if range == super::Area::EVERYTHING {
            return EventsIn { trace, events, range, under_way: Vec::new(), starting: 0..count };
        }
        let starts_before = |time: Ps| events.map_or(0, |events| starting_before(trace, events, time));
        let starting = starts_before(range.start)..starts_before(range.end);
        // Events of a lane do not overlap, so at most one event per lane runs at the start of the range. If no event started
        // earlier, no lanes are needed.
        let lanes = if starting.start == 0 { &[][..] } else { source.lanes(line) };
        let mut under_way: Vec<EventId> = Vec::new();
        for lane in lanes {
            let place = lane.first_ending_after(trace, 0, range.start);
            let is_under_way = lane.time(trace, place).is_some_and(|at| at.start < range.start);
            under_way.extend(lane.event(place).filter(|_| is_under_way));
        }
        trace.events.sort_by_time(&mut under_way);
        EventsIn { trace, events, range, under_way, starting }
    }

    /// Returns the number of events that overlap the range.
    pub fn len(&self) -> usize {
        self.under_way.len() + self.starting.len()
    }

    /// Returns true if no event overlaps the range.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the positions of the line's events from the first event that overlaps the range to the last event that
    /// starts before `time`.
    pub(super) fn places_until(&self, time: Ps) -> Range<usize> {
        let (trace, events) = (self.trace, self.events);
        let key = |id: EventId| trace.events.time(id).map(|(start, length)| (start, Reverse(length), id));
        let at = |place: usize| events.and_then(|events| key(events.get(place)?));
        let first =
            self.under_way.first().map(|&id| partition_point(0..self.starting.start, |place| at(place) < key(id)));
        first.unwrap_or(self.starting.start)
            ..self.starting.end.max(events.map_or(0, |events| starting_before(trace, events, time)))
    }

    /// Calls `visit` with the kind of each event and the part of the event inside the range. The kind is an index into
    /// [`Events::kinds`](trace::Events::kinds).
    pub fn for_each(&self, mut visit: impl FnMut(usize, Interval)) {
        let range = self.range;
        let mut clip = |kind: usize, at: Interval| {
            visit(kind, Interval::new(at.start.max(range.start), at.end.min(range.end)));
        };
        for &id in &self.under_way {
            self.trace.occupied(id).into_iter().for_each(|(kind, at)| clip(kind, at));
        }
        if let Some(events) = self.events {
            self.trace.for_each_on_thread_at(events, self.starting.clone(), |_, kind, at| clip(kind, at));
        }
    }

    /// Calls `visit` with the id, the kind and the full interval of each event.
    pub fn for_each_whole(&self, mut visit: impl FnMut(EventId, usize, Interval)) {
        for &id in &self.under_way {
            self.trace.occupied(id).into_iter().for_each(|(kind, at)| visit(id, kind, at));
        }
        if let Some(events) = self.events {
            self.trace.for_each_on_thread_at(events, self.starting.clone(), visit);
        }
    }
}
