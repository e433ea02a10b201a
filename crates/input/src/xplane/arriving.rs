//! Decodes a plane while it arrives. The plane's [`Outline`] contains the metadata that its events refer to.
//!
//! ```text
//! chunk           [..line header][events events ev|
//! next chunk                                      |ents events][next line
//! kept between                              [ev]  only the event that was cut
//! ```
//!
//! A short line, or a line whose first event is long, is collected and decoded as a whole.

use super::losses::{XPlaneLoss, XPlaneLosses};
use super::outline::Outline;
use super::plane::PlaneDecoder;
use super::walk::{OpenLine, Tables, Walk, is_cut};
use base::wire::{Fault, Reader, Value};
use trace::{StrId, Trace};

/// Number of bytes at the start of a line that must contain the fields before its events. Shorter lines are decoded as
/// a whole.
const HEAD_BYTES: usize = 4096;

/// A plane that is arriving.
#[derive(Debug)]
pub(super) struct ArrivingPlane {
    /// Name of the plane.
    pub name: StrId,
    /// Number of events that the trace contained before the plane's first event.
    pub events_before: usize,
    /// The plane's metadata.
    outline: Outline,
    tables: Tables,
    /// Position of the next byte in the file.
    position: u64,
    /// Bytes of an incomplete field. The last of these bytes is the one before `position`.
    kept: Vec<u8>,
    state: ArrivingState,
}

/// Part of the plane that the next byte belongs to, with the number of bytes that remain of this part.
#[derive(Clone, Copy, Debug)]
enum ArrivingState {
    /// Tag and length of a field of the plane.
    Header,
    /// A field that is unreadable or that the outline already contains.
    Passed { left: u64 },
    /// A line that is collected up to `wanted` bytes.
    Collected { left: u64, wanted: usize },
    /// The fields of a line.
    Walked { left: u64, line: OpenLine },
}

/// Objects to which an arriving plane adds its content.
pub(super) struct Target<'t> {
    /// The trace for events, lines and texts.
    pub trace: &'t mut Trace,
    /// The state of the whole file.
    pub planes: &'t mut PlaneDecoder,
    /// Counts of unreadable data.
    pub losses: &'t mut XPlaneLosses,
}

impl ArrivingPlane {
    /// Creates the plane and adds it to the trace.
    pub(super) fn new(outline: Outline, into: &mut Target<'_>) -> Option<ArrivingPlane> {
        let events_before = into.trace.events.len();
        let (name, tables) = into.planes.begin(outline.parts(), outline.records(), into.trace, into.losses)?;
        let position = outline.plane().start;
        Some(ArrivingPlane {
            name,
            events_before,
            outline,
            tables,
            position,
            kept: Vec::new(),
            state: ArrivingState::Header,
        })
    }

    /// Reads the plane's next bytes.
    pub(super) fn push(&mut self, mut bytes: &[u8], into: &mut Target<'_>) {
        while !bytes.is_empty() {
            let available = |left: u64| usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
            let taken = match self.state {
                ArrivingState::Header => 1,
                ArrivingState::Passed { left } | ArrivingState::Walked { left, .. } => available(left),
                ArrivingState::Collected { left, wanted } => available(left).min(wanted - self.kept.len()),
            };
            let (now, later) = bytes.split_at_checked(taken).unwrap_or((bytes, &[]));
            self.position += now.len() as u64;
            self.take(now, into);
            bytes = later;
        }
    }

    /// Reads bytes that all belong to the current part of the plane.
    fn take(&mut self, bytes: &[u8], into: &mut Target<'_>) {
        let count = bytes.len() as u64;
        match self.state {
            ArrivingState::Header => {
                self.kept.extend(bytes);
                self.header(into);
            }
            ArrivingState::Passed { left } => self.state = passed(left - count),
            ArrivingState::Collected { left, wanted } => {
                self.kept.extend(bytes);
                self.state = ArrivingState::Collected { left: left - count, wanted };
                if self.kept.len() == wanted || left == count {
                    self.collected(left - count, into);
                }
            }
            ArrivingState::Walked { left, line } => {
                self.state = ArrivingState::Walked { left: left - count, line };
                self.walked(bytes, line, left - count, into);
            }
        }
    }

