//! Lanes of every line. The lanes of a line are built on first access.

use std::sync::OnceLock;

use trace::{ByLine, EventId, LineEvents, LineId, Trace};

use crate::events::lane::Lane;
use crate::events::nesting::Nesting;

/// The lanes of all lines of a trace.
#[derive(Debug, Default)]
pub struct Lanes {
    /// Lanes of each line, indexed by the line.
    of_lines: Vec<OnceLock<Vec<Lane>>>,
}

impl Lanes {
    /// Creates an empty cache for the lanes of `lines` lines.
    pub fn new(lines: usize) -> Lanes {
        Lanes { of_lines: (0..lines).map(|_| OnceLock::new()).collect() }
    }

    /// Returns the lanes of a line, outermost first. The result is empty if the line has no events.
    pub fn of_line(&self, trace: &Trace, by_line: &ByLine, line: LineId) -> &[Lane] {
        let known = self.of_lines.get(line.index()).zip(by_line.events.get(line.index()));
        known.map_or(&[], |(lanes, events)| lanes.get_or_init(|| lanes_of(trace, events)).as_slice())
    }

    /// Returns the lanes of a line if they are already built.
    pub fn known(&self, line: LineId) -> Option<&[Lane]> {
        self.of_lines.get(line.index())?.get().map(Vec::as_slice)
    }

    /// Builds the lanes of further lines, until they contain about `events` events. Returns false if the lanes of all
    /// lines were built already.
    pub fn make_some(&self, trace: &Trace, by_line: &ByLine, events: usize) -> bool {
        let mut made = 0;
        for (lanes, of_line) in self.of_lines.iter().zip(&by_line.events).filter(|(lanes, _)| lanes.get().is_none()) {
            lanes.get_or_init(|| lanes_of(trace, of_line));
            made += of_line.len() + 1;
            if made >= events {
                break;
            }
        }
        made > 0
    }

    /// Returns the memory that the lanes allocate, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.of_lines.iter().filter_map(OnceLock::get).flatten().map(Lane::memory_bytes).sum()
    }
}

fn lanes_of(trace: &Trace, events: &LineEvents) -> Vec<Lane> {
    let mut nesting = Nesting::default();
    let mut lanes: Vec<Vec<EventId>> = Vec::new();
    let mut ids = events.iter();
    // A device stream usually has only one lane, so ids are not stored while all events are in the first lane.
    let mut in_first = 0;
    trace.for_each_on_thread(events, |_, interval| {
        let Some(id) = ids.next() else { return };
        let lane = nesting.place(interval).lane as usize;
        if lane == 0 && lanes.is_empty() {
            in_first += 1;
            return;
        }
        if lanes.is_empty() {
            lanes.push(events.iter().take(in_first).collect());
        }
        if lane >= lanes.len() {
            lanes.resize_with(lane + 1, Vec::new);
        }
        lanes.get_mut(lane).into_iter().for_each(|list| list.push(id));
    });
    if lanes.is_empty() {
        return if in_first == 0 { Vec::new() } else { vec![Lane::new(trace, events.clone())] };
    }
    let list = |mut ids: Vec<EventId>| {
        ids.shrink_to_fit();
        Lane::new(trace, LineEvents::List(ids))
    };
    lanes.into_iter().map(list).collect()
}
