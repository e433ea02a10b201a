//! Adds events to the trace: finds their lines, interns their texts, and converts their times to the trace's clock.
//!
//! A process of a Chrome trace is a plane, and a thread is a line. The first event or metadata that mentions a process
//! or thread creates its plane or line. The name may follow later.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::args::{self, ArgField, Own};
use super::clock::{self, VOTERS};
use super::event::RawEvent;
use super::id::Id;
use super::lexer::{Kind, Span};
use super::losses::{JsonLoss, JsonLosses};
use super::marks::Marks;
use super::memo::{Memo, Stored};
use super::number::{self, Fault, Time};
use super::pairs::{Open, Pairs, Track};
use super::text::text;
use super::watched::Watched;
use base::Ps;
use trace::{ArgsId, ChipTime, Event, FlowRole, Line, LineId, Plane, PlaneId, StrId, Trace};

/// An event that is complete except for its time on the trace's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timed {
    pub line: LineId,
    pub name: StrId,
    pub args: ArgsId,
    pub own: Own,
    pub start: Time,
    pub duration: Ps,
    /// Position of the event in the decompressed text, in bytes.
    pub offset: u64,
}

impl Timed {
    /// Returns true if the event has neither a start nor a duration. If a writer lacks the times of an event, it writes
    /// 0.
    fn is_untimed(&self) -> bool {
        self.start == Time::default() && self.duration <= PICOSECOND
    }
}

/// Duration that XLA's exporter writes instead of zero, because viewers would not show events without a duration. No
/// clock can measure a picosecond.
const PICOSECOND: Ps = Ps::new(1);

/// The trace under construction.
#[derive(Debug, Default)]
pub(super) struct Store {
    pub trace: Trace,
    pub losses: JsonLosses,
    pub memo: Memo,
    /// Arguments of the last parsed event.
    pub fields: Vec<ArgField>,
    pub pairs: Pairs,
    pub marks: Marks,
    /// Number of objects with a `ph` that were read so far. Such objects distinguish an event list from any other
    /// array.
    pub events_seen: u64,
    pub plane_ids: Vec<Id>,
    pub line_ids: Vec<Id>,
    planes: HashMap<Id, PlaneId, FxBuildHasher>,
    lines: HashMap<(Id, Id), LineId, FxBuildHasher>,
    /// Anchor in microseconds. `None` until the anchor is known, and events wait until then.
    pub anchor_us: Option<i64>,
    waiting: Vec<Timed>,
    /// Number of waiting events that have a time.
    voters: usize,
    /// Position in the text of the first event that has no times but was stored anyway.
    pub first_untimed: Option<u64>,
    scratch: String,
    /// Events for which all arguments are needed.
    pub watched: Option<Box<Watched>>,
}

impl Store {
    /// Stores one event of the list.
    ///
    /// Events with a duration are stored in the trace: complete events (`X`), pairs on a thread (`B`/`E`) and
    /// asynchronous pairs (`b`/`e`). Counters, instants and flows are stored separately. Samples, objects and async
    /// marks (`P O N D n R c`) are skipped.
    pub(super) fn event(&mut self, event: &RawEvent, buf: &[u8], offset: u64) {
        self.events_seen += u64::from(event.phase != 0);
        match event.phase {
            b'X' => self.complete(event, buf, offset),
            b'B' | b'b' => self.begin(event, buf, offset),
            b'E' | b'e' => self.end(event, buf, offset),
            b'M' => self.metadata(event, buf),
            b'C' => self.counter(event, buf),
            b'i' | b'I' => self.instant(event, buf),
            b's' => self.flow(event, FlowRole::Start, buf),
            b't' => self.flow(event, FlowRole::Step, buf),
            b'f' => self.flow(event, FlowRole::End, buf),
            b'P' | b'O' | b'N' | b'D' | b'n' | b'R' | b'c' => {}
            // JAX ends its list with an empty object.
            0 if !event.has_keys => {}
            0 => self.losses.add(JsonLoss::Unreadable, offset),
            _ => self.losses.add(JsonLoss::UnknownPhase, offset),
        }
    }

    fn complete(&mut self, event: &RawEvent, buf: &[u8], offset: u64) {
        self.trace.complete_events += 1;
        let Some(start) = self.time(event.ts, buf, offset) else { return };
        let Some(duration) = self.time(event.dur, buf, offset) else { return };
        let Some(duration) = duration.since_us(0) else { return self.losses.add(JsonLoss::OutOfRange, offset) };
        if duration < Ps::ZERO {
            return self.losses.add(JsonLoss::NegativeDuration, offset);
        }
        let (stored, own) = self.describe(event, buf);
        let line = self.line_of(event, buf);
        self.add(Timed { line, name: stored.name, args: stored.args, own, start, duration, offset });
    }

