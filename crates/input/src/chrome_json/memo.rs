//! Caches the text of events, because profiles are repetitive: an op has the same name and arguments in every step,
//! except for a few ids.
//!
//! ```text
//! first    {"context_id":"$$1","correlation_id":"1001","hlo_op":"fusion.7",...}
//! template {"context_id":"$$1","correlation_id":"####","hlo_op":"fusion.7",...}     # = any number, captured or skipped
//! next     {"context_id":"$$1","correlation_id":"1437","hlo_op":"fusion.7",...}     equal outside the holes: same set
//! ```
//!
//! If an event fits the template of the last event with the same name and thread, its bytes are only compared, without
//! parsing, hashing or lookup. For text that the template accepts, the parser would return the same values, so the memo
//! affects only the speed. The cache has a bounded size, and each event has two possible slots.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

use super::args::{ArgField, ArgKey, Own, is_number_byte};
use super::bytes::equal;
use super::lexer::{Kind, Span};
use trace::{ArgsId, EventStat, StrId};

const SLOTS: usize = 4096;
/// Maximum length of a cached event's text, in bytes. This limit keeps the memo under 16 MiB.
const MAX_TEXT: usize = 4096;
/// Maximum number of digits of an id that may differ. Such ids always fit in 64 bits.
const MAX_DIGITS: usize = 18;

/// Data that the trace stores for a cached event.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stored {
    pub name: StrId,
    pub args: ArgsId,
    /// Step number that the event's name contains.
    pub step_num: Option<i64>,
}

/// A number in a cached event's arguments that may be different when the event repeats.
#[derive(Clone, Copy, Debug)]
struct Hole {
    key: ArgKey,
    /// Start of the number's digits in the slot's arguments.
    start: u32,
    end: u32,
}

#[derive(Clone, Debug, Default)]
struct Slot {
    /// Name, category and arguments as in the file, joined to one text.
    text: Vec<u8>,
    name_len: usize,
    cat_len: usize,
    holes: Vec<Hole>,
    stored: Stored,
    used: bool,
    /// True if the event's other possible slot was written later.
    is_older: bool,
}

impl Slot {
    fn name(&self) -> &[u8] {
        self.text.get(..self.name_len).unwrap_or_default()
    }

    fn cat(&self) -> &[u8] {
        self.text.get(self.name_len..self.name_len + self.cat_len).unwrap_or_default()
    }

    fn args(&self) -> &[u8] {
        self.text.get(self.name_len + self.cat_len..).unwrap_or_default()
    }
}

/// Cache of events.
#[derive(Clone, Debug, Default)]
pub(super) struct Memo {
    /// Slots of cached events. Empty until the first event is cached.
    slots: Vec<Slot>,
}

impl Memo {
    /// Finds the slot of the cached event that has this name, and whose arguments equal the ones at `at` except for the
    /// holes. Returns the slot, the values in the holes, and the position after the arguments.
    #[inline]
    pub(super) fn find(&self, name: Span, tid: Span, buf: &[u8], at: usize) -> Option<(usize, Own, usize)> {
        let (index, slot) = self.slot(name, tid, buf)?;
        let args = slot.args();
        let mut own = Own::default();
        let (mut seen, mut pos) = (0, at);
        for hole in &slot.holes {
            pos = same(args.get(seen..hole.start as usize)?, buf, pos)?;
            pos = fill(hole.key, buf, pos, &mut own)?;
            seen = hole.end as usize;
        }
        let rest = args.get(seen..).filter(|rest| !rest.is_empty())?;
        Some((index, own, same(rest, buf, pos)?))
    }

    /// Finds the slot of the cached event that has this name and no arguments.
    #[inline]
    pub(super) fn find_without_args(&self, name: Span, tid: Span, buf: &[u8]) -> Option<usize> {
        let (index, slot) = self.slot(name, tid, buf)?;
        slot.args().is_empty().then_some(index)
    }

    /// Returns the stored form of the event in a slot, if its category is `cat`.
    #[inline]
    pub(super) fn stored(&self, index: usize, cat: &[u8]) -> Option<Stored> {
        self.slots.get(index).filter(|slot| equal(slot.cat(), cat)).map(|slot| slot.stored)
    }

