//! The events of a trace: rows of 20 bytes, plus 12 for each of the few ids an event may carry.

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::Arc;

use super::blocks::{by_block, in_blocks};
use super::column::{Column, SparseColumn};
use super::interval::Interval;
use super::kinds::{Kind, Kinds};
use super::strings::StrId;
use crate::LineId;
use base::Ps;

/// Index of an event of one trace, in the order in which the file holds them.
pub type EventId = u32;

/// Bytes that an op moves once it runs, by memory and direction, as XLA's compiler counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MemoryBytes {
    /// Read from the device's main memory (HBM).
    pub hbm_read: i64,
    /// Written to it.
    pub hbm_write: i64,
    /// Read from the common memory of older TPUs (CMEM).
    pub cmem_read: i64,
    /// Written to it.
    pub cmem_write: i64,
    /// Read from the vector memory on the chip (VMEM).
    pub vmem_read: i64,
    /// Written to it.
    pub vmem_write: i64,
}

/// What an event says of itself beyond name and time, with all values that differ from one occurrence to the next
/// (correlation, run and step ids) taken out: a few thousand distinct sets describe millions of events.
///
/// Strings are [`StrId::EMPTY`] and numbers `None` where the file does not give them. Names are those of the
/// profiler's stats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Args {
    /// HLO instruction (`fusion.12`).
    pub hlo_op: StrId,
    /// HLO module (`jit_train_step`).
    pub hlo_module: StrId,
    /// XLA's category of the instruction (`loop fusion`).
    pub hlo_category: StrId,
    /// Framework path (`jit(f)/layer_3/attn/dot_general`): stat `tf_op`, or `name` on GPU events.
    pub tf_op: StrId,
    /// Full expression of the instruction.
    pub long_name: StrId,
    /// Source file and line.
    pub source: StrId,
    /// Registers, shared memory, grid, block, occupancy, as the collector wrote them.
    pub kernel_details: StrId,
    /// `kind_src:… kind_dst:… size:… dest:… async:…` of a copy or fill.
    pub memcpy_details: StrId,
    /// The call stack of the instruction in the program, a frame a line, innermost last.
    pub source_stack: StrId,
    /// Name of the instruction that this one is an equal copy of.
    pub deduplicated_name: StrId,
    /// Name of the call on the host that launched a copy which does not tell its direction; see [`super::copies::complete`].
    pub copy_call: StrId,
    /// The category (`cat`) of a Chrome trace event; JAX writes none, Kineto does.
    pub cat: StrId,
    /// Bytes read and written as XLA estimates them.
    pub bytes_accessed: Option<i64>,
    /// FLOPs of the model's arithmetic.
    pub model_flops: Option<i64>,
    /// FLOPs with the compiler's additions.
    pub flops: Option<i64>,
    /// Bytes of a copy where they are a number of their own (Kineto's `bytes`), or where only the call that launched it tells them.
    pub copy_bytes: Option<i64>,
    /// HLO program the instruction belongs to.
    pub program_id: Option<i64>,
    /// Device of an op that runs on a host thread (CPU backend).
    pub device_ordinal: Option<i64>,
    /// Bytes by memory (TPU); `None` where the compiler did not split them.
    pub memory: Option<MemoryBytes>,
    /// Bytes that a transfer between hosts or devices moved.
    pub bytes_transferred: Option<i64>,
    /// CUDA graph (XLA command buffer) that the kernel was launched by.
    pub graph_id: Option<i64>,
    /// The kernel's node in that graph.
    pub graph_node_id: Option<i64>,
}

/// Handle of an [`Args`] set; `ArgsId::NONE` is the empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArgsId(pub(crate) u32);

impl ArgsId {
    /// The set without any value.
    pub const NONE: ArgsId = ArgsId(0);

