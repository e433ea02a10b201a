//! Finds values in a list by their hashes.

use std::hash::{BuildHasher, Hash};

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// Numbers of distinct values, which are found by the hashes of the values. Each entry also stores part of the hash of
/// its value. Therefore, the table can grow without reading the values, which are stored elsewhere in memory. The hash
/// alone distinguishes nearly all different values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    /// Folded hash and number of each distinct value.
    entries: HashTable<(u32, u32)>,
}

/// Folds a hash to 32 bits. All bits of the hash affect the result.
fn fold(hash: u64) -> u32 {
    (hash ^ hash >> 32) as u32
}

/// Spreads a folded hash over 64 bits, because the table uses only the highest and the lowest bits.
fn spread(folded: u32) -> u64 {
    u64::from(folded).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32)
}

impl Index {
    /// Creates an index with room for `values` values.
    pub(crate) fn with_capacity(values: usize) -> Index {
        Index { entries: HashTable::with_capacity(values) }
    }

    /// Returns the number of values.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the number of the value that has this hash, and for which `is_it` returns true.
    #[inline]
    pub(crate) fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let folded = fold(hash);
        let found = self.entries.find(spread(folded), |&(of, number)| of == folded && is_it(number));
        found.map(|&(_, number)| number)
    }

    /// Adds a value that is not in the index yet.
    #[inline]
    pub(crate) fn insert(&mut self, hash: u64, number: u32) {
        let folded = fold(hash);
        self.entries.insert_unique(spread(folded), (folded, number), |&(of, _)| spread(of));
    }

    /// Returns the allocated memory, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.entries.capacity() * (size_of::<(u32, u32)>() + 1)
    }
}

/// Numbers distinct keys in the order in which they first occur. The table needs only 9 bytes per slot, whatever the
/// size of the keys. A map from keys to numbers would be larger. With a million keys, every search in a larger table
/// would miss the processor's caches.
#[derive(Clone, Debug)]
pub struct Numbering<K> {
    keys: Vec<K>,
    index: Index,
}

impl<K: Copy + Eq + Hash> Numbering<K> {
    /// Creates a numbering with room for `keys` keys.
    pub fn with_capacity(keys: usize) -> Numbering<K> {
        Numbering { keys: Vec::with_capacity(keys), index: Index::with_capacity(keys) }
    }

    /// Returns the number of a key, if the key already has a number.
    pub fn find(&self, key: K) -> Option<u32> {
        self.index.find(FxBuildHasher.hash_one(key), |number| self.keys.get(number as usize) == Some(&key))
    }

    /// Returns the number of a key. A new key gets the next number, starting at 0. When the numbers run out, all new keys
    /// get the number 2^32 - 1.
    #[inline]
    pub fn number(&mut self, key: K) -> u32 {
        let (hash, keys) = (FxBuildHasher.hash_one(key), &self.keys);
        self.index.find(hash, |number| keys.get(number as usize) == Some(&key)).unwrap_or_else(|| {
            let Ok(number) = u32::try_from(self.keys.len()) else { return u32::MAX };
            self.keys.push(key);
            self.index.insert(hash, number);
            number
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_numbered_in_the_order_of_their_first_occurrence() {
        let mut numbers = Numbering::with_capacity(3);
        let keys: Vec<(u32, u32)> = (0..5_000).map(|at| (at * 7 % 1_000, at % 2)).collect();
        let found: Vec<u32> = keys.iter().map(|&key| numbers.number(key)).collect();
        let mut distinct: Vec<(u32, u32)> = Vec::new();
        for (&key, &number) in keys.iter().zip(&found) {
            if number as usize == distinct.len() {
                distinct.push(key);
            }
            assert_eq!(distinct[number as usize], key);
            assert_eq!(numbers.find(key), Some(number));
        }
        assert_eq!((distinct.len(), numbers.find((0, 7))), (1_000, None));
    }

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
