//! The text of an out-of-memory error in a log of any length: what stands around the list of buffers is kept, the rest passes by.

use base::Error;
use memchr::memmem;

/// What the lists of buffers begin with: of GPUs and CPUs, and of TPUs.
const MARKS: [&[u8]; 2] = [b"Peak buffers:", b"Largest program allocations in "];
/// What each buffer of a list is introduced by.
const SIZE: &[u8] = b"Size: ";
/// Bytes before the first list that are kept: the error itself, and what the allocator reported of its use.
const BEFORE: usize = 64 << 10;
/// Bytes from there on that are kept: XLA lists some twenty buffers.
const MOST: usize = 16 << 20;

/// Reads a log.
#[derive(Debug, Default)]
pub(super) struct LogReader {
    kept: Vec<u8>,
    is_found: bool,
}

impl LogReader {
    /// Takes the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.is_found {
            let room = MOST.saturating_sub(self.kept.len()).min(bytes.len());
            self.kept.extend_from_slice(bytes.get(..room).unwrap_or_default());
            return;
        }
        // A mark can begin in the chunk before.
        let longest = MARKS.iter().map(|mark| mark.len()).max().unwrap_or(0);
        let from = self.kept.len().saturating_sub(longest);
        self.kept.extend_from_slice(bytes);
        let new = self.kept.get(from..).unwrap_or_default();
        let first = MARKS.iter().filter_map(|mark| memmem::find(new, mark)).min();
        // As much as if the mark stood at the end, so that what is kept does not depend on the chunks.
        let end = first.map_or(self.kept.len().saturating_sub(longest), |at| from + at);
        self.kept.drain(..end.saturating_sub(BEFORE));
        if first.is_some() {
            self.is_found = true;
            self.kept.truncate(MOST);
        }
    }

    /// The text around the first list.
    ///
    /// # Errors
    /// There is none, or it names no buffer.
    pub(super) fn finish(self) -> Result<String, Error> {
        if self.is_found && memmem::find(&self.kept, SIZE).is_some() {
            return Ok(String::from_utf8_lossy(&self.kept).into_owned());
        }
        if self.is_found {
            let remedy = "Give the log from the error on, to the end of the list.";
            return Err(Error::not_a_profile("a log whose list of buffers names none", remedy));
        }
        let remedy = "Drop a profile. A log is read where it holds the list of buffers that XLA writes when memory runs out \
                      (\"Peak buffers:\" or \"Largest program allocations in hbm:\").";
        Err(Error::not_a_profile("plain text", remedy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], chunk: usize) -> Result<String, Error> {
        let mut reader = LogReader::default();
        text.chunks(chunk).for_each(|chunk| reader.push(chunk));
        reader.finish()
    }

    #[test]
    fn what_is_kept_does_not_depend_on_chunks() {
        let text = [vec![b'a'; 3 * BEFORE], b"\nPeak buffers:\n Size: 1\n".to_vec(), vec![b'b'; 100]].concat();
        let whole = read(&text, text.len()).expect("a list");
        assert_eq!(whole.len(), BEFORE + text.len() - 3 * BEFORE - 1, "what stands before the list is bounded");
        for chunk in [1, 5, 4096, BEFORE] {
            assert!(read(&text, chunk).expect("a list") == whole, "chunks of {chunk}");
        }
        assert!(read(&vec![b'a'; 4 * BEFORE], 1000).is_err());
        let long = [b"Largest program allocations in hbm: Size: ".to_vec(), vec![b'c'; MOST]].concat();
        assert_eq!(read(&long, 1 << 20).expect("a list").len(), MOST);
    }
}
