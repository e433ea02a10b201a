//! What the ops of XLA's CPU backend are to each other. Their events say it only together with the compiled program, so
//! `metrics::cpu_ops` finds it out once all events are there.

use std::ops::Range;

use super::column::SparseColumn;
use super::{EventId, Interval, LineEvents, Trace};
use base::Ps;

/// What the name of the event that marks an op's end begins with: `end: dot.1`.
pub const END_MARKER: &str = "end: ";

/// Relations of the ops of XLA's CPU backend.
#[derive(Clone, Debug, Default)]
pub struct CpuOps {
    /// Picoseconds for which an op's event occupied its thread, of ops that go on after it: their events last as long as they do.
    pub on_thread: SparseColumn,
    /// The event of the op that runs this one: the loop, call or branch around it.
    pub runs_in: SparseColumn,
    /// The first event of the execution that an event goes on with, of instructions that take several events per
    /// execution.
    pub part_of: SparseColumn,
}

impl Trace {
    /// The time for which an event occupies its thread.
    pub fn on_thread(&self, event: EventId, interval: Interval) -> Interval {
        let told = self.cpu_ops.as_ref().and_then(|ops| ops.on_thread.get(event));
        told.map_or(interval, |duration| Interval::new(interval.start, interval.start + Ps::new(duration)))
    }

    /// What an event is, as an index into [`Events::kinds`](super::Events::kinds), and when it occupies its thread.
    #[inline]
    pub fn occupied(&self, event: EventId) -> Option<(usize, Interval)> {
        let (kind, interval) = self.events.kind_and_time(event)?;
        Some((kind, if self.cpu_ops.is_none() { interval } else { self.on_thread(event, interval) }))
    }

    /// Calls `visit` with the events of a line in order: what each is, as an index into [`Events::kinds`](super::Events::kinds), and
    /// when it occupies its thread.
    pub fn for_each_on_thread(&self, events: &LineEvents, mut visit: impl FnMut(usize, Interval)) {
        self.for_each_on_thread_at(events, 0..events.len(), |_, kind, interval| visit(kind, interval));
    }

    /// Calls `visit` with the events at some places of a line's order, and which each is.
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
