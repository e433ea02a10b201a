//! Serialises a trace and reads it back. The page uses this to pass decoded events from one worker to another.
//!
//! Events are sent as blocks of words. These blocks may be sent while the decoder is still running. The rest of the
//! trace follows as bytes, in frames of a few hundred kilobytes. Neither side then needs a second copy of the whole
//! trace.
//!
//! ```text
//!  trace --> Writer --> [kind u8 | which u8 | 0 u16 | length u32 | payload] ... --> Reader --> trace
//!            gives up each block        may be cut anywhere on the way
//!            of a column as it is
//!            written
//! ```
//!
//! All numbers are little-endian. Both workers come from the same build, so the format has no version number. The last
//! frame contains the counts of events and frames, and the reader rejects inconsistent data.

mod fields;

use super::events::{RowBlock, SparseColumns};
use super::kinds::EventKind;
use super::{ArgsId, ArgsTable, Capture, EarlierStage, EventId, HloProto, LineId, StrId, Strings, Trace, copies};
use fields::{Fields, put_args, put_capture, put_plane};

const HEAD: u8 = 1;
const TEXT: u8 = 2;
const ENDS: u8 = 3;
const ARGS: u8 = 4;
const PLANES: u8 = 5;
const LINES: u8 = 6;
const SPARSE: u8 = 7;
const HLO: u8 = 8;
const NOTES: u8 = 9;
const KINDS: u8 = 10;
const END: u8 = 11;
const UNPLACED: u8 = 12;
const COUNTER: u8 = 13;
const INSTANTS: u8 = 14;
const FLOWS: u8 = 15;
const FAR_OFF: u8 = 16;
const STAGE: u8 = 17;

/// Number of flow points in one frame.
const FLOWS_A_FRAME: usize = 1 << 14;

const HEADER_BYTES: usize = 8;

/// The error for bytes that are not a complete serialised trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

/// A chunk of a serialised trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A block of events.
    Rows(RowBlock),
    /// Bytes of one frame.
    Bytes(Vec<u8>),
}

/// Writes a trace, chunk by chunk.
#[derive(Debug)]
pub struct Writer {
    parts: std::vec::IntoIter<SnapshotPart>,
}

/// Parts of the trace that become frames or blocks. These parts are moved and not copied.
#[derive(Debug)]
enum SnapshotPart {
    Ready(u8, Vec<u8>),
    Ends(Vec<usize>),
    Args(ArgsTable),
    Rows(RowBlock),
    Kinds(Vec<EventKind>),
    Sparse(u8, Vec<EventId>, Vec<i64>),
    Hlo(HloProto),
    Stage(EarlierStage),
}

impl Writer {
    /// Takes a trace. `notes` is sent together with the trace. The notes contain data of the run that is not part of
    /// the trace. The trace's warnings are not sent. Callers that need the warnings must write them to `notes`.
    pub fn new(trace: Trace, notes: Vec<u8>) -> Writer {
        let Trace {
            format,
            framework,
            strings,
            planes,
            lines,
            args,
            events,
            counters,
            instants,
            flows,
            capture,
            complete_events,
            hlo,
            earlier_stages,
            hosts,
            cpu_ops: _,
            far_off,
            warnings: _,
            clocks,
        } = trace;
        let mut parts = vec![SnapshotPart::Ready(NOTES, notes)];
        let mut head = Vec::new();
        fields::put_source(&mut head, format, framework);
        put_capture(&mut head, &capture);
        head.extend(complete_events.to_le_bytes());
        fields::put_texts(&mut head, &hosts);
        parts.push(SnapshotPart::Ready(HEAD, head));
        let (text, ends) = strings.into_parts();
        parts.push(SnapshotPart::Ready(TEXT, text.into_bytes()));
        parts.push(SnapshotPart::Ends(ends));
        let mut bytes = Vec::new();
        planes.iter().for_each(|plane| put_plane(&mut bytes, plane));
        parts.push(SnapshotPart::Ready(PLANES, bytes));
        let mut bytes = Vec::new();
        lines.iter().for_each(|line| fields::put_line(&mut bytes, line));
        parts.push(SnapshotPart::Ready(LINES, bytes));
        let mut bytes = Vec::new();
        clocks.unplaced.iter().for_each(|unplaced| fields::put_unplaced(&mut bytes, unplaced));
        parts.push(SnapshotPart::Ready(UNPLACED, bytes));
        parts.push(SnapshotPart::Args(args));
        for track in &counters {
            let mut bytes = Vec::new();
            fields::put_counter(&mut bytes, track);
            parts.push(SnapshotPart::Ready(COUNTER, bytes));
        }
        if !instants.is_empty() {
            let mut bytes = Vec::new();
            instants.iter().for_each(|instant| fields::put_instant(&mut bytes, instant));
            parts.push(SnapshotPart::Ready(INSTANTS, bytes));
        }
        if !far_off.is_empty() {
            let bytes = far_off.iter().flat_map(|place| place.0.to_le_bytes()).collect();
            parts.push(SnapshotPart::Ready(FAR_OFF, bytes));
        }
        for points in flows.chunks(FLOWS_A_FRAME) {
            let mut bytes = Vec::new();
            points.iter().for_each(|point| fields::put_flow_point(&mut bytes, point));
            parts.push(SnapshotPart::Ready(FLOWS, bytes));
        }
        let counts = events.len();
        let (rows, kinds, sparse) = events.into_columns();
        parts.push(SnapshotPart::Kinds(kinds));
        for (which, column) in (0u8..).zip(sparse) {
            parts.extend(column.into_blocks().map(|(events, values)| SnapshotPart::Sparse(which, events, values)));
        }
        parts.extend(hlo.into_iter().map(SnapshotPart::Hlo));
        parts.extend(earlier_stages.into_iter().map(SnapshotPart::Stage));
        let end = [counts as u64, parts.len() as u64].map(u64::to_le_bytes).concat();
        parts.extend(rows.map(SnapshotPart::Rows));
        parts.push(SnapshotPart::Ready(END, end));
        Writer { parts: parts.into_iter() }
    }
}

