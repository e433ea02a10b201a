//! Archives, read front to back without seeking: zip by its local headers, tar by its blocks.
//!
//! An entry's name is only ever a label: nothing is written anywhere, so `../` and absolute names are harmless. Folders,
//! links and devices are passed over; an entry that cannot be read becomes a warning and the next one is read.

pub mod tar;
pub mod zip;

use base::Warning;

/// What an archive holds, in its order.
#[derive(Debug)]
pub enum ArchiveItem<'a> {
    /// An entry starts.
    Begin {
        /// Name of the entry in the archive.
        name: &'a str,
        /// Size of the entry, where it stands before the content.
        size: Option<u64>,
    },
    /// The next bytes of the entry.
    Data(&'a [u8]),
    /// The entry is complete, or nothing more of it can be read.
    End,
    /// Something was wrong.
    Warning(Warning),
}

/// Collects bytes until there are enough of them for a fixed structure.
#[derive(Debug, Default)]
struct Gather {
    bytes: Vec<u8>,
}

impl Gather {
    /// Moves bytes from the front of `chunk` until `needed` are here; true once they are.
    fn fill(&mut self, chunk: &mut &[u8], needed: usize) -> bool {
        let missing = needed.saturating_sub(self.bytes.len()).min(chunk.len());
        let (taken, rest) = chunk.split_at(missing);
        self.bytes.extend_from_slice(taken);
        *chunk = rest;
        self.bytes.len() >= needed
    }

    /// The number at `at`, little-endian, of `N` bytes; 0 where it is not there.
    fn little_endian<const N: usize>(&self, at: usize) -> u64 {
        little_endian(self.bytes.get(at..at.saturating_add(N)).unwrap_or_default())
    }
}

/// The number in at most eight bytes, lowest first.
fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
