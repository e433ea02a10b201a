//! Relations between the ops of XLA's CPU backend. Finding these relations requires both the events and the compiled
//! program, so the `run` crate does this after all events were read.

use std::ops::Range;

use super::column::SparseColumn;
use super::{EventId, Interval, LineEvents, Trace};
use base::Ps;

/// Prefix in the name of an event that marks the end of an op: `end: dot.1`.
pub const END_MARKER: &str = "end: ";

/// Relations between the ops of XLA's CPU backend.
#[derive(Clone, Debug, Default)]
pub struct CpuOps {
    /// Time during which the event of an asynchronous op occupied its thread, in picoseconds. The stored event lasts as
    /// long as the op.
    pub on_thread: SparseColumn,
    /// Event of the loop, call or branch in which the op runs.
    pub runs_in: SparseColumn,
    /// First event of the execution to which the event belongs. Set only for instructions with several events per
    /// execution.
    pub part_of: SparseColumn,
}

impl Trace {
    /// Returns the interval during which an event occupies its thread.
    pub fn on_thread(&self, event: EventId, interval: Interval) -> Interval {
        let duration = self.cpu_ops.as_ref().and_then(|ops| ops.on_thread.get(event));
        duration.map_or(interval, |duration| Interval::new(interval.start, interval.start + Ps::new(duration)))
    }

    /// Returns the kind of an event (an index into [`Events::kinds`](super::Events::kinds)), and the interval during
    /// which the event occupies its thread.
    #[inline]
    pub fn occupied(&self, event: EventId) -> Option<(usize, Interval)> {
        let (kind, interval) = self.events.kind_and_time(event)?;
        Some((kind, if self.cpu_ops.is_none() { interval } else { self.on_thread(event, interval) }))
    }

    /// Calls `visit` for each event of a line, in order. `visit` receives the kind of the event (an index into
    /// [`Events::kinds`](super::Events::kinds)), and the interval during which the event occupies its thread.
    pub fn for_each_on_thread(&self, events: &LineEvents, mut visit: impl FnMut(usize, Interval)) {
        self.for_each_on_thread_at(events, 0..events.len(), |_, kind, interval| visit(kind, interval));
    }

    /// Calls `visit` for the events at the positions `places` of a line. In addition to the arguments of
    /// [`for_each_on_thread`](Trace::for_each_on_thread), `visit` receives the id of the event.
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
