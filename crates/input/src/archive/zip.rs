//! Reads zip as a stream, entry by entry from the local headers. The directory at the end of the archive is not used,
//! because it arrives last in a stream.
//!
//! ```text
//!  | PK34 header, name, extra | content | (PK78 sizes) | PK34 ... | content | PK12 directory ... | PK56 end |
//! ```
//!
//! Reads stored and deflated entries, with sizes before or after the content, and 64-bit sizes. Warns about entries
//! that are encrypted or use another compression method, and skips them. In a stream, stored content is unreadable
//! unless its size precedes it.

use super::{ArchiveItem, Gather, little_endian};
use crate::gzip::over_limit;
use crate::inflate::{InflateLimit, Inflater, Outcome};
use base::{Warning, WarningCode};

const LOCAL_HEADER: [u8; 4] = *b"PK\x03\x04";
const DIRECTORY: [u8; 4] = *b"PK\x01\x02";
const DIRECTORY_END: [u8; 4] = *b"PK\x05\x06";
const DIRECTORY_END_64: [u8; 4] = *b"PK\x06\x06";
const DESCRIPTOR: [u8; 4] = *b"PK\x07\x08";

const HEADER_BYTES: usize = 30;
const FLAG_ENCRYPTED: u64 = 1;
const FLAG_SIZES_BEHIND: u64 = 8;
const METHOD_STORED: u64 = 0;
const METHOD_DEFLATE: u64 = 8;

/// Returns true if `head` starts a zip archive. Includes empty and split archives.
pub(crate) fn looks_like_zip(head: &[u8]) -> bool {
    [LOCAL_HEADER, DIRECTORY_END, DESCRIPTOR].iter().any(|signature| head.starts_with(signature))
}

/// The structure that comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ZipState {
    /// A signature.
    Signature,
    /// The next signature, at any later position. Bytes before the signature are skipped.
    Search,
    /// The fixed part of a local header.
    Header,
    /// Name and extra field of the entry.
    Names { name: usize, extra: usize },
    /// Stored content, which is passed on unchanged.
    Stored { left: u64 },
    /// Compressed content, with its remaining stored size if known.
    Deflated { left: Option<u64> },
    /// Checksum and sizes after the content.
    Descriptor,
    /// Unreadable content of an entry.
    Skip { left: u64 },
    /// The directory has begun, or the size limit was reached.
    Done,
}

/// The current entry.
#[derive(Debug, Default)]
struct Entry {
    name: String,
    /// Checksum and size from the entry's header. `None` if checksum and size follow the content.
    expected: Option<(u32, u64)>,
    crc: flate2::Crc,
    /// Number of decompressed bytes passed to the caller so far.
    given_bytes: u64,
    /// Number of bytes of the entry read from the archive so far.
    stored_bytes: u64,
    /// Position of the entry's content in the archive, in bytes.
    offset: u64,
    /// True if the entry has a field for 64-bit sizes.
    wide: bool,
}

/// Reads a zip archive that is pushed in chunks.
#[derive(Debug)]
pub(crate) struct ZipReader {
    path: String,
    state: ZipState,
    gather: Gather,
    inflater: Inflater,
    entry: Entry,
    /// Fields from the fixed part of a local header: flags, method, checksum, stored size, size.
    header: [u64; 5],
    pushed_bytes: u64,
}

impl ZipReader {
    /// Creates a reader. `path` is used in warnings only.
    pub(crate) fn new(path: &str) -> ZipReader {
        ZipReader {
            path: path.to_owned(),
            state: ZipState::Signature,
            gather: Gather::default(),
            inflater: Inflater::new(),
            entry: Entry::default(),
            header: [0; 5],
            pushed_bytes: 0,
        }
    }