    /// A dense index, from 0 for the empty set: for side tables with one entry a set.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Distinct argument sets, each stored once. Copies share them until one of them grows.
#[derive(Clone, Debug)]
pub struct ArgsTable {
    kept: Arc<KeptArgs>,
}

#[derive(Clone, Debug, Default)]
struct KeptArgs {
    sets: Vec<Args>,
    index: HashTable<u32>,
}

impl Default for ArgsTable {
    fn default() -> Self {
        let mut table = ArgsTable { kept: Arc::default() };
        table.intern(&Args::default());
        table
    }
}

impl ArgsTable {
    /// The handle of `args`, stored on first sight.
    pub fn intern(&mut self, args: &Args) -> ArgsId {
        let hash = FxBuildHasher.hash_one(args);
        let sets = &self.kept.sets;
        if let Some(&id) = self.kept.index.find(hash, |&id| sets.get(id as usize) == Some(args)) {
            return ArgsId(id);
        }
        let Ok(id) = u32::try_from(sets.len()) else { return ArgsId::NONE };
        let kept = Arc::make_mut(&mut self.kept);
        kept.sets.push(*args);
        let sets = &kept.sets;
        // The same hash as above: that of a set, not of an `Option` of one.
        kept.index.insert_unique(hash, id, |&id| sets.get(id as usize).map_or(0, |set| FxBuildHasher.hash_one(set)));
        ArgsId(id)
    }

    /// The set of a handle; the empty one for a handle of another table that is out of range.
    pub fn get(&self, id: ArgsId) -> Args {
        self.kept.sets.get(id.index()).copied().unwrap_or_default()
    }

    /// The set with a dense index, to go through all of them.
    pub fn set(&self, index: usize) -> Option<&Args> {
        self.kept.sets.get(index)
    }

    /// A table of these sets, in their order; `None` where they are not those of a table.
    pub(crate) fn from_sets(sets: Vec<Args>) -> Option<ArgsTable> {
        let count = sets.len();
        let kept = KeptArgs { sets: Vec::with_capacity(count), index: HashTable::with_capacity(count) };
        let mut table = ArgsTable { kept: Arc::new(kept) };
        let are_distinct = (0u32..).zip(&sets).all(|(id, set)| table.intern(set) == ArgsId(id));
        (are_distinct && sets.first() == Some(&Args::default())).then_some(table)
    }

    /// Number of distinct sets, the empty one included.
    pub fn len(&self) -> usize {
        self.kept.sets.len()
    }

    /// True where only the empty set is stored.
    pub fn is_empty(&self) -> bool {
        self.kept.sets.len() == 1
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.kept.sets.capacity() * size_of::<Args>() + self.kept.index.capacity() * 5
    }
}

/// One event, copied out of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The line (thread, stream) it is on.
    pub line: LineId,
    /// Its name.
    pub name: StrId,
    /// Start, from the anchor.
    pub start: Ps,
    /// Duration, never negative.
    pub duration: Ps,
    /// What else it says.
    pub args: ArgsId,
}

impl Event {
    /// Start plus duration.
    pub fn end(&self) -> Ps {
        self.start + self.duration
    }
}

/// An event as it is kept: its [kind](Kinds), start and duration, in words of four bytes so that no padding stands between
/// rows. Whoever looks at an event nearly always wants most of it, so one place holds it all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row(RowWords);

type RowWords = [u32; 5];

/// Events that follow each other, as words that another program of the same build can take: see
/// [`snapshot`](super::snapshot).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowBlock(Vec<RowWords>);

impl RowBlock {
    /// Of so many words, which `fill` writes; `None` where that is no whole number of events.
    pub fn filled(words: usize, fill: impl FnOnce(&mut [u32])) -> Option<RowBlock> {
        let mut rows = vec![RowWords::default(); words / RowWords::default().len()];
        let slots = rows.as_flattened_mut();
        (slots.len() == words).then(|| fill(slots))?;
        Some(RowBlock(rows))
    }

    /// Its words.
    pub fn words(&self) -> &[u32] {
        self.0.as_flattened()
    }
}

/// Events that follow each other.
#[derive(Clone, Copy)]
pub struct Block<'a>(&'a [RowWords]);

impl<'a> Block<'a> {
    /// What each is, as an index into [`Events::kinds`], and when.
    #[inline(always)]
    pub fn times(self) -> impl Iterator<Item = (usize, Interval)> + 'a {
        self.0.iter().map(|row| (Row(*row).kind() as usize, Row(*row).interval()))
    }
}

impl Row {
    #[inline]
    fn new(kind: u32, start: Ps, duration: Ps) -> Row {
        let [start, duration] = [start.0, duration.0].map(i64::cast_unsigned);
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
        let join = |low, high| Ps((u64::from(low) | u64::from(high) << 32).cast_signed());
        (join(start_low, start_high), join(duration_low, duration_high))
    }
}

