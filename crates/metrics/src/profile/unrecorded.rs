//! Finds program runs without ops: the profiler recorded the run, but not its ops.
//!
//! ```text
//! XLA Modules   [step  )  [step  )  [step  )  [step  )
//! XLA Ops       [a)[b  )  [a)[b  )
//! busy          [==)[==)  [==)[==)  [======)  [======)      the ops of the last two runs are unknown
//! ```
//!
//! The device was not idle during a run without ops, so the run is part of the busy time, but is not an op.

use base::Ps;
use trace::{ByLine, EventId, Interval, IntervalSet, LineKind, Trace};

/// The runs of programs on one device, including the runs without ops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unrecorded {
    /// Number of program runs in the whole capture.
    pub runs: u64,
    /// Number of program runs in which no op was recorded.
    pub without_ops: u64,
    /// Times of the runs without ops on the device. If the device's window is limited, these times are cut at the
    /// window's edges.
    pub time: IntervalSet,
}

/// Minimum length of a run without ops that is treated as unrecorded. We chose this limit because in a shorter run, an
/// op may have no measurable time.
const SHORTEST_US: i64 = 1;

impl Unrecorded {
    /// Finds the runs on `plane`. `ops` must be in order, and `busy` must be their union.
    pub(crate) fn new(
        trace: &Trace,
        by_line: &ByLine,
        plane: usize,
        ops: &[EventId],
        busy: &IntervalSet,
    ) -> Unrecorded {
        let starts_before =
            |time| ops.partition_point(|&id| trace.events.time(id).is_some_and(|(start, _)| start < time));
        let has_ops =
            |run: Interval| starts_before(run.start) < starts_before(run.end) || busy.length_within(run) > Ps::ZERO;
        let mut found = Unrecorded::default();
        let mut without: Vec<Interval> = Vec::new();
        for id in by_line.events_of(trace, plane, LineKind::Modules) {
            let Some(run) = trace.events.get(id).map(|event| Interval::new(event.start, event.end())) else { continue };
            found.runs += 1;
            if run.length().as_ps() >= SHORTEST_US * 1_000_000 && !has_ops(run) {
                without.push(run);
            }
        }
        found.without_ops = without.len() as u64;
        found.time = IntervalSet::union_of(without);
        found
    }
}

#[cfg(test)]
mod tests {
    use crate::device::devices::Devices;
    use base::Ps;
    use trace::TraceBuilder;

    /// ```text
    /// us       0    10   20   30   40   50   60
    /// modules  [a   )    [a   )    [a   )[b)[c)
    /// ops      [x )      [y )                [z )    z begins in b and runs on in c
    /// ```
    #[test]
    fn runs_in_which_no_op_is_seen_are_busy_without_ops() {
        let mut b = TraceBuilder::new();
        let (modules, ops) = (b.line("/device:TPU:0", "XLA Modules"), b.line("/device:TPU:0", "XLA Ops"));
        for (start, length) in [(0, 10), (20, 10), (40, 10), (50, 5), (55, 5)] {
            b.event(modules, "jit_f(1)", start, length);
        }
        for (start, length) in [(0, 5), (20, 5), (52, 6)] {
            b.event(ops, "fusion.1", start, length);
        }
        let devices = Devices::of(&b.build());
        let device = devices.used.first().unwrap();
        assert_eq!((device.unrecorded.runs, device.unrecorded.without_ops), (5, 1));
        assert_eq!((device.busy.length(), device.busy_with_ops()), (Ps::new(26_000_000), Ps::new(16_000_000)));
        assert_eq!((device.ops.len(), device.span.end), (3, Ps::new(58_000_000)));
    }

    #[test]
    fn a_device_of_runs_alone_is_used_and_one_of_nothing_is_not() {
        let mut b = TraceBuilder::new();
        let modules = b.line("/device:TPU:0", "XLA Modules");
        b.line("/device:TPU:1", "XLA Modules");
        b.event(modules, "jit_f(1)", 10, 10);
        b.event(modules, "jit_f(1)", 30, 10);
        let devices = Devices::of(&b.build());
        assert_eq!((devices.used.len(), devices.unused.len()), (1, 1));
        let device = devices.used.first().unwrap();
        assert_eq!((device.busy.length(), device.idle()), (Ps::new(20_000_000), Ps::new(10_000_000)));
        assert_eq!((device.num_ops(), device.busy_with_ops()), (0, Ps::ZERO));
    }
}
