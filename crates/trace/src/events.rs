//! Events of a trace. Each event takes a row of 20 bytes, plus 12 bytes for each id that it has. Packed events are
//! stored after the rows.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use super::args::ArgsId;
use super::blocks::{by_block, in_blocks};
use super::column::{Column, SparseColumn};
use super::event_columns::{ColumnValues, EventColumn};
use super::event_id::{EventId, EventIds};
use super::interval::Interval;
use super::kinds::{EventKind, Kinds};
use super::packed::{Packed, PackedEvent};
use super::strings::StrId;
use crate::LineId;
use base::Ps;

/// One event, copied from the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Line (thread, stream) of the event.
    pub line: LineId,
    /// Name of the event.
    pub name: StrId,
    /// Start of the event, relative to the anchor.
    pub start: Ps,
    /// Duration, never negative.
    pub duration: Ps,
    /// Arguments of the event.
    pub args: ArgsId,
}

impl Event {
    /// Returns the start plus the duration.
    pub fn end(&self) -> Ps {
        self.start + self.duration
    }
}

/// A stored event: its [kind](Kinds), start and duration, as 4-byte words without padding. The values are stored
/// together because code that reads an event nearly always needs most of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row(RowWords);

type RowWords = [u32; 5];

/// Consecutive events as words. Another program of the same build can read these words: see
/// [`snapshot`](super::snapshot).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowBlock(Vec<RowWords>);

impl RowBlock {
    /// Creates a block of `words` words and lets `fill` write them. Returns `None` if the words do not form a whole number
    /// of events.
    pub fn filled(words: usize, fill: impl FnOnce(&mut [u32])) -> Option<RowBlock> {
        let mut rows = vec![RowWords::default(); words / RowWords::default().len()];
        let slots = rows.as_flattened_mut();
        (slots.len() == words).then(|| fill(slots))?;
        Some(RowBlock(rows))
    }

    /// Returns the words of the block.
    pub fn words(&self) -> &[u32] {
        self.0.as_flattened()
    }
}

/// Consecutive events.
#[derive(Clone, Copy)]
pub struct Block<'a> {
    first: u32,
    rows: &'a [RowWords],
}

impl<'a> Block<'a> {
    /// Returns the id, the kind (an index into [`Events::kinds`]) and the interval of each event in the block.
    #[inline(always)]
    pub fn times(self) -> impl Iterator<Item = (EventId, usize, Interval)> + 'a {
        let events = (self.first..).zip(self.rows);
        events.map(|(id, row)| (EventId(id), Row(*row).kind() as usize, Row(*row).interval()))
    }
}

impl Row {
    #[inline]
    fn new(kind: u32, start: Ps, duration: Ps) -> Row {
        let [start, duration] = [start.as_ps(), duration.as_ps()].map(i64::cast_unsigned);
        Row([kind, start as u32, (start >> 32) as u32, duration as u32, (duration >> 32) as u32])
    }

    #[inline(always)]
    fn interval(self) -> Interval {
        let (start, duration) = self.time();
        Interval::new(start, start + duration)
    }

    #[inline(always)]
    fn kind(self) -> u32 {
        let Row([kind, ..]) = self;
        kind
    }

    #[inline(always)]
    fn time(self) -> (Ps, Ps) {
        let Row([_, start_low, start_high, duration_low, duration_high]) = self;
        let join = |low, high| Ps::new((u64::from(low) | u64::from(high) << 32).cast_signed());
        (join(start_low, start_high), join(duration_low, duration_high))
    }
}

/// One sparse column for each [`EventColumn`], in order.
pub(crate) type SparseColumns = [SparseColumn; EventColumn::ALL.len()];

/// The events of a trace that have a duration (`X`, and closed `B`/`E` and `b`/`e` pairs).
#[derive(Clone, Debug, Default)]
pub struct Events {
    rows: Column<RowWords>,
    /// Packed events, whose indices follow the indices of the rows.
    packed: Packed,
    kinds: Kinds,
    /// Values that only some events have, by [`EventColumn`].
    columns: SparseColumns,
    /// Original intervals of events that were shortened to a part. See [`cut`](Events::cut).
    cut: BTreeMap<EventId, Interval>,
}

impl Events {
    /// Returns the number of events.
    pub fn len(&self) -> usize {
        self.rows.len() + self.packed.len()
    }

    /// Returns true if there are no events.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the ids of all events, in order.
    pub fn ids(&self) -> EventIds {
        EventIds::new(0..u32::try_from(self.len()).unwrap_or(u32::MAX))
    }

