//! Reads tar as a stream of 512-byte blocks. Supports ustar, and the long names and large sizes of pax and GNU tar.
//!
//! ```text
//!  | header | content, padded to 512 | header | ... | 0 | 0 |
//! ```
//!
//! Reads plain files. Skips folders, links and devices. Skips sparse files too, and warns about them. Ignores global
//! pax headers.

use super::{ArchiveItem, Gather};
use base::{Warning, WarningCode};

const BLOCK_BYTES: usize = 512;

/// Maximum size of a name or pax header in bytes. Longer names and headers are truncated.
const MAX_NAME_BYTES: usize = 1 << 20;

/// Returns true if `head` (at least 512 bytes) is a tar header with a correct checksum.
pub(crate) fn looks_like_tar(head: &[u8]) -> bool {
    head.get(..BLOCK_BYTES).is_some_and(|block| block.first() != Some(&0) && checksum_agrees(block))
}

/// Purpose of the current entry's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// Content of a file, which is passed to the caller.
    File,
    /// Ignored.
    Skip,
    /// Name of the next entry, ended by a zero byte (GNU).
    LongName,
    /// Records about the next entry (pax).
    Pax,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TarState {
    Header,
    Content { kind: Use, left: u64, padding: u64 },
    Padding { left: u64 },
    Done,
}

/// Reads a tar archive that is pushed in chunks.
#[derive(Debug)]
pub(crate) struct TarReader {
    path: String,
    state: TarState,
    gather: Gather,
    /// Name from a preceding GNU or pax entry, for the next header.
    next_name: Option<Vec<u8>>,
    next_size: Option<u64>,
    name: String,
    given_bytes: u64,
    pushed_bytes: u64,
    /// True after a block that is not a header, until the next valid header.
    lost: bool,
    zero_blocks: u8,
}

impl TarReader {
    /// Creates a reader. `path` is used in warnings only.
    pub(crate) fn new(path: &str) -> TarReader {
        TarReader {
            path: path.to_owned(),
            state: TarState::Header,
            gather: Gather::default(),
            next_name: None,
            next_size: None,
            name: String::new(),
            given_bytes: 0,
            pushed_bytes: 0,
            lost: false,
            zero_blocks: 0,
        }
    }

