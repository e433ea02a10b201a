//! Ids of events have their own type, so that an id cannot be confused with a position in a list of events.

use std::ops::Range;

/// Id of an event: the index of the event in the file order of its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(pub(crate) u32);

impl EventId {
    /// Returns the id for an index.
    #[inline]
    pub const fn new(index: u32) -> EventId {
        EventId(index)
    }

    /// Returns the index of the event among the [`Events`](crate::Events) of its trace.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the index of the event in 32 bits, for large tables.
    #[inline]
    pub fn get(self) -> u32 {
        self.0
    }
}

/// Consecutive events, in file order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventIds(Range<u32>);

impl EventIds {
    /// Returns the events in this half-open range of indices.
    #[inline]
    pub(crate) fn new(indices: Range<u32>) -> EventIds {
        EventIds(indices)
    }

    /// Returns the event at a position in this range.
    #[inline]
    pub fn get(&self, place: usize) -> Option<EventId> {
        let index = self.0.start.checked_add(u32::try_from(place).ok()?)?;
        (index < self.0.end).then_some(EventId(index))
    }

    /// Returns the events at a range of positions. The range is clipped at the last event.
    pub(crate) fn part(&self, places: Range<usize>) -> EventIds {
        let index =
            |place: usize| self.0.start.saturating_add(u32::try_from(place).unwrap_or(u32::MAX)).min(self.0.end);
        EventIds(index(places.start)..index(places.end))
    }

    /// Returns the first event and the indices of all events.
    #[inline]
    pub(crate) fn indices(&self) -> (EventId, Range<usize>) {
        let Range { start, end } = self.0;
        (EventId(start), start as usize..end as usize)
    }
}

impl Iterator for EventIds {
    type Item = EventId;

    #[inline]
    fn next(&mut self) -> Option<EventId> {
        self.0.next().map(EventId)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for EventIds {}
