//! Columns of event data that grow in blocks, so that a large trace never doubles its memory to reallocate.

use std::ops::Range;
use std::sync::Arc;

use super::event_id::EventId;

const BLOCK_BITS: usize = 15;
const BLOCK: usize = 1 << BLOCK_BITS;

/// An append-only column of `Copy` values. Clones are cheap: full blocks are shared until one clone changes a value.
#[derive(Clone, Debug)]
pub(crate) struct Column<T> {
    /// Full blocks. Blocks that were [taken](Column::take_full) are empty.
    full: Vec<Arc<Vec<T>>>,
    /// The last block, which follows the full blocks. When this block is full, the next value moves it to `full`.
    last: Vec<T>,
    len: usize,
    /// Number of full blocks that were taken.
    taken: usize,
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Column { full: Vec::new(), last: Vec::new(), len: 0, taken: 0 }
    }
}

impl<T: Copy> Column<T> {
    /// Returns the number of values that were pushed.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns true if no value was pushed.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a value. The function that makes room does not receive the value, so that the value can stay in a
    /// processor register.
    #[inline]
    pub(crate) fn push(&mut self, value: T) {
        if self.last.len() >= BLOCK {
            self.add_block();
        }
        self.last.push(value);
        self.len += 1;
    }

    /// Starts a new block. The first block starts small, because most traces in a folder are tiny. Later blocks have
    /// full size.
    #[cold]
    #[inline(never)]
    fn add_block(&mut self) {
        self.full.push(Arc::new(std::mem::replace(&mut self.last, Vec::with_capacity(BLOCK))));
    }

    fn num_blocks(&self) -> usize {
        self.full.len() + usize::from(!self.last.is_empty())
    }

    /// Returns the block at an index, or an empty slice if there is no such block.
    #[inline(always)]
    fn block(&self, at: usize) -> &[T] {
        match self.full.get(at) {
            Some(block) => block,
            None if at == self.full.len() => &self.last,
            None => &[],
        }
    }

    /// Returns the value at `index`, or `None` past the end. This function is inlined even in builds optimised for
    /// size, because it is the innermost part of most long loops.
    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> Option<T> {
        self.block(index >> BLOCK_BITS).get(index & (BLOCK - 1)).copied()
    }

    /// Returns a mutable reference to the value at `index`. The block of the value is then no longer shared with
    /// clones.
    #[inline]
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let (block, place) = (index >> BLOCK_BITS, index & (BLOCK - 1));
        if block == self.full.len() {
            return self.last.get_mut(place);
        }
        Arc::make_mut(self.full.get_mut(block)?).get_mut(place)
    }

    /// Appends values.
    pub(crate) fn extend(&mut self, values: impl Iterator<Item = T>) {
        values.for_each(|value| self.push(value));
    }

    /// Appends a block of another column. If the last block is full, reuses `block` without copying it.
    pub(crate) fn append(&mut self, block: Vec<T>) {
        if self.len.is_multiple_of(BLOCK) && block.len() <= BLOCK {
            self.len += block.len();
            let before = std::mem::replace(&mut self.last, block);
            if !before.is_empty() {
                self.full.push(Arc::new(before));
            }
        } else {
            self.extend(block.into_iter());
        }
    }

    /// Removes the blocks that will not grow any more, and returns them. [`len`](Column::len) still includes their
    /// values.
    pub(crate) fn take_full(&mut self) -> impl Iterator<Item = Vec<T>> {
        let full = self.full.len();
        let taken = self.full.get_mut(self.taken..).unwrap_or_default();
        self.taken = full;
        taken.iter_mut().map(|block| Arc::unwrap_or_clone(std::mem::take(block)))
    }

    /// Returns true if no block was taken.
    pub(crate) fn is_whole(&self) -> bool {
        self.taken == 0
    }

    /// Returns all values in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.blocks().flatten().copied()
    }

    /// Returns the values as slices, in order.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &[T]> {
        (0..self.num_blocks()).map(|at| self.block(at))
    }

    /// Returns the values as mutable slices, in order.
    pub(crate) fn blocks_mut(&mut self) -> impl Iterator<Item = &mut [T]> {
        let last = std::iter::once(self.last.as_mut_slice());
        self.full.iter_mut().map(|block| Arc::make_mut(block).as_mut_slice()).chain(last)
    }

    /// Returns true if blocks were taken.
    pub(crate) fn has_taken(&self) -> bool {
        self.taken > 0
    }

    /// Returns the values in an index range as slices, in order.
    pub(crate) fn slices(&self, part: Range<usize>) -> impl Iterator<Item = &[T]> {
        let (first, last) = (part.start >> BLOCK_BITS, part.end.div_ceil(BLOCK));
        (first..last.min(self.num_blocks())).map(move |at| {
            let (start, block) = (at << BLOCK_BITS, self.block(at));
            let from = part.start.saturating_sub(start).min(block.len());
            let to = part.end.saturating_sub(start).min(block.len());
            block.get(from..to).unwrap_or_default()
        })
    }

    /// Returns the values in order, as one vector per block. Leaves out blocks that were taken.
    pub(crate) fn into_blocks(self) -> impl Iterator<Item = Vec<T>> {
        let last = Some(self.last).filter(|last| !last.is_empty());
        self.full.into_iter().skip(self.taken).map(Arc::unwrap_or_clone).chain(last)
    }

    /// Returns the allocated memory, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        (self.full.iter().map(|block| block.capacity()).sum::<usize>() + self.last.capacity()) * size_of::<T>()
    }
}

