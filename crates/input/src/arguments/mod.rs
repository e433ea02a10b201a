//! Reads a file again to get all arguments of selected events. Decoding a trace keeps only the arguments that metrics
//! need.
//!
//! ```text
//!  bytes --> Unpacker --> the member's Decoder, which watches for the events --> name and value of each argument
//! ```
//!
//! This module reads the file again with the same decoder, so each event has the same index as before, even if its time
//! was corrected in between. The reader does not store events. The reader needs as much memory as the largest plane
//! that the decoder buffers.

use super::decoder::Decoder;
use super::unpack::{Unpacked, Unpacker};
use super::watch::{EventArguments, Watch};
use super::xplane::Outline;

/// Message to show if a file no longer contains a selected event.
pub const NOT_FOUND: &str =
    "The file no longer contains this event. It has changed since it was opened, or its end is missing.";

/// Reads a file as it is stored, and collects the arguments of selected events.
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

/// Receives the chunks of a file and decodes one of its members.
#[derive(Debug)]
struct MemberIntake {
    file: String,
    member: String,
    /// The events to find and the known planes of the member. `None` once the member begins.
    waiting: Option<(Watch, Vec<Outline>)>,
    decoder: Option<Decoder>,
    found: Vec<EventArguments>,
    is_done: bool,
}

impl ArgumentsReader {
    /// Creates a reader of the file at `file`. The reader looks for the events with these indices in `member`, which is
    /// the file itself or a file in the archive.
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

    /// Sets the positions of planes that an [`Outliner`](super::Outliner) found in the file.
    pub fn set_outlines(&mut self, outlines: Vec<Outline>) {
        if let Some((_, known)) = &mut self.intake.waiting {
            *known = outlines;
        }
    }

    /// Reads the next bytes of the stored file.
    pub fn push(&mut self, bytes: &[u8]) {
        self.unpacker.push(bytes, &mut |piece| self.intake.take(piece));
    }

    /// Returns true once all events are found. After that, the rest of the file is not needed.
    pub fn is_done(&self) -> bool {
        self.intake.is_done
    }

    /// Returns the events found, in file order. If the file is truncated or damaged, only events before the damage are
    /// found.
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
                    // Known positions are valid only for an uncompressed file.
                    let outlines = if path == self.file { outlines } else { Vec::new() };
                    self.decoder = Some(Decoder::new(path).with_outlines(outlines).watching(watch));
                }
            }
            Unpacked::Data(bytes) => {
                if let Some(decoder) = &mut self.decoder
                    && !self.is_done
                {
                    // Content that cannot be decoded yields no events.
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
