//! Durations that a file gives as two events: `B`/`E` on one thread, `b`/`e` anywhere under one category and id.
//!
//! ```text
//! thread    B f ---- B g ---- E ---- E        stack: f, f g, f, (empty)
//! event             [---g---)
//!           [------------f------------)       stored when they end
//! ```
//!
//! An end closes the innermost open begin of its thread (or of its category and id); its own name and arguments are
//! not needed. A begin without an end has no known duration and is left out.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::args::Ids;
use super::event::RawEvent;
use super::losses::{Loss, Losses};
use super::number::Time;
use super::store::{Id, Store, Timed};
use base::Ps;
use trace::{ArgsId, LineId, StrId};

/// What a begin and its end have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Track {
    Thread(LineId),
    Async { cat: StrId, id: Id },
}

#[derive(Clone, Copy, Debug)]
struct Open {
    line: LineId,
    name: StrId,
    args: ArgsId,
    ids: Ids,
    start: Time,
    offset: u64,
}

/// The begins that wait for their ends.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    open: HashMap<Track, Vec<Open>, FxBuildHasher>,
}

impl Pairs {
    /// The innermost open begin of a track. An id is often used once: its track goes with its last begin.
    fn pop(&mut self, track: Track) -> Option<Open> {
        let stack = self.open.get_mut(&track)?;
        let open = stack.pop();
        if stack.is_empty() && matches!(track, Track::Async { .. }) {
            self.open.remove(&track);
        }
        open
    }

    /// Number of tracks for which something is held.
    #[cfg(test)]
    pub fn open_tracks(&self) -> usize {
        self.open.len()
    }

    /// Counts the begins that never ended.
    pub fn count_open(&self, losses: &mut Losses) {
        let mut offsets: Vec<u64> = self.open.values().flatten().map(|open| open.offset).collect();
        offsets.sort_unstable();
        for offset in offsets {
            losses.add(Loss::UnmatchedBegin, offset);
        }
    }
}

impl Store {
    /// Opens a pair.
    pub fn begin(&mut self, event: &RawEvent, buf: &[u8], offset: u64) {
        let Some(start) = self.time(event.ts, buf, offset) else { return };
        let (stored, ids) = self.describe(event, buf);
        let (track, line) = self.track(event, buf);
        let open = Open { line, name: stored.name, args: stored.args, ids, start, offset };
        self.pairs.open.entry(track).or_default().push(open);
    }

    /// Closes a pair and stores its event.
    pub fn end(&mut self, event: &RawEvent, buf: &[u8], offset: u64) {
        let Some(end) = self.time(event.ts, buf, offset) else { return };
        let (track, _) = self.track(event, buf);
        let Some(open) = self.pairs.pop(track) else { return self.losses.add(Loss::UnmatchedEnd, offset) };
        let Open { line, name, args, ids, start, offset } = open;
        match end.since(start) {
            None => self.losses.add(Loss::OutOfRange, offset),
            Some(duration) if duration < Ps::ZERO => self.losses.add(Loss::NegativeDuration, offset),
            Some(duration) => self.add(Timed { line, name, args, ids, start, duration, offset }),
        }
    }

    /// Asynchronous events overlap what runs on the thread that reports them: they get a line of their own.
    fn track(&mut self, event: &RawEvent, buf: &[u8]) -> (Track, LineId) {
        if event.phase.is_ascii_uppercase() {
            let line = self.line_of(event, buf);
            return (Track::Thread(line), line);
        }
        let pid = self.id(event.pid, buf);
        let (cat, id) = (self.intern(event.cat, buf), self.id(event.id, buf));
        (Track::Async { cat, id }, self.line(pid, Id::Async))
    }
}
