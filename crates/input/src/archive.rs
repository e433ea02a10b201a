//! Reads archives front to back without seeking: zip by its local headers, tar by its blocks.
//!
//! The name of an entry is only a label. Nothing is written to disk, so `../` and absolute names are harmless. Folders,
//! links and devices are skipped. An unreadable entry causes a warning, and reading continues at the next entry.

pub(crate) mod tar;
pub(crate) mod zip;

use base::Warning;

/// A part of an archive, passed to the caller in file order.
#[derive(Debug)]
pub(crate) enum ArchiveItem<'a> {
    /// An entry starts.
    Begin {
        /// Name of the entry in the archive.
        name: &'a str,
        /// Size of the entry in bytes, if it is stored before the content.
        size: Option<u64>,
    },
    /// The next bytes of the entry.
    Data(&'a [u8]),
    /// The entry is complete, or its remaining bytes are unreadable.
    End,
    /// A problem with the archive.
    Warning(Warning),
}

/// Collects bytes until a fixed-size structure is complete.
#[derive(Debug, Default)]
struct Gather {
    bytes: Vec<u8>,
}

impl Gather {
    /// Moves bytes from the front of `chunk` until `needed` bytes are complete, and returns true once they are.
    fn fill(&mut self, chunk: &mut &[u8], needed: usize) -> bool {
        let missing = needed.saturating_sub(self.bytes.len()).min(chunk.len());
        let (taken, rest) = chunk.split_at(missing);
        self.bytes.extend_from_slice(taken);
        *chunk = rest;
        self.bytes.len() >= needed
    }

    /// Returns the little-endian number of `N` bytes at `at`, or 0 if there are too few bytes.
    fn little_endian<const N: usize>(&self, at: usize) -> u64 {
        little_endian(self.bytes.get(at..at.saturating_add(N)).unwrap_or_default())
    }
}

/// Reads a little-endian number of at most eight bytes.
fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
