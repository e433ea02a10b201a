//! Kinds of events: triples of line, name and arguments. A few thousand kinds describe millions of events, so an
//! event stores only the number of its kind.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

use super::args::ArgsId;
use super::index::Index;
use super::strings::StrId;
use crate::LineId;

/// All properties of an event except its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct EventKind {
    /// Line of the event.
    pub line: LineId,
    /// Name of the event.
    pub name: StrId,
    /// Arguments of the event.
    pub args: ArgsId,
}

/// Size of the cache of recent kinds, indexed by the low bits of their hash. The cache contains the kinds of nearly all
/// events, which then need no search.
const LATELY: usize = 256;

/// Distinct kinds, each stored once.
#[derive(Clone, Debug, Default)]
pub(super) struct Kinds {
    kinds: Vec<EventKind>,
    /// Index of the first kinds in the list, by hash. The other kinds are added when a kind is interned.
    index: Index,
    /// Cache of recent kinds, as their numbers plus one. The cache is empty until the first kind is interned.
    lately: Vec<u32>,
    /// The most recent kind, because the next event often has the same kind.
    latest: Option<(EventKind, u32)>,
}

impl Kinds {
    /// Returns the number of `kind`. Stores the kind if it is new.
    #[inline]
    pub(super) fn intern(&mut self, kind: EventKind) -> u32 {
        match self.latest {
            Some((latest, number)) if latest == kind => number,
            _ => self.find(kind),
        }
    }

    fn find(&mut self, kind: EventKind) -> u32 {
        let hash = FxBuildHasher.hash_one(kind);
        let slot = hash as usize % LATELY;
        let known = self.lately.get(slot).and_then(|number| number.checked_sub(1));
        let number = match known.filter(|&number| self.kinds.get(number as usize) == Some(&kind)) {
            Some(number) => number,
            None => self.find_or_add(kind, hash),
        };
        self.lately.resize(LATELY, 0);
        if let Some(slot) = self.lately.get_mut(slot) {
            *slot = number.wrapping_add(1);
        }
        self.latest = Some((kind, number));
        number
    }

    #[cold]
    fn find_or_add(&mut self, kind: EventKind, hash: u64) -> u32 {
        let kinds = &self.kinds;
        // Kinds from `from_list` are not in the index yet.
        for (number, kind) in kinds.iter().enumerate().skip(self.index.len()) {
            self.index.insert(FxBuildHasher.hash_one(*kind), number as u32);
        }
        if let Some(number) = self.index.find(hash, |number| kinds.get(number as usize) == Some(&kind)) {
            return number;
        }
        // There are at most as many kinds as events, which are fewer than 2^32.
        let number = kinds.len() as u32;
        self.kinds.push(kind);
        self.index.insert(hash, number);
        number
    }

    /// Returns the kind with this number.
    #[inline(always)]
    pub(super) fn get(&self, number: u32) -> EventKind {
        self.kinds.get(number as usize).copied().unwrap_or_default()
    }

    /// Returns all kinds, by number.
    pub(super) fn list(&self) -> &[EventKind] {
        &self.kinds
    }

    /// Returns all kinds, by number, and drops the index and the caches.
    pub(super) fn into_list(self) -> Vec<EventKind> {
        self.kinds
    }

    /// Creates the kinds from a list. The number of each kind is its index in the list.
    pub(super) fn from_list(kinds: Vec<EventKind>) -> Kinds {
        Kinds { kinds, ..Kinds::default() }
    }

    /// Returns the allocated memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.kinds.capacity() * size_of::<EventKind>() + self.index.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_keeps_its_number_however_many_there_are() {
        let kind = |at: u32| EventKind { line: LineId(at % 7), name: StrId(at / 3), args: ArgsId(at % 2) };
        let mut kinds = Kinds::default();
        let numbers: Vec<u32> = (0..5_000).map(|at| kinds.intern(kind(at))).collect();
        assert!((0..5_000).rev().all(|at| kinds.get(numbers[at as usize]) == kind(at)));
        assert!((0..5_000).rev().all(|at| kinds.intern(kind(at)) == numbers[at as usize]));
        let mut again = Kinds::from_list(kinds.into_list());
        assert!((0..5_000).rev().all(|at| again.intern(kind(at)) == numbers[at as usize]));
        assert_eq!(again.intern(kind(5_000)) as usize, again.into_list().len() - 1);
    }
}
