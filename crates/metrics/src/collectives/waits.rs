//! One run of a collective on the devices of a group: how long each waited for the last one.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Run;
use base::Ps;

/// What a device was in the runs that were compared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Order {
    /// Compared runs in which the device arrived last and another one waited.
    pub last: u64,
    /// Number of runs in which this device would have arrived last, were all members of a group equal.
    pub fair: f64,
    /// Time that the others waited in the runs in which the device arrived last.
    pub caused: Ps,
}

/// Runs of one collective in one group: a list of indices for each device, in time.
type Lists = Vec<(u32, Vec<u32>)>;

/// Sets [`Run::wait`] of every run that has a counterpart on another device of its group, and returns what each of `devices` was.
/// `group_of` says in which group a run is; runs without one are not compared.
pub(super) fn split(runs: &mut [Run], devices: usize, group_of: impl Fn(&Run) -> Option<u32>) -> Vec<Order> {
    let mut index: FxHashMap<(u32, u32), usize> = FxHashMap::default();
    let mut groups: Vec<Lists> = Vec::new();
    for (at, run) in (0u32..).zip(runs.iter()) {
        // How long a run that an edge of the window cuts waited is not known.
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
    let mut orders = vec![Order::default(); devices];
    for lists in groups.iter().filter(|lists| lists.len() > 1) {
        for together in matched(lists, runs) {
            compare(&together, runs, &mut orders);
        }
    }
    orders
}

/// The runs that are one. Where all devices have equally many, the n-th of each: their clocks may differ, so their times say nothing. Else
/// the capture began or ended between them, and the first way to match them counts by which all overlap in time. Where
/// they overlap in no way, a device lacks runs in between: see [`by_end`].
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
        // Clocks that differ make a few runs overlap by chance.
        if 2 * sets.len() < fewest { Vec::new() } else { sets }
    })
}

/// Of each run of the device with the fewest: the runs of the others that end nearest to its end, in order. What another device ran in
/// between stays out: who of those that are left came last is not known without the one that is missing.
fn by_end(lists: &[(u32, Vec<u32>)], runs: &[Run]) -> Vec<Vec<u32>> {
    let end = |at: &u32| runs.get(*at as usize).map_or(Ps::ZERO, Run::end);
    let Some((fewest, _)) = lists.iter().enumerate().min_by_key(|(_, (_, list))| list.len()) else { return Vec::new() };
    let Some((_, first)) = lists.get(fewest) else { return Vec::new() };
    // How many runs of each device are passed.
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

/// Runs to which all devices give one number. It is not asked first: TPUs count the programs of each core on its own, so that
/// a core that ran one more has other numbers.
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

fn compare(together: &[u32], runs: &mut [Run], orders: &mut [Order]) {
    let times = together.iter().filter_map(|&at| runs.get(at as usize));
    let Some((shortest, last)) = times.map(|run| (run.duration, run.device)).min() else { return };
    let mut waited = Ps::ZERO;
    for &at in together {
        let Some(run) = runs.get_mut(at as usize) else { continue };
        let wait = run.duration - shortest;
        run.wait = Some(wait);
        waited += wait;
        if let Some(order) = orders.get_mut(run.device as usize) {
            order.fair += 1.0 / together.len() as f64;
        }
    }
    // Where nobody waited, nobody was late.
    if let Some(order) = orders.get_mut(last as usize).filter(|_| waited > Ps::ZERO) {
        order.last += 1;
        order.caused += waited;
    }
}