    /// Opens a pair.
    fn begin(&mut self, event: &RawEvent, buf: &[u8], offset: u64) {
        let Some(start) = self.time(event.ts, buf, offset) else { return };
        let (stored, own) = self.describe(event, buf);
        let (track, line) = self.track(event, buf);
        let open = Open { line, name: stored.name, args: stored.args, own, start, offset };
        self.pairs.push(track, open);
    }

    /// Closes a pair and stores the event that it forms.
    fn end(&mut self, event: &RawEvent, buf: &[u8], offset: u64) {
        let Some(end) = self.time(event.ts, buf, offset) else { return };
        let (track, _) = self.track(event, buf);
        let name = event.name.is_given().then(|| self.intern(event.name, buf)).filter(|name| !name.is_empty());
        let Some((open, overlaps)) = self.pairs.pop(track, name) else {
            return self.losses.add(JsonLoss::UnmatchedEnd, offset);
        };
        let Open { line, name, args, own, start, offset } = open;
        if overlaps && matches!(track, Track::Thread(_)) {
            self.losses.add(JsonLoss::OverlappingPair, offset);
        }
        if let Some(watched) = &mut self.watched {
            watched.ends(offset);
        }
        match end.since(start) {
            None => self.losses.add(JsonLoss::OutOfRange, offset),
            Some(duration) if duration < Ps::ZERO => self.losses.add(JsonLoss::NegativeDuration, offset),
            Some(duration) => self.add(Timed { line, name, args, own, start, duration, offset }),
        }
    }

    /// Returns the track and the line of an event that belongs to a pair. Asynchronous events overlap with the work of
    /// the thread that reports them, so they get a separate line.
    fn track(&mut self, event: &RawEvent, buf: &[u8]) -> (Track, LineId) {
        if event.phase.is_ascii_uppercase() {
            let line = self.line_of(event, buf);
            return (Track::Thread(line), line);
        }
        let pid = self.id(event.pid, buf);
        let (cat, id) = (self.intern(event.cat, buf), self.id(event.id, buf));
        (Track::Async { cat, id }, self.line(pid, Id::Async))
    }

    /// Parses the time in `span`, which is a number or a string. Counts a loss if the value is anything else.
    #[inline]
    pub(super) fn time(&mut self, span: Span, buf: &[u8], offset: u64) -> Option<Time> {
        let fault = match number::time(span.bytes(buf)) {
            Ok(time) => return Some(time),
            Err(Fault::NotANumber) => JsonLoss::NotANumber,
            Err(Fault::OutOfRange) => JsonLoss::OutOfRange,
        };
        self.losses.add(fault, offset);
        None
    }

    /// Returns the name, arguments and own values of an event.
    pub(super) fn describe(&mut self, event: &RawEvent, buf: &[u8]) -> (Stored, Own) {
        if let Some((slot, mut own)) = event.repeats {
            if let Some(stored) = self.memo.stored(slot, event.cat.bytes(buf)) {
                own.step_num_or(stored.step_num);
                return (stored, own);
            }
            self.reparse_args(event, buf);
        }
        let Store { trace, fields, scratch, .. } = self;
        let (mut args, mut own) = args::build(fields, buf, &mut trace.strings, scratch);
        args.cat = intern(trace, event.cat, buf, scratch);
        let name = intern(trace, event.name, buf, scratch);
        let stored = Stored { name, args: trace.args.intern(&args), step_num: profiler_step(event, buf) };
        self.memo.remember([event.name, event.tid, event.cat, event.args], fields, buf, stored);
        own.step_num_or(stored.step_num);
        (stored, own)
    }

    /// Parses the event's arguments into `fields`, which the memo made unnecessary before.
    pub(super) fn reparse_args(&mut self, event: &RawEvent, buf: &[u8]) {
        self.fields.clear();
        if event.args.is_given() && args::parse(buf, event.args.start, &mut self.fields).is_err() {
            self.fields.clear();
        }
    }

    /// Adds an event to the trace, or makes it wait until the trace's clock is known.
    #[inline]
    pub(super) fn add(&mut self, event: Timed) {
        match self.anchor_us {
            Some(anchor_us) => self.place(event, anchor_us),
            // Events without times do not vote on the anchor, even if there are many.
            None if event.is_untimed() && self.waiting.len() >= VOTERS => {
                self.losses.add(JsonLoss::Untimed, event.offset);
            }
            None => {
                self.voters += usize::from(!event.is_untimed());
                self.waiting.push(event);
                if self.voters == VOTERS {
                    self.settle_anchor();
                }
            }
        }
    }

    /// Adds all waiting events and marks to the trace at the end of the file.
    pub(super) fn finish(&mut self) {
        self.settle_anchor();
        self.place_marks(self.anchor_us.unwrap_or(0));
    }

