//! Aligns hosts by collectives: a collective ends at the same time on all its participants, regardless of when each
//! participant started.
//!
//! ```text
//! host A   [work  )[all-reduce   )[work     )[all-reduce)[work)[all-reduce   )
//! host B   [work       )[all-red.)[work   )[all-reduce  )[work       )[all-r.)
//! ends                           |                      |                    |    intervals differ from run to run
//! ```
//!
//! The captures may begin at different runs of a collective. It is therefore unknown which run on one host is the first
//! run on the other host. The intervals between the ends of runs vary, and they vary equally on all hosts. Therefore,
//! the right offset between the runs is the one that gives the smallest spread of the differences. If the intervals
//! vary too little, the offset that agrees best with the coarse alignment is used, if the precision of the coarse
//! alignment is known.

use std::collections::BTreeMap;

use super::Alignment;
use crate::{LineKind, Trace};
use base::{Ps, format, sort};

/// Names of collectives in which every participant needs data of every other participant. No participant can end early.
const TOGETHER: [&str; 4] = ["all-reduce", "all-gather", "reduce-scatter", "all-to-all"];
const NCCL_TOGETHER: [&str; 3] = ["AllReduce", "AllGather", "ReduceScatter"];

/// Minimum number of runs that two hosts must have in common (our limit).
const FEWEST: usize = 4;
/// Maximum number of compared runs of a collective.
const MOST_RUNS: usize = 128;
/// Maximum number of compared collectives. The collectives with the fewest runs are compared first, because their runs
/// are the farthest apart.
const MOST_NAMES: usize = 4;
/// Maximum offset between the runs of two hosts, relative to the coarse alignment.
const MOST_OFFSET: i64 = 32;
/// An offset is clear if the spread of every other offset is more than this many times as large (our limit).
const CLEAR: i64 = 4;

/// Ends of the runs of each collective on one device of a host.
type Ends<'t> = BTreeMap<&'t str, Vec<Ps>>;

/// Summary of the differences between the ends of the same runs on two hosts.
struct Match {
    /// Shift of the second host.
    shift: Ps,
    /// Median deviation of the differences from the shift.
    spread: Ps,
    /// Largest deviation of a difference from the shift.
    apart: Ps,
    runs: usize,
}

/// Refines `shifts`, the coarse alignment. Returns `None` if a host shares no collective with the first host, or if the
/// ends of collectives agree less well than `apart`, the precision of the coarse alignment.
pub(super) fn refine(hosts: &[(String, Trace)], shifts: &[Ps], apart: Option<Ps>) -> Option<Alignment> {
    let (first, others) = hosts.split_first()?;
    let ours = ends(&first.1);
    let (mut found, mut worst, mut typical, mut fewest) = (vec![Ps::ZERO], Ps::ZERO, Ps::ZERO, usize::MAX);
    for ((_, trace), &coarse) in others.iter().zip(shifts.iter().skip(1)) {
        let theirs = ends(trace);
        let mut shared: Vec<(&Vec<Ps>, &Vec<Ps>)> =
            theirs.iter().filter_map(|(name, theirs)| Some((ours.get(name)?, theirs))).collect();
        sort::sort_by_key(&mut shared, |(ours, theirs)| ours.len().min(theirs.len()));
        let enough = shared.iter().filter(|(ours, theirs)| ours.len().min(theirs.len()) >= FEWEST);
        let matches =
            enough.take(MOST_NAMES).filter_map(|(ours, theirs)| matched(ours, theirs, coarse, apart.is_some()));
        let best = matches.min_by_key(|it| it.spread)?;
        found.push(best.shift);
        worst = worst.max(best.apart);
        typical = typical.max(best.spread);
        fewest = fewest.min(best.runs);
    }
    if fewest == usize::MAX || apart.is_some_and(|apart| worst > apart) {
        return None;
    }
    let by = format!(
        "{} shared runs of a collective, which ends at the same time on all hosts. The ends then agree within {} (median {}); a \
         difference common to all of them cannot be detected",
        format::count(fewest as u64),
        format::time_us(worst.as_us()),
        format::time_us(typical.as_us())
    );
    Some(Alignment { shifts: found, by, apart: Some(worst) })
}

