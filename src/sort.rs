//! Sorting and ordered maps whose code is compiled once.
//!
//! The standard library compiles its sort anew for every type and every order, some five kilobytes of WebAssembly each, and
//! collecting into an ordered map does the same. The lists of a report are short, so these call one copy through a
//! pointer. Columns of a million values keep the standard sort.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Sorts `items`; equal ones keep their order.
pub fn sort_by<T>(items: &mut Vec<T>, compare: impl Fn(&T, &T) -> Ordering) {
    let mut order: Vec<usize> = (0..items.len()).collect();
    sort_indices(&mut order, &|a, b| match (items.get(a), items.get(b)) {
        (Some(a), Some(b)) => compare(a, b),
        _ => Ordering::Equal,
    });
    let mut slots: Vec<Option<T>> = std::mem::take(items).into_iter().map(Some).collect();
    items.extend(order.into_iter().filter_map(|index| slots.get_mut(index)?.take()));
}

/// Sorts `items` by a key; equal ones keep their order.
pub fn sort_by_key<T, K: Ord>(items: &mut Vec<T>, key: impl Fn(&T) -> K) {
    sort_by(items, |a, b| key(a).cmp(&key(b)));
}

#[inline(never)]
fn sort_indices(order: &mut [usize], compare: &dyn Fn(usize, usize) -> Ordering) {
    order.sort_by(|&a, &b| compare(a, b));
}

/// The map of these pairs; of equal keys the last one stays.
pub fn map<K: Ord, V>(pairs: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    map.extend(pairs);
    map
}

/// The set of these values.
pub fn set<K: Ord>(values: impl IntoIterator<Item = K>) -> BTreeSet<K> {
    let mut set = BTreeSet::new();
    set.extend(values);
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_as_the_standard_library_does() {
        let mut items: Vec<(u32, usize)> = (0..500u32).map(|i| i.wrapping_mul(2_654_435_761) % 40).zip(0..).collect();
        let mut expected = items.clone();
        expected.sort_by_key(|item| item.0);
        sort_by_key(&mut items, |item| item.0);
        assert_eq!(items, expected);
    }
}