/// The duration events (`X`, and closed `B`/`E` and `b`/`e` pairs) of a trace.
#[derive(Clone, Debug, Default)]
pub struct Events {
    rows: Column<RowWords>,
    kinds: Kinds,
    /// `correlation_id`: ties a launch on the host to its device event.
    pub correlation: SparseColumn,
    /// `run_id` of a module execution.
    pub run_id: SparseColumn,
    /// `step_num` of a step annotation or of events inside one.
    pub step_num: SparseColumn,
    /// Number that the same run of one collective has on all devices (TPU).
    pub all_reduce_id: SparseColumn,
    /// Picoseconds in which an op waited for a copy of its operands or results (TPU).
    pub dma_stall: SparseColumn,
    /// Picoseconds that a message took, on an event that marks its end (megascale, between slices of TPUs).
    pub message_duration: SparseColumn,
    /// Number that the event of an op and the marker of its end share (XLA's CPU backend).
    pub flow: SparseColumn,
    /// Events of which only a part is left, and when they were as a whole: see [`cut`](Events::cut).
    cut: BTreeMap<EventId, Interval>,
}

impl Events {
    /// Number of events.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True where there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Appends an event and returns its index; `None` past 2^32 - 1 events.
    #[inline]
    pub fn push(&mut self, event: Event) -> Option<EventId> {
        u32::try_from(self.rows.len()).ok()?;
        let kind = self.kinds.intern(Kind { line: event.line, name: event.name, args: event.args });
        self.push_of_kind(kind, event.start, event.duration)
    }

    /// The same for an event of a [kind](Events::kind) that is there already.
    #[inline(always)]
    pub fn push_of_kind(&mut self, kind: u32, start: Ps, duration: Ps) -> Option<EventId> {
        let id = u32::try_from(self.rows.len()).ok()?;
        self.rows.push(Row::new(kind, start, duration).0);
        Some(id)
    }

    /// What the event at `id` is, as an index into [`kinds`](Events::kinds).
    pub fn kind(&self, id: EventId) -> Option<u32> {
        self.rows.get(id as usize).map(|row| Row(row).kind())
    }

    /// The event at `id`, or `None` past the end.
    #[inline(always)]
    pub fn get(&self, id: EventId) -> Option<Event> {
        self.rows.get(id as usize).map(|row| self.event(Row(row)))
    }

    /// Start and duration of the event at `id`.
    #[inline(always)]
    pub fn time(&self, id: EventId) -> Option<(Ps, Ps)> {
        self.rows.get(id as usize).map(|row| Row(row).time())
    }

