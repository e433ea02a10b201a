//! Decompresses raw deflate streams block by block, for gzip members and zip entries.
//!
//! The output comes in blocks of [`BLOCK_BYTES`], so that a block is still in the processor's cache when the checksum
//! and the scanner read it. The code for each container format reads headers, trailers and everything else between the
//! streams.

use std::cell::Cell;

use flate2::{Crc, Decompress, FlushDecompress, Status};

/// Size of the output blocks in bytes.
pub(crate) const BLOCK_BYTES: usize = 256 * 1024;

/// Maximum decompressed size of one file in bytes.
const MAX_INFLATED_BYTES: u64 = 64 << 30;

/// Decompressed size in bytes up to which any compression ratio is allowed.
const UNSUSPICIOUS_BYTES: u64 = 1 << 30;

/// Maximum ratio of decompressed to stored bytes for files that decompress to more than [`UNSUSPICIOUS_BYTES`]. Traces
/// reach ratios of 10 to 30, and a trace in which one long name is repeated may reach 200. Deflate cannot exceed a
/// ratio of 1032.
const MAX_RATIO: u64 = 400;

/// Limits the decompressed size of a file, so that a malicious file cannot decompress without end. This struct counts
/// the stored and the decompressed bytes of the whole file. The layers of a file (such as a gzip file in a zip archive)
/// share one limit, so the counters are cells.
#[derive(Debug, Default)]
pub(crate) struct InflateLimit {
    stored_bytes: Cell<u64>,
    inflated_bytes: Cell<u64>,
}

impl InflateLimit {
    /// Adds to the number of stored bytes of the file.
    pub(crate) fn add_stored(&self, bytes: usize) {
        self.stored_bytes.set(self.stored_bytes.get().saturating_add(bytes as u64));
    }

    /// Counts decompressed bytes, and returns true if the limit allows them.
    pub(crate) fn allow(&self, inflated_bytes: usize) -> bool {
        let inflated = self.inflated_bytes.get().saturating_add(inflated_bytes as u64);
        self.inflated_bytes.set(inflated);
        inflated <= MAX_INFLATED_BYTES
            && (inflated <= UNSUSPICIOUS_BYTES || inflated / MAX_RATIO <= self.stored_bytes.get())
    }

    /// Returns a description of the limit.
    pub(crate) fn describe() -> &'static str {
        "64 GiB, or 400 times the size of the file but at least 1 GiB"
    }
}

/// Reason why the inflater stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All input is used, and the stream continues.
    NeedsInput,
    /// The stream ended. The remaining input does not belong to the stream.
    Ended,
    /// The compressed data is damaged.
    Corrupt,
    /// The [`InflateLimit`] was reached.
    OverLimit,
}

/// Decompresses a sequence of deflate streams, and computes the CRC-32 of each stream.
#[derive(Debug)]
pub(crate) struct Inflater {
    raw: Decompress,
    block: Vec<u8>,
    filled: usize,
    crc: Crc,
}

impl Default for Inflater {
    fn default() -> Inflater {
        Inflater::new()
    }
}

impl Inflater {
    pub(crate) fn new() -> Inflater {
        Inflater { raw: Decompress::new(false), block: vec![0; BLOCK_BYTES], filled: 0, crc: Crc::new() }
    }

    /// Prepares for the next stream. Drops decompressed data that was not flushed.
    pub(crate) fn reset(&mut self) {
        self.raw.reset(false);
        self.filled = 0;
        self.crc.reset();
    }

    /// Decompresses `input` until it is used up, the stream ends, or an error occurs. Returns the number of used bytes
    /// and the reason for stopping. Passes full blocks to `sink`. Passes the last, partial block only if the stream
    /// does not continue.
    pub(crate) fn run(&mut self, input: &[u8], limit: &InflateLimit, sink: &mut dyn FnMut(&[u8])) -> (usize, Outcome) {
        let mut used = 0;
        loop {
            let free = self.block.get_mut(self.filled..).unwrap_or_default();
            let room = free.len();
            let (in_before, out_before) = (self.raw.total_in(), self.raw.total_out());
            let status = self.raw.decompress(input.get(used..).unwrap_or_default(), free, FlushDecompress::None);
            let taken = (self.raw.total_in() - in_before) as usize;
            let made = (self.raw.total_out() - out_before) as usize;
            used += taken;
            self.filled += made;
            let outcome = if !limit.allow(made) {
                Outcome::OverLimit
            } else {
                match status {
                    Err(_) => Outcome::Corrupt,
                    Ok(Status::StreamEnd) => Outcome::Ended,
                    // The decoder can hold back output if there is no room, so ask again with an empty block.
                    Ok(_) if made == room => {
                        self.flush(sink);
                        continue;
                    }
                    Ok(_) if used < input.len() && taken + made > 0 => continue,
                    // The decoder neither reads nor writes although there are bytes and room, so it will never continue.
                    Ok(_) if used < input.len() => Outcome::Corrupt,
                    Ok(_) => Outcome::NeedsInput,
                }
            };
            if outcome != Outcome::NeedsInput {
                self.flush(sink);
            }
            return (used, outcome);
        }
    }

    /// Passes the decompressed bytes of the unfinished block to `sink`.
    pub(crate) fn flush(&mut self, sink: &mut dyn FnMut(&[u8])) {
        let ready = self.block.get(..self.filled).unwrap_or_default();
        self.filled = 0;
        if !ready.is_empty() {
            self.crc.update(ready);
            sink(ready);
        }
    }

    /// Returns the CRC-32 of all bytes that were passed on from the current stream so far.
    pub(crate) fn crc(&self) -> u32 {
        self.crc.sum()
    }

    /// Returns the number of bytes that were decompressed from the current stream so far.
    pub(crate) fn inflated_bytes(&self) -> u64 {
        self.raw.total_out()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_lets_large_traces_through_and_stops_bombs() {
        // A file of 5,000,000 events: 160 MB decompress to 2 GB.
        let limit = InflateLimit::default();
        limit.add_stored(160_000_000);
        assert!(limit.allow(2_000_000_000));
        // A file of zeros: 10 MB decompress to 10 GB.
        let limit = InflateLimit::default();
        limit.add_stored(10_000);
        assert!(limit.allow(1 << 30));
        assert!(!limit.allow(1 << 20));
        // A decompression bomb with a low ratio.
        let limit = InflateLimit::default();
        limit.add_stored(1 << 30);
        assert!(limit.allow(60 << 30));
        assert!(!limit.allow(5 << 30));
    }

    #[test]
    fn all_blocks_except_the_last_are_full() {
        let text: Vec<u8> = (0..700_000u32).map(|i| (i / 7 % 251) as u8).collect();
        let mut raw = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut raw, &text).expect("in memory");
        let stored = raw.finish().expect("in memory");
        let mut sizes = Vec::new();
        let mut seen = Vec::new();
        let mut inflater = Inflater::new();
        let (used, outcome) = inflater.run(&stored, &InflateLimit::default(), &mut |block| {
            sizes.push(block.len());
            seen.extend_from_slice(block);
        });
        assert_eq!((used, outcome), (stored.len(), Outcome::Ended));
        assert_eq!(sizes, [BLOCK_BYTES, BLOCK_BYTES, 700_000 - 2 * BLOCK_BYTES]);
        assert_eq!(seen, text);
    }
}
