//! Decodes Chrome trace JSON of JAX (`*.trace.json.gz`, `perfetto_trace.json.gz`), TensorFlow, PyTorch Kineto and other
//! writers into a [`Trace`]. Callers push the text in chunks of any size.
//!
//! ```text
//!  chunks --> mod (joins what chunks cut) --> scanner (shape) --> event + args (places) --> store (columns)
//!                                               lexer               memo (seen before?)     text, number, clock, pairs
//! ```
//!
//! Only the unfinished tail of a chunk is copied. Memory use depends on the events and their distinct strings, but not
//! on the size of the text.
//!
//! The decoder reads counters, instants, flows, and durations (`X`, `B`/`E`, `b`/`e`) with the arguments that metrics
//! use. The decoder also reads the names and the display order of processes and threads, and Kineto's data about
//! devices and the clock. The decoder ignores objects, samples, and all other arguments and keys. The JSON file next to
//! an xplane file is a lossy export of that file, so the xplane file is the better input.

mod args;
mod arguments;
mod byte_set;
mod bytes;
mod clock;
mod device_stats;
mod event;
mod finish;
mod id;
mod kineto;
mod legacy;
mod lexer;
mod losses;
mod mark_events;
mod marks;
mod memo;
mod metadata;
mod modules;
mod number;
mod outliers;
mod pairs;
mod scanner;
mod store;
#[cfg(test)]
mod tests;
mod text;
mod tf_timeline;
mod unescaped;
mod watched;

use crate::watch::Watch;
use base::Error;
use scanner::Scanner;
use trace::Trace;

/// Minimum number of bytes that must follow an unfinished tail before the tail is scanned again. This number doubles
/// after each scan, so that an event that arrives byte by byte is not scanned once per byte.
const STEP: usize = 256;

/// Decodes one file.
///
/// ```
/// use input::ChromeJsonDecoder;
///
/// let mut decoder = ChromeJsonDecoder::new("host.trace.json");
/// decoder.push(br#"{"traceEvents":[{"ph":"X","pid":1,"tid":2,"ts":1.5,"du"#)?;
/// decoder.push(br#"r":2.5,"name":"fusion.1"}]}"#)?;
/// let trace = decoder.finish()?;
/// assert_eq!(trace.events.iter().next().map(|event| event.duration.as_ps()), Some(2_500_000));
/// # Ok::<(), base::Error>(())
/// ```
#[derive(Debug)]
pub struct ChromeJsonDecoder {
    path: String,
    scanner: Scanner,
    /// Bytes of the last chunks that are not yet read, because they end inside a token.
    tail: Vec<u8>,
    /// Length that `tail` must reach before it is scanned again.
    look_at: usize,
    /// Number of bytes of the text before `tail`.
    done: u64,
}

impl ChromeJsonDecoder {
    /// Creates a decoder of the file `path`. Warnings contain this path.
    pub fn new(path: &str) -> ChromeJsonDecoder {
        ChromeJsonDecoder { path: path.to_owned(), scanner: Scanner::default(), tail: Vec::new(), look_at: 0, done: 0 }
    }

    /// Watches for events. The caller needs only the arguments of these events.
    pub(crate) fn watching(mut self, watch: Option<Watch>) -> ChromeJsonDecoder {
        self.scanner.store.watch(watch);
        self
    }

    /// Frees the memory of the events so far, and returns the number of watched events that are still missing.
    pub(crate) fn forget(&mut self) -> usize {
        self.scanner.store.forget()
    }

    /// Ends the file and returns the watch with the events found.
    pub(crate) fn finish_watch(mut self) -> Option<Watch> {
        self.scanner.is_last = true;
        // Text that is not a trace has no events.
        let _ = self.scan_tail();
        self.scanner.store.finish_watch()
    }

    /// Reads the next bytes of the decompressed text.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NotAProfile`] if the text is not a JSON object or array.
    pub fn push(&mut self, chunk: &[u8]) -> Result<(), Error> {
        let mut rest = chunk;
        while !self.tail.is_empty() && !rest.is_empty() {
            let wanted = self.look_at.saturating_sub(self.tail.len()).clamp(1, rest.len());
            let (more, after) = rest.split_at(wanted);
            self.tail.extend_from_slice(more);
            rest = after;
            if self.tail.len() < self.look_at {
                return Ok(());
            }
            self.scan_tail()?;
            // The rest came with this chunk: continue there without copying.
            let fresh = chunk.len() - rest.len();
            if self.tail.len() <= fresh {
                rest = chunk.get(fresh - self.tail.len()..).unwrap_or_default();
                self.tail.clear();
            }
        }
        if rest.is_empty() {
            return Ok(());
        }
        let used = self.scanner.scan(rest, self.done)?;
        self.done += used as u64;
        self.tail.extend_from_slice(rest.get(used..).unwrap_or_default());
        self.look_at = look_at(self.tail.len());
        Ok(())
    }

    /// Returns the number of events with a duration that were read so far.
    pub fn events(&self) -> u64 {
        self.scanner.store.trace.events.len() as u64
    }

    /// Returns the trace, whose warnings report lost data.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NotAProfile`] if the text contains no event list, and [`Error::Empty`] if there is no text.
    pub fn finish(mut self) -> Result<Trace, Error> {
        self.scanner.is_last = true;
        self.scan_tail()?;
        let length = self.done + self.tail.len() as u64;
        finish::finish(self.scanner, &self.path, self.done, length)
    }

    fn scan_tail(&mut self) -> Result<(), Error> {
        let used = self.scanner.scan(&self.tail, self.done)?;
        self.done += used as u64;
        self.tail.drain(..used);
        self.look_at = look_at(self.tail.len());
        Ok(())
    }
}

fn look_at(unfinished: usize) -> usize {
    unfinished.saturating_mul(2).saturating_add(STEP)
}
