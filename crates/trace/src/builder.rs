//! Builds traces in code, so that tests contain timelines instead of bytes of files.
//!
//! ```
//! use trace::TraceBuilder;
//!
//! let mut b = TraceBuilder::new();
//! let ops = b.line("/device:TPU:0", "XLA Ops");
//! b.event(ops, "while.1", 0, 100); // microseconds: start, duration
//! b.event(ops, "fusion.2", 10, 20).hlo_category("loop fusion");
//! let trace = b.build();
//! assert_eq!(trace.events.len(), 2);
//! ```

use super::{
    Args, ChipTime, ColumnValues, Event, EventColumn, EventId, Line, LineId, Plane, PlaneId, SourceFormat, StrId,
    Trace, classify, copies,
};
use base::Ps;

/// Collects the planes, lines and events of a trace. Times are whole microseconds from the anchor.
#[derive(Debug)]
pub struct TraceBuilder {
    trace: Trace,
}

impl Default for TraceBuilder {
    fn default() -> Self {
        TraceBuilder::new()
    }
}

/// The event that was added last. The methods of the builder set the event's arguments.
#[derive(Debug)]
pub struct EventBuilder<'a> {
    trace: &'a mut Trace,
    event: Event,
    args: Args,
    values: ColumnValues,
    chip: Option<ChipTime>,
}

impl TraceBuilder {
    /// Creates an empty trace whose format is xplane.
    pub fn new() -> TraceBuilder {
        TraceBuilder { trace: Trace { format: Some(SourceFormat::XPlane), ..Trace::default() } }
    }

    /// Returns the line `name` of the plane `plane`. Creates the plane or the line if it does not exist.
    pub fn line(&mut self, plane: &str, name: &str) -> LineId {
        let (plane_name, name) = (self.trace.strings.intern(plane), self.trace.strings.intern(name));
        let plane = self.trace.planes.iter().position(|p| p.name == plane_name).unwrap_or_else(|| {
            self.trace.planes.push(Plane { name: plane_name, ..Plane::default() });
            self.trace.planes.len() - 1
        });
        let plane = PlaneId(plane as u32);
        let line = self.trace.lines.iter().position(|l| l.plane == plane && l.name == name).unwrap_or_else(|| {
            self.trace.lines.push(Line { plane, name, ..Line::default() });
            self.trace.lines.len() - 1
        });
        LineId(line as u32)
    }

    /// Adds an event and returns a builder for its arguments.
    pub fn event(&mut self, line: LineId, name: &str, start_us: i64, duration_us: i64) -> EventBuilder<'_> {
        let name = self.trace.strings.intern(name);
        let time = |us: i64| Ps::new(us.saturating_mul(1_000_000));
        let event = Event { line, name, start: time(start_us), duration: time(duration_us), args: Default::default() };
        EventBuilder {
            trace: &mut self.trace,
            event,
            args: Args::default(),
            values: ColumnValues::default(),
            chip: None,
        }
    }

    /// Adds a stat to a plane.
    pub fn plane_stat(&mut self, plane: &str, name: &str, value: super::StatValue) {
        let (plane, name) = (self.trace.strings.intern(plane), self.trace.strings.intern(name));
        if let Some(plane) = self.trace.planes.iter_mut().find(|p| p.name == plane) {
            plane.stats.push((name, value));
        }
    }

    /// Returns the unfinished trace, for tests that need more than the builder offers.
    pub fn trace_mut(&mut self) -> &mut Trace {
        &mut self.trace
    }

    /// Returns the finished trace. The trace's planes and lines are classified, and its copies are complete.
    pub fn build(mut self) -> Trace {
        self.trace.complete_events = self.trace.events.len() as u64;
        classify::classify(&mut self.trace);
        copies::complete(&mut self.trace);
        self.trace.settle_clocks();
        self.trace
    }
}

impl EventBuilder<'_> {
    fn text(mut self, field: fn(&mut Args) -> &mut StrId, value: &str) -> Self {
        *field(&mut self.args) = self.trace.strings.intern(value);
        self
    }

    /// Sets `hlo_category`.
    pub fn hlo_category(self, value: &str) -> Self {
        self.text(|args| &mut args.hlo_category, value)
    }

    /// Sets `hlo_op`.
    pub fn hlo_op(self, value: &str) -> Self {
        self.text(|args| &mut args.hlo_op, value)
    }

    /// Sets `hlo_module`.
    pub fn hlo_module(self, value: &str) -> Self {
        self.text(|args| &mut args.hlo_module, value)
    }

    /// Sets `tf_op`.
    pub fn tf_op(self, value: &str) -> Self {
        self.text(|args| &mut args.tf_op, value)
    }

    /// Sets `long_name`.
    pub fn long_name(self, value: &str) -> Self {
        self.text(|args| &mut args.long_name, value)
    }

    /// Sets `memcpy_details`.
    pub fn memcpy_details(self, value: &str) -> Self {
        self.text(|args| &mut args.memcpy_details, value)
    }

    /// Sets `cat`.
    pub fn cat(self, value: &str) -> Self {
        self.text(|args| &mut args.cat, value)
    }

    /// Changes any argument.
    pub fn args(mut self, change: impl FnOnce(&mut Args)) -> Self {
        change(&mut self.args);
        self
    }

    /// Sets the value of a column.
    pub fn value(mut self, column: EventColumn, value: i64) -> Self {
        self.values.set(column, Some(value));
        self
    }

    /// Sets the correlation id.
    pub fn correlation(self, id: i64) -> Self {
        self.value(EventColumn::Correlation, id)
    }

    /// Sets the run id of a module execution.
    pub fn run_id(self, id: i64) -> Self {
        self.value(EventColumn::RunId, id)
    }

    /// Sets the step number of an annotation.
    pub fn step_num(self, number: i64) -> Self {
        self.value(EventColumn::StepNum, number)
    }

    /// Sets the start and duration of the event on the chip's own clock, in picoseconds.
    pub fn chip_ps(mut self, start: i64, duration: i64) -> Self {
        self.chip = Some(ChipTime { start: Ps::new(start), duration: Some(Ps::new(duration)) });
        self
    }

    /// Returns the id that the event will have when it is stored.
    pub fn id(&self) -> EventId {
        EventId(self.trace.events.len() as u32)
    }
}

/// Stores the event when its builder goes out of scope, so that `b.event(...)` alone is enough.
impl Drop for EventBuilder<'_> {
    fn drop(&mut self) {
        self.event.args = self.trace.args.intern(&self.args);
        let Some(id) = self.trace.push_event(self.event, self.chip) else { return };
        self.trace.events.push_values(id, &self.values);
    }
}
