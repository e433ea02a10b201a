//! Computes self time: the part of an op's time during which no op nested in it runs.
//!
//! Reads the ops of one device, line by line. Streams and threads are separate lines and never hide each other's time.
//! Callers merge times that overlap across lines ([`IntervalSet`](trace::IntervalSet)). An op of a CPU backend may
//! start on one thread and compute on another, so the nesting of such ops is given explicitly.

use crate::device::devices::{Device, Nesting};
use crate::device::per_line::PerLine;
use base::Ps;
use trace::{EventId, Interval, LineEvents, Trace, in_blocks};

/// An op that has started and not yet ended. `op` is the op's index among the ops of its device, or its kind.
#[derive(Clone, Copy, Debug)]
struct Open {
    op: usize,
    end: Ps,
}

/// Assigns each instant of a line to an event's self time. Callers pass the events of the line in the order in which
/// they start. The struct stores the open events, innermost last, and the last instant that is already assigned.
#[derive(Clone, Debug, Default)]
pub struct SelfTime {
    open: Vec<Open>,
    given_until: Ps,
}

/// Calls `give(index into ops, interval)` for every interval of a device's time that is an op's self time.
pub(crate) fn for_each_self_interval(trace: &Trace, device: &Device, give: impl FnMut(usize, Interval)) {
    match &device.nesting {
        Nesting::ByLine => for_each_on_line(trace, &device.ops, give),
        Nesting::ByOp(parents) => for_each_in_tree(trace, &device.ops, parents, give),
    }
}

/// Assigns self times from the tree of ops. An op's self time excludes the time of the ops that it runs, on any thread.
/// Other ops may run in parallel.
///
/// ```text
/// while.1   [-------------------------)
/// dot.1        [--------)                    run by while.1
/// dot.2            [---------)               run by while.1
/// assigned   w [1-------)      w w w w       and all of dot.2
/// ```
fn for_each_in_tree(trace: &Trace, ops: &[EventId], parents: &[u32], mut give: impl FnMut(usize, Interval)) {
    let mut runs_others = vec![false; ops.len()];
    for &parent in parents {
        if let Some(slot) = runs_others.get_mut(parent as usize) {
            *slot = true;
        }
    }
    // For each op that runs other ops: the instant up to which the op's time is assigned.
    let mut given = vec![Ps::ZERO; ops.len()];
    let mut next = 0;
    in_blocks(ops, |&id| {
        let op = next;
        next += 1;
        let Some((start, duration)) = trace.events.time(id) else { return };
        let end = start + duration;
        if let Some(slot) = given.get_mut(op) {
            *slot = start;
        }
        let parent = parents.get(op).map_or(usize::MAX, |&parent| parent as usize);
        if let Some(slot) = given.get_mut(parent) {
            if start > *slot {
                give(parent, Interval::new(*slot, start));
            }
            *slot = end.max(*slot);
        }
        if duration > Ps::ZERO && runs_others.get(op) == Some(&false) {
            give(op, Interval::new(start, end));
        }
    });
    for (op, ((&id, runs), from)) in ops.iter().zip(runs_others).zip(given).enumerate() {
        let end = trace.events.time(id).map(|(start, duration)| start + duration);
        if let Some(end) = end.filter(|&end| runs && end > from) {
            give(op, Interval::new(from, end));
        }
    }
}

/// Assigns self times by line: time belongs to the op (or host span) that started last and has not ended. `ops` must be in the
/// order of [`Device::ops`].
///
/// ```text
/// while.1   [-------------------------)
/// fusion.1       [------)                    nested in while.1
/// copy.1             [------)                outlasts fusion.1: it started later, so it gets the time
/// assigned   w w w f f f c c c w w w w
/// ```
///
/// Each line keeps a stack of open ops. When an op starts, the ops that have ended are closed, from the top of the
/// stack down. Each of these ops gets the unassigned time up to its end. Then the op on top of the stack gets the time
/// up to the new start. If an op ended while a longer op was above it on the stack, the time of the ended op is already
/// assigned. Every instant that an op of a line covers is therefore assigned exactly once, and the lengths add up to
/// the union of the line's ops. Takes time linear in the number of ops.
pub(crate) fn for_each_on_line(trace: &Trace, ops: &[EventId], mut give: impl FnMut(usize, Interval)) {
    let mut lines: PerLine<SelfTime> = PerLine::default();
    let mut next = 0;
    in_blocks(ops, |&id| {
        let op = next;
        next += 1;
        let Some(event) = trace.events.get(id) else { return };
        let Some(line) = lines.of(event.line) else { return };
        line.start(op, Interval::new(event.start, event.end()), &mut give);
    });
    for mut line in lines.in_order() {
        line.finish(&mut give);
    }
}