    /// Appends an event and returns its id. Returns `None` if there are already 2^32 - 1 events, or if packed events
    /// were added.
    #[inline]
    pub fn push(&mut self, event: Event) -> Option<EventId> {
        u32::try_from(self.len()).ok()?;
        let kind = self.kinds.intern(EventKind { line: event.line, name: event.name, args: event.args });
        self.push_of_kind(kind, event.start, event.duration)
    }

    /// Appends an event of an existing [kind](Events::kind). Returns `None` if there is no room for the event.
    #[inline(always)]
    pub fn push_of_kind(&mut self, kind: u32, start: Ps, duration: Ps) -> Option<EventId> {
        let id = u32::try_from(self.rows.len()).ok().filter(|_| self.packed.is_empty())?;
        self.rows.push(Row::new(kind, start, duration).0);
        Some(EventId(id))
    }

    /// Appends an event in 4 to 9 bytes instead of 20, if it closely follows the previous event. Packed events are
    /// slower to read and cannot be changed. Only packed events can follow packed events. Returns `None` if there are
    /// already 2^32 - 1 events.
    pub fn push_packed(&mut self, event: Event) -> Option<EventId> {
        let id = u32::try_from(self.len()).ok()?;
        let kind = self.kinds.intern(EventKind { line: event.line, name: event.name, args: event.args });
        let begins = self.packed.last_kind().is_none_or(|last| self.kinds.get(last).line != event.line);
        self.packed.push((kind, event.start, event.duration), begins);
        Some(EventId(id))
    }

    /// Frees the memory that is reserved for more packed events.
    pub fn shrink_packed(&mut self) {
        self.packed.shrink_to_fit();
    }

    #[inline(always)]
    fn row(&self, id: EventId) -> Option<Row> {
        self.rows.get(id.index()).or_else(|| self.packed_row(id)).map(Row)
    }

    #[cold]
    #[inline(never)]
    fn packed_row(&self, id: EventId) -> Option<RowWords> {
        self.packed.get(id.index().checked_sub(self.rows.len())?).map(unpacked)
    }

