//! What a device memory profile holds, as the profile's section `memory.live`.

use std::collections::BTreeMap;

use memory::{HeapKey, HeapProfile, HeapSum};
use report::{LiveMemory, LiveMemoryKind, LiveMemoryLine};

use super::share::share;

/// Lines that the section lists.
const MOST_LINES: usize = 50;

/// The section; `None` for a profile without samples.
pub(super) fn live(profile: &HeapProfile) -> Option<LiveMemory> {
    if profile.samples.is_empty() {
        return None;
    }
    let kinds = sorted(profile.sums(HeapKey::Kind));
    let total_bytes = kinds.iter().fold(0u64, |total, (_, sum)| total.saturating_add(unsigned(sum.bytes)));
    let kinds = kinds.into_iter().map(|(key, sum)| LiveMemoryKind {
        kind: key.into_iter().next().unwrap_or_default(),
        count: unsigned(sum.count),
        bytes: unsigned(sum.bytes),
        percent: share(unsigned(sum.bytes), total_bytes),
    });
    let stacks = largest_stacks(profile);
    let lines = sorted(profile.sums(HeapKey::Line)).into_iter().take(MOST_LINES).map(|(key, sum)| LiveMemoryLine {
        stack: stacks.get(&key).map(|(stack, _)| stack.clone()).unwrap_or_default(),
        line: key.first().cloned().unwrap_or_default(),
        function: key.get(1).cloned().unwrap_or_default(),
        count: unsigned(sum.count),
        bytes: unsigned(sum.bytes),
        percent: share(unsigned(sum.bytes), total_bytes),
    });
    Some(LiveMemory { total_bytes, kinds: kinds.collect(), lines: lines.collect() })
}

/// The sums with the most bytes first.
fn sorted(sums: BTreeMap<Vec<String>, HeapSum>) -> Vec<(Vec<String>, HeapSum)> {
    let mut sums: Vec<_> = sums.into_iter().collect();
    base::sort::sort_by(&mut sums, |a, b| b.1.bytes.cmp(&a.1.bytes));
    sums
}

/// The call stack with the most bytes of each line, and these bytes.
fn largest_stacks(profile: &HeapProfile) -> BTreeMap<Vec<String>, (String, i64)> {
    let mut by_stack: BTreeMap<(Vec<String>, Vec<String>), i64> = BTreeMap::new();
    for sample in &profile.samples {
        let key = (profile.key_of(sample, HeapKey::Line), profile.key_of(sample, HeapKey::Stack));
        let bytes = by_stack.entry(key).or_default();
        *bytes = bytes.saturating_add(sample.bytes);
    }
    let mut largest: BTreeMap<Vec<String>, (String, i64)> = BTreeMap::new();
    for ((line, stack), bytes) in by_stack {
        if largest.get(&line).is_none_or(|(_, most)| bytes > *most) {
            largest.insert(line, (stack.into_iter().next().unwrap_or_default(), bytes));
        }
    }
    largest
}

/// Bytes and counts are signed in the file; a live array has no negative size.
fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}
