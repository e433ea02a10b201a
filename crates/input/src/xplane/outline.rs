//! Finds the fields of a plane other than its lines, before the lines are read. Therefore, the lines can be decoded
//! while they arrive.
//!
//! In a plane, the names of the events come after all lines. If a file allows random access, the lines can be skipped
//! because their lengths are known. Skipping takes only a few reads, and the bytes of these reads are dropped
//! afterwards.
//!
//! ```text
//! plane   [name][line ............................][line .................][metadata][stats]
//! read    |window|                            |window|                |window ...........|
//! ```
//!
//! An [`Outliner`] returns the range of bytes that it needs next, and the caller reads them in any way. A plane that is
//! damaged, truncated or has too many parts gets no outline. Such a plane is buffered and decoded as a whole, like a
//! plane in an archive.

use std::ops::Range;

use super::metadata::Span;
use super::plane::Parts;
use base::wire::{Fault, Reader, Value};

/// Requirements that a plane must meet to get an outline, and limits for the search.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Minimum size in bytes of a plane that gets an outline. Buffering a smaller plane is fast enough.
    plane_bytes: u64,
    /// Size of a read in bytes.
    window_bytes: u64,
    /// Maximum total size of the fields in an outline, in bytes. A plane gets no outline if its fields other than lines
    /// exceed this limit.
    outline_bytes: usize,
    /// Maximum number of reads of one file.
    reads: u32,
}

const LIMITS: Limits = Limits { plane_bytes: 8 << 20, window_bytes: 128 << 10, outline_bytes: 32 << 20, reads: 48 };

/// Maximum number of bytes in a field's tag and length, which have up to ten bytes each.
const MAX_HEADER_BYTES: u64 = 20;

/// Field number of lines in a plane.
const LINE: u32 = 3;

/// All fields of one plane except its lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// Range of the plane's bytes in the file.
    plane: Range<u64>,
    /// The fields of the plane other than its lines. Each field is stored as three little-endian numbers of eight
    /// bytes, followed by the body. The numbers are the field number, the position of the body in the file, and the
    /// length of the body.
    records: Vec<u8>,
}

impl Outline {
    /// Creates the outline of the plane that has this range in the file. `records` comes from [`Outline::records`].
    pub fn new(plane: Range<u64>, records: Vec<u8>) -> Outline {
        Outline { plane, records }
    }

    /// Returns the range of the plane's bytes in the file.
    pub fn plane(&self) -> Range<u64> {
        self.plane.clone()
    }

    /// Returns the fields of the outline as bytes, which can be sent to another worker.
    pub fn records(&self) -> &[u8] {
        &self.records
    }

    fn add(&mut self, number: u32, at: u64, body: &[u8]) {
        for word in [u64::from(number), at, body.len() as u64] {
            self.records.extend(word.to_le_bytes());
        }
        self.records.extend(body);
    }

    /// Returns the position of each field in the records.
    pub(super) fn parts(&self) -> Parts {
        let mut parts = Parts::default();
        let mut at = 0;
        while let Some(rest) = self.records.get(at..)
            && let Some(head) = rest.first_chunk::<24>()
            && let [number, offset, length] = std::array::from_fn(|i| word(head, i))
            && let (Ok(number), Ok(length)) = (u32::try_from(number), usize::try_from(length))
        {
            parts.add(number, Span::new(at + head.len(), length), offset, &self.records);
            at = at.saturating_add(head.len()).saturating_add(length);
        }
        parts
    }
}