    /// All events in order.
    pub fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        self.rows.iter().map(|row| self.event(Row(row)))
    }

    /// Calls `visit` with all events in order; for the long loops, see [`blocks`](super::blocks).
    pub fn for_each(&self, visit: impl FnMut(EventId, Event)) {
        self.for_each_of(0..u32::try_from(self.len()).unwrap_or(u32::MAX), visit);
    }

    /// The same with events that follow each other.
    pub fn for_each_of(&self, ids: Range<EventId>, mut visit: impl FnMut(EventId, Event)) {
        self.for_each_row(ids, |id, row| visit(id, self.event(row)));
    }

    /// The same with what an event is, as an index into [`kinds`](Events::kinds), and when. What is asked of a kind once need not
    /// be asked of millions of events.
    pub fn for_each_time(&self, ids: Range<EventId>, mut visit: impl FnMut(EventId, usize, Interval)) {
        self.for_each_row(ids, |id, row| visit(id, row.kind() as usize, row.interval()));
    }

    /// The same, but calls `visit` with the events of a block at a time and the first one's index.
    pub fn for_each_block(&self, ids: Range<EventId>, mut visit: impl FnMut(EventId, Block<'_>)) {
        let mut first = ids.start;
        for rows in self.rows.slices(ids.start as usize..ids.end as usize) {
            by_block(rows, |rows| {
                visit(first, Block(rows));
                first += rows.len() as u32;
            });
        }
    }

    #[inline(always)]
    fn for_each_row(&self, ids: Range<EventId>, mut visit: impl FnMut(EventId, Row)) {
        let mut id = ids.start;
        for rows in self.rows.slices(ids.start as usize..ids.end as usize) {
            in_blocks(rows, |row| {
                visit(id, Row(*row));
                id += 1;
            });
        }
    }

    /// The same of one event.
    #[inline(always)]
    pub(crate) fn kind_and_time(&self, id: EventId) -> Option<(usize, Interval)> {
        self.rows.get(id as usize).map(|row| (Row(row).kind() as usize, Row(row).interval()))
    }

    /// What the events are, each once, in the order in which they first occur.
    pub fn kinds(&self) -> &[Kind] {
        self.kinds.list()
    }

    #[inline(always)]
    fn event(&self, row: Row) -> Event {
        let Kind { line, name, args } = self.kinds.get(row.kind());
        let (start, duration) = row.time();
        Event { line, name, start, duration, args }
    }

    /// Gives the event at `id` another start and duration; false where it is not here any more.
    pub(crate) fn set_time(&mut self, id: EventId, start: Ps, duration: Ps) -> bool {
        let row = self.rows.get_mut(id as usize);
        row.map(|row| *row = Row::new(Row(*row).kind(), start, duration).0).is_some()
    }

    /// Gives events the start and duration that `change` makes of what they are, as an index into [`kinds`](Events::kinds), and of
    /// their start and duration; `None` leaves them as they are.
    pub(crate) fn change_times(&mut self, mut change: impl FnMut(EventId, usize, (Ps, Ps)) -> Option<(Ps, Ps)>) {
        let mut id = 0;
        for rows in self.rows.blocks_mut() {
            change_block(rows, &mut id, &mut change);
        }
    }

    /// True where rows were [taken](Events::take_full_blocks).
    pub(crate) fn has_taken(&self) -> bool {
        self.rows.has_taken()
    }

    /// Closes an event that was opened at its start (`B`, `b`).
    pub fn set_duration(&mut self, id: EventId, duration: Ps) {
        if let Some(row) = self.rows.get_mut(id as usize) {
            let closed = Row(*row);
            *row = Row::new(closed.kind(), closed.time().0, duration).0;
        }
    }

    /// Makes events of another kind where `change` says so, which is given what an event is, also as an index into
    /// [`kinds`](Events::kinds), and when.
    pub fn change_kinds(&mut self, mut change: impl FnMut(usize, Kind, Interval) -> Option<Kind>) {
        for index in 0..self.rows.len() {
            let Some(old) = self.rows.get(index).map(Row) else { return };
            let (start, duration) = old.time();
            let changed = change(old.kind() as usize, self.kinds.get(old.kind()), old.interval());
            let Some(kind) = changed else { continue };
            let row = Row::new(self.kinds.intern(kind), start, duration).0;
            self.rows.get_mut(index).into_iter().for_each(|slot| *slot = row);
        }
    }

    /// Changes what the event at `id` says.
    pub(crate) fn set_args(&mut self, id: EventId, args: ArgsId) {
        let Some(row) = self.rows.get(id as usize).map(Row) else { return };
        let kind = self.kinds.intern(Kind { args, ..self.kinds.get(row.kind()) });
        let (start, duration) = row.time();
        if let Some(slot) = self.rows.get_mut(id as usize) {
            *slot = Row::new(kind, start, duration).0;
        }
    }

    /// True where no rows were [taken](Events::take_full_blocks).
    pub(crate) fn is_whole(&self) -> bool {
        self.rows.is_whole()
    }

    /// Leaves of an event the part `inside`. Where a part of it was left already, this one becomes an event behind all others.
    /// Returns the index of the part.
    pub fn cut(&mut self, id: EventId, inside: Interval) -> Option<EventId> {
        let (kind, now) = self.kind_and_time(id)?;
        let (part, whole) = match self.cut.get(&id) {
            Some(&whole) => (self.push_of_kind(kind as u32, inside.start, inside.length())?, whole),
            None => {
                *self.rows.get_mut(id as usize)? = Row::new(kind as u32, inside.start, inside.length()).0;
                (id, now)
            }
        };
        self.cut.insert(part, whole);
        Some(part)
    }

    /// When an event of which only a part is left was as a whole; `None` for all others.
    #[inline]
    pub fn whole(&self, id: EventId) -> Option<Interval> {
        if self.cut.is_empty() { None } else { self.cut.get(&id).copied() }
    }

    /// True for the part of an event that started before it: the event counts where it started.
    #[inline]
    pub fn began_before(&self, id: EventId) -> bool {
        self.whole(id).is_some_and(|whole| self.time(id).is_some_and(|(start, _)| start > whole.start))
    }

    /// Takes the rows that will not grow in number any more. The events still count, but can no longer be looked at: whoever
    /// decodes does not.
    pub fn take_full_blocks(&mut self) -> impl Iterator<Item = RowBlock> {
        self.rows.take_full().map(RowBlock)
    }

    /// Appends rows that another trace of the same names and lines had.
    pub(crate) fn append(&mut self, block: RowBlock) {
        self.rows.append(block.0);
    }

    /// The rows that were not taken; what they are of; the sparse columns in the order of their declaration.
    pub(crate) fn into_columns(self) -> (impl Iterator<Item = RowBlock>, Vec<Kind>, [SparseColumn; 7]) {
        let Events {
            rows,
            kinds,
            correlation,
            run_id,
            step_num,
            all_reduce_id,
            dma_stall,
            message_duration,
            flow,
            cut: _,
        } = self;
        let sparse = [correlation, run_id, step_num, all_reduce_id, dma_stall, message_duration, flow];
        (rows.into_blocks().map(RowBlock), kinds.into_list(), sparse)
    }

    /// Puts in what the rows are of, and the sparse columns in the order of their declaration; `None` where these are none.
    pub(crate) fn with_columns(self, kinds: Vec<Kind>, sparse: [SparseColumn; 7]) -> Option<Events> {
        if !sparse.iter().all(SparseColumn::is_sorted) {
            return None;
        }
        let [correlation, run_id, step_num, all_reduce_id, dma_stall, message_duration, flow] = sparse;
        Some(Events {
            rows: self.rows,
            kinds: Kinds::from_list(kinds),
            correlation,
            run_id,
            step_num,
            all_reduce_id,
            dma_stall,
            message_duration,
            flow,
            cut: BTreeMap::new(),
        })
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.rows.memory_bytes()
            + self.kinds.memory_bytes()
            + self.correlation.memory_bytes()
            + self.run_id.memory_bytes()
            + self.step_num.memory_bytes()
            + self.all_reduce_id.memory_bytes()
            + self.dma_stall.memory_bytes()
            + self.message_duration.memory_bytes()
            + self.flow.memory_bytes()
    }
}

