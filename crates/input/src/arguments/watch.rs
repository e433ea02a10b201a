//! The events that a decoder watches for while it reads.

use super::EventArguments;
use base::sort;

/// Events by their index in the order in which the decoder meets them, and what was found of them.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Those that are still to come, the next one last.
    wanted: Vec<u32>,
    found: Vec<EventArguments>,
}

impl Watch {
    /// For the events with these indices.
    pub fn new(mut events: Vec<u32>) -> Watch {
        sort::sort_by(&mut events, |a, b| b.cmp(a));
        events.dedup();
        Watch { wanted: events, found: Vec::new() }
    }

    /// The next event that is wanted.
    pub fn next(&self) -> Option<u32> {
        self.wanted.last().copied()
    }

    /// Number of events that are still to come.
    pub fn left(&self) -> usize {
        self.wanted.len()
    }

    /// Goes on to the one after the next.
    pub fn advance(&mut self) {
        self.wanted.pop();
    }

    /// Adds what the file says of an event.
    pub fn found(&mut self, event: EventArguments) {
        self.found.push(event);
    }

    /// All that was found.
    pub fn into_found(self) -> Vec<EventArguments> {
        self.found
    }
}
