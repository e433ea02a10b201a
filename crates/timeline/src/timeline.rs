//! What is made of a run for its timeline, and kept.

use std::sync::OnceLock;

use base::Ps;
use metrics::{Context, OpFamily};
use trace::{ByLine, Trace};

use crate::derived;
use crate::links::{Linked, Links};
use crate::scene::EventRef;
use crate::scopes::{Flame, Scopes};
use crate::source::{Made, Origin, Source};
use crate::tracks::{Process, processes};

/// A derived trace.
#[derive(Debug)]
struct Derived {
    trace: Trace,
    by_line: ByLine,
    made: Made,
}

/// What a timeline keeps of a run: everything is made when it is first asked for, and as long as the run stays.
#[derive(Debug, Default)]
pub struct Timeline {
    captured: OnceLock<Made>,
    derived: OnceLock<Derived>,
    processes: OnceLock<Vec<Process>>,
    flames: OnceLock<[Scopes; 2]>,
    links: OnceLock<Links>,
}

impl Timeline {
    /// The processes that show anything, with their tracks.
    pub fn processes(&self, context: Context<'_>) -> &[Process] {
        let sources = [Origin::Captured, Origin::Derived].map(|origin| self.source(context, origin));
        self.processes.get_or_init(|| processes(sources, self.flames(context)))
    }

    /// Makes a part of what the first picture and statistics need, so that whoever asks for them need not wait; false where nothing is left to do.
    pub fn prepare(&self, context: Context<'_>) -> bool {
        /// Events of a part: some ten milliseconds.
        const PART: usize = 500_000;
        let is_unmade = |origin| {
            let source = self.source(context, origin);
            source.made.lanes.make_some(source.trace, source.by_line, PART)
        };
        if is_unmade(Origin::Captured) {
            return true;
        }
        if self.processes.get().is_none() {
            self.processes(context);
            return true;
        }
        let captured = self.source(context, Origin::Captured);
        is_unmade(Origin::Derived) || captured.made.stretches.make_some(captured.trace, captured.by_line, PART)
    }

    /// The name scopes and the source lines of the recorded ops, in the order of [`Flame::ALL`].
    pub fn flames(&self, context: Context<'_>) -> &[Scopes; 2] {
        self.flames.get_or_init(|| Flame::ALL.map(|flame| Scopes::new(context.captured_trace(), flame)))
    }

    /// What an event is linked with, the nearest by start first; nothing for a derived one.
    pub fn linked(&self, context: Context<'_>, event: EventRef) -> Vec<Linked> {
        if event.origin == Origin::Derived {
            return Vec::new();
        }
        let links = self.links.get_or_init(|| Links::new(context, self.source(context, Origin::Captured)));
        links.of(context, event.id())
    }

    /// The events of one origin. `context` is always of the same run; its window changes nothing here.
    pub fn source<'a>(&'a self, context: Context<'a>, origin: Origin) -> Source<'a> {
        match origin {
            Origin::Captured => {
                let trace = context.captured_trace();
                let made = self.captured.get_or_init(|| Made::new(trace));
                Source::new(trace, context.run.by_line(), made).painted(|| families(context))
            }
            Origin::Derived => {
                let derived = self.derived.get_or_init(|| {
                    let trace = derived::trace(context);
                    let (by_line, made) = (ByLine::new(&trace), Made::new(&trace));
                    Derived { trace, by_line, made }
                });
                let Derived { trace, by_line, made } = derived;
                let family = |kind: &trace::EventKind| {
                    let line = trace.lines.get(kind.line.index()).map(|line| trace.text(line.name));
                    (line == Some(derived::EXPOSED.0)).then_some(OpFamily::Communication)
                };
                Source::new(trace, by_line, made).painted(|| trace.events.kinds().iter().map(family).collect())
            }
        }
    }

    /// Bytes of memory held beyond the events of the run.
    pub fn memory_bytes(&self) -> usize {
        let captured = self.captured.get().map_or(0, Made::memory_bytes);
        let derived = |derived: &Derived| derived.made.memory_bytes() + derived.trace.events.memory_bytes();
        captured + self.links.get().map_or(0, Links::memory_bytes) + self.derived.get().map_or(0, derived)
    }
}

fn families(context: Context<'_>) -> Vec<Option<OpFamily>> {
    context.analysis.captured.op_families(context.captured_trace())
}

/// From the first event to the last, be they captured or derived; nothing is outside.
pub fn extent(context: Context<'_>) -> trace::Interval {
    let captured = context.run.by_line().extent;
    captured.unwrap_or(trace::Interval::new(Ps::ZERO, Ps::ZERO))
}
