//! Reads the structure of the file: an object with an event list and other keys, or only an event list.
//!
//! ```text
//!            { "otherData": {...}, "traceEvents": [ {event}, {event}, ... {} ], "traceName": "..." } anything
//! state  Start Object    Skip       Object       Events                       Object                 Done
//! ```
//!
//! The scanner reads the complete tokens of a slice and returns the number of bytes that it has finished. The caller
//! then passes the unfinished bytes again, followed by more bytes. Every decision depends on the bytes of the file and
//! never on the end of a slice, so the chunk sizes do not affect the trace.
//!
//! The module `unescaped` reads events with unescaped backslashes. After any other malformed event, reading continues
//! at the next text that looks like the start of an event (`,{"ph"`). Events longer than [`MAX_EVENT`] are skipped
//! without being buffered.

use super::event;
use super::lexer::{Skipper, Stop, colon, skip_space, string, value};
use super::losses::JsonLoss;
use super::metadata::{TopLevel, is_known_key};
use super::store::Store;
use super::unescaped::{self, Outcome};
use base::Error;

/// Maximum length of an event or a top-level key that is buffered: 16 MiB.
pub(super) const MAX_EVENT: usize = 16 << 20;
/// Maximum length of a top-level value that is read. Longer values are skipped.
const MAX_METADATA: usize = 256 << 10;
/// Maximum distance between the `{` of an event and its first key. The limit helps to find an event after malformed
/// text.
const LOOK_AHEAD: usize = 64;

/// Position of the scanner in the file's structure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ScannerState {
    /// Before the first significant byte.
    #[default]
    Start,
    /// Between the keys of the top level.
    Object,
    /// Between events.
    Events,
    /// Inside an irrelevant value, in the event list or at the top level.
    Skip { in_events: bool },
    /// After malformed text, in search of the next event. `previous` is the last byte that is not a space.
    Lost { previous: u8 },
    /// After the end of the object or list. The text that follows is ignored.
    Done,
}

/// Reads slices of a file into a [`Store`].
#[derive(Debug, Default)]
pub(super) struct Scanner {
    pub state: ScannerState,
    pub store: Store,
    pub top_level: TopLevel,
    /// True if the file consists only of an event list.
    pub is_array: bool,
    /// True if an event list was found.
    pub has_list: bool,
    /// The first few keys of the top level. Error messages use these keys to describe a file that is not a trace.
    pub keys: Vec<String>,
    /// True if the file ends after the current slice.
    pub is_last: bool,
    skipper: Skipper,
}

/// Result of one scanning step.
enum Step {
    /// The scanner continues at this position.
    To(usize),
    /// The slice ends inside a token. More bytes are needed from this position on.
    More(usize),
}

impl Scanner {
    /// Reads the complete tokens in `buf`, which starts at byte `base` of the text. Returns the number of finished
    /// bytes.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NotAProfile`] if the text is not a JSON object or array.
    pub(super) fn scan(&mut self, buf: &[u8], base: u64) -> Result<usize, Error> {
        let mut pos = 0;
        loop {
            let step = match self.state {
                ScannerState::Start => self.start(buf, pos, base)?,
                ScannerState::Object => self.object(buf, pos, base),
                ScannerState::Events => self.events(buf, pos, base),
                ScannerState::Skip { in_events } => match self.skipper.skip(buf, pos) {
                    None => Step::More(buf.len()),
                    Some(end) => {
                        self.state = if in_events { ScannerState::Events } else { ScannerState::Object };
                        Step::To(end)
                    }
                },
                ScannerState::Lost { previous } => self.lost(buf, pos, previous),
                ScannerState::Done => return Ok(buf.len()),
            };
            match step {
                Step::To(next) => pos = next,
                Step::More(next) => return Ok(next),
            }
        }
    }