/// A column of values that only some events have. The column consists of event ids (ascending) and their values.
#[derive(Clone, Debug, Default)]
pub struct SparseColumn {
    events: Column<EventId>,
    values: Column<i64>,
}

impl SparseColumn {
    /// Returns the number of events that have a value.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Returns true if no event has a value.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Adds the value of `event`. Callers must add events in ascending order, and each event at most once.
    #[inline]
    pub fn push(&mut self, event: EventId, value: i64) {
        self.events.push(event);
        self.values.push(value);
    }

    /// Returns the value of `event`. A binary search finds the block of the event, and then the position in the block.
    /// If all events since the block's first event have a value, the position follows from the event's id without a
    /// search.
    pub fn get(&self, event: EventId) -> Option<i64> {
        let after = self.events.full.partition_point(|block| block.first().is_some_and(|&first| first <= event));
        // The last block follows the full blocks.
        let is_last = self.events.last.first().is_some_and(|&first| first <= event);
        let block = if is_last { self.events.full.len() } else { after.checked_sub(1)? };
        let events = self.events.block(block);
        let furthest = event.index() - events.first()?.index();
        let at = match events.get(furthest) {
            Some(found) if *found == event => furthest,
            _ => events.get(..furthest.min(events.len()))?.binary_search(&event).ok()?,
        };
        self.values.block(block).get(at).copied()
    }

    /// Returns the events and their values in ascending order, as the blocks in which they are stored.
    pub(crate) fn into_blocks(self) -> impl Iterator<Item = (Vec<EventId>, Vec<i64>)> {
        self.events.into_blocks().zip(self.values.into_blocks())
    }

    /// Appends the events and values of a block from another column.
    pub(crate) fn extend(&mut self, events: impl Iterator<Item = EventId>, values: impl Iterator<Item = i64>) {
        self.events.extend(events);
        self.values.extend(values);
    }

    /// Returns true if the events ascend, as [`SparseColumn::get`] requires.
    pub(crate) fn is_sorted(&self) -> bool {
        self.events.iter().is_sorted_by(|a, b| a < b)
    }

    /// Returns `(event, value)` pairs in ascending order of events.
    pub fn iter(&self) -> impl Iterator<Item = (EventId, i64)> + '_ {
        self.events.iter().zip(self.values.iter())
    }

    /// Calls `visit` for all pairs. [`blocks`](super::blocks) explains why long loops use such a function.
    pub fn for_each(&self, mut visit: impl FnMut(EventId, i64)) {
        for (events, values) in self.events.blocks().zip(self.values.blocks()) {
            one_block(events, values, &mut visit);
        }
    }

    /// Returns the allocated memory, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.events.memory_bytes() + self.values.memory_bytes()
    }
}

#[inline(never)]
fn one_block(events: &[EventId], values: &[i64], visit: &mut impl FnMut(EventId, i64)) {
    events.iter().zip(values).for_each(|(&event, &value)| visit(event, value));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_hold_what_was_pushed() {
        let mut column = Column::default();
        for i in 0..100_000u32 {
            column.push(i);
        }
        assert_eq!(column.len(), 100_000);
        assert_eq!(column.get(99_999), Some(99_999));
        assert_eq!(column.get(100_000), None);
        assert!(column.iter().eq(0..100_000));
        for part in [0..0, 0..100_000, 5..32_768, 32_767..70_000, 65_536..65_536, 99_999..200_000, 200_000..300_000] {
            let end = part.end.min(100_000) as u32;
            assert!(column.slices(part.clone()).flatten().copied().eq(part.start as u32..end), "{part:?}");
        }
        *column.get_mut(70_000).unwrap() = 7;
        assert_eq!(column.get(70_000), Some(7));
        let before = column.clone();
        *column.get_mut(40_000).unwrap() = 8;
        *column.get_mut(99_000).unwrap() = 9;
        assert_eq!([40_000, 99_000].map(|at| before.get(at)), [Some(40_000), Some(99_000)]);
        assert_eq!([40_000, 99_000].map(|at| column.get(at)), [Some(8), Some(9)]);
        let mut copy = Column::default();
        let mut rest = column.clone();
        rest.take_full().for_each(|block| copy.append(block));
        assert_eq!((copy.len(), rest.len(), rest.take_full().count()), (3 * BLOCK, 100_000, 0));
        rest.push(1);
        rest.into_blocks().for_each(|block| copy.append(block));
        copy.append(vec![2]);
        assert!(copy.iter().eq(column.iter().chain([1, 2])));
    }

    #[test]
    fn sparse_columns_find_by_event() {
        let mut column = SparseColumn::default();
        for event in [3u32, 4, 9, 10, 70_000] {
            column.push(EventId(event), i64::from(event) * 2);
        }
        let get = |event| column.get(EventId(event));
        assert_eq!([9, 70_000, 3, 4, 10].map(get), [18, 140_000, 6, 8, 20].map(Some));
        assert_eq!([0, 5, 8, 11, 69_999, u32::MAX].map(get), [None; 6]);
    }
}
