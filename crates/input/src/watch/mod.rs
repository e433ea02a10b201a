//! The events that a decoder watches for while it reads.

mod list;

pub(crate) use list::ArgumentList;

use base::sort;

/// Everything that a file says of one event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventArguments {
    /// Index of the event among those of its file (or member of an archive).
    pub event: u32,
    /// Name of the event.
    pub name: String,
    /// Names and values of its arguments, each name once. A value is as it is written: text as it is, a number with all its digits, a
    /// list as JSON, bytes as their number.
    pub arguments: Vec<(String, String)>,
}

/// Events by their index in the order in which the decoder meets them, and what was found of them.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Indices of the events that are still to come, the next one last.
    wanted: Vec<u32>,
    found: Vec<EventArguments>,
}

impl Watch {
    /// A watch for the events with these indices.
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
