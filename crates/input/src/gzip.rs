//! Decompresses gzip files as they occur in practice, with several concatenated members, padding, trailing bytes,
//! missing ends or wrong checksums. The decoder recovers as much data as possible. Each problem becomes a warning with
//! the position of the problem.
//!
//! ```text
//!  | header 10+ | deflate stream | CRC-32 | size | header | stream | CRC | size | 0 0 0 ... or foreign bytes |
//!  '------------------ member -------------------'---------- member ------------'
//! ```
//!
//! The time, comment, name and extra field of the header are ignored, because no profiler stores relevant data there.

use crate::inflate::{InflateLimit, Inflater, Outcome};
use base::{Warning, WarningCode};

/// Output of a [`GzipDecoder`].
#[derive(Debug)]
pub(crate) enum GzipItem<'a> {
    /// The next decompressed bytes.
    Data(&'a [u8]),
    /// A problem with the file.
    Warning(Warning),
}

/// Returns true if `head` starts a gzip member that uses deflate, which is gzip's only compression method.
pub(crate) fn looks_like_gzip(head: &[u8]) -> bool {
    matches!(head, [0x1f, 0x8b, 8, flags, ..] if flags & RESERVED_FLAGS == 0)
}

const FLAG_HEADER_CRC: u8 = 2;
const FLAG_EXTRA: u8 = 4;
const FLAG_NAME: u8 = 8;
const FLAG_COMMENT: u8 = 16;
const RESERVED_FLAGS: u8 = 0xe0;

/// The part of a member that contains the next byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GzipState {
    /// The ten fixed bytes of the header, or the bytes after the last member.
    Header,
    /// The two bytes with the length of the extra field.
    ExtraLength,
    /// The extra field.
    Extra { left: u16 },
    /// The name of the compressed file, ended by a zero byte.
    Name,
    /// A comment, ended by a zero byte.
    Comment,
    /// The header's own checksum.
    HeaderCrc,
    /// The deflate stream.
    Body,
    /// Checksum and size.
    Trailer,
    /// Bytes after the last member that do not form a member.
    Foreign,
    /// The remaining bytes of the file are unreadable.
    Stopped,
}

/// Decompresses a gzip file that is pushed in chunks.
#[derive(Debug)]
pub(crate) struct GzipDecoder {
    path: String,
    state: GzipState,
    inflater: Inflater,
    /// Bytes of the header or trailer that have arrived so far.
    fixed: Vec<u8>,
    flags: u8,
    /// Position in the gzip file, in bytes.
    offset: u64,
    /// Number of decompressed bytes of the finished members.
    inflated_bytes: u64,
    members: u64,
    /// Position and number of the foreign bytes after the last member.
    foreign: (u64, u64),
}

impl GzipDecoder {
    /// Creates a decoder. `path` is used in warnings only.
    pub(crate) fn new(path: &str) -> GzipDecoder {
        GzipDecoder {
            path: path.to_owned(),
            state: GzipState::Header,
            inflater: Inflater::new(),
            fixed: Vec::with_capacity(10),
            flags: 0,
            offset: 0,
            inflated_bytes: 0,
            members: 0,
            foreign: (0, 0),
        }
    }

    /// Returns true if further bytes cannot change the result.
    #[cfg(test)]
    pub(crate) fn is_stopped(&self) -> bool {
        self.state == GzipState::Stopped
    }