    /// Reads the next bytes of the archive.
    pub(crate) fn push(&mut self, mut chunk: &[u8], limit: &InflateLimit, sink: &mut dyn FnMut(ArchiveItem<'_>)) {
        self.pushed_bytes += chunk.len() as u64;
        while !chunk.is_empty() && self.state != ZipState::Done {
            self.step(&mut chunk, limit, sink);
        }
    }

    /// Ends the archive and reports missing data.
    pub(crate) fn finish(mut self, sink: &mut dyn FnMut(ArchiveItem<'_>)) {
        match self.state {
            ZipState::Done => return,
            ZipState::Stored { .. } | ZipState::Deflated { .. } => {
                let entry = &mut self.entry;
                self.inflater.flush(&mut |block| {
                    entry.given_bytes += block.len() as u64;
                    sink(ArchiveItem::Data(block));
                });
                let message = format!(
                    "The archive is truncated inside its entry \"{}\". {} bytes of this entry were read. The rest and \
                     all later entries are lost.",
                    self.entry.name, self.entry.given_bytes
                );
                sink(ArchiveItem::Warning(self.damage(WarningCode::ArchiveTruncated, message, self.pushed_bytes)));
                sink(ArchiveItem::End);
                return;
            }
            ZipState::Descriptor => self.end_entry(None, sink),
            _ => {}
        }
        let message = "The archive is truncated: its directory is missing. Entries may be lost.".to_owned();
        sink(ArchiveItem::Warning(self.damage(WarningCode::ArchiveTruncated, message, self.pushed_bytes)));
    }

    fn step(&mut self, chunk: &mut &[u8], limit: &InflateLimit, sink: &mut dyn FnMut(ArchiveItem<'_>)) {
        match self.state {
            ZipState::Signature => self.signature(chunk, sink),
            ZipState::Search => self.search(chunk),
            ZipState::Header => {
                if self.gather.fill(chunk, HEADER_BYTES) {
                    self.fixed_header();
                }
            }
            ZipState::Names { name, extra } => {
                if self.gather.fill(chunk, name + extra) {
                    self.names(name, self.offset(chunk), sink);
                }
            }
            ZipState::Stored { left } => {
                let content = take(chunk, left);
                self.entry.crc.update(content);
                self.entry.given_bytes += content.len() as u64;
                self.entry.stored_bytes += content.len() as u64;
                sink(ArchiveItem::Data(content));
                let left = left - content.len() as u64;
                self.state = ZipState::Stored { left };
                if left == 0 {
                    let expected = self.entry.expected;
                    self.end_entry(expected, sink);
                }
            }
            ZipState::Deflated { left } => self.deflated(chunk, left, limit, sink),
            ZipState::Descriptor => self.descriptor(chunk, sink),
            ZipState::Skip { left } => {
                let skipped = take(chunk, left).len() as u64;
                self.state = match left - skipped {
                    0 => ZipState::Signature,
                    left => ZipState::Skip { left },
                };
            }
            ZipState::Done => *chunk = &[],
        }
    }

    /// Returns the position of `rest`, the unread end of the chunk, in the archive.
    fn offset(&self, rest: &[u8]) -> u64 {
        self.pushed_bytes - rest.len() as u64
    }

    fn signature(&mut self, chunk: &mut &[u8], sink: &mut dyn FnMut(ArchiveItem<'_>)) {
        if !self.gather.fill(chunk, 4) {
            return;
        }
        match <[u8; 4]>::try_from(self.gather.bytes.as_slice()) {
            Ok(LOCAL_HEADER) => self.state = ZipState::Header,
            Ok(DIRECTORY | DIRECTORY_END | DIRECTORY_END_64) => self.state = ZipState::Done,
            // Marker of a split archive that was joined again.
            Ok(DESCRIPTOR) if self.offset(chunk) == 4 => self.gather.bytes.clear(),
            _ => {
                let at = self.offset(chunk) - 4;
                let message = format!(
                    "The archive has no entry at byte {at}, where one should start. Reading continued at the next entry."
                );
                sink(ArchiveItem::Warning(self.damage(WarningCode::ArchiveCorrupt, message, at)));
                self.state = ZipState::Search;
            }
        }
    }

    /// Skips bytes up to the next signature.
    fn search(&mut self, chunk: &mut &[u8]) {
        while self.gather.fill(chunk, 4) {
            match <[u8; 4]>::try_from(self.gather.bytes.as_slice()) {
                Ok(LOCAL_HEADER) => {
                    self.state = ZipState::Header;
                    return;
                }
                Ok(DIRECTORY | DIRECTORY_END) => {
                    self.state = ZipState::Done;
                    return;
                }
                _ => {
                    // The next signature starts with a P, so skip everything before it.
                    let next = self.gather.bytes.iter().skip(1).position(|byte| *byte == b'P').map_or(4, |at| at + 1);
                    self.gather.bytes.drain(..next);
                    if self.gather.bytes.is_empty() {
                        let skip = memchr::memchr(b'P', chunk).unwrap_or(chunk.len());
                        *chunk = chunk.get(skip..).unwrap_or_default();
                    }
                }
            }
        }
    }

    fn fixed_header(&mut self) {
        let fields = &self.gather;
        self.header = [
            fields.little_endian::<2>(6),
            fields.little_endian::<2>(8),
            fields.little_endian::<4>(14),
            fields.little_endian::<4>(18),
            fields.little_endian::<4>(22),
        ];
        let (name, extra) = (fields.little_endian::<2>(26), fields.little_endian::<2>(28));
        self.state = ZipState::Names { name: name as usize, extra: extra as usize };
        self.gather.bytes.clear();
    }

    /// Chooses how to read the entry's content once the whole local header is available.
    fn names(&mut self, name_bytes: usize, header_end: u64, sink: &mut dyn FnMut(ArchiveItem<'_>)) {
        let (name, extra) = self.gather.bytes.split_at(name_bytes.min(self.gather.bytes.len()));
        let name = String::from_utf8_lossy(name).into_owned();
        let [flags, method, crc, mut stored, mut size] = self.header;
        let wide = zip64_sizes(extra, size == WIDE, stored == WIDE);
        self.gather.bytes.clear();
        self.inflater.reset();
        if size == WIDE {
            size = wide.and_then(|wide| wide.0).unwrap_or(size);
        }
        if stored == WIDE {
            stored = wide.and_then(|wide| wide.1).unwrap_or(stored);
        }
        let sizes_behind = flags & FLAG_SIZES_BEHIND != 0;
        self.entry = Entry {
            name,
            expected: (!sizes_behind).then_some((crc as u32, size)),
            offset: header_end,
            wide: wide.is_some(),
            ..Entry::default()
        };
        let unreadable = if flags & FLAG_ENCRYPTED != 0 {
            Some((WarningCode::ArchiveEncrypted, "is encrypted".to_owned()))
        } else if method == METHOD_STORED && sizes_behind && stored == 0 && !self.entry.name.ends_with('/') {
            Some((WarningCode::ArchiveUnsupported, "is stored without its size before the content".to_owned()))
        } else if method != METHOD_STORED && method != METHOD_DEFLATE {
            Some((WarningCode::ArchiveUnsupported, format!("is compressed by {}", method_name(method))))
        } else {
            None
        };
        if let Some((code, why)) = unreadable {
            let message = format!("The entry \"{}\" {why} and was not read.", self.entry.name);
            let warning = self.damage(code, message, header_end);
            let remedy =
                "Unpack the archive and open the files, or pack it again without encryption and with plain deflate.";
            sink(ArchiveItem::Warning(warning.with_remedy(remedy)));
            self.state = match stored {
                0 => ZipState::Search,
                left => ZipState::Skip { left },
            };
            return;
        }
        // Skip folders, and the extra files that macOS adds next to each file.
        if self.entry.name.ends_with('/') || self.entry.name.starts_with("__MACOSX/") {
            self.state = match (stored, sizes_behind) {
                (0, true) => ZipState::Search,
                (0, false) => ZipState::Signature,
                (left, _) => ZipState::Skip { left },
            };
            return;
        }
        sink(ArchiveItem::Begin { name: &self.entry.name, size: (!sizes_behind).then_some(size) });
        if method == METHOD_DEFLATE {
            self.state = ZipState::Deflated { left: (!sizes_behind).then_some(stored) };
        } else if stored == 0 {
            let expected = self.entry.expected;
            self.end_entry(expected, sink);
        } else {
            self.state = ZipState::Stored { left: stored };
        }
    }

    fn deflated(
        &mut self,
        chunk: &mut &[u8],
        left: Option<u64>,
        limit: &InflateLimit,
        sink: &mut dyn FnMut(ArchiveItem<'_>),
    ) {
        let available = take(&mut &**chunk, left.unwrap_or(u64::MAX));
        let given = &mut self.entry.given_bytes;
        let (used, outcome) = self.inflater.run(available, limit, &mut |block| {
            *given += block.len() as u64;
            sink(ArchiveItem::Data(block));
        });
        *chunk = chunk.get(used..).unwrap_or_default();
        self.entry.stored_bytes += used as u64;
        let left = left.map(|left| left.saturating_sub(used as u64));
        let at = self.offset(chunk);
        match outcome {
            Outcome::NeedsInput if left != Some(0) => self.state = ZipState::Deflated { left },
            Outcome::Ended if left.is_none() => {
                self.gather.bytes.clear();
                self.state = ZipState::Descriptor;
            }
            Outcome::Ended => {
                let expected = self.entry.expected;
                self.end_entry(expected, sink);
                self.pass_over(left.filter(|left| *left > 0));
            }
            Outcome::OverLimit => {
                let path = format!("{}/{}", self.path, self.entry.name);
                sink(ArchiveItem::Warning(over_limit(&path, self.entry.stored_bytes, self.entry.given_bytes)));
                sink(ArchiveItem::End);
                self.state = ZipState::Done;
            }
            // The entry's bytes end before its compressed stream does, or the stream is corrupt.
            Outcome::NeedsInput | Outcome::Corrupt => {
                let entry = &mut self.entry;
                self.inflater.flush(&mut |block| {
                    entry.given_bytes += block.len() as u64;
                    sink(ArchiveItem::Data(block));
                });
                let message = format!(
                    "The entry \"{}\" is damaged at byte {at} of the archive. The {} bytes of content before it were read. \
                     The rest of the entry is lost.",
                    self.entry.name, self.entry.given_bytes
                );
                sink(ArchiveItem::Warning(self.damage(WarningCode::ArchiveCorrupt, message, at)));
                sink(ArchiveItem::End);
                self.state = ZipState::Search;
                self.pass_over(left);
            }
        }
    }

    /// Skips the rest of an entry whose length is known.
    fn pass_over(&mut self, left: Option<u64>) {
        match left {
            Some(0) => self.state = ZipState::Signature,
            Some(left) => self.state = ZipState::Skip { left },
            None => {}
        }
        self.gather.bytes.clear();
    }

    /// Reads the checksum and sizes after the content. The signature before these fields is optional, and sizes have 4
    /// or 8 bytes. Chooses the layout that agrees with the content.
    fn descriptor(&mut self, chunk: &mut &[u8], sink: &mut dyn FnMut(ArchiveItem<'_>)) {
        if !self.gather.fill(chunk, 4) {
            return;
        }
        let start = if self.gather.bytes.starts_with(&DESCRIPTOR) { 4 } else { 0 };
        if !self.gather.fill(chunk, start + 12) {
            return;
        }
        let crc = self.gather.little_endian::<4>(start) as u32;
        let stored = self.gather.little_endian::<4>(start + 4);
        let size = self.gather.little_endian::<4>(start + 8);
        let narrow = stored == self.entry.stored_bytes & 0xffff_ffff && size == self.entry.given_bytes & 0xffff_ffff;
        // For an empty entry, the low half of a wide size looks like a narrow one.
        if narrow && !(self.entry.wide && size == 0) {
            self.end_entry(Some((crc, size)), sink);
        } else if self.gather.fill(chunk, start + 20) {
            let size = self.gather.little_endian::<8>(start + 12);
            self.end_entry(Some((crc, size)), sink);
        }
    }

    /// Compares the content with its checksum and size, and continues with the next entry.
    fn end_entry(&mut self, expected: Option<(u32, u64)>, sink: &mut dyn FnMut(ArchiveItem<'_>)) {
        let crc = if self.inflater.inflated_bytes() > 0 { self.inflater.crc() } else { self.entry.crc.sum() };
        if let Some((expected_crc, size)) = expected
            && (expected_crc != crc || size & 0xffff_ffff != self.entry.given_bytes & 0xffff_ffff)
        {
            let message = format!(
                "The checksum of the entry \"{}\" is wrong: some of its {} bytes differ from the original. All of them \
                 were read.",
                self.entry.name, self.entry.given_bytes
            );
            sink(ArchiveItem::Warning(self.damage(WarningCode::ArchiveChecksum, message, self.entry.offset)));
        }
        sink(ArchiveItem::End);
        self.gather.bytes.clear();
        self.state = ZipState::Signature;
    }

    fn damage(&self, code: WarningCode, message: String, offset: u64) -> Warning {
        Warning::new(code, message)
            .with_remedy("Copy or download the archive again.")
            .with_file(&self.path)
            .with_offset(offset)
    }
}

/// A 32-bit size with this value means that the size is in the extra field.
const WIDE: u64 = 0xffff_ffff;

/// Returns the size and the stored size from the extra field for 64-bit sizes, if the entry has this field. The extra
/// field contains only sizes that do not fit in the header.
fn zip64_sizes(mut extra: &[u8], size: bool, stored: bool) -> Option<(Option<u64>, Option<u64>)> {
    while let [id0, id1, len0, len1, rest @ ..] = extra {
        let length = usize::from(u16::from_le_bytes([*len0, *len1])).min(rest.len());
        let (field, next) = rest.split_at(length);
        if u16::from_le_bytes([*id0, *id1]) == 1 {
            let mut numbers = field.chunks_exact(8).map(little_endian);
            return Some((size.then(|| numbers.next()).flatten(), stored.then(|| numbers.next()).flatten()));
        }
        extra = next;
    }
    None
}

/// Takes up to `most` bytes from the front of `chunk`.
fn take<'a>(chunk: &mut &'a [u8], most: u64) -> &'a [u8] {
    let length = usize::try_from(most).unwrap_or(usize::MAX).min(chunk.len());
    let (taken, rest) = chunk.split_at(length);
    *chunk = rest;
    taken
}

/// Returns the name of a compression method.
fn method_name(method: u64) -> String {
    match method {
        9 => "Deflate64".to_owned(),
        12 => "bzip2".to_owned(),
        14 => "LZMA".to_owned(),
        93 => "Zstandard".to_owned(),
        95 => "xz".to_owned(),
        99 => "AES encryption".to_owned(),
        other => format!("method {other}"),
    }
}
