//! Columns of event data that grow in blocks: no reallocation doubles the memory of a large trace.

const BLOCK_BITS: usize = 15;
const BLOCK: usize = 1 << BLOCK_BITS;

/// An append-only column of `Copy` values.
#[derive(Clone, Debug)]
pub struct Column<T> {
    blocks: Vec<Vec<T>>,
    len: usize,
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Column { blocks: Vec::new(), len: 0 }
    }
}

impl<T: Copy> Column<T> {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True where nothing was pushed.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a value.
    #[inline]
    pub fn push(&mut self, value: T) {
        match self.blocks.last_mut() {
            Some(block) if block.len() < BLOCK => block.push(value),
            _ => self.push_block(value),
        }
        self.len += 1;
    }

    #[cold]
    fn push_block(&mut self, value: T) {
        // The first block starts small: most traces in a folder are tiny.
        let mut block = if self.blocks.is_empty() { Vec::new() } else { Vec::with_capacity(BLOCK) };
        block.push(value);
        self.blocks.push(block);
    }

    /// The value at `index`, or `None` past the end.
    #[inline]
    pub fn get(&self, index: usize) -> Option<T> {
        self.blocks.get(index >> BLOCK_BITS)?.get(index & (BLOCK - 1)).copied()
    }

    /// Replaces the value at `index`; does nothing past the end.
    #[inline]
    pub fn set(&mut self, index: usize, value: T) {
        if let Some(slot) = self.blocks.get_mut(index >> BLOCK_BITS).and_then(|b| b.get_mut(index & (BLOCK - 1))) {
            *slot = value;
        }
    }

    /// All values in order.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.blocks.iter().flatten().copied()
    }

    /// The values in order, in the blocks that hold them.
    pub(crate) fn into_blocks(self) -> impl Iterator<Item = Vec<T>> {
        self.blocks.into_iter()
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.blocks.iter().map(|b| b.capacity() * size_of::<T>()).sum()
    }
}

/// A column that only some events have: their indices (ascending) and their values.
#[derive(Clone, Debug, Default)]
pub struct SparseColumn {
    events: Column<u32>,
    values: Column<i64>,
}

impl SparseColumn {
    /// Number of events that have a value.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// True where no event has a value.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Gives event `event` a value. Events must be given in ascending order, each at most once.
    #[inline]
    pub fn push(&mut self, event: u32, value: i64) {
        self.events.push(event);
        self.values.push(value);
    }

    /// The value of `event`, by binary search.
    pub fn get(&self, event: u32) -> Option<i64> {
        let (mut low, mut high) = (0, self.events.len());
        while low < high {
            let middle = (low + high) / 2;
            match self.events.get(middle)?.cmp(&event) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.values.get(middle),
            }
        }
        None
    }

    /// Events and their values in ascending order, in the blocks that hold them.
    pub(crate) fn into_blocks(self) -> impl Iterator<Item = (Vec<u32>, Vec<i64>)> {
        self.events.into_blocks().zip(self.values.into_blocks())
    }

    /// Whether events are ascending, as [`SparseColumn::get`] needs them.
    pub(crate) fn is_sorted(&self) -> bool {
        self.events.iter().is_sorted_by(|a, b| a < b)
    }

    /// `(event, value)` pairs in ascending order of events.
    pub fn iter(&self) -> impl Iterator<Item = (u32, i64)> + '_ {
        self.events.iter().zip(self.values.iter())
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.events.memory_bytes() + self.values.memory_bytes()
    }
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
        column.set(70_000, 7);
        assert_eq!(column.get(70_000), Some(7));
    }

    #[test]
    fn sparse_columns_find_by_event() {
        let mut column = SparseColumn::default();
        for event in [3u32, 9, 70_000] {
            column.push(event, i64::from(event) * 2);
        }
        assert_eq!(column.get(9), Some(18));
        assert_eq!(column.get(70_000), Some(140_000));
        assert_eq!(column.get(4), None);
    }
}