/// Appends `count` words. Reserves the memory once, so that the loop only copies.
fn put_words<const N: usize>(out: &mut Vec<u8>, words: impl Iterator<Item = [u8; N]>, count: usize) {
    let start = out.len();
    out.resize(start + N * count, 0);
    let slots = out.get_mut(start..).unwrap_or_default().as_chunks_mut::<N>().0;
    slots.iter_mut().zip(words).for_each(|(slot, word)| *slot = word);
}

impl Iterator for Writer {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let mut out = vec![0; HEADER_BYTES];
        let (kind, which) = match self.parts.next()? {
            SnapshotPart::Ready(kind, bytes) => {
                out.extend(bytes);
                (kind, 0)
            }
            SnapshotPart::Ends(ends) => {
                put_words(&mut out, ends.iter().map(|end| (*end as u64).to_le_bytes()), ends.len());
                (ENDS, 0)
            }
            SnapshotPart::Args(table) => {
                (0..table.len()).filter_map(|index| table.set(index)).for_each(|set| put_args(&mut out, set));
                (ARGS, 0)
            }
            SnapshotPart::Rows(rows) => return Some(Piece::Rows(rows)),
            SnapshotPart::Kinds(kinds) => {
                let words = |kind: &EventKind| [kind.line.0, kind.name.0, kind.args.0].map(u32::to_le_bytes);
                put_words(&mut out, kinds.iter().flat_map(words), 3 * kinds.len());
                (KINDS, 0)
            }
            SnapshotPart::Sparse(which, events, values) => {
                put_words(&mut out, events.iter().map(|event| event.0.to_le_bytes()), events.len());
                put_words(&mut out, values.iter().map(|value| value.to_le_bytes()), values.len());
                (SPARSE, which)
            }
            SnapshotPart::Hlo(hlo) => {
                fields::put_program(&mut out, &hlo);
                (HLO, 0)
            }
            SnapshotPart::Stage(EarlierStage { stage, program }) => {
                out.extend(stage.0.to_le_bytes());
                fields::put_program(&mut out, &program);
                (STAGE, 0)
            }
        };
        // A frame of 4 GiB would not fit in a tab.
        let length = u32::try_from(out.len() - HEADER_BYTES).unwrap_or(u32::MAX).to_le_bytes();
        let header = [kind, which, 0, 0].into_iter().chain(length);
        out.iter_mut().zip(header).for_each(|(slot, byte)| *slot = byte);
        Some(Piece::Bytes(out))
    }
}

/// Reads the output of a [`Writer`], in chunks of any size.
#[derive(Debug, Default)]
pub struct Reader {
    pending: Vec<u8>,
    trace: Trace,
    notes: Vec<u8>,
    text: String,
    kinds: Vec<EventKind>,
    sparse: SparseColumns,
    frames: u64,
    /// Counts of events and frames, read from the last frame.
    counts: Option<(u64, u64)>,
    damaged: bool,
}

impl Reader {
    /// Creates a reader without any data.
    pub fn new() -> Reader {
        Reader::default()
    }

    /// Adds the next events. Events may come before or after any bytes.
    pub fn push_rows(&mut self, rows: RowBlock) {
        self.trace.events.append(rows);
    }

