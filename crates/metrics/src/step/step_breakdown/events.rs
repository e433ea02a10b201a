//! Lists the events of a step: every op with its self time inside the step, and the idle time before it with its
//! causes.
//!
//! ```text
//! step        [                                      )
//! device   [op 1   )[op 2  )        [op 3)     [op 4     )
//! events      op 1   op 2    idle    op 3 idle  op 4         each clipped to the step
//! ```
//!
//! The idle events of each part add up exactly to that part of the step. The ops of a part also add up to that part,
//! unless streams run in parallel. If an op overlaps with an op of an earlier part, the op's own part excludes the
//! overlap.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::rows::gaps;
use super::{Breakdown, StepRow};
use crate::device::device_time::OpParts;
use crate::device::devices::{Device, Devices};
use crate::device::self_time::for_each_self_interval;
use crate::host::host_threads::HostTime;
use crate::host::launches::CallIndex;
use crate::step::step_part::{Parts, StepPart};
use base::{Ps, sort};
use trace::{EventId, Interval, Trace};

/// An op, or idle time of one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepEvent {
    /// Index into [`Breakdown::rows`].
    pub row: u32,
    /// Part of the step that the event belongs to.
    pub part: StepPart,
    /// Start of the event inside the step. If a gap has several causes, the events of all causes start when the gap
    /// starts.
    pub start: Ps,
    /// Time of the event inside the step. For an op, the time of nested ops is excluded.
    pub time: Ps,
    /// The op. For idle time, the op that ended the idle time, if there is one.
    pub op: Option<EventId>,
}

impl Breakdown {
    /// Returns the events of the chosen rows, sorted by time. Lists at most `most` ops of each device, and at most
    /// `most` gaps of each row.
    pub fn events(
        &self,
        trace: &Trace,
        devices: &Devices,
        hosts: &BTreeMap<u16, HostTime>,
        calls: &CallIndex,
        chosen: &dyn Fn(&StepRow) -> bool,
        most: usize,
    ) -> Vec<StepEvent> {
        let mut parts = OpParts::of_devices(trace, devices);
        let mut found = Vec::new();
        let mut windows_of = vec![Vec::new(); devices.used.len()];
        for (at, row) in (0u32..).zip(&self.rows).filter(|(_, row)| chosen(row)) {
            if let Some(windows) = windows_of.get_mut(row.device as usize) {
                windows.push((at, Interval::new(row.start, row.start + row.duration)));
            }
        }
        for (device, mut windows) in devices.used.iter().zip(windows_of) {
            sort::sort_by_key(&mut windows, |(_, window)| window.start);
            let mut of_device = ops(trace, device, &windows, &mut parts, most);
            let mut gaps = gaps(trace, devices, device, hosts.get(&device.host), calls);
            for &(row, window) in &windows {
                for gap in idle(device, window).take(most) {
                    let mut causes = Parts::default();
                    gaps.add(&mut causes, gap, gap.length());
                    let op = ended_by(trace, device, gap);
                    let times = StepPart::ALL.into_iter().map(|part| (part, causes.get(part)));
                    let times = times.filter(|(_, time)| *time > Ps::ZERO);
                    of_device.extend(times.map(|(part, time)| StepEvent { row, part, start: gap.start, time, op }));
                }
            }
            found.extend(of_device);
        }
        sort::sort_by(&mut found, |a, b| (a.start, a.row, a.op, a.part).cmp(&(b.start, b.row, b.op, b.part)));
        found
    }
}

/// Returns the ops inside windows, which must not overlap.
fn ops(
    trace: &Trace,
    device: &Device,
    windows: &[(u32, Interval)],
    parts: &mut OpParts<'_>,
    most: usize,
) -> Vec<StepEvent> {
    let mut found: Vec<StepEvent> = Vec::new();
    // The self time of an op with nested ops consists of several intervals.
    let mut places: FxHashMap<(usize, u32), usize> = FxHashMap::default();
    for_each_self_interval(trace, device, |op, interval| {
        let Some((id, event)) = device.ops.get(op).and_then(|&id| Some((id, trace.events.get(id)?))) else { return };
        let first = windows.partition_point(|(_, window)| window.end <= interval.start);
        for &(row, window) in windows.iter().skip(first).take_while(|(_, window)| window.start < interval.end) {
            let Some(inside) = interval.clip(window) else { continue };
            if let Some(known) = places.get(&(op, row)).and_then(|&at| found.get_mut(at)) {
                known.time += inside.length();
            } else if found.len() < most {
                places.insert((op, row), found.len());
                let (part, start) = (parts.of(event.name, event.args), event.start.max(window.start));
                found.push(StepEvent { row, part, start, time: inside.length(), op: Some(id) });
            }
        }
    });
    found
}

/// Returns the idle times of a device inside a window.
pub(super) fn idle(device: &Device, window: Interval) -> impl Iterator<Item = Interval> {
    let busy = device.busy.parts();
    let first = busy.partition_point(|part| part.end <= window.start);
    let mut at = window.start;
    let inside = busy.iter().skip(first).take_while(move |part| part.start < window.end).copied();
    let end = Interval::new(window.end, window.end);
    inside.chain(std::iter::once(end)).filter_map(move |part| {
        let gap = (part.start > at).then(|| Interval::new(at, part.start));
        at = at.max(part.end);
        gap
    })
}

/// Returns the first op that begins at or after the end of a gap.
fn ended_by(trace: &Trace, device: &Device, gap: Interval) -> Option<EventId> {
    let start = |id: &EventId| trace.events.get(*id).map(|event| event.start);
    let at = device.ops.partition_point(|id| start(id).is_some_and(|start| start < gap.end));
    device.ops.get(at).copied()
}
