//! Decodes the lines of a plane into columns. Reads the names, the times and the [events](super::event) of the lines.

use rustc_hash::FxHashMap;

use super::known::Known;
use super::losses::{XPlaneLoss, XPlaneLosses};
use super::metadata::{EventMetadata, IdMap, StatMetadata};
use super::stats::Stat;
use super::text::text;
use crate::watch::Watch;
use base::Ps;
use base::wire::{Fault, Field, Reader, Value, WireError};
use trace::{EventStat, Line, LineId, PlaneId, StrId, Trace};

/// A line time above this limit is an absolute Unix time in nanoseconds (1e15 ns is 12 days after the start of 1970). A
/// smaller time is counted from the start of the capture.
const ABSOLUTE_NS: i64 = 1_000_000_000_000_000;

/// The file's clock. Absolute times are counted from the first line that has events and an absolute time. Picoseconds
/// since 1970 overflow an `i64`.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// Unix time in nanoseconds that is subtracted from absolute times.
    pub anchor_ns: Option<i64>,
    relative_lines: bool,
}

/// State of the whole file while its planes are decoded.
#[derive(Debug, Default)]
pub(super) struct OfFile {
    /// The clock to which the times of lines refer.
    pub clock: Clock,
    /// Events for which all arguments are needed.
    pub watch: Option<Watch>,
}

/// Tables that the events of a plane refer to.
#[derive(Debug)]
pub(super) struct Tables {
    /// The plane that the lines belong to.
    pub plane: PlaneId,
    /// Event metadata of the plane.
    pub event_metadata: IdMap<EventMetadata>,
    /// Stat metadata of the plane.
    pub stat_metadata: IdMap<StatMetadata>,
    /// Synthetic names for ids without metadata.
    pub missing: FxHashMap<i64, StrId>,
    /// Cache of lookups.
    pub known: Known,
}

/// State for decoding the lines of one plane.
pub(super) struct Walk<'p, 'a> {
    /// The plane's metadata as bytes.
    pub(super) source: &'p [u8],
    pub(super) tables: &'p mut Tables,
    /// The trace that lines and events are added to.
    pub(super) trace: &'p mut Trace,
    /// Counts of lost data.
    pub(super) losses: &'p mut XPlaneLosses,
    pub(super) file: &'p mut OfFile,
    /// Relevant stats of the current event. The list is reused for the next event to save allocations.
    pub(super) own: Vec<(EventStat, Stat<'a>)>,
}

/// A line whose events are being decoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenLine {
    id: LineId,
    start_ps: Option<i64>,
    /// Position in the file up to which the line was read.
    read_to: u64,
    /// True if the line's events are samples of counters.
    has_counters: bool,
}

/// Name of the lines whose events are samples of hardware counters. Each event is a sample of one counter at one time,
/// and a stat contains its value.
const COUNTERS: &str = "_counters_";

/// Tag of an event in a line, and also of a stat in an event: field 4, length-delimited.
pub(super) const EVENT_OR_STAT: u8 = 4 << 3 | 2;

/// Number of events that are decoded in one call: see [`trace::in_blocks`].
const BLOCK: usize = 2048;

impl<'p, 'a> Walk<'p, 'a> {
    /// Creates the state for a plane whose metadata is in `source`.
    pub(super) fn new(
        source: &'p [u8],
        tables: &'p mut Tables,
        trace: &'p mut Trace,
        losses: &'p mut XPlaneLosses,
        file: &'p mut OfFile,
    ) -> Walk<'p, 'a> {
        Walk { source, tables, trace, losses, file, own: Vec::new() }
    }

    /// Decodes the line `message`, which starts at `offset` in the file. `cut` means that the end of the line is
    /// missing. The caller has already reported the missing end.
    pub(super) fn line(&mut self, message: &'a [u8], offset: u64, cut: bool) {
        let Some(line) = self.open(message, offset) else { return };
        if let Err(error) = self.fields(&line, message, offset) {
            // The event at a cut is incomplete and is skipped. The cut was reported already.
            if !(cut && is_cut(&error)) {
                self.losses.add(XPlaneLoss::Corrupt, offset + error.position as u64);
            }
        }
    }

    /// Adds the line whose first fields are in `message`. Returns `None` if the line has no events.
    pub(super) fn open(&mut self, message: &'a [u8], offset: u64) -> Option<OpenLine> {
        let id = self.trace.add_line(Line { plane: self.tables.plane, ..Line::default() })?;
        let (timestamp_ns, read_to) = self.header(message, id, offset)?;
        let start_ps = self.file.clock.line_start_ps(timestamp_ns, offset, self.losses);
        if let (Some(line), Some(start)) = (self.trace.lines.get_mut(id.index()), start_ps) {
            line.start = Ps::new(start);
        }
        let has_counters = self.trace.lines.get(id.index()).is_some_and(|line| self.trace.text(line.name) == COUNTERS);
        Some(OpenLine { id, start_ps, read_to: offset + read_to as u64, has_counters })
    }