    /// Caches an event in one of its slots, in place of an older event.
    pub(super) fn remember(
        &mut self,
        [name, tid, cat, args]: [Span; 4],
        fields: &[ArgField],
        buf: &[u8],
        stored: Stored,
    ) {
        let parts = [name, cat, args].map(|span| span.bytes(buf));
        let is_text = matches!(name.kind, Kind::Text | Kind::Escaped) && !matches!(cat.kind, Kind::Nested);
        if !is_text || parts.iter().map(|part| part.len()).sum::<usize>() > MAX_TEXT {
            return;
        }
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, Slot::default());
        }
        let first = place(name, tid, buf);
        let same_name = |index: &usize| self.slots.get(*index).is_some_and(|slot| slot.used && slot.name() == parts[0]);
        // Replace an older event with the same name, or use an empty slot. If there is neither, replace the older event
        // of the two slots.
        let neighbours = [first, first ^ 1];
        let unused = |index: &usize| self.slots.get(*index).is_some_and(|slot| !slot.used);
        let turn = |index: &usize| self.slots.get(*index).is_some_and(|slot| slot.is_older);
        let find = |wanted: &dyn Fn(&usize) -> bool| neighbours.into_iter().find(wanted);
        let index = find(&same_name).or_else(|| find(&unused)).or_else(|| find(&turn)).unwrap_or(first);
        if let Some(other) = self.slots.get_mut(index ^ 1) {
            other.is_older = true;
        }
        let Some(slot) = self.slots.get_mut(index) else { return };
        slot.is_older = false;
        slot.text.clear();
        parts.iter().for_each(|part| slot.text.extend_from_slice(part));
        (slot.name_len, slot.cat_len) = (name.bytes(buf).len(), cat.bytes(buf).len());
        slot.holes.clear();
        slot.holes.extend(fields.iter().filter_map(|field| hole(field, args.start, buf)));
        slot.stored = stored;
        slot.used = true;
    }

    #[inline]
    fn slot(&self, name: Span, tid: Span, buf: &[u8]) -> Option<(usize, &Slot)> {
        if self.slots.is_empty() || !matches!(name.kind, Kind::Text | Kind::Escaped) {
            return None;
        }
        let (first, name) = (place(name, tid, buf), name.bytes(buf));
        [first, first ^ 1].into_iter().find_map(|index| {
            let slot = self.slots.get(index)?;
            (slot.used && equal(slot.name(), name)).then_some((index, slot))
        })
    }
}

/// Returns the first of an event's two possible slots. The slot also depends on the thread, because events on several
/// lines may have the same name but different arguments (an op and its kernel).
#[inline]
fn place(name: Span, tid: Span, buf: &[u8]) -> usize {
    let tid = tid.bytes(buf).iter().fold(0u64, |hash, &byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte)));
    (FxBuildHasher.hash_one((name.bytes(buf), tid)) as usize) % SLOTS
}

fn hole(field: &ArgField, args_start: usize, buf: &[u8]) -> Option<Hole> {
    let digits = field.value.bytes(buf);
    let fits = match field.key {
        ArgKey::Stat(EventStat::Column(_) | EventStat::ChipStart | EventStat::ChipDuration) => {
            (1..=MAX_DIGITS).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit)
        }
        ArgKey::OtherNumber => true,
        _ => false,
    };
    let place = |at: usize| u32::try_from(at.checked_sub(args_start)?).ok();
    fits.then_some(Hole { key: field.key, start: place(field.value.start)?, end: place(field.value.end)? })
}

/// Reads the number at `start` into the hole for `key`.
#[inline]
fn fill(key: ArgKey, buf: &[u8], start: usize, own: &mut Own) -> Option<usize> {
    let mut pos = start;
    let ArgKey::Stat(stat) = key else {
        while buf.get(pos).is_some_and(|&byte| is_number_byte(byte)) {
            pos += 1;
        }
        return (pos > start).then_some(pos);
    };
    let mut id = 0i64;
    while let Some(digit) = buf.get(pos).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit <= 9) {
        id = id.wrapping_mul(10).wrapping_add(i64::from(digit));
        pos += 1;
    }
    if !(1..=MAX_DIGITS).contains(&(pos - start)) {
        return None;
    }
    own.set(stat, Some(id));
    Some(pos)
}

/// Returns the position after `expected`, if this text is at `pos`.
#[inline]
fn same(expected: &[u8], buf: &[u8], pos: usize) -> Option<usize> {
    let end = pos + expected.len();
    equal(buf.get(pos..end)?, expected).then_some(end)
}
