//! The same run on several devices: how long each waited for the last one.

use rustc_hash::FxHashMap;

use super::Run;
use crate::units::Ps;

/// What makes runs of several devices one: the number that the trace gives it, else the op and its how-manieth run.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Id(i64),
    Nth(u32, u32),
}

/// Sets [`Run::wait`] of every run that has a counterpart on another device, and returns `(device, runs in which it was
/// last)` by device. Runs without a number are matched by their order, but only where all devices that ran the op ran it
/// equally often: else a capture that began between them would shift one against the other.
pub(super) fn split(runs: &mut [Run]) -> Vec<(u32, u64)> {
    let mut counts: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    let mut keys: Vec<Key> = Vec::with_capacity(runs.len());
    for run in runs.iter() {
        let count = counts.entry((run.op, run.device)).or_default();
        keys.push(run.id.map_or(Key::Nth(run.op, *count), Key::Id));
        *count += 1;
    }
    let mut uneven: FxHashMap<u32, Option<u32>> = FxHashMap::default();
    for (&(op, _), &count) in &counts {
        let known = uneven.entry(op).or_insert(Some(count));
        if *known != Some(count) {
            *known = None;
        }
    }
    // Members of each run: devices, the shortest duration and who had it.
    let mut groups: FxHashMap<Key, (u64, Ps, u32)> = FxHashMap::default();
    let is_even = |key: &Key| match key {
        Key::Id(_) => true,
        Key::Nth(op, _) => uneven.get(op).copied().flatten().is_some(),
    };
    for (run, key) in runs.iter().zip(&keys).filter(|(_, key)| is_even(key)) {
        let group = groups.entry(*key).or_insert((0, Ps::MAX, u32::MAX));
        group.0 += 1;
        if (run.duration, run.device) < (group.1, group.2) {
            (group.1, group.2) = (run.duration, run.device);
        }
    }
    let mut lasts: Vec<(u32, u64)> = Vec::new();
    for (run, key) in runs.iter_mut().zip(&keys) {
        let Some(&(_, shortest, last)) = groups.get(key).filter(|group| group.0 > 1) else { continue };
        run.wait = Some(run.duration - shortest);
        if last == run.device {
            match lasts.iter_mut().find(|(device, _)| *device == last) {
                Some((_, count)) => *count += 1,
                None => lasts.push((last, 1)),
            }
        }
    }
    lasts.sort_unstable();
    lasts
}
