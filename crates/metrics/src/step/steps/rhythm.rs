//! Checks whether marks repeat like the body of a loop: regularly in time, or with the same work for a device.

use super::Mark;
use super::measure::ops_starting_in;
use crate::common::statistics::median;
use crate::device::devices::Device;
use base::sort;
use trace::{Interval, IntervalSet, Trace};

/// A time is treated as similar to the median if the two differ by at most this factor. We chose this limit because
/// pauses and warm-up are longer.
const FACTOR: f64 = 2.0;
/// Minimum share of a loop's iterations that must have the usual number of ops. We chose this limit.
const SAME_WORK: f64 = 0.75;

/// Returns true if more than half of the times from start to start are within a factor of two of their median. A single
/// time is always regular. `marks` must be sorted by time.
pub(super) fn regular(marks: &[Mark]) -> bool {
    let periods: Vec<f64> = windows(marks).map(|window| window.length().as_ps() as f64).collect();
    let Some(median) = median(&periods) else { return true };
    let near = periods.iter().filter(|&&period| period * FACTOR >= median && period <= median * FACTOR).count();
    near * 2 > periods.len()
}

/// Returns true if, for at least three quarters of all pairs of consecutive marks, the same number of ops of `device`
/// starts between the two marks.
pub(super) fn same_work(trace: &Trace, device: &Device, marks: &[Mark]) -> bool {
    let mut counts: Vec<u64> = windows(marks).map(|window| ops_starting_in(trace, device, window)).collect();
    sort::sort_by(&mut counts, Ord::cmp);
    let most = counts.chunk_by(|a, b| a == b).filter(|same| same.first() != Some(&0)).map(<[u64]>::len).max();
    most.is_some_and(|most| most as f64 >= SAME_WORK * counts.len() as f64)
}

/// Compares the device's busy times between consecutive marks. Returns true if at least three quarters of these times
/// are within a factor of two of their median, or if there are no such times. This test excludes functions that are
/// called with varying sizes, which are not the body of a loop.
pub(super) fn even(busy: &IntervalSet, marks: &[Mark]) -> bool {
    let times: Vec<f64> = windows(marks).map(|window| busy.length_within(window).as_ps() as f64).collect();
    let Some(median) = median(&times) else { return true };
    let near = times.iter().filter(|&&time| time * FACTOR >= median && time <= median * FACTOR).count();
    near as f64 >= SAME_WORK * times.len() as f64
}

/// Returns the intervals from the start of each mark to the start of the next.
fn windows(marks: &[Mark]) -> impl Iterator<Item = Interval> {
    let starts = marks.iter().map(|mark| mark.interval.start);
    starts.clone().zip(starts.skip(1)).map(|(start, next)| Interval::new(start, next.max(start)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::devices::Devices;
    use base::Ps;
    use trace::TraceBuilder;

    fn marks(starts: &[i64]) -> Vec<Mark> {
        let mark = |&start| Mark { interval: Interval::new(Ps::new(start), Ps::new(start + 1)), key: None };
        starts.iter().map(mark).collect()
    }

    #[test]
    fn regular_runs_may_pause_and_warm_up() {
        assert!(regular(&marks(&[])) && regular(&marks(&[0, 10])));
        assert!(regular(&marks(&[0, 900, 910, 921, 930, 2000])));
        // Periods 1, 1, 40, 3, 100, 7: the median is 5, and only 3 and 7 are similar to it.
        assert!(!regular(&marks(&[0, 1, 2, 42, 45, 145, 152])));
        // If only half of the periods are similar, the marks are not regular.
        assert!(!regular(&marks(&[0, 1000, 1100])));
    }

    #[test]
    fn the_same_function_for_other_sizes_is_not_even() {
        let busy = IntervalSet::union_of(
            [(0, 10), (100, 111), (200, 250), (300, 309)]
                .map(|(start, end)| Interval::new(Ps::new(start), Ps::new(end))),
        );
        // The device is busy for 10, 11 and 9 us, and once for 50 us.
        assert!(even(&busy, &marks(&[0, 100, 200, 300, 400])));
        assert!(!even(&busy, &marks(&[100, 200, 300, 400])));
        assert!(even(&busy, &marks(&[0])));
    }

    #[test]
    fn the_work_of_a_loops_body_is_the_same() {
        let mut b = TraceBuilder::new();
        let line = b.line("/device:TPU:0", "XLA Ops");
        for start in [0, 1, 10, 11, 300, 301, 310, 400] {
            b.event(line, "fusion", start, 1);
        }
        let trace = b.build();
        let devices = Devices::of(&trace);
        let same = |starts: &[i64]| {
            let us: Vec<i64> = starts.iter().map(|start| start * 1_000_000).collect();
            same_work(&trace, &devices.used[0], &marks(&us))
        };
        // There are 2, 2, 2 and 2 ops, then 1, 1, 2 and 3 ops, then none.
        assert!(same(&[0, 10, 300, 305, 401]));
        assert!(!same(&[0, 1, 2, 300, 400]));
        assert!(!same(&[500, 600, 700]));
    }
}