/// A call of its own: see [`blocks`](super::blocks).
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
        *id = id.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_found_again_however_many_follow_it() {
        let set = |flops| Args { flops: Some(flops), ..Args::default() };
        let mut table = ArgsTable::default();
        let ids: Vec<ArgsId> = (0..5_000).map(|flops| table.intern(&set(flops))).collect();
        assert!(
            (0..5_000).zip(&ids).all(|(flops, &id)| table.intern(&set(flops)) == id && table.get(id) == set(flops))
        );
        assert_eq!(table.len(), 5_001);
    }

    #[test]
    fn an_event_comes_back_as_it_was_pushed() {
        let mut events = Events::default();
        let event = |start: i64, duration: i64| Event {
            line: LineId(7),
            name: StrId(u32::MAX),
            start: Ps(start),
            duration: Ps(duration),
            args: ArgsId(3),
        };
        let all = [event(-1, 0), event(i64::MIN, i64::MAX), event(1 << 40, 0xffff_ffff)];
        all.iter().for_each(|event| assert!(events.push(*event).is_some()));
        assert!(events.iter().eq(all));
        let mut seen = Vec::new();
        events.for_each(|id, event| seen.push((id, event)));
        assert!(seen.into_iter().eq((0..).zip(all)));
        let mut seen = Vec::new();
        events.for_each_of(1..9, |id, event| seen.push((id, event)));
        assert!(seen.into_iter().eq((1..).zip(all.into_iter().skip(1))));
        events.set_duration(0, Ps(1 << 33));
        assert_eq!(events.get(0), Some(event(-1, 1 << 33)));
        assert_eq!((events.get(3), events.len()), (None, 3));
    }
}
