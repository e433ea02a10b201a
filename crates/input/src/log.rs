//! Extracts out-of-memory errors from a log of any length. Keeps each error with the surrounding lines, and drops all
//! other lines.

use base::{Error, out_of_memory};
use memchr::memmem;

/// Number of bytes to keep before an error. These bytes contain the allocator's report of its memory use.
const BEFORE: usize = 64 << 10;
/// Number of bytes to keep after the last line of an error. XLA writes totals and a list of buffers there.
const AFTER: usize = 128 << 10;
/// Text that precedes the size of each buffer in XLA's list of buffers.
const SIZE: &[u8] = b"Size: ";
/// Maximum number of bytes to keep of a log.
const MOST: usize = 16 << 20;
/// Number of bytes to search at once.
const BLOCK: usize = 64 << 10;
/// Maximum length of a line in bytes. Longer lines are split, because a log that is one line of JSON has no line
/// breaks.
const LONGEST_LINE: usize = 1 << 20;

/// Reads a log.
#[derive(Debug, Default)]
pub(super) struct LogReader {
    /// The errors found so far, each with the surrounding lines.
    kept: Vec<u8>,
    /// The last bytes before the current line.
    passed: Vec<u8>,
    /// The start of the current line.
    line: Vec<u8>,
    /// Number of bytes after the last error that must still be kept.
    after: usize,
}

impl LogReader {
    /// Reads the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() && self.kept.len() < MOST {
            if let Some((lines, behind)) = self.without_error(rest) {
                self.pass(lines);
                rest = behind;
                continue;
            }
            let room = LONGEST_LINE.saturating_sub(self.line.len()).max(1).min(rest.len());
            let end = rest.get(..room).and_then(|piece| memchr::memchr(b'\n', piece)).map_or(room, |at| at + 1);
            let (piece, behind) = rest.split_at_checked(end).unwrap_or((rest, &[]));
            self.line.extend_from_slice(piece);
            rest = behind;
            if piece.ends_with(b"\n") || self.line.len() >= LONGEST_LINE {
                self.end_line();
            }
        }
    }

    /// Splits off the complete lines at the start of `bytes` if they contain no error, so that most of a log is not
    /// examined line by line.
    fn without_error<'b>(&self, bytes: &'b [u8]) -> Option<(&'b [u8], &'b [u8])> {
        if self.after > 0 || !self.line.is_empty() {
            return None;
        }
        let block = bytes.get(..BLOCK).unwrap_or(bytes);
        let (lines, behind) = bytes.split_at_checked(memchr::memrchr(b'\n', block)? + 1)?;
        (!out_of_memory::is_said(lines)).then_some((lines, behind))
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let is_error = out_of_memory::is_said(&line);
        if is_error {
            self.kept.extend_from_slice(last(&self.passed));
            self.passed.clear();
        }
        if is_error || (self.after > 0 && memmem::find(&line, SIZE).is_some()) {
            self.after = AFTER;
        } else if self.after == 0 {
            self.pass(&line);
            return;
        } else {
            self.after = self.after.saturating_sub(line.len());
        }
        self.kept.extend_from_slice(&line);
    }

    /// Remembers the last bytes of `lines`, because an error may follow.
    fn pass(&mut self, lines: &[u8]) {
        let lines = last(lines);
        let room = BEFORE - lines.len();
        self.passed.drain(..self.passed.len().saturating_sub(room));
        self.passed.extend_from_slice(lines);
    }

    /// Returns all errors with the surrounding lines.
    ///
    /// # Errors
    /// Returns [`Error::NotAProfile`] if the log contains no out-of-memory error.
    pub(super) fn finish(mut self) -> Result<String, Error> {
        self.end_line();
        if !self.kept.is_empty() {
            self.kept.truncate(MOST);
            return Ok(String::from_utf8_lossy(&self.kept).into_owned());
        }
        let remedy = "Open a profile. In a log, crossprof reads only the error that a runtime writes when memory runs out \
                      (\"RESOURCE_EXHAUSTED\", \"out of memory\").";
        Err(Error::not_a_profile("plain text", remedy))
    }
}

/// Returns the last [`BEFORE`] bytes.
fn last(bytes: &[u8]) -> &[u8] {
    bytes.get(bytes.len().saturating_sub(BEFORE)..).unwrap_or_default()
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
    fn the_kept_text_does_not_depend_on_chunks() {
        let line = b"step 1 loss 3.2\n";
        let error = b"RESOURCE_EXHAUSTED: Attempting to allocate 1.00G.\n";
        let text = [line.repeat(3 * BEFORE / line.len()), error.to_vec(), line.repeat(AFTER), error.to_vec()].concat();
        let whole = read(&text, text.len()).expect("an error");
        assert_eq!(whole.matches("RESOURCE").count(), 2, "errors far from each other");
        assert!((2 * BEFORE + AFTER..2 * BEFORE + AFTER + 200).contains(&whole.len()), "{}", whole.len());
        for chunk in [7, 4096, BEFORE] {
            assert!(read(&text, chunk).expect("an error") == whole, "chunks of {chunk}");
        }
        assert!(read(&line.repeat(BEFORE), 1000).is_err());
    }

    #[test]
    fn long_lists_and_long_lines_are_kept_to_a_limit() {
        let list = [b"Peak buffers:\n".to_vec(), b" Size: 1.00MiB\n Shape: f32[1]\n".repeat(AFTER / 8)].concat();
        assert_eq!(read(&list, 1 << 20).expect("a list").len(), list.len());
        let long = [b"Peak buffers: Size: ".to_vec(), vec![b'c'; MOST + 5]].concat();
        assert!(read(&long, 1 << 20).expect("a list").len() <= MOST);
        let inside = [vec![b' '; 100_000], b"{\"log\":\"RESOURCE_EXHAUSTED: x\"}".to_vec()].concat();
        assert_eq!(read(&inside, 1000).expect("an error").len(), inside.len());
    }
}
