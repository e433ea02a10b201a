//! When the host launched what a device began to run.
//!
//! On a GPU a launch and its op carry the same correlation id. On a TPU the host enqueues a whole program: its event on the host and
//! the program's on `XLA Modules` carry the same run id. A CPU backend tells neither.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::metrics::devices::{Device, Devices};
use crate::trace::classify::Platform;
use crate::trace::{EventId, Interval, LineKind, Trace};
use crate::units::Ps;

/// When the first op after a gap was launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Launch {
    /// The trace does not tell.
    Unknown,
    /// At this time.
    At(Ps),
    /// With the program that was running already.
    Before,
}

/// The launches of a run.
#[derive(Debug, Default)]
pub(super) struct LaunchTimes {
    /// By event, the start of its launch; `NONE` where there is none. Empty where no event of the host carries a correlation id.
    of_event: Vec<Ps>,
    /// Earliest event of the host by host, device and run id.
    of_run: FxHashMap<(u16, i64, i64), Ps>,
}

const NONE: Ps = Ps::MAX;

impl LaunchTimes {
    pub fn new(trace: &Trace, devices: &Devices) -> LaunchTimes {
        match devices.platform {
            Some(Platform::Gpu) => LaunchTimes { of_event: by_correlation(trace), of_run: FxHashMap::default() },
            Some(Platform::Tpu) => LaunchTimes { of_event: Vec::new(), of_run: by_run(trace) },
            _ => LaunchTimes::default(),
        }
    }

    /// True where nothing is known of any launch.
    pub fn is_empty(&self) -> bool {
        self.of_event.is_empty() && self.of_run.is_empty()
    }

    /// Goes through the gaps of `device` in order.
    pub fn of_device<'a>(&'a self, trace: &'a Trace, devices: &'a Devices, device: &'a Device) -> DeviceLaunches<'a> {
        let modules = trace.lines.iter().zip(&devices.events_by_line);
        let mut programs: Vec<(Ps, Option<i64>)> = modules
            .filter(|(line, _)| line.kind == LineKind::Modules && line.plane.index() == device.plane)
            .flat_map(|(_, events)| events)
            .filter_map(|&id| Some((trace.events.time(id)?.0, trace.events.run_id.get(id))))
            .collect();
        if !programs.is_sorted() {
            programs.sort_unstable();
        }
        DeviceLaunches { launches: self, trace, device, programs, asked: Ps(i64::MIN), op: 0, program: 0 }
    }
}

/// The launches of one device, told for one gap after the other.
pub(super) struct DeviceLaunches<'a> {
    launches: &'a LaunchTimes,
    trace: &'a Trace,
    device: &'a Device,
    /// Start and run id of each program, in order.
    programs: Vec<(Ps, Option<i64>)>,
    /// End of the last gap asked for; ops and programs before these positions start before it.
    asked: Ps,
    op: usize,
    program: usize,
}

impl DeviceLaunches<'_> {
    /// The launch of what ended `gap`. Cheap where gaps are asked for in order.
    pub fn after(&mut self, gap: Interval) -> Launch {
        if gap.end < self.asked {
            (self.op, self.program) = (0, 0);
        }
        self.asked = gap.end;
        if !self.launches.of_event.is_empty() {
            return self.of_op_at(gap.end).map_or(Launch::Unknown, Launch::At);
        }
        if self.launches.of_run.is_empty() || self.programs.is_empty() {
            return Launch::Unknown;
        }
        while self.programs.get(self.program).is_some_and(|&(start, _)| start <= gap.end) {
            self.program += 1;
        }
        let Some(&(start, run_id)) = self.program.checked_sub(1).and_then(|last| self.programs.get(last)) else {
            return Launch::Unknown;
        };
        if start < gap.start {
            return Launch::Before;
        }
        let key = run_id.map(|run| (self.device.host, i64::from(self.device.ordinal), run));
        key.and_then(|key| self.launches.of_run.get(&key)).map_or(Launch::Unknown, |&at| Launch::At(at))
    }

    /// The earliest launch of the ops that start at `time`.
    fn of_op_at(&mut self, time: Ps) -> Option<Ps> {
        let start = |id: EventId| self.trace.events.time(id).map(|(start, _)| start);
        while self.device.ops.get(self.op).is_some_and(|&id| start(id).is_none_or(|start| start < time)) {
            self.op += 1;
        }
        let starting = self.device.ops.iter().skip(self.op).take_while(|&&id| start(id) == Some(time));
        let launches = starting.filter_map(|&id| self.launches.of_event.get(id as usize).copied());
        launches.filter(|&launch| launch != NONE).min()
    }
}

/// For every device event with a correlation id the start of the host event with the same id on the same host.
fn by_correlation(trace: &Trace) -> Vec<Ps> {
    let mut launches: BTreeMap<u16, FxHashMap<i64, Ps>> = BTreeMap::new();
    let kind_and_host: Vec<Option<(LineKind, u16)>> =
        trace.lines.iter().map(|line| trace.plane_of(line).map(|plane| (line.kind, plane.host))).collect();
    let place = |id: EventId| {
        let event = trace.events.get(id)?;
        let &(kind, host) = kind_and_host.get(event.line.index())?.as_ref()?;
        Some((kind, host, event.start))
    };
    for (id, correlation) in trace.events.correlation.iter() {
        let Some((LineKind::Host, host, start)) = place(id) else { continue };
        let first = launches.entry(host).or_default().entry(correlation).or_insert(start);
        *first = start.min(*first);
    }
    if launches.is_empty() {
        return Vec::new();
    }
    let mut of_event = vec![NONE; trace.events.len()];
    for (id, correlation) in trace.events.correlation.iter() {
        let Some((LineKind::DeviceOps, host, _)) = place(id) else { continue };
        let launch = launches.get(&host).and_then(|of_host| of_host.get(&correlation));
        if let (Some(&launch), Some(slot)) = (launch, of_event.get_mut(id as usize)) {
            *slot = launch;
        }
    }
    of_event
}

/// The first event of the host that names a run on a device: that which enqueues it (`DoEnqueueProgram`); the callbacks of its end
/// name it too.
fn by_run(trace: &Trace) -> FxHashMap<(u16, i64, i64), Ps> {
    let mut first: FxHashMap<(u16, i64, i64), Ps> = FxHashMap::default();
    for (id, run) in trace.events.run_id.iter() {
        let Some(event) = trace.events.get(id) else { continue };
        let Some(line) = trace.lines.get(event.line.index()).filter(|line| line.kind == LineKind::Host) else {
            continue;
        };
        let Some(ordinal) = trace.args_of(&event).device_ordinal else { continue };
        let host = trace.plane_of(line).map_or(0, |plane| plane.host);
        let at = first.entry((host, ordinal, run)).or_insert(event.start);
        *at = event.start.min(*at);
    }
    first
}
