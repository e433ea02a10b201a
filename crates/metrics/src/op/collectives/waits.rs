//! Compares each run of a collective on the devices of a group. Computes the time that each device waited for the last
//! device.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Run;
use base::{Ps, sort};

/// One run of a collective that was compared on several devices of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupRun {
    /// Index into [`Collectives::ops`](super::Collectives::ops).
    pub op: u32,
    /// Number of the compared devices.
    pub devices: u32,
    /// Device that arrived last: index into [`Devices::used`](crate::Devices::used).
    pub last: u32,
    /// Start of the run on the last device, on that device's clock.
    pub start: Ps,
    /// Duration of the run on the last device.
    pub transfer: Ps,
    /// Sum of the other devices' waits for the last device.
    pub waited: Ps,
    /// Longest wait.
    pub longest: Ps,
    /// Time from the arrival of the second-last device to the arrival of the last device.
    pub delay: Ps,
}

/// Results of one device, summed over the compared runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Arrivals {
    /// Number of compared runs in which the device arrived last and another device waited.
    pub last: u64,
    /// Number of runs in which the device would arrive last if all members of a group arrived last equally often.
    pub fair: f64,
    /// Time that other devices waited in the runs in which this device arrived last.
    pub caused: Ps,
    /// Time that would have been saved if this device had arrived together with the second-last device whenever it
    /// arrived last.
    pub delay: Ps,
}

/// Runs of one collective in one group: for each device, the indices of its runs, sorted by time.
type Lists = Vec<(u32, Vec<u32>)>;

/// Sets [`Run::wait`] of every run that has a counterpart on another device of its group. Returns the results of each
/// of `devices`, and the compared runs of each group, sorted by time. `group_of` returns the group of a run. Runs
/// without a group are not compared.
pub(super) fn split(
    runs: &mut [Run],
    devices: usize,
    group_of: impl Fn(&Run) -> Option<u32>,
) -> (Vec<Arrivals>, Vec<GroupRun>) {
    let mut index: FxHashMap<(u32, u32), usize> = FxHashMap::default();
    let mut groups: Vec<Lists> = Vec::new();
    for (at, run) in (0u32..).zip(runs.iter()) {
        // If an edge of the window cuts a run, its wait is unknown.
        let Some(group) = group_of(run).filter(|_| run.parts == 0) else { continue };
        let place = *index.entry((run.op, group)).or_insert_with(|| {
            groups.push(Lists::new());
            groups.len() - 1
        });
        let Some(lists) = groups.get_mut(place) else { continue };
        match lists.last_mut().filter(|(device, _)| *device == run.device) {
            Some((_, list)) => list.push(at),
            None => lists.push((run.device, vec![at])),
        }
    }
    let mut arrivals = vec![Arrivals::default(); devices];
    let mut compared = Vec::new();
    for lists in groups.iter().filter(|lists| lists.len() > 1) {
        for together in matched(lists, runs) {
            compared.extend(compare(&together, runs, &mut arrivals));
        }
    }
    sort::sort_by_key(&mut compared, |run| (run.start, run.op, run.last));
    (arrivals, compared)
}

/// Matches the runs of several devices. If all devices have the same number of runs, the n-th runs match regardless of
/// their times, because the clocks may differ. If the numbers differ, the capture began or ended between the runs.
/// Several ways to match the runs are then tried, and the first way in which all matched runs overlap is used. If no
/// way succeeds, runs in the middle are missing on some device: see [`by_end`].
pub(super) fn matched(lists: &[(u32, Vec<u32>)], runs: &[Run]) -> Vec<Vec<u32>> {
    let fewest = lists.iter().map(|(_, list)| list.len()).min().unwrap_or(0);
    let nth = |from_end: bool| -> Vec<Vec<u32>> {
        let skipped = |list: &Vec<u32>| if from_end { list.len() - fewest } else { 0 };
        (0..fewest)
            .map(|n| lists.iter().filter_map(|(_, list)| list.get(n + skipped(list)).copied()).collect())
            .collect()
    };
    if lists.iter().all(|(_, list)| list.len() == fewest) {
        return nth(false);
    }
    let overlap = |set: &Vec<u32>| {
        let times = || set.iter().filter_map(|&at| runs.get(at as usize));
        let last_start = times().map(|run| run.start).max();
        let first_end = times().map(Run::end).min();
        last_start < first_end
    };
    let ways = [nth(false), nth(true), by_id(lists, runs)];
    let whole = ways.into_iter().find(|sets| !sets.is_empty() && sets.iter().all(overlap));
    whole.unwrap_or_else(|| {
        let sets: Vec<Vec<u32>> = by_end(lists, runs).into_iter().filter(overlap).collect();
        // If clocks differ, some runs overlap by chance.
        if 2 * sets.len() < fewest { Vec::new() } else { sets }
    })
}