    /// Chooses the anchor from the waiting events, and adds these events to the trace.
    fn settle_anchor(&mut self) {
        if self.anchor_us.is_some() {
            return;
        }
        let waiting = std::mem::take(&mut self.waiting);
        let starts: Vec<Time> = waiting.iter().filter(|event| !event.is_untimed()).map(|event| event.start).collect();
        let anchor_us = clock::anchor_us(&starts);
        self.anchor_us = Some(anchor_us);
        self.trace.capture.anchor_ns = anchor_us.saturating_mul(1_000);
        for event in waiting {
            self.place(event, anchor_us);
        }
    }

    fn place(&mut self, event: Timed, anchor_us: i64) {
        // If the clock starts at the first event, a time of zero belongs to another clock. If the clock starts near zero,
        // the decision waits until all events are known.
        if event.is_untimed() {
            if anchor_us != 0 {
                return self.losses.add(JsonLoss::Untimed, event.offset);
            }
            self.first_untimed.get_or_insert(event.offset);
        }
        let Timed { line, name, args, own, start, duration, offset } = event;
        let duration = if duration == PICOSECOND { Ps::ZERO } else { duration };
        let start = start.since_us(anchor_us).filter(|start| start.as_ps().checked_add(duration.as_ps()).is_some());
        let Some(start) = start else { return self.losses.add(JsonLoss::OutOfRange, offset) };
        let duration_of_chip = own.chip_duration.filter(|&ps| ps >= 0).map(Ps::new);
        let chip = own.chip_start.map(|start| ChipTime { start: Ps::new(start), duration: duration_of_chip });
        let Some(id) = self.trace.push_event(Event { line, name, start, duration, args }, chip) else {
            return self.losses.add(JsonLoss::TooMany, offset);
        };
        self.trace.events.push_values(id, &own.values);
        if let Some(watched) = &mut self.watched {
            watched.placed(id, offset);
        }
    }

    /// Returns the line of an event's thread.
    #[inline]
    pub(super) fn line_of(&mut self, event: &RawEvent, buf: &[u8]) -> LineId {
        let (pid, tid) = (self.id(event.pid, buf), self.id(event.tid, buf));
        self.line(pid, tid)
    }

    /// Returns the line of a thread. Creates the line on first use.
    pub(super) fn line(&mut self, pid: Id, tid: Id) -> LineId {
        if let Some(&line) = self.lines.get(&(pid, tid)) {
            return line;
        }
        let plane = self.plane(pid);
        let Some(line) = self.trace.add_line(Line { plane, ..Line::default() }) else { return LineId::default() };
        self.line_ids.push(tid);
        self.lines.insert((pid, tid), line);
        line
    }

    /// Returns the line of a thread if it exists.
    pub(super) fn known_line(&self, pid: Id, tid: Id) -> Option<LineId> {
        self.lines.get(&(pid, tid)).copied()
    }

    /// Returns the plane of a process if it exists.
    pub(super) fn known_plane(&self, pid: Id) -> Option<PlaneId> {
        self.planes.get(&pid).copied()
    }

    /// Returns the plane of a process. Creates the plane on first use.
    pub(super) fn plane(&mut self, pid: Id) -> PlaneId {
        if let Some(&plane) = self.planes.get(&pid) {
            return plane;
        }
        let Some(plane) = self.trace.add_plane(Plane::default()) else { return PlaneId::default() };
        self.plane_ids.push(pid);
        self.planes.insert(pid, plane);
        plane
    }

    /// Parses an id: a number or any other text.
    #[inline]
    pub(super) fn id(&mut self, span: Span, buf: &[u8]) -> Id {
        if !span.is_given() {
            return Id::Missing;
        }
        match number::id(span.bytes(buf)) {
            Some(number) => Id::Number(number),
            None => Id::Text(self.intern(span, buf)),
        }
    }

    /// Interns the text of a value.
    pub(super) fn intern(&mut self, span: Span, buf: &[u8]) -> StrId {
        intern(&mut self.trace, span, buf, &mut self.scratch)
    }
}

fn intern(trace: &mut Trace, span: Span, buf: &[u8], scratch: &mut String) -> StrId {
    trace.strings.intern(text(span, buf, scratch))
}

/// Returns the step number in the name of Kineto's event `ProfilerStep#7`. Kineto copies this event to the device. The
/// copy does not mark another step.
fn profiler_step(event: &RawEvent, buf: &[u8]) -> Option<i64> {
    let number = event.name.bytes(buf).strip_prefix(b"ProfilerStep#")?;
    let is_shadow = event.cat.bytes(buf) == b"gpu_user_annotation" || event.name.kind != Kind::Text;
    if is_shadow { None } else { number::id(number) }
}