    /// Decompresses the next bytes of the file.
    pub(crate) fn push(&mut self, mut chunk: &[u8], limit: &InflateLimit, sink: &mut dyn FnMut(GzipItem<'_>)) {
        while let Some((&byte, rest)) = chunk.split_first() {
            match self.state {
                GzipState::Stopped => return,
                GzipState::Foreign => {
                    self.foreign.1 += chunk.len() as u64;
                    self.offset += chunk.len() as u64;
                    return;
                }
                GzipState::Body => {
                    let used = self.body(chunk, limit, sink);
                    chunk = chunk.get(used..).unwrap_or_default();
                    continue;
                }
                GzipState::Trailer => self.trailer(byte, sink),
                _ => self.header(byte),
            }
            self.offset += 1;
            chunk = rest;
        }
    }

    /// Ends the file: passes on the remaining data and reports missing data.
    pub(crate) fn finish(mut self, sink: &mut dyn FnMut(GzipItem<'_>)) {
        self.inflater.flush(&mut |block| sink(GzipItem::Data(block)));
        let inflated = self.inflated_bytes + self.inflater.inflated_bytes();
        match self.state {
            GzipState::Stopped => {}
            GzipState::Foreign => {
                let (start, count) = self.foreign;
                sink(GzipItem::Warning(self.foreign_bytes(start, count)));
            }
            // The rest after a complete member is too short for a header.
            GzipState::Header if self.members > 0 => {
                let count = self.fixed.len() as u64;
                if count > 0 {
                    sink(GzipItem::Warning(self.foreign_bytes(self.offset - count, count)));
                }
            }
            GzipState::Trailer => sink(GzipItem::Warning(
                Warning::new(
                    WarningCode::GzipChecksumMissing,
                    format!(
                        "The file ends before the checksum of its compressed data. All {inflated} bytes of content were \
                         read, but could not be checked."
                    ),
                )
                .with_remedy("Copy the file again if anything looks wrong.")
                .with_file(&self.path)
                .with_offset(self.offset),
            )),
            _ => sink(GzipItem::Warning(
                Warning::new(
                    WarningCode::GzipTruncated,
                    format!(
                        "The file is truncated inside its compressed data, after {} bytes. The {inflated} bytes of \
                         content before the cut were read. The rest is lost.",
                        self.offset
                    ),
                )
                .with_remedy("Check that the capture had finished, and copy the file again.")
                .with_file(&self.path)
                .with_offset(self.offset),
            )),
        }
    }

    /// Reads one byte of a header, or one byte after the last member.
    fn header(&mut self, byte: u8) {
        match self.state {
            GzipState::Header => {
                // Skip padding to a block size, which tapes and some object stores add.
                if self.members > 0 && self.fixed.is_empty() && byte == 0 {
                    return;
                }
                self.fixed.push(byte);
                let known = [0x1f, 0x8b, 8];
                let wrong = self.fixed.iter().zip(known).any(|(&found, expected)| found != expected)
                    || self.fixed.get(3).is_some_and(|flags| flags & RESERVED_FLAGS != 0);
                if wrong {
                    let count = self.fixed.len() as u64;
                    self.foreign = (self.offset + 1 - count, count);
                    self.state = GzipState::Foreign;
                } else if self.fixed.len() == 10 {
                    self.flags = self.fixed.get(3).copied().unwrap_or(0);
                    self.next_part(FLAG_EXTRA);
                }
            }
            GzipState::ExtraLength => {
                self.fixed.push(byte);
                if let [low, high] = self.fixed[..] {
                    match u16::from_le_bytes([low, high]) {
                        0 => self.next_part(FLAG_NAME),
                        left => self.state = GzipState::Extra { left },
                    }
                }
            }
            GzipState::Extra { left: 1 } => self.next_part(FLAG_NAME),
            GzipState::Extra { left } => self.state = GzipState::Extra { left: left.saturating_sub(1) },
            GzipState::Name if byte == 0 => self.next_part(FLAG_COMMENT),
            GzipState::Comment if byte == 0 => self.next_part(FLAG_HEADER_CRC),
            GzipState::HeaderCrc => {
                self.fixed.push(byte);
                if self.fixed.len() == 2 {
                    self.next_part(0);
                }
            }
            _ => {}
        }
    }

    /// Continues with the next part of the header that exists, starting at the part for `flag`. If no part is left,
    /// continues with the body.
    fn next_part(&mut self, flag: u8) {
        const PARTS: [(u8, GzipState); 4] = [
            (FLAG_EXTRA, GzipState::ExtraLength),
            (FLAG_NAME, GzipState::Name),
            (FLAG_COMMENT, GzipState::Comment),
            (FLAG_HEADER_CRC, GzipState::HeaderCrc),
        ];
        self.fixed.clear();
        self.state = PARTS
            .iter()
            .skip_while(|(part, _)| *part != flag)
            .find(|(part, _)| self.flags & part != 0)
            .map_or(GzipState::Body, |(_, state)| *state);
        if self.state == GzipState::Body {
            self.inflater.reset();
        }
    }

    /// Reads bytes of the deflate stream, and returns the number of bytes that belong to the stream.
    fn body(&mut self, chunk: &[u8], limit: &InflateLimit, sink: &mut dyn FnMut(GzipItem<'_>)) -> usize {
        let (used, outcome) = self.inflater.run(chunk, limit, &mut |block| sink(GzipItem::Data(block)));
        self.offset += used as u64;
        let inflated = self.inflated_bytes + self.inflater.inflated_bytes();
        match outcome {
            Outcome::NeedsInput => {}
            Outcome::Ended => self.state = GzipState::Trailer,
            Outcome::Corrupt => {
                self.state = GzipState::Stopped;
                sink(GzipItem::Warning(
                    Warning::new(
                        WarningCode::GzipCorrupt,
                        format!(
                            "The compressed data is damaged at byte {}. The {inflated} bytes of content before it were \
                             read (the last of them may be wrong). The rest is lost.",
                            self.offset
                        ),
                    )
                    .with_remedy("Copy the file again from where it was captured.")
                    .with_file(&self.path)
                    .with_offset(self.offset),
                ));
            }
            Outcome::OverLimit => {
                self.state = GzipState::Stopped;
                sink(GzipItem::Warning(over_limit(&self.path, self.offset, inflated)));
            }
        }
        used
    }

    /// Reads one byte of the trailer, which contains the checksum and the size. Checks the checksum and the size after
    /// the eighth byte.
    fn trailer(&mut self, byte: u8, sink: &mut dyn FnMut(GzipItem<'_>)) {
        self.fixed.push(byte);
        if let [c0, c1, c2, c3, s0, s1, s2, s3] = self.fixed[..] {
            let inflated = self.inflater.inflated_bytes();
            // The size is stored modulo 2^32.
            let agrees = u32::from_le_bytes([c0, c1, c2, c3]) == self.inflater.crc()
                && u32::from_le_bytes([s0, s1, s2, s3]) == inflated as u32;
            if !agrees {
                sink(GzipItem::Warning(
                    Warning::new(
                        WarningCode::GzipChecksum,
                        format!(
                            "The checksum of the compressed data is wrong: some of the {inflated} bytes of content are \
                             not as they were written. All of them were read."
                        ),
                    )
                    .with_remedy("Copy the file again from where it was captured.")
                    .with_file(&self.path)
                    .with_offset(self.offset + 1 - 8),
                ));
            }
            self.inflated_bytes += inflated;
            self.inflater.reset();
            self.members += 1;
            self.fixed.clear();
            self.state = GzipState::Header;
        }
    }

    fn foreign_bytes(&self, start: u64, count: u64) -> Warning {
        Warning::new(
            WarningCode::GzipTrailingBytes,
            format!("{count} bytes after the end of the compressed data were ignored."),
        )
        .with_remedy("The profile is complete, unless two files were concatenated by mistake.")
        .with_file(&self.path)
        .with_offset(start)
        .with_count(count)
    }
}

/// Builds the warning for a file that decompresses to more than the limit.
pub(crate) fn over_limit(path: &str, offset: u64, inflated_bytes: u64) -> Warning {
    Warning::new(
        WarningCode::InflateLimit,
        format!(
            "At byte {offset} the file has decompressed to {inflated_bytes} bytes, which exceeds \
             the limit ({}). The rest was not read.",
            InflateLimit::describe()
        ),
    )
    .with_remedy("If it is a real profile, decompress it first (gzip -d, unzip) and open the result.")
    .with_file(path)
    .with_offset(offset)
}

#[cfg(test)]
mod tests;
