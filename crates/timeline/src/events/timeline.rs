//! Caches of a run's timeline.

use std::sync::OnceLock;

use base::Ps;
use metrics::{Context, OpFamily};
use trace::{ByLine, Trace};

use crate::draw::scene::EventRef;
use crate::events::derived;
use crate::events::links::{Linked, Links};
use crate::events::scopes::{Flame, Scopes};
use crate::events::source::{Caches, Origin, Source};
use crate::events::tracks::{Process, processes};

/// The derived trace with its caches.
#[derive(Debug)]
struct Derived {
    trace: Trace,
    by_line: ByLine,
    caches: Caches,
}

/// Caches of a run's timeline. Each cache is filled on first access and kept until the run is dropped.
#[derive(Debug, Default)]
pub struct Timeline {
    captured: OnceLock<Caches>,
    derived: OnceLock<Derived>,
    processes: OnceLock<Vec<Process>>,
    flames: OnceLock<[Scopes; 2]>,
    links: OnceLock<Links>,
}

impl Timeline {
    /// Returns the processes that have tracks.
    pub fn processes(&self, context: Context<'_>) -> &[Process] {
        let sources = [Origin::Captured, Origin::Derived].map(|origin| self.source(context, origin));
        self.processes.get_or_init(|| processes(sources, self.flames(context)))
    }

    /// Computes part of the data that the first picture and the statistics need, so that both appear without delay.
    /// Returns false when all data have been computed.
    pub fn prepare(&self, context: Context<'_>) -> bool {
        /// Number of events per part. A part takes about ten milliseconds.
        const PART: usize = 500_000;
        let is_unmade = |origin| {
            let source = self.source(context, origin);
            source.caches.lanes.make_some(source.trace, source.by_line, PART)
        };
        if is_unmade(Origin::Captured) {
            return true;
        }
        if self.processes.get().is_none() {
            self.processes(context);
            return true;
        }
        let captured = self.source(context, Origin::Captured);
        is_unmade(Origin::Derived) || captured.caches.stretches.make_some(captured.trace, captured.by_line, PART)
    }

    /// Returns the name scopes and the source lines of the recorded ops, in the order of [`Flame::ALL`].
    pub fn flames(&self, context: Context<'_>) -> &[Scopes; 2] {
        self.flames.get_or_init(|| Flame::ALL.map(|flame| Scopes::new(context.captured_trace(), flame)))
    }

    /// Returns the events that are linked to an event. The linked events are sorted by the time between their start and
    /// the start of the event. The result is empty for a derived event.
    pub fn linked(&self, context: Context<'_>, event: EventRef) -> Vec<Linked> {
        if event.origin == Origin::Derived {
            return Vec::new();
        }
        let links = self.links.get_or_init(|| Links::new(context, self.source(context, Origin::Captured)));
        links.of(context, event.id())
    }

    /// Returns the events of one origin. `context` must always belong to the same run. The window of `context` has no
    /// effect on the result.
    pub fn source<'a>(&'a self, context: Context<'a>, origin: Origin) -> Source<'a> {
        match origin {
            Origin::Captured => {
                let trace = context.captured_trace();
                let caches = self.captured.get_or_init(|| Caches::new(trace));
                Source::new(trace, context.run.by_line(), caches).painted(|| families(context))
            }
            Origin::Derived => {
                let derived = self.derived.get_or_init(|| {
                    let trace = derived::trace(context);
                    let (by_line, caches) = (ByLine::new(&trace), Caches::new(&trace));
                    Derived { trace, by_line, caches }
                });
                let Derived { trace, by_line, caches } = derived;
                let family = |kind: &trace::EventKind| {
                    let line = trace.lines.get(kind.line.index()).map(|line| trace.text(line.name));
                    (line == Some(derived::EXPOSED.0)).then_some(OpFamily::Communication)
                };
                Source::new(trace, by_line, caches).painted(|| trace.events.kinds().iter().map(family).collect())
            }
        }
    }

    /// Returns the memory that the caches allocate, in bytes. The events of the run are not included.
    pub fn memory_bytes(&self) -> usize {
        let captured = self.captured.get().map_or(0, Caches::memory_bytes);
        let derived = |derived: &Derived| derived.caches.memory_bytes() + derived.trace.events.memory_bytes();
        captured + self.links.get().map_or(0, Links::memory_bytes) + self.derived.get().map_or(0, derived)
    }
}

fn families(context: Context<'_>) -> Vec<Option<OpFamily>> {
    context.analysis.captured.op_families(context.captured_trace())
}

/// Returns the time from the first event to the last. Recorded and derived events are both included.
pub fn extent(context: Context<'_>) -> trace::Interval {
    let captured = context.run.by_line().extent;
    captured.unwrap_or(trace::Interval::new(Ps::ZERO, Ps::ZERO))
}
