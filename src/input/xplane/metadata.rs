//! The metadata of one plane: what its events and stats refer to by number.

use rustc_hash::FxHashMap;

use super::losses::Losses;
use super::stats::{StatKind, text};
use crate::trace::{ArgsId, StrId, Strings};
use crate::wire::{Reader, Value};

/// A table by id. Profilers number from 1, so nearly all ids index a dense list; the others (program ids, hostile ones)
/// are hashed, so that a huge id costs no memory.
#[derive(Debug)]
pub(super) struct IdMap<T> {
    entries: Vec<T>,
    /// Index into `entries` plus one; 0 where there is none.
    dense: Vec<u32>,
    sparse: FxHashMap<i64, u32>,
}

impl<T> IdMap<T> {
    /// A table of `(id, value)`; the last of equal ids wins, as in every protobuf map.
    pub fn new(items: Vec<(i64, T)>) -> IdMap<T> {
        let limit = items.len() * 4 + 16;
        let mut map =
            IdMap { entries: Vec::with_capacity(items.len()), dense: vec![0; limit], sparse: FxHashMap::default() };
        for (id, value) in items {
            map.entries.push(value);
            let index = map.entries.len() as u32;
            match usize::try_from(id).ok().and_then(|id| map.dense.get_mut(id)) {
                Some(slot) => *slot = index,
                None => drop(map.sparse.insert(id, index)),
            }
        }
        map
    }

    /// All values in file order.
    pub fn entries(&self) -> &[T] {
        &self.entries
    }

    /// The value of `id`.
    #[inline]
    pub fn get_mut(&mut self, id: i64) -> Option<&mut T> {
        let index = match usize::try_from(id).ok().and_then(|id| self.dense.get(id)) {
            Some(&index) => index,
            None => self.sparse.get(&id).copied().unwrap_or(0),
        };
        self.entries.get_mut((index as usize).checked_sub(1)?)
    }
}

/// What many events share.
#[derive(Clone, Debug)]
pub(super) struct EventMetadata<'a> {
    /// The `XEventMetadata` message.
    pub body: &'a [u8],
    /// Where it starts in the file.
    pub offset: u64,
    /// Decoded on first use.
    pub resolved: Option<Resolved>,
}

/// Event metadata in the trace's terms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resolved {
    /// The short name.
    pub name: StrId,
    /// Its stats.
    pub args: ArgsId,
    /// The set of the latest event with stats of its own: the next is mostly the same.
    pub latest: ArgsId,
}

/// A kind of stat, or a text that stats refer to.
#[derive(Debug)]
pub(super) struct StatMetadata<'a> {
    name: &'a [u8],
    offset: u64,
    /// What the stat means here.
    pub kind: StatKind,
    interned: Option<StrId>,
}

impl<'a> StatMetadata<'a> {
    /// From an `XStatMetadata` message.
    pub fn new(body: &'a [u8], offset: u64) -> StatMetadata<'a> {
        let (name, offset) =
            bytes_field(body, 2).map_or((Default::default(), offset), |(name, at)| (name, offset + at));
        StatMetadata { name, offset, kind: StatKind::of(name), interned: None }
    }

    /// Its name as a string of the trace: interned on first use, for most of these texts are never asked for.
    pub fn name(&mut self, strings: &mut Strings, losses: &mut Losses) -> StrId {
        let (name, offset) = (self.name, self.offset);
        *self.interned.get_or_insert_with(|| text(name, offset, strings, losses))
    }

    /// Its name as bytes.
    pub fn name_bytes(&self) -> &'a [u8] {
        self.name
    }
}

/// `(key, value, position of the value)` of an entry of a map with integer keys; a missing key is 0.
pub(super) fn map_entry(entry: &[u8]) -> (i64, &[u8], u64) {
    let mut reader = Reader::new(entry);
    let (mut key, mut value, mut at) = (0, Default::default(), 0);
    while let Ok(Some(field)) = reader.field() {
        match (field.number, field.value) {
            (1, Value::Varint(id)) => key = id as i64,
            (2, Value::Bytes(body)) => (value, at) = (body, (reader.position() - body.len()) as u64),
            _ => {}
        }
    }
    (key, value, at)
}

/// The last length-delimited field `number` of a message and its position.
fn bytes_field(message: &[u8], number: u32) -> Option<(&[u8], u64)> {
    let mut reader = Reader::new(message);
    let mut found = None;
    while let Ok(Some(field)) = reader.field() {
        if let (Value::Bytes(body), true) = (field.value, field.number == number) {
            found = Some((body, (reader.position() - body.len()) as u64));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_any_size_are_found() {
        let mut map = IdMap::new(vec![(1, 'a'), (-5, 'b'), (i64::MAX, 'c'), (1, 'd'), (0, 'e')]);
        let found = [0, 1, 2, -5, i64::MAX, i64::MIN].map(|id| map.get_mut(id).copied());
        assert_eq!(found, [Some('e'), Some('d'), None, Some('b'), Some('c'), None]);
    }
}