/// Takes the device with the fewest runs. Matches each run of that device to the run with the nearest end on every
/// other device, and keeps the order of the runs. Leaves out the remaining runs of the other devices, because the last
/// device to arrive is unknown if a run is missing.
fn by_end(lists: &[(u32, Vec<u32>)], runs: &[Run]) -> Vec<Vec<u32>> {
    let end = |at: &u32| runs.get(*at as usize).map_or(Ps::ZERO, Run::end);
    let Some((fewest, _)) = lists.iter().enumerate().min_by_key(|(_, (_, list))| list.len()) else { return Vec::new() };
    let Some((_, first)) = lists.get(fewest) else { return Vec::new() };
    // Number of runs of each device that were already passed.
    let mut passed = vec![0; lists.len()];
    let sets = first.iter().filter_map(|at| {
        let wanted = end(at);
        let nearest = lists.iter().zip(&mut passed).map(|((_, list), passed)| {
            let rest = list.get(*passed..)?;
            let later = rest.partition_point(|other| end(other) < wanted);
            let sides = [later.checked_sub(1), Some(later)].into_iter().flatten();
            let place = sides
                .filter(|&place| place < rest.len())
                .min_by_key(|&place| rest.get(place).map(|other| (end(other) - wanted).as_ps().abs()))?;
            *passed += place + 1;
            rest.get(place).copied()
        });
        let set: Vec<Option<u32>> = nearest.collect();
        set.into_iter().collect::<Option<Vec<u32>>>()
    });
    sets.collect()
}

/// Matches runs that have the same number on all devices. Other ways to match are tried first, because TPUs number the
/// programs of each core separately. The numbers therefore differ after one core has run one more program than another.
fn by_id(lists: &[(u32, Vec<u32>)], runs: &[Run]) -> Vec<Vec<u32>> {
    let Some((first, others)) = lists.split_first() else { return Vec::new() };
    let id = |at: u32| runs.get(at as usize)?.id;
    let numbered: Vec<FxHashMap<i64, u32>> =
        others.iter().map(|(_, list)| list.iter().filter_map(|&at| Some((id(at)?, at))).collect()).collect();
    let mut seen = FxHashSet::default();
    let sets = first.1.iter().filter_map(|&at| {
        let number = id(at).filter(|&number| seen.insert(number))?;
        let rest = numbered.iter().map(|of| of.get(&number).copied());
        std::iter::once(Some(at)).chain(rest).collect::<Option<Vec<u32>>>()
    });
    sets.collect()
}

/// Compares the runs of a group. Returns `None` if the group has fewer than two runs.
fn compare(together: &[u32], runs: &mut [Run], arrivals: &mut [Arrivals]) -> Option<GroupRun> {
    let times = || together.iter().filter_map(|&at| runs.get(at as usize));
    let last = *times().min_by_key(|run| (run.duration, run.device))?;
    let second = times().filter(|run| run.device != last.device).map(|run| run.duration).min()?;
    let mut of_group = GroupRun {
        op: last.op,
        devices: 0,
        last: last.device,
        start: last.start,
        transfer: last.duration,
        waited: Ps::ZERO,
        longest: Ps::ZERO,
        delay: second - last.duration,
    };
    for &at in together {
        let Some(run) = runs.get_mut(at as usize) else { continue };
        let wait = run.duration - last.duration;
        run.wait = Some(wait);
        of_group.devices += 1;
        of_group.waited += wait;
        of_group.longest = of_group.longest.max(wait);
        if let Some(arrival) = arrivals.get_mut(run.device as usize) {
            arrival.fair += 1.0 / together.len() as f64;
        }
    }
    // If no device waited, no device was late.
    if let Some(arrival) = arrivals.get_mut(last.device as usize).filter(|_| of_group.waited > Ps::ZERO) {
        arrival.last += 1;
        arrival.caused += of_group.waited;
        arrival.delay += of_group.delay;
    }
    Some(of_group)
}
