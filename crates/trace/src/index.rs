//! Where values stand in a list, by their hash.

use hashbrown::HashTable;

/// Numbers of distinct values. Part of each value's hash stands beside its number, so that the table grows without looking at the
/// values, and nearly all values that differ are distinguished without it, too: they are far away in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    /// Folded hash and number.
    entries: HashTable<(u32, u32)>,
}

/// The middle of a hash, in which all of its bits have a part.
fn fold(hash: u64) -> u32 {
    (hash ^ hash >> 32) as u32
}

/// The folded hash over all 64 bits, of which the table uses the highest and the lowest.
fn spread(folded: u32) -> u64 {
    u64::from(folded).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32)
}

impl Index {
    /// An index with room for `values` values.
    pub fn with_capacity(values: usize) -> Index {
        Index { entries: HashTable::with_capacity(values) }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The number of the value with this hash for which `is_it` holds.
    #[inline]
    pub fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let folded = fold(hash);
        let found = self.entries.find(spread(folded), |&(of, number)| of == folded && is_it(number));
        found.map(|&(_, number)| number)
    }

    /// Adds a value that is not there.
    #[inline]
    pub fn insert(&mut self, hash: u64, number: u32) {
        let folded = fold(hash);
        self.entries.insert_unique(spread(folded), (folded, number), |&(of, _)| spread(of));
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.entries.capacity() * (size_of::<(u32, u32)>() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_one_hash_are_told_apart() {
        let mut index = Index::with_capacity(2);
        (0..1_000u32).for_each(|number| index.insert(u64::from(number / 3) << 40, number));
        assert_eq!(index.len(), 1_000);
        for number in 0..1_000u32 {
            let mut asked = 0;
            let found = index.find(u64::from(number / 3) << 40, |it| {
                asked += 1;
                it == number
            });
            assert!(found == Some(number) && asked <= 3);
        }
        assert_eq!(index.find(7, |_| true), None);
    }
}
