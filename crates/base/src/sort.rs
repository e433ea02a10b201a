//! Sort functions and ordered maps that are compiled only once.
//!
//! The compiler generates the standard library's sort again for every type and comparison, at about five kilobytes of
//! WebAssembly each. Collecting into an ordered map has the same cost. The lists of a report are short, so these functions
//! share one compiled copy and call the comparison through a pointer. Columns with a million values use the standard
//! library's sort.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Sorts `items` stably.
pub fn sort_by<T>(items: &mut Vec<T>, compare: impl Fn(&T, &T) -> Ordering) {
    let mut order: Vec<usize> = (0..items.len()).collect();
    sort_indices(&mut order, &|a, b| match (items.get(a), items.get(b)) {
        (Some(a), Some(b)) => compare(a, b),
        _ => Ordering::Equal,
    });
    let mut slots: Vec<Option<T>> = std::mem::take(items).into_iter().map(Some).collect();
    items.extend(order.into_iter().filter_map(|index| slots.get_mut(index)?.take()));
}

/// Sorts `items` stably by a key.
pub fn sort_by_key<T, K: Ord>(items: &mut Vec<T>, key: impl Fn(&T) -> K) {
    sort_by(items, |a, b| key(a).cmp(&key(b)));
}

/// Sorts numbers in ascending order.
#[inline(never)]
pub fn numbers(numbers: &mut [i64]) {
    numbers.sort_unstable();
}

/// Sorts pairs of a number and an index in ascending order. The index breaks ties.
#[inline(never)]
pub fn numbers_of(numbers: &mut [(i64, u32)]) {
    numbers.sort_unstable();
}

/// Sorts many large items by a number in descending order. `ties` orders items with the same number, and the sort is
/// stable. Only the numbers are sorted, and each item moves once. Returns the new position of each item.
pub fn by_number<T>(items: &mut [T], number: impl Fn(&T) -> i64, ties: impl Fn(&T, &T) -> Ordering) -> Vec<u32> {
    let mut keys: Vec<(i64, u32)> = items.iter().map(number).zip(0..).collect();
    sort_keys(&mut keys, &|a, b| match (items.get(a), items.get(b)) {
        (Some(a), Some(b)) => ties(a, b),
        _ => Ordering::Equal,
    });
    let mut places = vec![0; items.len()];
    for (place, &(_, index)) in (0..).zip(&keys) {
        if let Some(slot) = places.get_mut(index as usize) {
            *slot = place;
        }
    }
    let mut rest = places.clone();
    for at in 0..items.len() {
        // Each swap moves one item to its final position.
        while let Some(place) = rest.get(at).map(|&place| place as usize).filter(|&place| place != at) {
            items.swap(at, place);
            rest.swap(at, place);
        }
    }
    places
}

#[inline(never)]
fn sort_keys(keys: &mut [(i64, u32)], ties: &dyn Fn(usize, usize) -> Ordering) {
    keys.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| ties(a.1 as usize, b.1 as usize)));
}

/// Sorts the items and keeps the first `top`. If items compare as equal, the earlier item is kept.
pub fn first_by<T>(items: &mut Vec<T>, top: usize, compare: impl Fn(&T, &T) -> Ordering) {
    let mut order: Vec<usize> = (0..items.len()).collect();
    select_indices(&mut order, top, &|a, b| match (items.get(a), items.get(b)) {
        (Some(a), Some(b)) => compare(a, b),
        _ => Ordering::Equal,
    });
    let mut kept = vec![false; items.len()];
    for index in order {
        if let Some(kept) = kept.get_mut(index) {
            *kept = true;
        }
    }
    let mut kept = kept.iter();
    items.retain(|_| kept.next() == Some(&true));
    sort_by(items, compare);
}

/// Keeps the `top` indices that a sort would place first, without sorting them.
#[inline(never)]
fn select_indices(order: &mut Vec<usize>, top: usize, compare: &dyn Fn(usize, usize) -> Ordering) {
    if top < order.len() {
        order.select_nth_unstable_by(top, |&a, &b| compare(a, b).then(a.cmp(&b)));
        order.truncate(top);
    }
}

#[inline(never)]
fn sort_indices(order: &mut [usize], compare: &dyn Fn(usize, usize) -> Ordering) {
    order.sort_by(|&a, &b| compare(a, b));
}

/// Collects pairs into a map. If a key is repeated, its last pair is used.
pub fn map<K: Ord, V>(pairs: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    map.extend(pairs);
    map
}

/// Collects values into a set.
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

    #[test]
    fn many_items_are_sorted_by_a_number_with_their_new_positions() {
        let items: Vec<(i64, u32)> = (0..500u32).map(|i| (i64::from(i * 7919 % 40) - 20, i * 31 % 7)).collect();
        let mut expected: Vec<((i64, u32), usize)> = items.iter().copied().zip(0..).collect();
        expected.sort_by(|a, b| b.0.0.cmp(&a.0.0).then(a.0.1.cmp(&b.0.1)));
        let mut sorted = items.clone();
        let places = by_number(&mut sorted, |item| item.0, |a, b| a.1.cmp(&b.1));
        assert_eq!(sorted, expected.iter().map(|it| it.0).collect::<Vec<_>>());
        assert!(expected.iter().enumerate().all(|(place, &(_, index))| places[index] as usize == place));
    }

    #[test]
    fn the_first_items_match_a_full_sort() {
        let items: Vec<(u32, u32)> = (0..500u32).map(|i| (i * 7919 % 40, i)).collect();
        let mut expected = items.clone();
        expected.sort_by_key(|item| item.0);
        for top in [0, 1, 7, 499, 500, 900] {
            let mut first = items.clone();
            first_by(&mut first, top, |a, b| a.0.cmp(&b.0));
            assert_eq!(first, expected[..top.min(500)]);
        }
    }
}
