//! The metadata of one plane, to which the plane's events and stats refer by id.

use rustc_hash::FxHashMap;

use super::losses::XPlaneLosses;
use super::text::text;
use base::wire::{Reader, Value};
use trace::{ArgsId, EventStat, StrId, Strings};

/// A table by id. Profilers number ids from 1, so nearly all ids are indices into a dense list. Other ids (of compiled
/// programs, or in hostile files) are hashed, so that a huge id costs no memory.
#[derive(Debug)]
pub(super) struct IdMap<T> {
    entries: Vec<T>,
    /// Index into `entries` plus one, or 0 if there is no entry.
    dense: Vec<u32>,
    sparse: FxHashMap<i64, u32>,
}

impl<T> IdMap<T> {
    /// Creates a table from `(id, value)` pairs. If an id is repeated, its last entry is used, as in all protobuf maps.
    pub(super) fn new(items: Vec<(i64, T)>) -> IdMap<T> {
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

    /// Returns all values in file order.
    pub(super) fn entries(&self) -> &[T] {
        &self.entries
    }

    /// Returns the value of `id`.
    #[inline]
    pub(super) fn get_mut(&mut self, id: i64) -> Option<&mut T> {
        let index = match usize::try_from(id).ok().and_then(|id| self.dense.get(id)) {
            Some(&index) => index,
            None => self.sparse.get(&id).copied().unwrap_or(0),
        };
        self.entries.get_mut((index as usize).checked_sub(1)?)
    }
}

/// Position of a message in the plane's metadata bytes. The metadata bytes outlive the chunks that contain the plane's
/// lines.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    start: usize,
    length: usize,
}

impl Span {
    /// Creates a span of `length` bytes from `start` on.
    pub(super) fn new(start: usize, length: usize) -> Span {
        Span { start, length }
    }

    /// Returns the bytes.
    pub(super) fn of(self, source: &[u8]) -> &[u8] {
        source.get(self.start..).and_then(|rest| rest.get(..self.length)).unwrap_or_default()
    }

    fn part(self, at: usize, length: usize) -> Span {
        Span { start: self.start + at, length }
    }
}

/// Metadata of an event kind, which many events share.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventMetadata {
    /// The `XEventMetadata` message.
    pub body: Span,
    /// Position of the metadata message in the file.
    pub offset: u64,
    /// Decoded form of the metadata, set on first use.
    pub resolved: Option<Resolved>,
}

impl EventMetadata {
    /// Returns true if the name starts with `prefix`.
    pub(super) fn has_name_with(&self, prefix: &str, source: &[u8]) -> bool {
        bytes_field(self.body.of(source), 2).is_some_and(|(name, _)| name.starts_with(prefix.as_bytes()))
    }

    /// Returns the name as a string of the trace. Returns an empty string if the metadata has no name.
    pub(super) fn name(&self, source: &[u8], strings: &mut Strings, losses: &mut XPlaneLosses) -> StrId {
        let name = bytes_field(self.body.of(source), 2);
        name.map_or(StrId::EMPTY, |(name, at)| text(name, self.offset + at as u64, strings, losses))
    }
}

/// Decoded event metadata: strings and arguments of the trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resolved {
    /// The short name.
    pub name: StrId,
    /// Arguments from the stats of the event metadata.
    pub args: ArgsId,
    /// Arguments of the latest event of this kind that has stats of its own. The next such event usually has the same
    /// arguments.
    pub latest: ArgsId,
}

/// Metadata of a stat: the name of a kind of stat, or a text that stats refer to.
#[derive(Debug)]
pub(super) struct StatMetadata {
    name: Span,
    offset: u64,
    /// Meaning of the stat. `None` if no metric uses the stat.
    pub meaning: Option<EventStat>,
    interned: Option<StrId>,
}

impl StatMetadata {
    /// Reads the `XStatMetadata` message in `body`, which starts at `offset` in the file.
    pub(super) fn new(body: Span, offset: u64, source: &[u8]) -> StatMetadata {
        let (name, offset) = match bytes_field(body.of(source), 2) {
            Some((name, at)) => (body.part(at, name.len()), offset + at as u64),
            None => (Span::default(), offset),
        };
        StatMetadata { name, offset, meaning: EventStat::of_xplane(name.of(source)), interned: None }
    }

    /// Returns the name of the stat as a string of the trace. The name is interned on first use, because most names are
    /// never used.
    pub(super) fn name(&mut self, source: &[u8], strings: &mut Strings, losses: &mut XPlaneLosses) -> StrId {
        let (name, offset) = (self.name.of(source), self.offset);
        *self.interned.get_or_insert_with(|| text(name, offset, strings, losses))
    }

    /// Returns the name of the stat as bytes.
    pub(super) fn name_bytes<'a>(&self, source: &'a [u8]) -> &'a [u8] {
        self.name.of(source)
    }
}

/// Returns the key and the value of an entry in a map with integer keys, and the position of the value in the entry. If
/// the key is missing, it is 0.
pub(super) fn map_entry(entry: Span, source: &[u8]) -> (i64, Span, u64) {
    let mut reader = Reader::new(entry.of(source));
    let (mut key, mut value, mut at) = (0, Span::default(), 0);
    while let Ok(Some(field)) = reader.field() {
        match (field.number, field.value) {
            (1, Value::Varint(id)) => key = id as i64,
            (2, Value::Bytes(body)) => {
                let start = reader.position() - body.len();
                (value, at) = (entry.part(start, body.len()), start as u64);
            }
            _ => {}
        }
    }
    (key, value, at)
}

/// Returns the last length-delimited field with this number in a message, and the position of the field.
fn bytes_field(message: &[u8], number: u32) -> Option<(&[u8], usize)> {
    let mut reader = Reader::new(message);
    let mut found = None;
    while let Ok(Some(field)) = reader.field() {
        if let (Value::Bytes(body), true) = (field.value, field.number == number) {
            found = Some((body, reader.position() - body.len()));
        }
    }
    found
}

/// Returns true for names that only JAX uses: names of modules (`jit_f`, `pmap_f`) and of their dispatch
/// (`PjitFunction(f)`).
pub(super) fn is_jax_name(name: &[u8]) -> bool {
    [b"jit_".as_slice(), b"pmap_", b"pjit_", b"PjitFunction("].iter().any(|prefix| name.starts_with(prefix))
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
