//! Limits the devices to a window, and cuts the events at its edges.
//!
//! ```text
//! window            [                    )     [        )
//! stream 1    [=== a ===)  [b)        [=== c ====)  [d)      [e)
//! left              [=a=)  [b)        [=c)     [c)  [d)            c is two events here, and is counted once, at its start
//! ```
//!
//! The times of the remaining ops add up exactly to the busy time in the window. Events keep their indices. If an edge
//! cuts an event, the event's new time is in a copy of the trace. The copy shares all other blocks of events with the
//! original trace.

use std::sync::Arc;

use crate::device::devices::{Device, Devices, Nesting};
use base::Ps;
use trace::{EventId, Interval, IntervalSet, Trace};

/// A run inside its window.
#[derive(Clone, Debug)]
pub(crate) struct Limited {
    /// The trace with cut events. `None` if no edge of the window cuts an event, so that the run's own trace is used.
    pub trace: Option<Trace>,
    /// All devices in use, with the ops in their windows.
    pub devices: Devices,
}

impl Limited {
    /// Limits `devices` to `windows`, one for each device in use. A window that covers all work of its device costs no
    /// time to apply. Any other window costs little time, because only ops near its edges are examined.
    pub(crate) fn new(trace: &Trace, devices: &Devices, windows: &[IntervalSet]) -> Limited {
        let mut limited = Limited { trace: None, devices: devices.clone() };
        for (device, window) in limited.devices.used.iter_mut().zip(windows) {
            limit(trace, &mut limited.trace, device, window);
        }
        limited
    }
}

fn limit(trace: &Trace, cut: &mut Option<Trace>, device: &mut Device, window: &IntervalSet) {
    device.window = window.clone();
    if device.is_whole() {
        return;
    }
    let mut left: Vec<EventId> = Vec::new();
    let mut parents: Vec<u32> = Vec::new();
    for &part in window.parts() {
        let first_left = left.len();
        let mut places: Vec<usize> = Vec::new();
        let before = |time: Ps| starts_before(trace, &device.ops, time);
        let (first, last) = (before(part.start), before(part.end));
        // An op that an edge cuts is inside the busy part that the edge cuts.
        let from = |edge: Ps| busy_at(&device.busy, edge).map(|busy| before(busy.start));
        let open = from(part.start).unwrap_or(first);
        for (at, &id) in (open..).zip(device.ops.get(open..first).unwrap_or_default()) {
            if let Some(inside) = time(trace, id).filter(|op| op.end > part.start).and_then(|op| op.clip(part)) {
                device.begun_before += 1;
                left.extend(cut_to(trace, cut, id, inside));
                places.push(at);
            }
        }
        left.extend_from_slice(device.ops.get(first..last).unwrap_or_default());
        if let Nesting::ByOp(all) = &device.nesting {
            places.extend(first..last);
            // Index of the enclosing op among the remaining ops, if the enclosing op remains.
            let place = |op: u32| places.binary_search(&(op as usize)).map_or(u32::MAX, |at| (first_left + at) as u32);
            let parent = |&op: &usize| all.get(op).map_or(u32::MAX, |&parent| place(parent));
            parents.extend(places.iter().map(parent));
        }
        for &id in from(part.end).and_then(|from| device.ops.get(from.max(first)..last)).unwrap_or_default() {
            if let Some(inside) = time(trace, id).filter(|op| op.end > part.end).and_then(|op| op.clip(part)) {
                cut_to(trace, cut, id, inside);
            }
        }
    }
    device.ops = Arc::new(left);
    if let Nesting::ByOp(all) = &mut device.nesting {
        *all = parents;
    }
    device.busy = device.busy.intersection(window);
    device.unrecorded.time = device.unrecorded.time.intersection(window);
}

fn cut_to(trace: &Trace, cut: &mut Option<Trace>, id: EventId, inside: Interval) -> Option<EventId> {
    cut.get_or_insert_with(|| trace.clone()).events.cut(id, inside)
}

fn time(trace: &Trace, id: EventId) -> Option<Interval> {
    trace.events.time(id).map(|(start, length)| Interval::new(start, start + length))
}

fn starts_before(trace: &Trace, ops: &[EventId], time: Ps) -> usize {
    ops.partition_point(|&id| trace.events.time(id).is_some_and(|(start, _)| start < time))
}

