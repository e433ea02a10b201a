//! Finds when the host launched the op after each gap of a device.
//!
//! On a GPU, a launch and its op have the same correlation id. On a TPU the host enqueues a whole program: the host's
//! event and the program's event on `XLA Modules` have the same run id. A CPU backend records neither id.

use crate::device::devices::{Device, Devices};
use crate::host::launches::{CallIndex, Scope, scope_of};
use base::{Ps, sort};
use trace::{EventColumn, EventId, Interval, LineKind, Platform, Trace};

/// Launch of the first op after a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Launch {
    /// The trace does not contain the launch.
    Unknown,
    /// The op was launched by this call on the host.
    At(Interval),
    /// The op was launched with the program that was already running.
    Before,
}

/// The launches of one device.
pub(super) struct DeviceLaunches<'a> {
    trace: &'a Trace,
    device: &'a Device,
    calls: &'a CallIndex,
    scope: Scope,
    /// Start and run id of each program of a TPU, sorted by start.
    programs: Vec<(Ps, Option<i64>)>,
    /// End of the last requested gap. Ops and programs before the positions in the fields below start before this time.
    asked: Ps,
    op: usize,
    program: usize,
}

impl<'a> DeviceLaunches<'a> {
    /// Finds the launches of `device`. `calls` contains the launch calls.
    pub(super) fn new(
        trace: &'a Trace,
        devices: &'a Devices,
        device: &'a Device,
        calls: &'a CallIndex,
    ) -> DeviceLaunches<'a> {
        let mut programs: Vec<(Ps, Option<i64>)> = devices
            .by_line
            .events_of(trace, device.plane, LineKind::Modules)
            .filter_map(|id| Some((trace.events.time(id)?.0, trace.events.column(EventColumn::RunId).get(id))))
            .collect();
        if !programs.is_sorted() {
            sort::sort_by(&mut programs, Ord::cmp);
        }
        let (asked, scope) = (Ps::new(i64::MIN), scope_of(device));
        DeviceLaunches { trace, device, calls, scope, programs, asked, op: 0, program: 0 }
    }

    /// Returns true if no launch is known.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Returns the launch of the op that ended `gap`. The search is fast if callers request gaps in order of time.
    pub(super) fn after(&mut self, gap: Interval) -> Launch {
        if gap.end < self.asked {
            (self.op, self.program) = (0, 0);
        }
        self.asked = gap.end;
        if self.calls.is_empty() {
            return Launch::Unknown;
        }
        match self.device.platform {
            Platform::Tpu => self.of_program_before(gap),
            _ => self.of_op_at(gap.end).map_or(Launch::Unknown, Launch::At),
        }
    }

    /// Returns the launch of the last program that starts before the end of `gap`.
    fn of_program_before(&mut self, gap: Interval) -> Launch {
        while self.programs.get(self.program).is_some_and(|&(start, _)| start <= gap.end) {
            self.program += 1;
        }
        let Some(&(start, run_id)) = self.program.checked_sub(1).and_then(|last| self.programs.get(last)) else {
            return Launch::Unknown;
        };
        if start < gap.start {
            return Launch::Before;
        }
        run_id.and_then(|run| self.call(run)).map_or(Launch::Unknown, Launch::At)
    }

    /// Returns the earliest launch of the ops that start at `time`.
    fn of_op_at(&mut self, time: Ps) -> Option<Interval> {
        let start = |id: EventId| self.trace.events.time(id).map(|(start, _)| start);
        while self.device.ops.get(self.op).is_some_and(|&id| start(id).is_none_or(|start| start < time)) {
            self.op += 1;
        }
        let starting = self.device.ops.iter().skip(self.op).take_while(|&&id| start(id) == Some(time));
        let ids = starting.filter_map(|&id| self.trace.events.column(EventColumn::Correlation).get(id));
        ids.filter_map(|correlation| self.call(correlation)).min()
    }

    fn call(&self, number: i64) -> Option<Interval> {
        let (_, call) = self.calls.find(self.trace, self.scope, number)?;
        Some(self.device.interval_from_host(Interval::new(call.start, call.end)))
    }
}