/// Matches the runs of a collective on two hosts. Returns `None` if no offset between the runs is clear, and the precision of the
/// `coarse` shift is unknown.
fn matched(ours: &[Ps], theirs: &[Ps], coarse: Ps, is_coarse_known: bool) -> Option<Match> {
    let start = *theirs.first()? + coarse;
    let at = |index: i64| usize::try_from(index).ok().and_then(|index| ours.get(index));
    let after = i64::try_from(ours.partition_point(|&end| end < start)).ok()?;
    // The run of the first host that is nearest to the second host's first run.
    let distance = |index: i64| at(index).map(|&end| (end - start).max(start - end));
    let nearest = [after - 1, after].into_iter().filter(|&it| distance(it).is_some()).min_by_key(|&it| distance(it))?;
    let of_offset = |offset: i64| -> Option<Match> {
        let pairs = theirs.iter().zip(nearest + offset..).filter_map(|(&end, index)| Some(*at(index)? - end));
        let mut all: Vec<Ps> = pairs.take(MOST_RUNS).collect();
        sort::sort_by_key(&mut all, |&difference| difference);
        let shift = middle(&all).filter(|_| all.len() >= FEWEST)?;
        let mut distances: Vec<Ps> = all.iter().map(|&it| (it - shift).max(shift - it)).collect();
        sort::sort_by_key(&mut distances, |&distance| distance);
        Some(Match { shift, spread: middle(&distances)?, apart: distances.last().copied()?, runs: all.len() })
    };
    let all: Vec<Match> = (-MOST_OFFSET..=MOST_OFFSET).filter_map(of_offset).collect();
    let best = all.iter().map(|it| it.spread).min()?;
    let limit = Ps::new(best.as_ps().saturating_mul(CLEAR).max(1));
    let near: Vec<Match> = all.into_iter().filter(|it| it.spread <= limit).collect();
    if near.len() > 1 && !is_coarse_known {
        return None;
    }
    near.into_iter().min_by_key(|it| ((it.shift - coarse).max(coarse - it.shift), it.spread))
}

fn middle(sorted: &[Ps]) -> Option<Ps> {
    sorted.get(sorted.len() / 2).copied()
}

/// Returns the ends of each collective, on the first device of the host that ran any collective.
fn ends(trace: &Trace) -> Ends<'_> {
    let is_op_line: Vec<bool> = trace.lines.iter().map(|line| line.kind == LineKind::DeviceOps).collect();
    let kinds = trace.events.kinds().iter();
    let found = kinds.filter_map(|kind| {
        let line = trace.lines.get(kind.line.index()).filter(|_| is_op_line.get(kind.line.index()) == Some(&true))?;
        let args = trace.args.set(kind.args.index());
        let name = trace.text(kind.name);
        let category = args.map_or("", |args| trace.text(args.hlo_category));
        if !ends_together(if category.is_empty() { name } else { category }) {
            return None;
        }
        let op = args.map_or("", |args| trace.text(args.hlo_op));
        Some(((kind.line, kind.name, kind.args), (line.plane, if op.is_empty() { name } else { op })))
    });
    let found: BTreeMap<_, _> = sort::map(found);
    let Some(plane) = found.values().map(|&(plane, _)| plane).min() else { return Ends::new() };
    let mut ends = Ends::new();
    for event in trace.events.iter() {
        let Some(&(of, name)) = found.get(&(event.line, event.name, event.args)) else { continue };
        if of == plane {
            ends.entry(name).or_default().push(event.end());
        }
    }
    ends.values_mut().for_each(|ends| sort::sort_by_key(ends, |&end| end));
    ends
}

