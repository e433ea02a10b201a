//! Relations between the ops of XLA's CPU backend. Finding them requires both the events and the compiled program, so
//! `metrics::cpu_ops` does this after all events were read.

use std::ops::Range;

use super::column::SparseColumn;
use super::{EventId, Interval, LineEvents, Trace};
use base::Ps;

/// Prefix of the event that marks the end of an op: `end: dot.1`.
pub const END_MARKER: &str = "end: ";

/// Relations of the ops of XLA's CPU backend.
#[derive(Clone, Debug, Default)]
pub struct CpuOps {
    /// Time for which the event of an asynchronous op occupied its thread, in picoseconds. The event itself lasts as long
    /// as the op.
    pub on_thread: SparseColumn,
    /// Event of the op that contains this op: the enclosing loop, call or branch.
    pub runs_in: SparseColumn,
    /// First event of the execution that an event belongs to. Set only for instructions with several events per
    /// execution.
    pub part_of: SparseColumn,
}

impl Trace {
    /// Returns the interval in which an event occupies its thread.
    pub fn on_thread(&self, event: EventId, interval: Interval) -> Interval {
        let duration = self.cpu_ops.as_ref().and_then(|ops| ops.on_thread.get(event));
        duration.map_or(interval, |duration| Interval::new(interval.start, interval.start + Ps::new(duration)))
    }

    /// Returns the kind of an event, as an index into [`Events::kinds`](super::Events::kinds), and the interval in which it
    /// occupies its thread.
    #[inline]
    pub fn occupied(&self, event: EventId) -> Option<(usize, Interval)> {
        let (kind, interval) = self.events.kind_and_time(event)?;
        Some((kind, if self.cpu_ops.is_none() { interval } else { self.on_thread(event, interval) }))
    }

    /// Calls `visit` for the events of a line in order. Passes the kind of each event, as an index into
    /// [`Events::kinds`](super::Events::kinds), and the interval in which it occupies its thread.
    pub fn for_each_on_thread(&self, events: &LineEvents, mut visit: impl FnMut(usize, Interval)) {
        self.for_each_on_thread_at(events, 0..events.len(), |_, kind, interval| visit(kind, interval));
    }

    /// Calls `visit` for the events at some positions of a line, like
    /// [`for_each_on_thread`](Trace::for_each_on_thread) but also with their ids.
    pub fn for_each_on_thread_at(
        &self,
        events: &LineEvents,
        places: Range<usize>,
        mut visit: impl FnMut(EventId, usize, Interval),
    ) {
        if self.cpu_ops.as_ref().is_none_or(|ops| ops.on_thread.is_empty()) {
            events.for_each_time_at(&self.events, places, visit);
            return;
        }
        for id in places.filter_map(|place| events.get(place)) {
            if let Some((kind, interval)) = self.events.kind_and_time(id) {
                visit(id, kind, self.on_thread(id, interval));
            }
        }
    }
}