    fn start(&mut self, buf: &[u8], pos: usize, base: u64) -> Result<Step, Error> {
        const BOM: &[u8] = b"\xef\xbb\xbf";
        let is_first = base == 0 && pos == 0;
        if is_first && buf.len() < BOM.len() && BOM.starts_with(buf) {
            return Ok(Step::More(0));
        }
        let pos = skip_space(buf, if is_first && buf.starts_with(BOM) { BOM.len() } else { pos });
        match buf.get(pos) {
            None => return Ok(Step::More(pos)),
            Some(b'{') => self.state = ScannerState::Object,
            Some(b'[') => {
                self.is_array = true;
                self.has_list = true;
                self.state = ScannerState::Events;
            }
            Some(_) => return Err(not_json()),
        }
        Ok(Step::To(pos + 1))
    }

    fn object(&mut self, buf: &[u8], pos: usize, base: u64) -> Step {
        let pos = skip_space(buf, pos);
        match buf.get(pos) {
            None => return Step::More(pos),
            Some(b',') => return Step::To(pos + 1),
            Some(b'}') => {
                self.state = ScannerState::Done;
                return Step::To(pos + 1);
            }
            Some(b'"') => {}
            Some(_) => return self.lose(pos, pos, base),
        }
        let window = window(buf, pos, MAX_EVENT);
        match self.entry(window, pos) {
            Ok(next) => Step::To(next),
            Err(Stop::Incomplete) if window.len() - pos < MAX_EVENT => Step::More(pos),
            Err(Stop::Incomplete) => self.lose(pos, pos + 1, base),
            Err(Stop::Bad(at)) => self.lose(pos, at, base),
        }
    }

    /// Reads a top-level key at `pos`, and its value if it is relevant.
    fn entry(&mut self, buf: &[u8], pos: usize) -> Result<usize, Stop> {
        let (key_end, _) = string(buf, pos + 1)?;
        let key = buf.get(pos + 1..key_end).unwrap_or_default();
        let at = colon(buf, key_end + 1)?;
        let is_list = key == b"traceEvents" && buf.get(at) == Some(&b'[');
        let known = if is_list || !is_known_key(key) {
            None
        } else {
            let small = window(buf, at, MAX_METADATA);
            match value(small, at) {
                Ok((_, next)) => Some(next),
                Err(Stop::Incomplete) if small.len() - at < MAX_METADATA => return Err(Stop::Incomplete),
                Err(_) => None,
            }
        };
        if self.keys.len() < 8 {
            let shown = key.get(..40).unwrap_or(key);
            self.keys.push(String::from_utf8_lossy(shown).into_owned());
        }
        if is_list {
            self.has_list = true;
            self.state = ScannerState::Events;
            return Ok(at + 1);
        }
        if let Some(next) = known {
            self.top_level.read(key, buf.get(at..next).unwrap_or_default());
            return Ok(next);
        }
        self.skipper = Skipper::default();
        self.state = ScannerState::Skip { in_events: false };
        Ok(at)
    }

    fn events(&mut self, buf: &[u8], mut pos: usize, base: u64) -> Step {
        loop {
            pos = skip_space(buf, pos);
            match buf.get(pos) {
                None => return Step::More(pos),
                Some(b',') => pos += 1,
                Some(b'{') => {
                    let window = window(buf, pos, MAX_EVENT);
                    let offset = base + pos as u64;
                    match event::parse(window, pos, &self.store.memo, &mut self.store.fields) {
                        Ok((event, next)) => {
                            self.store.event(&event, window, offset);
                            if self.store.watched.is_some() {
                                self.store.note(&event, window.get(pos..next).unwrap_or_default(), offset);
                            }
                            pos = next;
                        }
                        Err(Stop::Bad(at)) => match self.unescaped(window, [pos, at], offset) {
                            Outcome::Escaped(_, next) => pos = next,
                            Outcome::Incomplete if !self.is_last => return Step::More(pos),
                            Outcome::Incomplete | Outcome::Other => return self.lose(pos, at, base),
                        },
                        Err(Stop::Incomplete) if self.is_last && window.len() - pos < MAX_EVENT => {
                            match self.unescaped(window, [pos, window.len()], offset) {
                                Outcome::Escaped(_, next) => pos = next,
                                Outcome::Incomplete | Outcome::Other => return Step::More(pos),
                            }
                        }
                        Err(Stop::Incomplete) if window.len() - pos < MAX_EVENT => return Step::More(pos),
                        Err(Stop::Incomplete) => {
                            self.store.losses.add(JsonLoss::TooLarge, offset);
                            self.skipper = Skipper::default();
                            self.state = ScannerState::Skip { in_events: true };
                            return Step::To(pos);
                        }
                    }
                }
                Some(b']') => {
                    self.state = if self.is_array { ScannerState::Done } else { ScannerState::Object };
                    return Step::To(pos + 1);
                }
                Some(_) => return self.lose(pos, pos, base),
            }
        }
    }

