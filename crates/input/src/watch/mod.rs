//! Selects the events that a decoder watches for while it reads a file.

mod list;

pub(crate) use list::ArgumentList;

use base::sort;

/// All arguments of one event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventArguments {
    /// Index of the event in its file or in a member of an archive.
    pub event: u32,
    /// Name of the event.
    pub name: String,
    /// Names and values of the event's arguments. Each name occurs once. Values appear as in the file. Text is
    /// unchanged, a number has all its digits, and a list is written as JSON. If an argument consists of bytes, the
    /// value is the number of bytes.
    pub arguments: Vec<(String, String)>,
}

/// The selected events, by their index in the order of decoding, and the arguments that were found for them.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Indices of the selected events that were not found yet, in descending order.
    wanted: Vec<u32>,
    found: Vec<EventArguments>,
}

impl Watch {
    /// Creates a watch for the events with these indices.
    pub(crate) fn new(mut events: Vec<u32>) -> Watch {
        sort::sort_by(&mut events, |a, b| b.cmp(a));
        events.dedup();
        Watch { wanted: events, found: Vec::new() }
    }

    /// Returns the index of the next selected event.
    pub(crate) fn next(&self) -> Option<u32> {
        self.wanted.last().copied()
    }

    /// Returns the number of events that are still missing.
    pub(crate) fn left(&self) -> usize {
        self.wanted.len()
    }

    /// Moves on to the next selected event.
    pub(crate) fn advance(&mut self) {
        self.wanted.pop();
    }

    /// Adds the arguments of an event.
    pub(crate) fn found(&mut self, event: EventArguments) {
        self.found.push(event);
    }

    /// Returns the arguments of all events found.
    pub(crate) fn into_found(self) -> Vec<EventArguments> {
        self.found
    }
}
