//! When the host launched what a device began to run, gap by gap.
//!
//! On a GPU a launch and its op carry the same correlation id. On a TPU the host enqueues a whole program: its event on the host and
//! the program's on `XLA Modules` carry the same run id. A CPU backend records neither.

use crate::devices::{Device, Devices};
use crate::launches::{CallIndex, Scope, scope_of};
use base::{Ps, sort};
use trace::{EventColumn, EventId, Interval, LineKind, Platform, Trace};

/// When the first op after a gap was launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Launch {
    /// The trace does not say.
    Unknown,
    /// The launch was this call on the host.
    At(Interval),
    /// The launch was with the program that was running already.
    Before,
}

/// The launches of one device, looked up for one gap after the other.
pub(super) struct DeviceLaunches<'a> {
    trace: &'a Trace,
    device: &'a Device,
    calls: &'a CallIndex,
    scope: Scope,
    /// Start and run id of each program of a TPU, in order.
    programs: Vec<(Ps, Option<i64>)>,
    /// End of the last gap asked for; ops and programs before these positions start before it.
    asked: Ps,
    op: usize,
    program: usize,
}

impl<'a> DeviceLaunches<'a> {
    /// Launches of `device`, whose ops were launched by `calls`.
    pub fn new(trace: &'a Trace, devices: &'a Devices, device: &'a Device, calls: &'a CallIndex) -> DeviceLaunches<'a> {
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

    /// True where nothing is known of any launch.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The launch of what ended `gap`. Cheap where gaps are asked for in order.
    pub fn after(&mut self, gap: Interval) -> Launch {
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

    /// The launch of the last program that starts before the end of `gap`.
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

    /// The earliest launch of the ops that start at `time`.
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
