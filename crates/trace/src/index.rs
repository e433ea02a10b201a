//! Index of the values of a list, by their hash.

use hashbrown::HashTable;

/// Numbers of distinct values. Each entry also stores part of its value's hash. So the table can grow without reading
/// the values, which are far away in memory, and nearly all comparisons of different values end at the hash.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    /// Folded hash and number of each value.
    entries: HashTable<(u32, u32)>,
}

/// Folds a hash to 32 bits, to which all of its bits contribute.
fn fold(hash: u64) -> u32 {
    (hash ^ hash >> 32) as u32
}

/// Spreads a folded hash over 64 bits: the table uses only the highest and the lowest bits.
fn spread(folded: u32) -> u64 {
    u64::from(folded).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32)
}

impl Index {
    /// Creates an index with room for `values` values.
    pub fn with_capacity(values: usize) -> Index {
        Index { entries: HashTable::with_capacity(values) }
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the number of the value with this hash for which `is_it` returns true.
    #[inline]
    pub fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let folded = fold(hash);
        let found = self.entries.find(spread(folded), |&(of, number)| of == folded && is_it(number));
        found.map(|&(_, number)| number)
    }

    /// Adds a value that is not in the index yet.
    #[inline]
    pub fn insert(&mut self, hash: u64, number: u32) {
        let folded = fold(hash);
        self.entries.insert_unique(spread(folded), (folded, number), |&(of, _)| spread(of));
    }

    /// Returns the allocated memory, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.entries.capacity() * (size_of::<(u32, u32)>() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_the_same_hash_are_distinguished() {
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