    /// Returns all packed events as rows.
    fn packed_rows(&self) -> impl Iterator<Item = RowWords> + '_ {
        self.packed.iter_from(0).map(unpacked)
    }

    /// Calls `visit` with the rows of these events in order, several at a time. This function is not generic, so that
    /// it is compiled only once.
    fn for_each_slice(&self, indices: Range<usize>, visit: &mut dyn FnMut(&[RowWords])) {
        const AT_ONCE: usize = 2048;
        self.rows.slices(indices.clone()).for_each(&mut *visit);
        let packed = |index: usize| index.saturating_sub(self.rows.len()).min(self.packed.len());
        let (first, end) = (packed(indices.start), packed(indices.end));
        if first >= end {
            return;
        }
        let mut rows = Vec::with_capacity(AT_ONCE.min(end - first));
        for event in self.packed.iter_from(first).take(end - first) {
            rows.push(unpacked(event));
            if rows.len() == AT_ONCE {
                visit(&rows);
                rows.clear();
            }
        }
        visit(&rows);
    }

    /// Returns the kind of the event `id`, as an index into [`kinds`](Events::kinds).
    pub fn kind(&self, id: EventId) -> Option<u32> {
        self.row(id).map(|row| row.kind())
    }

    /// Returns the event `id`, or `None` if it does not exist.
    #[inline(always)]
    pub fn get(&self, id: EventId) -> Option<Event> {
        self.row(id).map(|row| self.event(row))
    }

    /// Returns start and duration of the event `id`.
    #[inline(always)]
    pub fn time(&self, id: EventId) -> Option<(Ps, Ps)> {
        self.row(id).map(|row| row.time())
    }

    /// Returns the key that sorts events by time. Of events that start together, the longest comes first, so that a
    /// parent precedes its children.
    #[inline(always)]
    pub fn time_order(&self, id: EventId) -> Option<(Ps, Reverse<Ps>, EventId)> {
        self.time(id).map(|(start, duration)| (start, Reverse(duration), id))
    }

    /// Sorts events by time. The stable sort of the standard library merges sorted runs, so it is fast if there are
    /// only a few runs.
    #[inline(never)]
    pub fn sort_by_time(&self, ids: &mut [EventId]) {
        ids.sort_by_key(|&id| self.time_order(id));
    }

    /// Returns all events in order.
    pub fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        self.rows.iter().chain(self.packed_rows()).map(|row| self.event(Row(row)))
    }

    /// Calls `visit` for all events, in order. [`blocks`](super::blocks) explains why long loops use such a function.
    pub fn for_each(&self, visit: impl FnMut(EventId, Event)) {
        self.for_each_of(self.ids(), visit);
    }

    /// Calls `visit` for each of the consecutive events `ids`.
    pub fn for_each_of(&self, ids: EventIds, mut visit: impl FnMut(EventId, Event)) {
        self.for_each_row(ids, |id, row| visit(id, self.event(row)));
    }

    /// Calls `visit` with the id, the kind (an index into [`kinds`](Events::kinds)) and the interval of each event.
    /// Callers can evaluate a condition once per kind, instead of once for each of millions of events.
    pub fn for_each_time(&self, ids: EventIds, mut visit: impl FnMut(EventId, usize, Interval)) {
        self.for_each_row(ids, |id, row| visit(id, row.kind() as usize, row.interval()));
    }

    /// Calls `visit` with the events in blocks.
    pub fn for_each_block(&self, ids: EventIds, mut visit: impl FnMut(Block<'_>)) {
        let (EventId(mut first), indices) = ids.indices();
        self.for_each_slice(indices, &mut |rows| {
            by_block(rows, |rows| {
                visit(Block { first, rows });
                first += rows.len() as u32;
            });
        });
    }

    #[inline(always)]
    fn for_each_row(&self, ids: EventIds, mut visit: impl FnMut(EventId, Row)) {
        let (EventId(mut id), indices) = ids.indices();
        self.for_each_slice(indices, &mut |rows| {
            in_blocks(rows, |row| {
                visit(EventId(id), Row(*row));
                id += 1;
            });
        });
    }

    /// Returns the kind of an event (an index into [`kinds`](Events::kinds)) and its interval.
    #[inline(always)]
    pub fn kind_and_time(&self, id: EventId) -> Option<(usize, Interval)> {
        self.row(id).map(|row| (row.kind() as usize, row.interval()))
    }

    /// Returns the distinct kinds of events, in the order in which they first occur.
    pub fn kinds(&self) -> &[EventKind] {
        self.kinds.list()
    }

    #[inline(always)]
    fn event(&self, row: Row) -> Event {
        let EventKind { line, name, args } = self.kinds.get(row.kind());
        let (start, duration) = row.time();
        Event { line, name, start, duration, args }
    }

    /// Sets the start and the duration of the event `id`. Returns false if the row of the event was already taken.
    pub(crate) fn set_time(&mut self, id: EventId, start: Ps, duration: Ps) -> bool {
        let row = self.rows.get_mut(id.index());
        row.map(|row| *row = Row::new(Row(*row).kind(), start, duration).0).is_some()
    }

    /// Changes the start and the duration of events. `change` receives the id of an event, its kind (an index into
    /// [`kinds`](Events::kinds)), and its start and duration. If `change` returns `None`, the event stays unchanged.
    pub(crate) fn change_times(&mut self, mut change: impl FnMut(EventId, usize, (Ps, Ps)) -> Option<(Ps, Ps)>) {
        let mut id = EventId(0);
        for rows in self.rows.blocks_mut() {
            change_block(rows, &mut id, &mut change);
        }
    }

    /// Returns true if rows were [taken](Events::take_full_blocks).
    pub(crate) fn has_taken(&self) -> bool {
        self.rows.has_taken()
    }

    /// Sets the duration of an event that was added while it was open (`B`, `b`).
    pub fn set_duration(&mut self, id: EventId, duration: Ps) {
        if let Some(row) = self.rows.get_mut(id.index()) {
            let closed = Row(*row);
            *row = Row::new(closed.kind(), closed.time().0, duration).0;
        }
    }

    /// Changes the kind of events. `change` receives the index of an event's kind in [`kinds`](Events::kinds), the
    /// kind, and the event's interval. If `change` returns `None`, the event stays unchanged.
    pub fn change_kinds(&mut self, mut change: impl FnMut(usize, EventKind, Interval) -> Option<EventKind>) {
        for index in 0..self.rows.len() {
            let Some(old) = self.rows.get(index).map(Row) else { return };
            let (start, duration) = old.time();
            let changed = change(old.kind() as usize, self.kinds.get(old.kind()), old.interval());
            let Some(kind) = changed else { continue };
            let row = Row::new(self.kinds.intern(kind), start, duration).0;
            self.rows.get_mut(index).into_iter().for_each(|slot| *slot = row);
        }
    }

    /// Replaces the arguments of the event `id`.
    pub(crate) fn set_args(&mut self, id: EventId, args: ArgsId) {
        let Some(row) = self.rows.get(id.index()).map(Row) else { return };
        let kind = self.kinds.intern(EventKind { args, ..self.kinds.get(row.kind()) });
        let (start, duration) = row.time();
        if let Some(slot) = self.rows.get_mut(id.index()) {
            *slot = Row::new(kind, start, duration).0;
        }
    }

    /// Returns true if no rows were [taken](Events::take_full_blocks).
    pub(crate) fn is_whole(&self) -> bool {
        self.rows.is_whole()
    }

    /// Shortens an event to the part `inside`. If the event was already shortened, appends the new part as another
    /// event. Returns the id of the part.
    pub fn cut(&mut self, id: EventId, inside: Interval) -> Option<EventId> {
        let (kind, now) = self.kind_and_time(id)?;
        let (part, whole) = match self.cut.get(&id) {
            Some(&whole) => (self.push_of_kind(kind as u32, inside.start, inside.length())?, whole),
            None => {
                *self.rows.get_mut(id.index())? = Row::new(kind as u32, inside.start, inside.length()).0;
                (id, now)
            }
        };
        self.cut.insert(part, whole);
        Some(part)
    }

    /// Returns the original interval of a shortened event, or `None` for any other event.
    #[inline]
    pub fn whole(&self, id: EventId) -> Option<Interval> {
        if self.cut.is_empty() { None } else { self.cut.get(&id).copied() }
    }

    /// Returns true if the event is a part of a shortened event that started before this part. Numbers of events
    /// include only the part that contains the start.
    #[inline]
    pub fn began_before(&self, id: EventId) -> bool {
        self.whole(id).is_some_and(|whole| self.time(id).is_some_and(|(start, _)| start > whole.start))
    }

    /// Removes the full blocks of rows and returns them. The counts of the trace still include these events, which can
    /// no longer be read.
    pub fn take_full_blocks(&mut self) -> impl Iterator<Item = RowBlock> {
        self.rows.take_full().map(RowBlock)
    }

    /// Frees all memory that can be freed while more events arrive. The counts of the trace still include the freed
    /// events. Decoders call this function if they need only a few of the events.
    pub fn forget(&mut self) {
        self.rows.take_full().for_each(drop);
        self.columns = SparseColumns::default();
    }

    /// Appends rows from another trace whose names and lines are the same.
    pub(crate) fn append(&mut self, block: RowBlock) {
        self.rows.append(block.0);
    }

    /// Appends the events of another trace and moves them later by `shift`. `kind_here` converts a kind of the other
    /// trace to a kind of this trace. Returns false if there is no room for all events.
    pub(crate) fn append_all(&mut self, other: &Events, shift: Ps, kind_here: impl Fn(EventKind) -> EventKind) -> bool {
        // Caches the number of each kind, so that there is one lookup per kind instead of one per event.
        let mut numbers: Vec<Option<u32>> = vec![None; other.kinds.list().len()];
        other.rows.iter().chain(other.packed_rows()).map(Row).all(|row| {
            let known = numbers.get(row.kind() as usize).copied().flatten();
            let number = known.unwrap_or_else(|| {
                let number = self.kinds.intern(kind_here(other.kinds.get(row.kind())));
                numbers.get_mut(row.kind() as usize).into_iter().for_each(|slot| *slot = Some(number));
                number
            });
            let (start, duration) = row.time();
            self.push_of_kind(number, start + shift, duration).is_some()
        })
    }

    /// Returns a sparse column.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "the array has one entry per column")]
    pub fn column(&self, column: EventColumn) -> &SparseColumn {
        &self.columns[column as usize]
    }

    /// Adds a value for the event `id` to a column. Callers must add events in ascending order, and each event at most
    /// once per column.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "the array has one entry per column")]
    pub fn push_value(&mut self, id: EventId, column: EventColumn, value: i64) {
        self.columns[column as usize].push(id, value);
    }

    /// Adds all values of the event `id` to their columns.
    #[inline]
    pub fn push_values(&mut self, id: EventId, values: &ColumnValues) {
        values.iter().for_each(|(column, value)| self.push_value(id, column, value));
    }

    /// Returns all values of the event `id`.
    pub fn values(&self, id: EventId) -> ColumnValues {
        let mut values = ColumnValues::default();
        for &column in EventColumn::ALL {
            values.set(column, self.column(column).get(id));
        }
        values
    }

    /// Returns the rows that were not taken, the kinds, and the sparse columns.
    pub(crate) fn into_columns(self) -> (impl Iterator<Item = RowBlock>, Vec<EventKind>, SparseColumns) {
        let packed: Vec<RowWords> = self.packed_rows().collect();
        let Events { rows, kinds, columns, .. } = self;
        let packed = Some(packed).filter(|packed| !packed.is_empty());
        (rows.into_blocks().chain(packed).map(RowBlock), kinds.into_list(), columns)
    }

    /// Sets the kinds and the sparse columns. Returns `None` if the events of a column do not ascend.
    pub(crate) fn with_columns(self, kinds: Vec<EventKind>, columns: SparseColumns) -> Option<Events> {
        let is_sorted = columns.iter().all(SparseColumn::is_sorted);
        let kinds = Kinds::from_list(kinds);
        is_sorted.then(|| Events { kinds, columns, cut: BTreeMap::new(), ..self })
    }

    /// Returns the allocated memory, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.rows.memory_bytes()
            + self.packed.memory_bytes()
            + self.kinds.memory_bytes()
            + self.columns.iter().map(SparseColumn::memory_bytes).sum::<usize>()
    }
}

