//! Which event of a trace: a separate type, so that it cannot be mistaken for a position in a list of events.

use std::ops::Range;

/// An event of one trace, by its index in the order in which the file holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(pub(crate) u32);

impl EventId {
    /// The event with this index.
    #[inline]
    pub const fn new(index: u32) -> EventId {
        EventId(index)
    }

    /// Index of the event among the [`Events`](crate::Events).
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Index of the event in 32 bits, for tables with many of them.
    #[inline]
    pub fn get(self) -> u32 {
        self.0
    }
}

/// Events that follow each other in the file, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventIds(Range<u32>);

impl EventIds {
    /// The events from the index `start` to the one before `end`.
    #[inline]
    pub(crate) fn new(indices: Range<u32>) -> EventIds {
        EventIds(indices)
    }

    /// The event at a place.
    #[inline]
    pub fn get(&self, place: usize) -> Option<EventId> {
        let index = self.0.start.checked_add(u32::try_from(place).ok()?)?;
        (index < self.0.end).then_some(EventId(index))
    }

    /// The events at some places; fewer where these go past the end.
    pub(crate) fn part(&self, places: Range<usize>) -> EventIds {
        let index =
            |place: usize| self.0.start.saturating_add(u32::try_from(place).unwrap_or(u32::MAX)).min(self.0.end);
        EventIds(index(places.start)..index(places.end))
    }

    /// The first event, and the indices of all.
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
