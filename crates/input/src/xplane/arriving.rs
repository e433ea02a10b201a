//! A plane that becomes columns while it arrives: what its events refer to is known from its [`Outline`].
//!
//! ```text
//! chunk           [..line header][events events ev|
//! next chunk                                      |ents events][next line
//! kept between                              [ev]  the event that was cut, no more
//! ```
//!
//! A short line is collected and walked whole; so is one whose first event is long.

use super::losses::{XPlaneLoss, XPlaneLosses};
use super::outline::Outline;
use super::plane::PlaneDecoder;
use super::walk::{OpenLine, Tables, Walk, is_cut};
use base::wire::{Fault, Reader, Value};
use trace::{StrId, Trace};

/// Bytes of a line that are looked at for what it says before its events; shorter ones are walked whole.
const HEAD_BYTES: usize = 4096;

/// The plane while it arrives.
#[derive(Debug)]
pub(super) struct ArrivingPlane {
    /// Name of the plane.
    pub name: StrId,
    /// Events of the trace before its own.
    pub events_before: usize,
    /// What the plane's metadata points into.
    outline: Outline,
    tables: Tables,
    /// Place in the file of the next byte.
    position: u64,
    /// Bytes of a field that is not whole yet; they end at `position`.
    kept: Vec<u8>,
    state: ArrivingState,
}

/// What the next byte belongs to, with the bytes that are still to come of it.
#[derive(Clone, Copy, Debug)]
enum ArrivingState {
    /// Tag and length of a field of the plane.
    Header,
    /// A field that the outline has, or none that can be read.
    Passed { left: u64 },
    /// A line that is collected: as much of it as `wanted`.
    Collected { left: u64, wanted: usize },
    /// The fields of a line.
    Walked { left: u64, line: OpenLine },
}

/// Where the plane's content goes.
pub(super) struct Target<'t> {
    /// Events, lines, texts.
    pub trace: &'t mut Trace,
    /// What belongs to the whole file.
    pub planes: &'t mut PlaneDecoder,
    /// What cannot be read.
    pub losses: &'t mut XPlaneLosses,
}

impl ArrivingPlane {
    /// Adds the plane to the trace.
    pub fn new(outline: Outline, into: &mut Target<'_>) -> Option<ArrivingPlane> {
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

    /// Takes the plane's next bytes.
    pub fn push(&mut self, mut bytes: &[u8], into: &mut Target<'_>) {
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

    /// Takes bytes that all belong to what `state` says.
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

    /// Takes one byte more of a field's tag and length.
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

    /// Handles what of a line was collected: as much of it is there as was wanted; `left` bytes are to come.
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

    /// The next bytes of a line. A field that was cut is put together first: where its length is not known either, as many
    /// bytes are added as are there already, so that it is looked at a few times only, however long it is.
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

    /// Walks over fields of a line that end at `position`, and keeps what is not whole; `left` bytes of the line are to come.
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

/// Whether the first bytes of a line hold all that it says before its events, and a whole event.
fn reaches_its_events(head: &[u8]) -> bool {
    let mut reader = Reader::new(head);
    while let Ok(Some(field)) = reader.field() {
        if let (4, Value::Bytes(_)) = (field.number, field.value) {
            return true;
        }
    }
    false
}