    /// Decodes the fields of a line in `message`, which starts at `offset` in the file.
    ///
    /// # Errors
    /// Returns an error if a field is malformed or incomplete.
    pub(super) fn fields(&mut self, line: &OpenLine, message: &'a [u8], offset: u64) -> Result<(), WireError<'a>> {
        let mut reader = Reader::new(message);
        loop {
            while self.blocks(&mut reader, offset, line) {}
            let Some(field) = reader.field()? else { return Ok(()) };
            let end = offset + reader.position() as u64;
            match (field.number, field.value) {
                _ if end <= line.read_to => {}
                (3, Value::Varint(1..)) => self.losses.add(XPlaneLoss::LateTime, end),
                _ => self.describe_line(field, line.id, end),
            }
        }
    }

    /// Decodes the next events of a line. Returns false if a field that is not an event comes next. A watched event is
    /// decoded in a separate block, so that the watch does not slow down other events.
    fn blocks(&mut self, reader: &mut Reader<'a>, offset: u64, line: &OpenLine) -> bool {
        if line.has_counters {
            return self.samples(reader, offset, line);
        }
        let (line, start_ps) = (line.id, line.start_ps);
        let events = self.trace.events.len();
        let next = self.file.watch.as_ref().and_then(Watch::next).map(|next| (next as usize).saturating_sub(events));
        let Some(ahead) = next.filter(|ahead| *ahead < BLOCK) else {
            return self.block(BLOCK, reader, offset, line, start_ps);
        };
        if ahead > 0 {
            return self.block(ahead, reader, offset, line, start_ps);
        }
        let event = Reader::clone(reader).bytes_with_tag(EVENT_OR_STAT);
        let is_more = self.block(1, reader, offset, line, start_ps);
        if let Some(event) = event.filter(|_| self.trace.events.len() > events) {
            self.note(event, events);
        }
        is_more
    }

    /// Decodes up to `most` events from a reader that starts at `offset` in the file. Returns false if a field that is
    /// not an event comes next.
    #[inline(never)]
    fn block(
        &mut self,
        most: usize,
        reader: &mut Reader<'a>,
        offset: u64,
        line: LineId,
        start_ps: Option<i64>,
    ) -> bool {
        for _ in 0..most {
            let Some(event) = reader.bytes_with_tag(EVENT_OR_STAT) else { return false };
            let at = offset + (reader.position() - event.len()) as u64;
            if let Err(bad) = self.event(event, at, line, start_ps) {
                self.losses.add(XPlaneLoss::Corrupt, bad);
            }
        }
        true
    }

    /// Decodes samples and readings of counters, up to the next field that is not an event. Only readings are stored as
    /// events. Always returns false.
    fn samples(&mut self, reader: &mut Reader<'a>, offset: u64, line: &OpenLine) -> bool {
        while let Some(event) = reader.bytes_with_tag(EVENT_OR_STAT) {
            let at = offset + (reader.position() - event.len()) as u64;
            let events = self.trace.events.len();
            let read = match self.is_reading(event) {
                true => self.event(event, at, line.id, line.start_ps),
                false => self.sample(event, at, line.start_ps),
            };
            let is_watched = self.file.watch.as_ref().and_then(Watch::next).is_some_and(|next| next as usize == events);
            if is_watched && self.trace.events.len() > events {
                self.note(event, events);
            }
            if let Err(bad) = read {
                self.losses.add(XPlaneLoss::Corrupt, bad);
            }
        }
        false
    }

    /// Returns a line's time and the position after its first event, or `None` if the line has no events. Writers store
    /// the time before the events, because they write fields in the order of their numbers. Writers omit a time of 0.
    fn header(&mut self, message: &'a [u8], line: LineId, offset: u64) -> Option<(i64, usize)> {
        let mut reader = Reader::new(message);
        let mut timestamp_ns = 0;
        while let Ok(Some(field)) = reader.field() {
            match (field.number, field.value) {
                (4, Value::Bytes(_)) => return Some((timestamp_ns, reader.position())),
                (3, Value::Varint(time)) => timestamp_ns = time as i64,
                _ => self.describe_line(field, line, offset + reader.position() as u64),
            }
        }
        None
    }

    /// Reads a property of a line from a field whose last byte is before `end` in the file.
    fn describe_line(&mut self, field: Field<'a>, line: LineId, end: u64) {
        let number = match field.value {
            Value::Varint(number) => number.cast_signed(),
            _ => return self.name_line(field, line, end),
        };
        let Some(line) = self.trace.lines.get_mut(line.index()) else { return };
        match field.number {
            1 => line.id = Some(number),
            10 => line.display_id = Some(number),
            _ => {}
        }
    }

    /// Reads a line's name from a field whose last byte is before `end` in the file. Ignores other fields. A
    /// `display_name` comes after the name and replaces it, as in the profiler's own JSON.
    fn name_line(&mut self, field: Field<'a>, line: LineId, end: u64) {
        let (2 | 11, Value::Bytes(bytes)) = (field.number, field.value) else { return };
        let Some(known) = self.trace.lines.get(line.index()).map(|line| line.name) else { return };
        if bytes.is_empty() || (field.number == 2 && !known.is_empty()) {
            return;
        }
        let name = text(bytes, end - bytes.len() as u64, &mut self.trace.strings, self.losses);
        if let Some(line) = self.trace.lines.get_mut(line.index()) {
            line.name = name;
        }
    }
}

impl Clock {
    /// Returns a line's start in picoseconds since the anchor, or `None` on overflow.
    fn line_start_ps(&mut self, timestamp_ns: i64, offset: u64, losses: &mut XPlaneLosses) -> Option<i64> {
        let relative_ns = if timestamp_ns > ABSOLUTE_NS {
            timestamp_ns - *self.anchor_ns.get_or_insert(timestamp_ns)
        } else {
            self.relative_lines = true;
            timestamp_ns
        };
        if self.relative_lines && self.anchor_ns.is_some() {
            losses.add(XPlaneLoss::MixedClocks, offset);
        }
        Ps::from_ns(relative_ns).map(|start| start.as_ps())
    }
}

/// Returns true for an error that is caused by a missing end of the file.
pub(super) fn is_cut(error: &WireError<'_>) -> bool {
    matches!(error.fault, Fault::Ended | Fault::Short { .. })
}