fn word(head: &[u8; 24], index: usize) -> u64 {
    head.as_chunks::<8>().0.get(index).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Finds the outlines of the large planes of one file.
///
/// ```
/// use input::Outliner;
///
/// let file = std::fs::read("../../www/assets/examples/jax-cpu-train.xplane.pb")?;
/// let mut outliner = Outliner::new(file.len() as u64);
/// while let Some(range) = outliner.wanted() {
///     outliner.give(&file[range.start as usize..range.end as usize]);
/// }
/// assert!(outliner.outlines().is_empty()); // It is small.
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Outliner {
    limits: Limits,
    file_bytes: u64,
    /// Position of the next field to examine.
    position: u64,
    /// Number of bytes to read at `position`, or 0 if nothing more is needed.
    wanted_bytes: u64,
    reads: u32,
    /// The plane that is being examined.
    open: Option<Outline>,
    found: Vec<Outline>,
}

/// Result of examining a field.
enum Step {
    /// The next field starts at this position.
    To(u64),
    /// The field needs at least this many bytes.
    More(u64),
    /// The field cannot be skipped.
    Stop,
}

impl Outliner {
    /// Creates an outliner for a file of `file_bytes` bytes.
    pub fn new(file_bytes: u64) -> Outliner {
        Outliner::with(LIMITS, file_bytes)
    }

    fn with(limits: Limits, file_bytes: u64) -> Outliner {
        let wanted_bytes = if file_bytes < limits.plane_bytes { 0 } else { limits.window_bytes };
        let (open, found) = (None, Vec::new());
        Outliner { limits, file_bytes, position: 0, wanted_bytes, reads: limits.reads, open, found }
    }

    /// Returns the range of bytes to read next, or `None` when the search is complete.
    pub fn wanted(&self) -> Option<Range<u64>> {
        let end = self.position.saturating_add(self.wanted_bytes).min(self.file_bytes);
        (self.position < end).then_some(self.position..end)
    }

    /// Receives the bytes of the range that [`wanted`](Outliner::wanted) returned.
    pub fn give(&mut self, window: &[u8]) {
        let start = self.position;
        loop {
            let Some(rest) = usize::try_from(self.position - start).ok().and_then(|from| window.get(from..)) else {
                // The next field is after the window.
                return self.want(self.limits.window_bytes);
            };
            match self.step(rest) {
                Step::To(position) => self.position = position,
                Step::More(bytes) => return self.want(bytes.max(self.limits.window_bytes)),
                Step::Stop => {
                    self.wanted_bytes = 0;
                    return;
                }
            }
        }
    }

    /// Returns the outlines found, in file order.
    pub fn outlines(self) -> Vec<Outline> {
        self.found
    }

    fn want(&mut self, bytes: u64) {
        self.reads = self.reads.saturating_sub(1);
        self.wanted_bytes = if self.reads == 0 { 0 } else { bytes };
    }

    /// Examines the field at `position`, where `bytes` starts.
    fn step(&mut self, bytes: &[u8]) -> Step {
        let inside = self.open.as_ref().map(|outline| outline.plane.end);
        if inside == Some(self.position) {
            self.found.extend(self.open.take());
            return Step::To(self.position);
        }
        let end = inside.unwrap_or(self.file_bytes);
        if self.position >= end {
            return Step::Stop;
        }
        let mut reader = Reader::new(bytes);
        let (number, length, header, body) = match reader.field() {
            Ok(Some(field)) => match field.value {
                Value::Bytes(body) => {
                    (field.number, body.len() as u64, (reader.position() - body.len()) as u64, Some(body))
                }
                Value::Varint(_) | Value::Fixed64(_) | Value::Fixed32(_) => {
                    let next = self.position + reader.position() as u64;
                    return if next <= end { Step::To(next) } else { Step::Stop };
                }
                Value::Group => return Step::Stop,
            },
            Err(error) => match error.fault {
                Fault::Short { number, rest, missing } => {
                    (number, rest.len() as u64 + missing, (bytes.len() - rest.len()) as u64, None)
                }
                Fault::Ended if (bytes.len() as u64) < MAX_HEADER_BYTES.min(end - self.position) => {
                    return Step::More(MAX_HEADER_BYTES);
                }
                _ => return Step::Stop,
            },
            Ok(None) => return Step::More(MAX_HEADER_BYTES),
        };
        let at = self.position + header;
        let Some(next) = at.checked_add(length).filter(|next| *next <= end) else { return Step::Stop };
        match (&mut self.open, number, body) {
            (Some(_), LINE, _) => Step::To(next),
            (Some(outline), _, Some(body)) => {
                outline.add(number, at, body);
                Step::To(next)
            }
            (Some(outline), _, None) => {
                let known = outline.records.len() as u64;
                if known.saturating_add(length) <= self.limits.outline_bytes as u64 {
                    return Step::More(next - self.position);
                }
                // The metadata may contain compiled modules of a hundred megabytes, so buffer this plane.
                let plane_end = outline.plane.end;
                self.open = None;
                Step::To(plane_end)
            }
            (None, 1, _) if length >= self.limits.plane_bytes => {
                self.open = Some(Outline { plane: at..next, records: Vec::new() });
                Step::To(at)
            }
            (None, ..) => Step::To(next),
        }
    }
}

#[cfg(test)]
impl Outliner {
    /// Creates an outliner that also accepts small files.
    pub(crate) fn for_test(file_bytes: u64, plane_bytes: u64, window_bytes: u64) -> Outliner {
        Outliner::with(Limits { plane_bytes, window_bytes, outline_bytes: 1 << 20, reads: u32::MAX }, file_bytes)
    }
}