    /// Reads the next bytes of the archive.
    pub(crate) fn push(&mut self, mut chunk: &[u8], sink: &mut dyn FnMut(ArchiveItem<'_>)) {
        self.pushed_bytes += chunk.len() as u64;
        while !chunk.is_empty() {
            match self.state {
                TarState::Done => return,
                TarState::Header => {
                    if self.gather.fill(&mut chunk, BLOCK_BYTES) {
                        let block = std::mem::take(&mut self.gather.bytes);
                        self.header(&block, self.pushed_bytes - chunk.len() as u64, sink);
                    }
                }
                TarState::Content { kind, left, padding } => {
                    let length = usize::try_from(left).unwrap_or(usize::MAX).min(chunk.len());
                    let (content, rest) = chunk.split_at(length);
                    chunk = rest;
                    self.content(kind, content, sink);
                    let left = left - length as u64;
                    self.state = TarState::Content { kind, left, padding };
                    if left == 0 {
                        self.end_entry(kind, padding, sink);
                    }
                }
                TarState::Padding { left } => {
                    let length = usize::try_from(left).unwrap_or(usize::MAX).min(chunk.len());
                    chunk = chunk.get(length..).unwrap_or_default();
                    self.state = match left - length as u64 {
                        0 => TarState::Header,
                        left => TarState::Padding { left },
                    };
                }
            }
        }
    }

    /// Ends the archive and reports missing data.
    pub(crate) fn finish(self, sink: &mut dyn FnMut(ArchiveItem<'_>)) {
        match self.state {
            TarState::Content { kind: Use::File, .. } => {
                let message = format!(
                    "The archive is truncated inside its entry \"{}\". {} bytes of this entry were read. The rest and \
                     all later entries are lost.",
                    self.name, self.given_bytes
                );
                sink(ArchiveItem::Warning(self.damage(WarningCode::ArchiveTruncated, message, self.pushed_bytes)));
                sink(ArchiveItem::End);
            }
            TarState::Done => {}
            // One of the two empty blocks is enough to show that nothing follows.
            TarState::Header if self.gather.bytes.is_empty() && self.zero_blocks > 0 => {}
            // Only a few writers omit the end marker, so the archive was probably cut between two entries.
            TarState::Padding { .. } | TarState::Header if self.gather.bytes.is_empty() => {
                let message = "The archive has no end marker. It may be truncated, and later entries may be missing.";
                let warning = Warning::new(WarningCode::ArchiveEndMissing, message)
                    .with_remedy("Compare its size with the original's, and copy or download it again if they differ.")
                    .with_file(&self.path)
                    .with_offset(self.pushed_bytes);
                sink(ArchiveItem::Warning(warning));
            }
            _ => {
                let message = "The archive is truncated. Entries may be lost.".to_owned();
                sink(ArchiveItem::Warning(self.damage(WarningCode::ArchiveTruncated, message, self.pushed_bytes)));
            }
        }
    }

    fn header(&mut self, block: &[u8], end: u64, sink: &mut dyn FnMut(ArchiveItem<'_>)) {
        if block.iter().all(|byte| *byte == 0) {
            self.zero_blocks += 1;
            if self.zero_blocks == 2 {
                self.state = TarState::Done;
            }
            return;
        }
        self.zero_blocks = 0;
        let size = number(field(block, 124, 12)).filter(|_| checksum_agrees(block));
        let Some(size) = size else {
            if !self.lost {
                self.lost = true;
                let at = end - BLOCK_BYTES as u64;
                let message = format!(
                    "The archive has no entry at byte {at}, where one should start. Reading continued at the next entry."
                );
                sink(ArchiveItem::Warning(self.damage(WarningCode::ArchiveCorrupt, message, at)));
            }
            return;
        };
        self.lost = false;
        let kind = match field(block, 156, 1) {
            [b'0' | 0 | b'7'] => Use::File,
            [b'L'] => Use::LongName,
            [b'x'] => Use::Pax,
            _ => Use::Skip,
        };
        let mut size = size;
        if matches!(kind, Use::File | Use::Skip) {
            // Global pax headers and long link names can come between a long name and its entry.
            if !matches!(field(block, 156, 1), [b'g' | b'K']) {
                size = self.next_size.take().unwrap_or(size);
                self.name = self.entry_name(block);
            }
        }
        self.given_bytes = 0;
        if field(block, 156, 1) == b"S" {
            let message = format!("The entry \"{}\" is a sparse file and was not read.", self.name);
            let warning = self.damage(WarningCode::ArchiveUnsupported, message, end);
            sink(ArchiveItem::Warning(warning.with_remedy("Pack it again without --sparse.")));
        }
        // Old tar archives mark folders only with a slash at the end of the name.
        let kind = if kind == Use::File && self.name.ends_with('/') { Use::Skip } else { kind };
        if kind == Use::File {
            sink(ArchiveItem::Begin { name: &self.name, size: Some(size) });
        }
        let padding = (BLOCK_BYTES as u64 - size % BLOCK_BYTES as u64) % BLOCK_BYTES as u64;
        match size {
            0 => self.end_entry(kind, 0, sink),
            left => self.state = TarState::Content { kind, left, padding },
        }
    }

    /// Returns the entry's name from preceding entries, or else from the two name fields of its header.
    fn entry_name(&mut self, block: &[u8]) -> String {
        if let Some(name) = self.next_name.take() {
            return String::from_utf8_lossy(text(&name)).into_owned();
        }
        let name = String::from_utf8_lossy(text(field(block, 0, 100)));
        let prefix = text(field(block, 345, 155));
        if field(block, 257, 6) == b"ustar\0" && !prefix.is_empty() {
            format!("{}/{name}", String::from_utf8_lossy(prefix))
        } else {
            name.into_owned()
        }
    }

    fn content(&mut self, kind: Use, content: &[u8], sink: &mut dyn FnMut(ArchiveItem<'_>)) {
        match kind {
            Use::File => {
                self.given_bytes += content.len() as u64;
                sink(ArchiveItem::Data(content));
            }
            Use::Skip => {}
            Use::LongName | Use::Pax => {
                let room = MAX_NAME_BYTES.saturating_sub(self.gather.bytes.len());
                self.gather.bytes.extend(content.iter().take(room));
            }
        }
    }

    fn end_entry(&mut self, kind: Use, padding: u64, sink: &mut dyn FnMut(ArchiveItem<'_>)) {
        let gathered = std::mem::take(&mut self.gather.bytes);
        match kind {
            Use::File => sink(ArchiveItem::End),
            Use::Skip => {}
            Use::LongName => self.next_name = Some(gathered),
            Use::Pax => {
                for (key, value) in pax_records(&gathered) {
                    match key {
                        b"path" => self.next_name = Some(value.to_vec()),
                        b"size" => self.next_size = digits(value, 10),
                        _ => {}
                    }
                }
            }
        }
        self.state = match padding {
            0 => TarState::Header,
            left => TarState::Padding { left },
        };
    }

    fn damage(&self, code: WarningCode, message: String, offset: u64) -> Warning {
        Warning::new(code, message)
            .with_remedy("Copy or download the archive again.")
            .with_file(&self.path)
            .with_offset(offset)
    }
}

/// Returns a part of a header, or an empty slice if the header is too short.
fn field(block: &[u8], at: usize, length: usize) -> &[u8] {
    block.get(at..at + length).unwrap_or_default()
}

/// Returns the bytes before the first zero.
fn text(field: &[u8]) -> &[u8] {
    field.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Parses a number in a header. It has octal digits, or is binary if the top bit is set (GNU, for 8 GiB and more).
fn number(field: &[u8]) -> Option<u64> {
    match field.split_first()? {
        (0x80, binary) => {
            binary.iter().try_fold(0u64, |number, byte| number.checked_mul(256).map(|n| n | u64::from(*byte)))
        }
        _ => {
            let trimmed = text(field).trim_ascii();
            if trimmed.is_empty() { Some(0) } else { digits(trimmed, 8) }
        }
    }
}

fn digits(text: &[u8], radix: u32) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(text).ok()?, radix).ok()
}

/// Compares the sum of the header's bytes with the header's checksum, an octal number. The sum treats the checksum's
/// own bytes as spaces.
fn checksum_agrees(block: &[u8]) -> bool {
    let sum: u64 =
        block.iter().enumerate().map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u64::from(*byte) }).sum();
    number(field(block, 148, 8)) == Some(sum)
}

/// Parses records of the form `LENGTH KEY=VALUE\n`, where the length covers the whole record. Stops at a malformed
/// record.
fn pax_records(mut records: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut found = Vec::new();
    while let Some(space) = memchr::memchr(b' ', records) {
        let length = digits(records.get(..space).unwrap_or_default(), 10).and_then(|n| usize::try_from(n).ok());
        let Some((record, rest)) = length.and_then(|length| records.split_at_checked(length)) else { break };
        let Some(body) = record.get(space + 1..record.len().saturating_sub(1)) else { break };
        if let Some(equals) = memchr::memchr(b'=', body) {
            found.push((body.get(..equals).unwrap_or_default(), body.get(equals + 1..).unwrap_or_default()));
        }
        if length == Some(0) {
            break;
        }
        records = rest;
    }
    found
}
