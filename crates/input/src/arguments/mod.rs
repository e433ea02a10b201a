//! A file once more, for everything that it says of a few of its events: what no number uses is not kept when a file is decoded.
//!
//! ```text
//!  bytes --> Unpacker --> the member's Decoder, which watches for the events --> name and value of each argument
//! ```
//!
//! The decoder is the one that has read the file before, so the n-th event is the same one, whatever became of its time since. Memory is
//! that of the largest plane that has to be buffered; events are given back as they come.

use super::decoder::Decoder;
use super::unpack::{Unpacked, Unpacker};
use super::watch::{EventArguments, Watch};
use super::xplane::Outline;

/// What is to be said where a file does not hold an event that it held.
pub const NOT_FOUND: &str =
    "The file no longer holds this event: it was changed since it was read, or its end is lost.";

/// Reads a file, as stored, for the arguments of some of its events.
///
/// ```
/// use input::ArgumentsReader;
///
/// let mut reader = ArgumentsReader::new("host.trace.json", "host.trace.json", vec![0]);
/// reader.push(br#"[{"ph":"X","pid":1,"tid":2,"ts":1,"dur":2,"name":"dot","args":{"External id":7}}]"#);
/// let found = reader.finish();
/// assert_eq!(found[0].arguments, [("External id".to_owned(), "7".to_owned())]);
/// ```
#[derive(Debug)]
pub struct ArgumentsReader {
    unpacker: Unpacker,
    intake: MemberIntake,
}

/// Takes the pieces of a file, of which those of one member count.
#[derive(Debug)]
struct MemberIntake {
    file: String,
    member: String,
    /// What to watch for, until the member begins.
    waiting: Option<(Watch, Vec<Outline>)>,
    decoder: Option<Decoder>,
    found: Vec<EventArguments>,
    is_done: bool,
}

impl ArgumentsReader {
    /// For the file at `file`: of its `member`, which is the file itself or lies in the archive that it is, the events with these indices.
    pub fn new(file: &str, member: &str, events: Vec<u32>) -> ArgumentsReader {
        let watch = Watch::new(events);
        let intake = MemberIntake {
            file: file.to_owned(),
            member: member.to_owned(),
            is_done: watch.next().is_none(),
            waiting: Some((watch, Vec::new())),
            decoder: None,
            found: Vec::new(),
        };
        ArgumentsReader { unpacker: Unpacker::new(file), intake }
    }

    /// Knows these planes of the file, found by an [`Outliner`](super::Outliner), before they come.
    pub fn foresee(&mut self, outlines: Vec<Outline>) {
        if let Some((_, known)) = &mut self.intake.waiting {
            *known = outlines;
        }
    }

    /// Takes the next bytes of the file, as stored.
    pub fn push(&mut self, bytes: &[u8]) {
        self.unpacker.push(bytes, &mut |piece| self.intake.take(piece));
    }

    /// True once everything is found: the rest of the file need not be read.
    pub fn is_done(&self) -> bool {
        self.intake.is_done
    }

    /// What was found, in the order of the file: of a file that was cut or is damaged what stands before the damage.
    pub fn finish(mut self) -> Vec<EventArguments> {
        self.unpacker.finish(&mut |piece| self.intake.take(piece));
        self.intake.end();
        self.intake.found
    }
}

impl MemberIntake {
    fn take(&mut self, piece: Unpacked<'_>) {
        match piece {
            Unpacked::Begin { path, .. } => {
                self.end();
                let is_file = path == self.file || self.file.strip_suffix(".gz") == Some(path);
                if self.member == if is_file { &self.file } else { path }
                    && let Some((watch, outlines)) = self.waiting.take()
                {
                    // Only a file that is not packed has places that were foreseen.
                    let outlines = if path == self.file { outlines } else { Vec::new() };
                    self.decoder = Some(Decoder::new(path).foreseeing(outlines).watching(watch));
                }
            }
            Unpacked::Data(bytes) => {
                if let Some(decoder) = &mut self.decoder
                    && !self.is_done
                {
                    // What cannot be decoded gives no events.
                    let _ = decoder.push(bytes);
                    self.is_done = decoder.forget() == 0;
                }
            }
            Unpacked::End => self.end(),
            Unpacked::Warning(_) => {}
        }
    }

    fn end(&mut self) {
        if let Some(decoder) = self.decoder.take() {
            self.found = decoder.finish_watch();
            self.is_done = true;
        }
    }
}

#[cfg(test)]
mod tests;