/// Returns true if a collective with this category or name ends at the same time on all participants. The start op of
/// an asynchronous collective ends immediately, and the end of the collective on one device does not wait for other
/// devices.
fn ends_together(name: &str) -> bool {
    let is_nccl = name.to_ascii_lowercase().starts_with("nccl");
    let is_part = ["-start", "-done"].iter().any(|part| name.contains(part));
    (is_nccl && NCCL_TOGETHER.iter().any(|it| name.contains(it)))
        || (!is_part && TOGETHER.iter().any(|it| name.starts_with(it)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TraceBuilder;

    /// Builds a host whose collectives end at these times. Each collective has a different duration.
    fn host(ends: &[i64]) -> (String, Trace) {
        let mut b = TraceBuilder::new();
        let ops = b.line("/device:TPU:0", "XLA Ops");
        for (&end, early) in ends.iter().zip(1..) {
            b.event(ops, "all-reduce.1", end - 7 * early, 7 * early).hlo_category("all-reduce");
            b.event(ops, "all-reduce-start.2", end + 50 * early, 1).hlo_category("all-reduce-start");
        }
        ("host".to_owned(), b.build())
    }

    const ENDS: [i64; 7] = [1000, 2100, 2900, 4400, 5100, 6800, 7300];

    fn us(value: i64) -> Ps {
        Ps::new(1_000_000 * value)
    }

    /// Returns the ends of the runs, starting with run number `first`, according to a clock that is ahead by `offset`.
    /// Each end is up to 2 us late.
    fn later(first: usize, offset: i64) -> Vec<i64> {
        (0..).zip(ENDS).skip(first).map(|(index, end)| end + offset + index % 3).collect()
    }

    #[test]
    fn the_offset_with_the_smallest_spread_is_the_right_one() {
        let hosts = [host(&ENDS), host(&later(2, 90_000))];
        // The first events of the hosts would be aligned: 1900 us too early.
        let found = refine(&hosts, &[Ps::ZERO, us(-91_900)], None).unwrap();
        assert!(found.shifts[1] <= us(-90_000) && found.shifts[1] >= us(-90_002), "{:?}", found.shifts);
        assert!(found.apart.unwrap() <= us(2), "{:?}", found.apart);
        assert!(found.by.starts_with("5 shared runs of a collective"), "{}", found.by);
    }

    #[test]
    fn equal_intervals_need_a_coarse_alignment_of_known_precision() {
        let regular: Vec<i64> = (1..9).map(|run| 1000 * run).collect();
        let hosts = [host(&regular), host(&regular)];
        assert!(refine(&hosts, &[Ps::ZERO, us(1000)], None).is_none());
        let found = refine(&hosts, &[Ps::ZERO, us(1200)], Some(us(400))).unwrap();
        assert_eq!(found.shifts, [Ps::ZERO, us(1000)]);
    }

    #[test]
    fn steps_that_agree_better_are_kept() {
        let hosts = [host(&ENDS), host(&later(0, 0))];
        assert!(refine(&hosts, &[Ps::ZERO, Ps::ZERO], Some(Ps::ZERO)).is_none());
        assert!(refine(&hosts, &[Ps::ZERO, Ps::ZERO], Some(us(500))).is_some());
        // Three runs are too few.
        let few = [host(&ENDS[..3]), host(&ENDS[..3])];
        assert!(refine(&few, &[Ps::ZERO, Ps::ZERO], Some(us(500))).is_none());
    }

    #[test]
    fn only_collectives_of_all_data_end_together() {
        for name in ["all-reduce", "all-gather", "all-reduce fusion", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"] {
            assert!(ends_together(name), "{name}");
        }
        for name in ["all-gather-start", "all-reduce-done", "collective-permute", "ncclDevKernel_SendRecv", "fusion"] {
            assert!(!ends_together(name), "{name}");
        }
    }
}
