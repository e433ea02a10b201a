//! Where the events of a timeline come from: the trace itself, or what is derived of it. Both are traces, so everything that is said
//! of events holds for both.

use std::sync::OnceLock;

use base::Ps;
use metrics::{Context, OpFamily};
use serde::{Deserialize, Serialize};
use trace::{ByLine, EventId, LineId, StrId, Trace};

use crate::derived;
use crate::lane::Lane;
use crate::lanes::Lanes;
use crate::paint::{Paint, hue};
use crate::scopes::Scopes;
use crate::tracks::{Process, processes};

/// Which trace an event or a line is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Origin {
    /// What the profiler recorded.
    #[default]
    Captured,
    /// What was derived of it.
    Derived,
}

/// The events of one origin, ready to be drawn.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The events.
    pub trace: &'a Trace,
    /// The same, sorted.
    pub by_line: &'a ByLine,
    made: &'a Made,
}

/// What is made of a trace once, when it is first asked for.
#[derive(Debug)]
pub(crate) struct Made {
    lanes: Lanes,
    paints: OnceLock<Vec<Paint>>,
    counts: OnceLock<Vec<u32>>,
}

impl Made {
    pub fn new(trace: &Trace) -> Made {
        Made { lanes: Lanes::new(trace.lines.len()), paints: OnceLock::new(), counts: OnceLock::new() }
    }
}

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
    scopes: OnceLock<Scopes>,
}

impl Timeline {
    /// The processes that show anything, with their tracks.
    pub fn processes(&self, context: Context<'_>) -> &[Process] {
        self.processes.get_or_init(|| processes(self, context))
    }

    /// Makes a part of what the first picture needs, so that whoever shows it need not wait; false where nothing is left to do.
    pub fn prepare(&self, context: Context<'_>) -> bool {
        /// Events of a part: some ten milliseconds.
        const PART: usize = 500_000;
        let source = self.source(context, Origin::Captured);
        let is_unmade = source.made.lanes.make_some(source.trace, source.by_line, PART);
        if !is_unmade && self.processes.get().is_none() {
            self.processes(context);
            return true;
        }
        is_unmade
    }

    /// The name scopes of the recorded ops.
    pub fn scopes(&self, context: Context<'_>) -> &Scopes {
        self.scopes.get_or_init(|| Scopes::new(context.captured_trace()))
    }

    /// The events of one origin. `context` is always of the same run; its window changes nothing here.
    pub fn source<'a>(&'a self, context: Context<'a>, origin: Origin) -> Source<'a> {
        match origin {
            Origin::Captured => {
                let trace = context.captured_trace();
                let made = self.captured.get_or_init(|| Made::new(trace));
                Source { trace, by_line: context.run.by_line(), made }.painted(|| families(context))
            }
            Origin::Derived => {
                let derived = self.derived.get_or_init(|| {
                    let trace = derived::trace(context);
                    let (by_line, made) = (ByLine::new(&trace), Made::new(&trace));
                    Derived { trace, by_line, made }
                });
                let Derived { trace, by_line, made } = derived;
                Source { trace, by_line, made }.painted(|| vec![None; trace.events.kinds().len()])
            }
        }
    }

    /// Bytes of memory held beyond the events of the run.
    pub fn memory_bytes(&self) -> usize {
        let captured = self.captured.get().map_or(0, |made| made.lanes.memory_bytes());
        let derived = |derived: &Derived| derived.made.lanes.memory_bytes() + derived.trace.events.len() * 20;
        captured + self.derived.get().map_or(0, derived)
    }
}

fn families(context: Context<'_>) -> Vec<Option<OpFamily>> {
    context.analysis.captured.op_families(context.captured_trace())
}

impl<'a> Source<'a> {
    #[cfg(test)]
    pub(crate) fn new(trace: &'a Trace, by_line: &'a ByLine, made: &'a Made) -> Source<'a> {
        Source { trace, by_line, made }
    }

    fn painted(self, families: impl FnOnce() -> Vec<Option<OpFamily>>) -> Source<'a> {
        self.made.paints.get_or_init(|| {
            let kinds = self.trace.events.kinds().iter().zip(families());
            kinds
                .map(|(kind, family)| family.map_or_else(|| hue(self.trace.text(kind.name)), Paint::of_family))
                .collect()
        });
        self
    }

    /// The lanes of a line, the outermost first.
    pub fn lanes(self, line: LineId) -> &'a [Lane] {
        self.made.lanes.of_line(self.trace, self.by_line, line)
    }

    /// Number of the events of each kind.
    pub fn counts(self) -> &'a [u32] {
        self.made.counts.get_or_init(|| {
            let mut counts = vec![0; self.trace.events.kinds().len()];
            self.trace.events.for_each_time(self.trace.events.ids(), |_, kind, _| {
                counts.get_mut(kind).into_iter().for_each(|count| *count += 1);
            });
            counts
        })
    }

    /// The colour of a kind of event.
    pub fn paint(self, kind: usize) -> Paint {
        self.made.paints.get().and_then(|paints| paints.get(kind)).copied().unwrap_or_default()
    }

    /// The name of a kind of event.
    pub fn name(self, kind: usize) -> StrId {
        self.trace.events.kinds().get(kind).map_or(StrId::EMPTY, |kind| kind.name)
    }

    /// The kind, name and time of an event.
    pub fn event(self, id: EventId) -> Option<(usize, StrId, trace::Interval)> {
        let (kind, time) = self.trace.occupied(id)?;
        Some((kind, self.name(kind), time))
    }
}

/// From the first event to the last, be they captured or derived; nothing is outside.
pub fn extent(context: Context<'_>) -> trace::Interval {
    let captured = context.run.by_line().extent;
    captured.unwrap_or(trace::Interval::new(Ps::ZERO, Ps::ZERO))
}
