//! Splits a device's time by activity: computation, communication, data movement and idle time.
//!
//! Reads the ops of a device and, on TPUs, its `Async XLA Ops` line, which records when a copy or a collective is in
//! flight. The work on this line is never counted as busy time, because the chip runs other ops meanwhile. An
//! asynchronous wrapper (`async-start`) is treated as a copy: its category does not reveal the wrapped op.

pub(crate) mod async_pairs;
pub(crate) mod copy_space;
mod op_part;

use self::async_pairs::for_each_pair;
pub(crate) use self::op_part::OpParts;
use crate::device::devices::{Device, Devices, interval};
use crate::device::per_line::PerLine;
use crate::device::self_time::for_each_self_interval;
use crate::step::step_part::StepPart;
use trace::{Interval, IntervalSet, LineKind, Platform, Trace};

/// A device's time by activity.
#[derive(Clone, Debug, Default)]
pub struct DeviceTime {
    /// Times of each part, in the order of [`StepPart::ALL`]. The parts do not overlap, and their union is the busy
    /// time. If ops of two parts run at the same time, the time belongs to the part that comes first in this order.
    exposed: Vec<(StepPart, IntervalSet)>,
    /// Times when communication is in flight, exposed or overlapped.
    pub communication: IntervalSet,
    /// Times when a copy, fill or change of layout is in flight, exposed or overlapped.
    pub transfer: IntervalSet,
}

/// Sorted intervals of work on one line, for each part.
type LineWork = [Vec<Interval>; StepPart::NUM_WORK];

impl DeviceTime {
    /// Splits the time of every device in use.
    pub fn of_all(trace: &Trace, devices: &Devices) -> Vec<DeviceTime> {
        let mut parts = OpParts::of_devices(trace, devices);
        devices.used.iter().map(|device| DeviceTime::new(trace, devices, device, &mut parts)).collect()
    }

    /// Splits the time of one device. On each line, every instant belongs to the innermost op, so that a `while` does not hide
    /// the communication inside it. Lines (streams) run in parallel.
    ///
    /// ```text
    /// line 1   [while (compute)                )
    ///             [all-reduce)   [fusion)
    /// self     [C-)[M--------)[C-)[C----)[C----)
    /// line 2              [copy---)
    /// exposed  [C-)[M--------)[C---------------)     the copy is overlapped
    /// ```
    fn new(trace: &Trace, devices: &Devices, device: &Device, parts: &mut OpParts) -> DeviceTime {
        let mut lines: PerLine<Box<LineWork>> = PerLine::default();
        for_each_self_interval(trace, device, |op, interval| {
            let Some(event) = device.ops.get(op).and_then(|&id| trace.events.get(id)) else { return };
            let part = parts.of(event.name, event.args);
            let Some(list) = lines.of(event.line).and_then(|line| line.get_mut(part as usize)) else { return };
            // Adjacent intervals are joined immediately. Ops usually run back to back, so joining halves the memory.
            match list.last_mut().filter(|last| last.end == interval.start) {
                Some(last) => last.end = interval.end,
                None => list.push(interval),
            }
        });
        let mut work: [IntervalSet; StepPart::NUM_WORK] = Default::default();
        for line in lines.in_order() {
            for (sum, intervals) in work.iter_mut().zip(*line).filter(|(_, intervals)| !intervals.is_empty()) {
                let set = IntervalSet::union_of(intervals);
                *sum = if sum.is_empty() { set } else { sum.union(&set) };
            }
        }
        if let Some(compute) = work.get_mut(StepPart::Compute as usize).filter(|_| !device.unrecorded.time.is_empty()) {
            // A program ran, but its ops are unknown. Its time is treated as computation.
            *compute = compute.union(&device.unrecorded.time);
        }
        let [communication, transfer] = in_flight(trace, devices, device, parts, &work);
        DeviceTime { exposed: exposed(work), communication, transfer }
    }

    /// Returns the times when the device does work of this part and of no part before it in [`StepPart::ALL`]. `None`
    /// for idle parts.
    pub fn exposed(&self, part: StepPart) -> Option<&IntervalSet> {
        self.exposed.iter().find(|(of, _)| *of == part).map(|(_, set)| set)
    }

    /// Returns the times when at least one op computes.
    pub fn compute(&self) -> Option<&IntervalSet> {
        self.exposed(StepPart::Compute)
    }

    /// Returns the parts that occur, each with its time.
    pub fn parts(&self) -> impl Iterator<Item = (StepPart, &IntervalSet)> {
        self.exposed.iter().map(|(part, set)| (*part, set))
    }
}

/// Removes from each set the times that the sets before it cover.
fn exposed(work: [IntervalSet; StepPart::NUM_WORK]) -> Vec<(StepPart, IntervalSet)> {
    let mut exposed: Vec<(StepPart, IntervalSet)> = Vec::new();
    for (part, set) in StepPart::ALL.into_iter().zip(work).filter(|(_, set)| !set.is_empty()) {
        let rest = exposed.iter().fold(set, |rest, (_, hiding)| rest.difference(hiding));
        if !rest.is_empty() {
            exposed.push((part, rest));
        }
    }
    exposed
}

/// Returns the times when communication and transfers are in flight. On a TPU, these times include the time from the op
/// that starts asynchronous work to the op that waits for it. The line `Async XLA Ops` contains this time. If the
/// device lacks that line, the time comes from pairs of ops.
///
/// ```text
/// XLA Ops         [start)[fusion      )[done   )
/// Async XLA Ops   [all-reduce-start            )      in flight all the time, overlapped by the fusion
/// ```
fn in_flight(
    trace: &Trace,
    devices: &Devices,
    device: &Device,
    parts: &mut OpParts,
    work: &[IntervalSet; StepPart::NUM_WORK],
) -> [IntervalSet; 2] {
    let mut both: [IntervalSet; 2] = Default::default();
    for (part, set) in StepPart::ALL.into_iter().zip(work).filter(|(_, set)| !set.is_empty()) {
        match part {
            StepPart::Compute => {}
            StepPart::Communication => both[0] = set.clone(),
            _ => both[1] = both[1].union(set),
        }
    }
    if device.platform != Platform::Tpu {
        return both;
    }
    let some_wait = parts.has_waits();
    let mut flying: [Vec<Interval>; 2] = Default::default();
    let mut add = |name, args, interval| match parts.of(name, args) {
        StepPart::Compute => {}
        StepPart::Communication => flying[0].push(interval),
        _ => flying[1].push(interval),
    };
    let asynchronous = devices.by_line.events_of(trace, device.plane, LineKind::AsyncOps);
    let mut asynchronous = asynchronous.filter_map(|id| trace.events.get(id)).peekable();
    if asynchronous.peek().is_some() {
        asynchronous.for_each(|event| add(event.name, event.args, interval(&event)));
    } else if some_wait {
        for_each_pair(trace, device, |_, (name, args), interval| add(name, args, interval));
    }
    for (set, intervals) in both.iter_mut().zip(flying).filter(|(_, intervals)| !intervals.is_empty()) {
        *set = set.union(&IntervalSet::union_of(intervals));
    }
    both
}

#[cfg(test)]
mod tests;
