//! Splits the stream of chunks into the top-level fields of an XSpace.
//!
//! A field is buffered until it is complete, unless a chunk contains all of it. A plane with a known outline is passed
//! on as it arrives. The buffer for a field grows with the bytes that arrive. The length that a field declares is used
//! only if the file is known to have that many bytes.

use std::collections::VecDeque;

use super::outline::Outline;
use base::wire::{Fault, Reader, Value};

/// Maximum size of a text field in bytes (errors, warnings, host names). Longer fields are skipped, because no profiler
/// writes such long texts.
const MAX_TEXT_BYTES: u64 = 1 << 20;

/// Maximum number of bytes in a tag and the length or number after it, which are varints of up to ten bytes each.
const MAX_HEADER_BYTES: usize = 20;

/// A complete length-delimited field of the XSpace.
#[derive(Debug)]
pub(super) struct TopLevel<'a> {
    /// Number of the field.
    pub number: u32,
    /// Position of the field's body in the file.
    pub offset: u64,
    /// Bytes of the field's body.
    pub body: &'a [u8],
}

impl TopLevel<'_> {
    /// A plane.
    pub(super) const PLANE: u32 = 1;
    /// An error message of the profiler.
    pub(super) const ERROR: u32 = 2;
    /// A warning of the profiler.
    pub(super) const WARNING: u32 = 3;
    /// Name of the host.
    pub(super) const HOSTNAME: u32 = 4;
}

/// Output of the stream.
#[derive(Debug)]
pub(super) enum Piece<'a> {
    /// A complete field.
    Whole(TopLevel<'a>),
    /// A plane with this outline begins.
    Begin(Outline),
    /// The next bytes of the current plane.
    Part(&'a [u8]),
    /// The current plane is complete.
    End,
}

/// State at the end of the file.
#[derive(Debug, PartialEq)]
pub(super) enum Tail {
    /// The file ends after a complete field.
    Complete,
    /// The bytes at `offset` do not form a field. `unread` bytes follow.
    Malformed { offset: u64, unread: u64 },
    /// The file ends inside the field with this `number`, whose body starts at `offset`. `number` is 0 if even the
    /// field number is incomplete. `body` is empty for a plane that was passed on in parts.
    Truncated { number: u32, offset: u64, body: Vec<u8>, missing: u64, length: u64 },
}

/// The field whose bytes are arriving.
#[derive(Debug)]
struct Pending {
    number: u32,
    length: u64,
    /// How the field's bytes are handled.
    fate: Fate,
    received: u64,
    body: Vec<u8>,
}

/// Handling of the bytes of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The bytes are irrelevant and are only counted.
    Passed,
    /// The bytes are collected.
    Collected,
    /// The bytes are passed on as they arrive.
    HandedOut,
}

/// The state of the stream between two chunks.
#[derive(Debug, Default)]
pub(super) struct TopFields {
    /// Number of bytes read so far.
    position: u64,
    /// Length of the file in bytes, or 0 if unknown.
    expected: u64,
    /// The bytes of the next field's tag and length that have arrived. There are at most 20.
    header: Vec<u8>,
    pending: Option<Pending>,
    malformed_at: Option<u64>,
    /// Outlines of planes that have not arrived yet, in file order.
    outlines: VecDeque<Outline>,
}

impl TopFields {
    /// Creates the state for a file of `bytes` bytes.
    pub(super) fn expecting(bytes: u64) -> TopFields {
        TopFields { expected: bytes, ..TopFields::default() }
    }

    /// Sets the outlines of planes that have not arrived yet, in file order.
    pub(super) fn set_outlines(&mut self, outlines: Vec<Outline>) {
        self.outlines = outlines.into();
    }