/// Returns the busy interval that begins before `edge` and ends after it.
fn busy_at(busy: &IntervalSet, edge: Ps) -> Option<Interval> {
    let parts = busy.parts();
    let after = parts.partition_point(|part| part.start < edge);
    after.checked_sub(1).and_then(|at| parts.get(at)).copied().filter(|part| part.end > edge)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::self_time::self_times;
    use proptest::prelude::*;
    use trace::TraceBuilder;

    fn us(parts: &[(i64, i64)]) -> IntervalSet {
        let time = |us: i64| Ps::new(us * 1_000_000);
        IntervalSet::union_of(parts.iter().map(|&(start, end)| Interval::new(time(start), time(end))))
    }

    fn trace_of(events: &[(usize, i64, i64)]) -> Trace {
        let mut b = TraceBuilder::new();
        let lines = [b.line("/device:GPU:0", "Stream #1"), b.line("/device:GPU:0", "Stream #2")];
        for &(line, start, duration) in events {
            b.event(lines[line], &format!("op{line}"), start, duration);
        }
        b.build()
    }

    #[test]
    fn an_op_over_a_hole_is_left_on_both_sides_and_counts_where_it_starts() {
        let trace = trace_of(&[(0, 0, 10), (0, 12, 3), (0, 20, 20), (0, 50, 5)]);
        let limited = Limited::new(&trace, &Devices::of(&trace), &[us(&[(5, 25), (35, 45)])]);
        let (device, cut) = (limited.devices.used.first().unwrap(), limited.trace.as_ref().unwrap());
        let [first, second, rest] = [0, 1, 4].map(EventId::new);
        let left: Vec<u32> = device.ops.iter().map(|id| id.get()).collect();
        assert_eq!((left, device.num_ops()), (vec![0, 1, 2, 4], 2));
        let times: Vec<_> = device.ops.iter().filter_map(|&id| time(cut, id)).collect();
        assert_eq!(IntervalSet::union_of(times.iter().copied()), us(&[(5, 10), (12, 15), (20, 25), (35, 40)]));
        assert_eq!(device.busy, IntervalSet::union_of(times));
        assert_eq!(cut.events.whole(rest), Some(Interval::new(Ps::new(20_000_000), Ps::new(40_000_000))));
        assert_eq!((cut.events.whole(second), time(&trace, first).unwrap().length()), (None, Ps::new(10_000_000)));
    }

    #[test]
    fn a_window_that_holds_everything_changes_nothing() {
        let trace = trace_of(&[(0, 3, 10), (0, 13, 0), (1, 5, 5)]);
        let devices = Devices::of(&trace);
        let limited = Limited::new(&trace, &devices, &[us(&[(0, 99)])]);
        assert!(limited.trace.is_none());
        let (all, left) = (devices.used.first().unwrap(), limited.devices.used.first().unwrap());
        assert!(Arc::ptr_eq(&all.ops, &left.ops));
        assert_eq!(left.idle(), Ps::new(89_000_000));
    }

    proptest! {
        /// At every whole microsecond of the window, the same ops run as in the whole trace. On each stream, the time belongs
        /// to the op that started last. An op is counted if it starts in the window.
        #[test]
        fn the_ops_in_the_window_are_left(
            events in prop::collection::vec((0usize..2, 0i64..60, 0i64..25), 1..40),
            parts in prop::collection::vec((0i64..90, 1i64..20), 0..4),
        ) {
            let parts: Vec<_> = parts.into_iter().map(|(start, length)| (start, start + length)).collect();
            let (trace, window) = (trace_of(&events), us(&parts));
            let limited = Limited::new(&trace, &Devices::of(&trace), std::slice::from_ref(&window));
            let device = limited.devices.used.first().unwrap();
            let cut = limited.trace.as_ref().unwrap_or(&trace);
            let inside = |now: i64| parts.iter().any(|&(start, end)| start <= now && now < end);
            let runs = |line: usize, now: i64| events.iter().any(|e| e.0 == line && e.1 <= now && now < e.1 + e.2);
            let count = |line: usize| (0..90).filter(|&now| inside(now) && runs(line, now)).count() as i64;
            let times = self_times(cut, device);
            for line in 0..2 {
                let of_line = |id: &EventId| cut.events.get(*id).is_some_and(|event| event.line.index() == line);
                let all: Ps = device.ops.iter().zip(&times).filter(|(id, _)| of_line(id)).map(|(_, &time)| time).sum();
                prop_assert_eq!(all.as_ps() / 1_000_000, count(line));
            }
            let busy = (0..90).filter(|&now| inside(now) && (runs(0, now) || runs(1, now))).count() as i64;
            prop_assert_eq!(device.busy.length().as_ps() / 1_000_000, busy);
            prop_assert_eq!(device.window.length(), window.length());
            let covers = window.span().is_some_and(|span| window.parts().len() == 1
                && span.start <= device.span.start && span.end >= device.span.end);
            let starting = events.iter().filter(|e| inside(e.1) || covers).count() as u64;
            prop_assert_eq!(device.num_ops(), starting);
        }
    }
}
