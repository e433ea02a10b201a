//! Sources of a timeline's events: the recorded trace, and the trace derived from it. The recorded and the derived
//! trace have the type [`Trace`], so the same code handles both.

use std::sync::OnceLock;

use metrics::OpFamily;
use serde::{Deserialize, Serialize};
use trace::{ByLine, EventId, LineId, StrId, Trace};

use crate::draw::paint::{Paint, hue};
use crate::events::lane::Lane;
use crate::events::lanes::Lanes;
use crate::statistics::{Limits, Stretches};

/// Origin of an event or a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Origin {
    /// Recorded by the profiler.
    #[default]
    Captured,
    /// Derived from the recorded trace.
    Derived,
}

/// The events of one origin, with the data that drawing needs.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Trace with the events.
    pub trace: &'a Trace,
    /// Events of each line, by ascending start.
    pub by_line: &'a ByLine,
    pub(crate) caches: &'a Caches,
}

/// Data that is computed from a trace on first access.
#[derive(Debug)]
pub(crate) struct Caches {
    pub lanes: Lanes,
    pub stretches: Stretches,
    paints: OnceLock<Vec<Paint>>,
    counts: OnceLock<Vec<u32>>,
}

impl Caches {
    pub(crate) fn new(trace: &Trace) -> Caches {
        let (lanes, stretches) = (Lanes::new(trace.lines.len()), Stretches::new(trace.lines.len(), Limits::USUAL));
        Caches { lanes, stretches, paints: OnceLock::new(), counts: OnceLock::new() }
    }

    /// Returns the memory that the computed data take, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.lanes.memory_bytes() + self.stretches.memory_bytes()
    }
}

impl<'a> Source<'a> {
    pub(crate) fn new(trace: &'a Trace, by_line: &'a ByLine, caches: &'a Caches) -> Source<'a> {
        Source { trace, by_line, caches }
    }

    pub(crate) fn painted(self, families: impl FnOnce() -> Vec<Option<OpFamily>>) -> Source<'a> {
        self.caches.paints.get_or_init(|| {
            let kinds = self.trace.events.kinds().iter().zip(families());
            kinds
                .map(|(kind, family)| family.map_or_else(|| hue(self.trace.text(kind.name)), Paint::of_family))
                .collect()
        });
        self
    }

    /// Returns the lanes of a line, outermost first.
    pub fn lanes(self, line: LineId) -> &'a [Lane] {
        self.caches.lanes.of_line(self.trace, self.by_line, line)
    }

    /// Returns the number of events of each kind.
    pub fn counts(self) -> &'a [u32] {
        self.caches.counts.get_or_init(|| {
            let mut counts = vec![0; self.trace.events.kinds().len()];
            self.trace.events.for_each_time(self.trace.events.ids(), |_, kind, _| {
                counts.get_mut(kind).into_iter().for_each(|count| *count += 1);
            });
            counts
        })
    }

    /// Returns the colour of a kind of event.
    pub fn paint(self, kind: usize) -> Paint {
        self.caches.paints.get().and_then(|paints| paints.get(kind)).copied().unwrap_or_default()
    }

    /// Returns the name of a kind of event.
    pub fn name(self, kind: usize) -> StrId {
        self.trace.events.kinds().get(kind).map_or(StrId::EMPTY, |kind| kind.name)
    }

    /// Returns the kind, name and interval of an event.
    pub fn event(self, id: EventId) -> Option<(usize, StrId, trace::Interval)> {
        let (kind, time) = self.trace.occupied(id)?;
        Some((kind, self.name(kind), time))
    }
}