    /// Reads a chunk and passes on each field that is now complete.
    pub(super) fn push(&mut self, mut bytes: &[u8], sink: &mut dyn FnMut(Piece<'_>)) {
        while !bytes.is_empty() {
            if self.malformed_at.is_some() {
                self.position += bytes.len() as u64;
                return;
            }
            let taken = match &mut self.pending {
                Some(pending) => {
                    let taken = pending.take(bytes, self.position, self.expected, sink);
                    if pending.received == pending.length {
                        self.pending = None;
                    }
                    taken
                }
                None => self.take_header(bytes, sink),
            };
            self.position += taken as u64;
            bytes = bytes.get(taken..).unwrap_or_default();
        }
    }

    /// Reads one byte of a field's tag and length. Tags and lengths are short and rare.
    fn take_header(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Piece<'_>)) -> usize {
        let Some(&byte) = bytes.first() else { return 0 };
        self.header.push(byte);
        let start = self.position + 1 - self.header.len() as u64;
        let (number, length) = match Reader::new(&self.header).field() {
            Err(error) => match error.fault {
                Fault::Ended => match fixed_length(&self.header) {
                    Some(header) => header,
                    None if self.header.len() < MAX_HEADER_BYTES => return 1,
                    None => {
                        // The field is a group, which no XSpace contains.
                        self.malformed_at = Some(start);
                        return 1;
                    }
                },
                Fault::Short { number, missing, .. } => (number, missing),
                Fault::Malformed => {
                    self.malformed_at = Some(start);
                    return 1;
                }
            },
            Ok(Some(field)) => {
                // An empty field, or a number, is already complete.
                if let Value::Bytes(body) = field.value {
                    sink(Piece::Whole(TopLevel { number: field.number, offset: self.position + 1, body }));
                }
                self.header.clear();
                return 1;
            }
            Ok(None) => return 1,
        };
        self.header.clear();
        let fate = match number {
            TopLevel::PLANE => self.plane_begins(length, sink),
            TopLevel::ERROR..=TopLevel::HOSTNAME if length <= MAX_TEXT_BYTES => Fate::Collected,
            _ => Fate::Passed,
        };
        self.pending = Some(Pending { number, length, fate, received: 0, body: Vec::new() });
        1
    }

    /// Handles the start of a plane with this length, whose body begins after the current byte.
    fn plane_begins(&mut self, length: u64, sink: &mut dyn FnMut(Piece<'_>)) -> Fate {
        let start = self.position + 1;
        while self.outlines.front().is_some_and(|outline| outline.plane().start < start) {
            self.outlines.pop_front();
        }
        let known = self.outlines.pop_front_if(|outline| outline.plane() == (start..start.saturating_add(length)));
        match known {
            Some(outline) => {
                sink(Piece::Begin(outline));
                Fate::HandedOut
            }
            None => Fate::Collected,
        }
    }

    /// Returns the state at the end of the file.
    pub(super) fn finish(self) -> Tail {
        if let Some(offset) = self.malformed_at {
            return Tail::Malformed { offset, unread: self.position.saturating_sub(offset) };
        }
        let length = self.position;
        match self.pending {
            Some(p) => {
                let offset = length - p.received;
                let missing = p.length - p.received;
                Tail::Truncated { number: p.number, offset, body: p.body, missing, length }
            }
            None if self.header.is_empty() => Tail::Complete,
            None => Tail::Truncated { number: 0, offset: length, body: Vec::new(), missing: 1, length },
        }
    }
}

impl Pending {
    fn take(&mut self, bytes: &[u8], position: u64, expected: u64, sink: &mut dyn FnMut(Piece<'_>)) -> usize {
        let need = self.length - self.received;
        let count = usize::try_from(need).unwrap_or(usize::MAX).min(bytes.len());
        let part = bytes.get(..count).unwrap_or_default();
        let whole = count as u64 == need;
        match self.fate {
            Fate::Passed => {}
            Fate::HandedOut => {
                sink(Piece::Part(part));
                if whole {
                    sink(Piece::End);
                }
            }
            Fate::Collected if whole && self.received == 0 => {
                sink(Piece::Whole(TopLevel { number: self.number, offset: position, body: part }));
            }
            Fate::Collected => {
                self.append(part, expected.saturating_sub(position));
                if whole {
                    let offset = position - self.received;
                    sink(Piece::Whole(TopLevel { number: self.number, offset, body: &self.body }));
                }
            }
        }
        self.received += count as u64;
        count
    }

    /// Appends bytes to the body of a field. If the file is known to contain the whole body in its next `left` bytes,
    /// reserves all memory in one step. Otherwise the buffer doubles, but never beyond the field's length, so that the
    /// last step fits exactly.
    fn append(&mut self, part: &[u8], left: u64) {
        let needed = self.body.len() + part.len();
        if needed > self.body.capacity() {
            let promised = usize::try_from(self.length).unwrap_or(usize::MAX);
            let is_there = self.length - self.received <= left;
            let doubled = if is_there { promised } else { needed.saturating_mul(2).min(promised) };
            let capacity = doubled.max(needed);
            self.body.reserve_exact(capacity - self.body.len());
        }
        self.body.extend_from_slice(part);
    }
}

/// Returns the field number and the width of a number with a fixed width. The number is then skipped like a body with
/// this length.
fn fixed_length(header: &[u8]) -> Option<(u32, u64)> {
    if header.last().is_none_or(|&byte| byte >= 0x80) {
        return None;
    }
    let mut padded = header.to_vec();
    padded.resize(header.len() + 8, 0);
    match Reader::new(&padded).field().ok()?? {
        field if matches!(field.value, Value::Fixed64(_)) => Some((field.number, 8)),
        field if matches!(field.value, Value::Fixed32(_)) => Some((field.number, 4)),
        _ => None,
    }
}