/// Calls `give` with each interval of self time on one line, and with its kind as an index into
/// [`Events::kinds`](trace::Events::kinds).
pub(crate) fn for_each_self_kind(trace: &Trace, events: &LineEvents, mut give: impl FnMut(usize, Interval)) {
    let mut line = SelfTime::default();
    trace.for_each_on_thread(events, |kind, interval| line.start(kind, interval, &mut give));
    line.finish(&mut give);
}

impl SelfTime {
    /// Starts the next event of the line. `op` is the value that `give` receives with each interval of this event's
    /// self time.
    #[inline]
    pub fn start(&mut self, op: usize, interval: Interval, give: &mut impl FnMut(usize, Interval)) {
        self.close_until(interval.start, give);
        self.give_top(interval.start, give);
        self.given_until = interval.start;
        self.open.push(Open { op, end: interval.end });
    }

    /// Closes all events. Callers must call `finish` after the last event.
    pub fn finish(&mut self, give: &mut impl FnMut(usize, Interval)) {
        self.close_until(Ps::MAX, give);
    }

    /// Closes the ops on top of the stack that have ended by `now`.
    fn close_until(&mut self, now: Ps, give: &mut impl FnMut(usize, Interval)) {
        while let Some(end) = self.open.last().map(|top| top.end).filter(|&end| end <= now) {
            self.give_top(end, give);
            self.given_until = self.given_until.max(end);
            self.open.pop();
        }
    }

    /// Assigns the time up to `until` to the innermost open op.
    fn give_top(&self, until: Ps, give: &mut impl FnMut(usize, Interval)) {
        if let Some(top) = self.open.last().filter(|_| until > self.given_until) {
            give(top.op, Interval::new(self.given_until, until));
        }
    }
}

/// Returns the self time of each op of a device, in the order of [`Device::ops`]; see [`for_each_self_interval`].
pub fn self_times(trace: &Trace, device: &Device) -> Vec<Ps> {
    let mut times = vec![Ps::ZERO; device.ops.len()];
    for_each_self_interval(trace, device, |op, interval| {
        if let Some(time) = times.get_mut(op) {
            *time += interval.length();
        }
    });
    times
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::devices::Devices;
    use proptest::prelude::*;
    use trace::TraceBuilder;

    /// Returns the self times in microseconds of events `(line, start, duration)`, in the given order.
    fn self_us(events: &[(usize, i64, i64)]) -> Vec<i64> {
        let mut b = TraceBuilder::new();
        let lines = [b.line("/device:GPU:0", "Stream #1"), b.line("/device:GPU:0", "Stream #2")];
        for &(line, start, duration) in events {
            b.event(lines[line], "op", start, duration);
        }
        let trace = b.build();
        let devices = Devices::of(&trace);
        let device = &devices.used[0];
        let mut times = vec![0; events.len()];
        for (&id, time) in device.ops.iter().zip(self_times(&trace, device)) {
            times[id.index()] = time.as_ps() / 1_000_000;
        }
        times
    }

    #[test]
    fn nested_ops_take_their_time_out_of_their_parent() {
        assert_eq!(self_us(&[(0, 0, 100), (0, 10, 20), (0, 15, 5), (0, 40, 10)]), [70, 15, 5, 10]);
    }

    #[test]
    fn a_child_that_outlasts_its_parent_keeps_its_time() {
        assert_eq!(self_us(&[(0, 0, 10), (0, 5, 10)]), [5, 10]);
        assert_eq!(self_us(&[(0, 0, 30), (0, 5, 10), (0, 12, 6), (0, 16, 1)]), [17, 7, 5, 1]);
    }

    #[test]
    fn streams_do_not_hide_each_other() {
        assert_eq!(self_us(&[(0, 0, 10), (1, 2, 5)]), [10, 5]);
    }

    #[test]
    fn equal_and_empty_ops_share_nothing_twice() {
        assert_eq!(self_us(&[(0, 0, 10), (0, 0, 10), (0, 5, 0)]), [0, 10, 0]);
    }

    proptest! {
        /// At every whole microsecond of a line, the running op that started last owns the time (brute force).
        #[test]
        fn self_times_partition_the_union(events in prop::collection::vec((0usize..2, 0i64..60, 0i64..25), 1..40)) {
            let mut expected = vec![0i64; events.len()];
            for line in 0..2 {
                for now in 0..90 {
                    let running = events.iter().enumerate().filter(|(_, e)| e.0 == line && e.1 <= now && now < e.1 + e.2);
                    // If two ops start together, the shorter op is the inner op. If they are equally long, the op later in the
                    // file is the inner op.
                    if let Some((owner, _)) = running.max_by_key(|(index, e)| (e.1, -e.2, *index)) {
                        expected[owner] += 1;
                    }
                }
            }
            prop_assert_eq!(self_us(&events), expected);
        }
    }
}