    /// Reads one more byte of the tag and length of a field.
    fn header(&mut self, into: &mut Target<'_>) {
        self.state = match Reader::new(&self.kept).field() {
            Ok(Some(field)) => match (field.number, field.value) {
                (3, Value::Bytes(_)) => ArrivingState::Collected { left: 0, wanted: 0 },
                _ => ArrivingState::Header,
            },
            Ok(None) => ArrivingState::Header,
            Err(error) => match error.fault {
                Fault::Ended => return,
                Fault::Short { number: 3, missing, .. } => {
                    let whole = usize::try_from(missing).unwrap_or(usize::MAX);
                    ArrivingState::Collected { left: missing, wanted: whole.min(HEAD_BYTES) }
                }
                Fault::Short { missing, .. } => ArrivingState::Passed { left: missing },
                Fault::Malformed => {
                    let start = self.position - self.kept.len() as u64;
                    into.losses.add(XPlaneLoss::Corrupt, start);
                    ArrivingState::Passed { left: u64::MAX }
                }
            },
        };
        self.kept.clear();
        if let ArrivingState::Collected { left: 0, .. } = self.state {
            self.collected(0, into);
        }
    }

    /// Decodes the collected part of a line when it has reached the wanted size. After this part, `left` more bytes of
    /// the line follow.
    fn collected(&mut self, left: u64, into: &mut Target<'_>) {
        if left > 0 && !reaches_its_events(&self.kept) {
            let whole = usize::try_from(left).unwrap_or(usize::MAX).saturating_add(self.kept.len());
            self.state = ArrivingState::Collected { left, wanted: whole };
            return;
        }
        let kept = std::mem::take(&mut self.kept);
        let start = self.position - kept.len() as u64;
        let Target { trace, planes, losses } = into;
        let mut walk = Walk::new(self.outline.records(), &mut self.tables, trace, losses, &mut planes.file);
        if left == 0 {
            walk.line(&kept, start, false);
            self.state = ArrivingState::Header;
        } else if let Some(line) = walk.open(&kept, start) {
            self.state = ArrivingState::Walked { left, line };
            self.walk(&kept, line, left, into);
        } else {
            self.state = ArrivingState::Passed { left };
        }
    }

    /// Reads the next bytes of a line. If the previous bytes ended inside a field, completes this field first. If even
    /// the length of this field is incomplete, each attempt waits for twice as many bytes, so that a long field is
    /// examined only a few times.
    fn walked(&mut self, mut bytes: &[u8], line: OpenLine, left: u64, into: &mut Target<'_>) {
        while !self.kept.is_empty() && !bytes.is_empty() {
            let wanted = match Reader::new(&self.kept).field().map_err(|error| error.fault) {
                Err(Fault::Short { missing, .. }) => usize::try_from(missing).unwrap_or(usize::MAX),
                _ => self.kept.len(),
            };
            let (now, later) = bytes.split_at(wanted.min(bytes.len()));
            self.kept.extend(now);
            bytes = later;
            let kept = std::mem::take(&mut self.kept);
            self.position -= bytes.len() as u64;
            self.walk(&kept, line, left + bytes.len() as u64, into);
            self.position += bytes.len() as u64;
            if !matches!(self.state, ArrivingState::Walked { .. }) {
                self.state = passed(left);
                return;
            }
        }
        if !bytes.is_empty() {
            self.walk(bytes, line, left, into);
        }
    }

    /// Decodes the fields of a line in `bytes`, which ends at `position`, and keeps an incomplete field for later.
    /// After these bytes, `left` more bytes of the line follow.
    fn walk(&mut self, bytes: &[u8], line: OpenLine, left: u64, into: &mut Target<'_>) {
        let start = self.position - bytes.len() as u64;
        let Target { trace, planes, losses } = into;
        let mut walk = Walk::new(self.outline.records(), &mut self.tables, trace, losses, &mut planes.file);
        match walk.fields(&line, bytes, start) {
            Err(error) if left > 0 && is_cut(&error) => {
                self.kept.extend(bytes.get(error.position..).unwrap_or_default());
            }
            Err(error) => {
                losses.add(XPlaneLoss::Corrupt, start + error.position as u64);
                self.state = passed(left);
            }
            Ok(()) if left == 0 => self.state = ArrivingState::Header,
            Ok(()) => {}
        }
    }
}

fn passed(left: u64) -> ArrivingState {
    if left == 0 { ArrivingState::Header } else { ArrivingState::Passed { left } }
}

/// Returns true if `head`, the first bytes of a line, contains everything before the line's events, and one complete
/// event.
fn reaches_its_events(head: &[u8]) -> bool {
    let mut reader = Reader::new(head);
    while let Ok(Some(field)) = reader.field() {
        if let (4, Value::Bytes(_)) = (field.number, field.value) {
            return true;
        }
    }
    false
}