    /// Reads an event whose only fault is that its backslashes are not escaped.
    #[cold]
    fn unescaped(&mut self, buf: &[u8], [start, until]: [usize; 2], offset: u64) -> Outcome {
        let outcome = unescaped::escaped(buf, start, until);
        let Outcome::Escaped(text, _) = &outcome else { return outcome };
        let Ok((event, _)) = event::parse(text, 0, &self.store.memo, &mut self.store.fields) else {
            return Outcome::Other;
        };
        self.store.event(&event, text, offset);
        if self.store.watched.is_some() {
            self.store.note(&event, text, offset);
        }
        outcome
    }

    /// Counts malformed text that begins at `start`, and then looks for an event from `resume` on.
    fn lose(&mut self, start: usize, resume: usize, base: u64) -> Step {
        self.store.losses.add(JsonLoss::Unreadable, base + start as u64);
        self.state = ScannerState::Lost { previous: 0 };
        Step::To(resume)
    }

    /// Looks for the start of an event: `{` after a comma or bracket, followed by a typical key.
    fn lost(&mut self, buf: &[u8], mut pos: usize, mut previous: u8) -> Step {
        while let Some(&byte) = buf.get(pos) {
            if byte == b'{' && matches!(previous, b',' | b'[') {
                match starts_event(window(buf, pos, LOOK_AHEAD), pos + 1) {
                    Ok(true) => {
                        self.has_list = true;
                        self.state = ScannerState::Events;
                        return Step::To(pos);
                    }
                    Ok(false) => {}
                    Err(_) if buf.len() - pos < LOOK_AHEAD => {
                        self.state = ScannerState::Lost { previous };
                        return Step::More(pos);
                    }
                    Err(_) => {}
                }
            }
            if !byte.is_ascii_whitespace() {
                previous = byte;
            }
            pos += 1;
        }
        self.state = ScannerState::Lost { previous };
        Step::More(pos)
    }
}

/// Returns `buf` without the bytes that are more than `limit` bytes after `pos`.
fn window(buf: &[u8], pos: usize, limit: usize) -> &[u8] {
    buf.get(..pos.saturating_add(limit)).unwrap_or(buf)
}

fn starts_event(buf: &[u8], pos: usize) -> Result<bool, Stop> {
    let pos = skip_space(buf, pos);
    match buf.get(pos) {
        None => return Err(Stop::Incomplete),
        Some(b'"') => {}
        Some(_) => return Ok(false),
    }
    let (end, _) = string(buf, pos + 1)?;
    let key = buf.get(pos + 1..end).unwrap_or_default();
    Ok([&b"ph"[..], b"name", b"cat", b"pid", b"tid", b"ts", b"dur", b"id", b"args", b"s"].contains(&key))
}

fn not_json() -> Error {
    Error::not_a_profile(
        "text that is neither a JSON object nor a JSON array",
        "Open a trace.json or trace.json.gz of the JAX profiler, or the xplane.pb next to it.",
    )
}
