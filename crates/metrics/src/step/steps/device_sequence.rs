//! Finds steps from a sequence of ops that repeats on every device, from the device's first op to its last. This source
//! is the last resort, if nothing else shows the steps.
//!
//! ```text
//! device  a b b c  a b b c  a b b c  a b       the same four ops repeat; the last repeat is cut
//! ```
//!
//! All ops of a device must follow the sequence. The layers of a step also repeat, but the ops before and after the
//! layers do not. The trace does not show which op begins the sequence, so steps begin after the device's longest wait
//! between two ops (median over the repeats).

use rustc_hash::FxHashMap;

use super::{Mark, rhythm};
use crate::common::statistics::median;
use crate::device::devices::{Device, Devices};
use base::Ps;
use trace::{Interval, StrId, Trace, in_blocks};

/// Minimum number of repeats.
const FEWEST: usize = 4;
/// Minimum length of the sequence: a single op that repeats is not a step.
const SHORTEST: usize = 2;

#[derive(Debug)]
pub(super) struct Repeats {
    /// Number of ops in the sequence of the first device.
    pub ops: usize,
    /// Marks of each device, sorted by time.
    pub marks: Vec<Vec<Mark>>,
}

/// Finds the repeats. Returns `None` if a device in use has no repeats, or if the repeats are irregular.
pub(super) fn find(trace: &Trace, devices: &Devices) -> Option<Repeats> {
    let found: Option<Vec<(usize, Vec<Mark>)>> = devices.used.iter().map(|device| of_device(trace, device)).collect();
    let found = found.filter(|found| !found.is_empty())?;
    let ops = found.first()?.0;
    Some(Repeats { ops, marks: found.into_iter().map(|(_, marks)| marks).collect() })
}

fn of_device(trace: &Trace, device: &Device) -> Option<(usize, Vec<Mark>)> {
    let mut names: Vec<StrId> = Vec::with_capacity(device.ops.len());
    let mut times: Vec<Interval> = Vec::with_capacity(device.ops.len());
    in_blocks(&device.ops, |&id| {
        if let Some(event) = trace.events.get(id) {
            names.push(event.name);
            times.push(Interval::new(event.start, event.end()));
        }
    });
    let period = period(&names).filter(|&period| period >= SHORTEST && names.len() / period >= FEWEST)?;
    let first = longest_wait(&times, period);
    let mut marks = Vec::with_capacity(names.len() / period);
    for repeat in times.get(first..)?.chunks_exact(period) {
        let start = repeat.first()?.start;
        let end = repeat.iter().map(|op| op.end).max()?;
        marks.push(Mark { interval: Interval::new(start, end), key: None });
    }
    let repeats = marks.len() >= FEWEST && rhythm::regular(&marks) && rhythm::even(&device.busy, &marks);
    repeats.then_some((period, marks))
}

/// Computes the shortest period of a sequence with the failure function of Knuth, Morris and Pratt: the length minus
/// the longest proper prefix that is also a suffix.
fn period<T: PartialEq>(names: &[T]) -> Option<usize> {
    let mut longest: Vec<u32> = vec![0; names.len()];
    let mut matched = 0usize;
    for at in 1..names.len() {
        while matched > 0 && names.get(at) != names.get(matched) {
            matched = *longest.get(matched - 1)? as usize;
        }
        if names.get(at) == names.get(matched) {
            matched += 1;
        }
        *longest.get_mut(at)? = matched as u32;
    }
    Some(names.len() - *longest.last()? as usize)
}

/// Returns the position in the sequence before which the device waits longest (median over the repeats). If several
/// waits are equally long, returns the first.
fn longest_wait(times: &[Interval], period: usize) -> usize {
    let mut waits: FxHashMap<usize, Vec<f64>> = FxHashMap::default();
    let mut ended = Ps::new(i64::MIN);
    for (at, op) in times.iter().enumerate() {
        if at > 0 {
            waits.entry(at % period).or_default().push((op.start - ended).as_ps() as f64);
        }
        ended = ended.max(op.end);
    }
    let mut best = (0, f64::NEG_INFINITY);
    for place in 0..period {
        let wait = waits.get(&place).and_then(|waits| median(waits)).unwrap_or(f64::NEG_INFINITY);
        if wait > best.1 {
            best = (place, wait);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::TraceBuilder;

    fn repeats(names: &str, starts: impl Fn(i64) -> i64) -> Option<(usize, Vec<i64>)> {
        let mut b = TraceBuilder::new();
        let line = b.line("/device:GPU:0", "Stream #7(Compute)");
        for (at, name) in (0i64..).zip(names.chars()) {
            b.event(line, &name.to_string(), starts(at), 8);
        }
        let trace = b.build();
        let found = find(&trace, &Devices::of(&trace))?;
        let start = |mark: &Mark| mark.interval.start.as_ps() / 1_000_000;
        Some((found.ops, found.marks.first()?.iter().map(start).collect()))
    }

    #[test]
    fn steps_begin_where_the_device_waits_the_longest() {
        // The capture begins with the second op of a step. Before each `a` the device waits for 92 us.
        let starts = |at: i64| at * 10 + (at + 1) / 3 * 90;
        assert_eq!(repeats("bcabcabcabcabca", starts), Some((3, vec![110, 230, 350, 470])));
    }

    #[test]
    fn layers_of_one_step_are_no_steps() {
        assert_eq!(repeats("eabababababh", |at| at * 10), None);
        // None of these is a sequence: a single kernel that repeats, too few repeats, and irregular repeats.
        assert_eq!(repeats("aaaaaaaaaaaa", |at| at * 10), None);
        assert_eq!(repeats("abcabcabc", |at| at * 10), None);
        assert_eq!(repeats("abababababab", |at| at * at * at * 100), None);
    }

    #[test]
    fn a_period_is_the_shortest_that_all_follow() {
        let of = |names: &str| period(names.as_bytes());
        assert_eq!([of("abab"), of("ababa"), of("aab"), of("aaaa")], [Some(2), Some(2), Some(3), Some(1)]);
        assert_eq!(period::<u8>(&[]), None);
    }
}
