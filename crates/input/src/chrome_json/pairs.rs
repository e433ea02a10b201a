//! Joins durations that a file stores as two events: `B`/`E` on one thread, `b`/`e` with the same category and id.
//!
//! ```text
//! thread    B f ---- B g ---- E ---- E        stack: f, f g, f, (empty)
//! event             [---g---)
//!           [------------f------------)       stored when they end
//! ```
//!
//! An end closes the innermost open begin with the same name on the same thread (or with the same category and id), so
//! pairs may overlap. If an end has no name, or no open begin has its name, it closes the innermost begin. The
//! arguments of an end are not needed. A begin without an end has no known duration and is skipped.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::args::Own;
use super::id::Id;
use super::losses::{JsonLoss, JsonLosses};
use super::number::Time;
use trace::{ArgsId, LineId, StrId};

/// Key that a begin and its end share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Track {
    Thread(LineId),
    Async { cat: StrId, id: Id },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub line: LineId,
    pub name: StrId,
    pub args: ArgsId,
    pub own: Own,
    pub start: Time,
    pub offset: u64,
}

/// Begins that wait for their ends.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    open: HashMap<Track, Vec<Open>, FxBuildHasher>,
}

impl Pairs {
    /// Opens a pair on a track.
    pub(super) fn push(&mut self, track: Track, open: Open) {
        self.open.entry(track).or_default().push(open);
    }

    /// Closes the open begin that belongs to an end with this name on the track. Returns the begin, and true if it was
    /// not the innermost begin of the track. Removes an asynchronous track together with its last begin, because many
    /// ids occur only once.
    pub(super) fn pop(&mut self, track: Track, name: Option<StrId>) -> Option<(Open, bool)> {
        let stack = self.open.get_mut(&track)?;
        let innermost = stack.len().checked_sub(1)?;
        let named = name.and_then(|name| stack.iter().rposition(|open| open.name == name));
        let place = named.unwrap_or(innermost);
        let open = stack.remove(place);
        if stack.is_empty() && matches!(track, Track::Async { .. }) {
            self.open.remove(&track);
        }
        Some((open, place != innermost))
    }

    #[cfg(test)]
    pub(super) fn open_tracks(&self) -> usize {
        self.open.len()
    }

    /// Counts the begins that never ended.
    pub(super) fn count_open(&self, losses: &mut JsonLosses) {
        let mut offsets: Vec<u64> = self.open.values().flatten().map(|open| open.offset).collect();
        offsets.sort_unstable();
        for offset in offsets {
            losses.add(JsonLoss::UnmatchedBegin, offset);
        }
    }
}