    /// Adds the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        // Joins a frame that was split. Other frames are read in place.
        while !self.pending.is_empty() && !rest.is_empty() {
            let wanted = frame_bytes(&self.pending).unwrap_or(HEADER_BYTES).saturating_sub(self.pending.len());
            let (more, after) = rest.split_at(wanted.min(rest.len()));
            self.pending.extend_from_slice(more);
            rest = after;
            if frame_bytes(&self.pending) == Some(self.pending.len()) {
                let frame = std::mem::take(&mut self.pending);
                self.frame(&frame);
            }
        }
        while let Some(length) = frame_bytes(rest).filter(|length| *length <= rest.len()) {
            let (frame, after) = rest.split_at(length);
            self.frame(frame);
            rest = after;
        }
        self.pending.extend_from_slice(rest);
    }

    /// Returns the trace, and the notes that were sent with it.
    ///
    /// # Errors
    ///
    /// Returns [`Damaged`] if the bytes are not the complete output of one writer.
    pub fn finish(self) -> Result<(Trace, Vec<u8>), Damaged> {
        let mut trace = self.trace;
        trace.events = std::mem::take(&mut trace.events).with_columns(self.kinds, self.sparse).ok_or(Damaged)?;
        let counts = (trace.events.len() as u64, self.frames);
        trace.place_rows();
        let is_whole = self.counts == Some(counts) && self.pending.is_empty() && !self.damaged;
        // The writer's side could not complete the copies, because it passed events on before it had read their calls.
        copies::complete(&mut trace);
        if is_whole { Ok((trace, self.notes)) } else { Err(Damaged) }
    }

    fn frame(&mut self, frame: &[u8]) {
        let (Some(&[kind, which, ..]), Some(payload)) =
            (frame.first_chunk::<HEADER_BYTES>(), frame.get(HEADER_BYTES..))
        else {
            return;
        };
        // No frame may follow the last one.
        if self.counts.is_some() || self.payload(kind, which as usize, payload).is_none() {
            self.damaged = true;
        }
        self.frames += u64::from(kind != END);
    }

    fn payload(&mut self, kind: u8, which: usize, payload: &[u8]) -> Option<()> {
        let mut fields = Fields(payload);
        let trace = &mut self.trace;
        match kind {
            NOTES => self.notes = payload.to_vec(),
            HEAD => {
                (trace.format, trace.framework) = fields.source()?;
                trace.capture = Capture {
                    anchor_ns: fields.i64()?,
                    start_unix_ns: fields.optional_i64()?,
                    stop_unix_ns: fields.optional_i64()?,
                };
                trace.complete_events = fields.u64()?;
                trace.hosts = fields.texts()?;
            }
            TEXT => self.text = std::str::from_utf8(payload).ok()?.to_owned(),
            ENDS => {
                let ends = payload.as_chunks::<8>().0.iter().map(|end| u64::from_le_bytes(*end) as usize).collect();
                trace.strings = Strings::from_parts(std::mem::take(&mut self.text), ends)?;
            }
            PLANES => trace.planes = fields.all(Fields::plane)?,
            LINES => trace.lines = fields.all(Fields::line)?,
            UNPLACED => trace.clocks.unplaced = fields.all(Fields::unplaced)?,
            COUNTER => trace.counters.push(fields.counter()?),
            INSTANTS => trace.instants = fields.all(Fields::instant)?,
            FLOWS => trace.flows.extend(fields.all(Fields::flow_point)?),
            FAR_OFF => {
                let places = payload.as_chunks::<4>().0.iter().map(|place| EventId(u32::from_le_bytes(*place)));
                trace.far_off = places.collect();
            }
            ARGS => trace.args = ArgsTable::from_sets(fields.all(Fields::args)?)?,
            KINDS => {
                let words = payload.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
                let words: Vec<u32> = words.collect();
                let kind = |&[line, name, args]: &[u32; 3]| EventKind {
                    line: LineId(line),
                    name: StrId(name),
                    args: ArgsId(args),
                };
                self.kinds = words.as_chunks().0.iter().map(kind).collect();
            }
            SPARSE => {
                let column = self.sparse.get_mut(which)?;
                let (events, values) = payload.split_at_checked(payload.len() / 12 * 4)?;
                let events = events.as_chunks::<4>().0.iter().map(|event| EventId(u32::from_le_bytes(*event)));
                let values = values.as_chunks::<8>().0.iter().map(|value| i64::from_le_bytes(*value));
                column.extend(events, values);
            }
            HLO => trace.hlo.push(fields.program()?),
            STAGE => {
                let stage = StrId(fields.u32()?);
                trace.earlier_stages.push(EarlierStage { stage, program: fields.program()? });
            }
            END => self.counts = Some((fields.u64()?, fields.u64()?)),
            _ => return None,
        }
        Some(())
    }
}

/// Returns the length of the frame at the start of `bytes`, including its header. Returns `None` if the header is
/// incomplete.
fn frame_bytes(bytes: &[u8]) -> Option<usize> {
    let length = bytes.get(4..HEADER_BYTES)?;
    Some(HEADER_BYTES + u32::from_le_bytes(length.try_into().ok()?) as usize)
}

#[cfg(test)]
mod tests;