fn unpacked((kind, start, duration): PackedEvent) -> RowWords {
    Row::new(kind, start, duration).0
}

/// Changes the times of a block of rows, in a separate call (see [`blocks`](super::blocks)).
#[inline(never)]
fn change_block(
    rows: &mut [RowWords],
    id: &mut EventId,
    change: &mut impl FnMut(EventId, usize, (Ps, Ps)) -> Option<(Ps, Ps)>,
) {
    for row in rows {
        let kind = Row(*row).kind();
        if let Some((start, duration)) = change(*id, kind as usize, Row(*row).time()) {
            *row = Row::new(kind, start, duration).0;
        }
        *id = EventId(id.0.wrapping_add(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_comes_back_as_it_was_pushed() {
        let mut events = Events::default();
        let event = |start: i64, duration: i64| Event {
            line: LineId(7),
            name: StrId(u32::MAX),
            start: Ps::new(start),
            duration: Ps::new(duration),
            args: ArgsId(3),
        };
        let all = [event(-1, 0), event(i64::MIN, i64::MAX), event(1 << 40, 0xffff_ffff)];
        all.iter().for_each(|event| assert!(events.push(*event).is_some()));
        assert!(events.iter().eq(all));
        let mut seen = Vec::new();
        events.for_each(|id, event| seen.push((id, event)));
        assert!(seen.into_iter().eq(events.ids().zip(all)));
        let mut seen = Vec::new();
        events.for_each_of(EventIds::new(1..9), |id, event| seen.push((id, event)));
        assert!(seen.into_iter().eq(events.ids().zip(all).skip(1)));
        let [first, past_all] = [0, 3].map(EventId);
        events.set_duration(first, Ps::new(1 << 33));
        assert_eq!(events.get(first), Some(event(-1, 1 << 33)));
        assert_eq!((events.get(past_all), events.len()), (None, 3));
    }

    #[test]
    fn packed_events_are_looked_at_like_others() {
        let event = |at: i64| Event {
            line: LineId(at as u32 / 3000),
            name: StrId(at as u32 % 5),
            start: Ps::new(at * 1000),
            duration: Ps::new(990 + at % 11),
            args: ArgsId(0),
        };
        let (mut plain, mut packed) = (Events::default(), Events::default());
        for at in 0..5_000 {
            plain.push(event(at));
            let id = if at < 100 { packed.push(event(at)) } else { packed.push_packed(event(at)) };
            assert_eq!(id, Some(EventId(at as u32)));
        }
        assert_eq!((packed.push(event(0)), packed.len()), (None, 5_000));
        assert!(packed.iter().eq(plain.iter()));
        assert!((0..5_001).map(EventId).all(|id| {
            (packed.get(id), packed.time(id), packed.kind(id)) == (plain.get(id), plain.time(id), plain.kind(id))
        }));
        for range in [0..5_000, 50..150, 99..100, 100..101, 3_000..4_999, 4_999..9_000, 6_000..7_000] {
            let seen = |events: &Events| {
                let mut seen = Vec::new();
                events.for_each_time(EventIds::new(range.clone()), |id, kind, at| seen.push((id, kind, at)));
                let before = seen.len();
                events.for_each_block(EventIds::new(range.clone()), |block| seen.extend(block.times()));
                assert_eq!(seen.len(), 2 * before);
                seen
            };
            assert_eq!(seen(&packed), seen(&plain), "{range:?}");
        }
        packed.shrink_packed();
        assert!(packed.memory_bytes() < plain.memory_bytes() / 2);
        let mut again = Events::default();
        let (blocks, kinds, columns) = packed.into_columns();
        blocks.for_each(|block| again.append(block));
        assert!(again.with_columns(kinds, columns).unwrap().iter().eq(plain.iter()));
    }
}
