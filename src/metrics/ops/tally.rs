//! The one walk over all device ops: how often and how long each distinct (name, argument set) ran.
//!
//! On a TPU two clocks are told: the host's, on which events of all devices can be compared but which is too coarse for an
//! op of a few nanoseconds, and the chip's own. Durations and self times are kept on both.

use rustc_hash::FxHashMap;

use crate::metrics::devices::Devices;
use crate::metrics::self_time::for_each_self_interval;
use crate::trace::classify::Platform;
use crate::trace::{ArgsId, EventId, Interval, StrId, Trace, in_blocks};
use crate::units::Ps;

/// Occurrences of one name with one argument set, over all devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// How often it ran.
    pub count: u64,
    /// Those that go on with an execution that an earlier one began.
    pub parts: u64,
    /// Self time on the host's clock.
    pub self_time: Ps,
    /// Shortest self time on the host's clock.
    pub min_self: Ps,
    /// Longest self time on the host's clock.
    pub max_self: Ps,
    /// Summed durations on the device's clock.
    pub device_total: Ps,
    /// Self time on the device's clock.
    pub device_self: Ps,
    /// Shortest duration on the device's clock.
    pub device_min: Ps,
    /// Longest duration on the device's clock.
    pub device_max: Ps,
    /// Time in which it waited for a copy of its operands or results, where the trace tells it.
    pub dma_stall: Ps,
    /// Occurrences that start in a counted step.
    pub step_count: u64,
    /// Their self time on the device's clock.
    pub step_self: Ps,
    /// Devices that it ran on: bit `n` for the used device `n`, the last bit for all from 63 on.
    pub devices: u64,
}

impl Tally {
    /// No occurrence.
    pub const NONE: Tally = Tally {
        count: 0,
        parts: 0,
        self_time: Ps::ZERO,
        min_self: Ps::MAX,
        max_self: Ps::ZERO,
        device_total: Ps::ZERO,
        device_self: Ps::ZERO,
        device_min: Ps::MAX,
        device_max: Ps::ZERO,
        dma_stall: Ps::ZERO,
        step_count: 0,
        step_self: Ps::ZERO,
        devices: 0,
    };

    /// Adds the occurrences of `other`.
    pub fn add(&mut self, other: &Tally) {
        self.count += other.count;
        self.parts += other.parts;
        self.self_time += other.self_time;
        self.min_self = self.min_self.min(other.min_self);
        self.max_self = self.max_self.max(other.max_self);
        self.device_total += other.device_total;
        self.device_self += other.device_self;
        self.device_min = self.device_min.min(other.device_min);
        self.device_max = self.device_max.max(other.device_max);
        self.dma_stall += other.dma_stall;
        self.step_count += other.step_count;
        self.step_self += other.step_self;
        self.devices |= other.devices;
    }
}

/// The tally of every distinct (name, argument set), in order of first occurrence.
#[derive(Clone, Debug, Default)]
pub struct Tallies {
    /// The entries.
    pub entries: Vec<((StrId, ArgsId), Tally)>,
}

/// Times of one op while its device is walked.
#[derive(Clone, Copy, Default)]
struct Times {
    self_time: Ps,
    /// What the device's clock adds to the self time: its own duration's difference less its children's.
    correction: i64,
}

impl Tallies {
    /// Walks the ops of all used devices of `trace`. Linear in their number. `counted` has the windows of the counted steps of
    /// each used device, in time.
    pub fn new(trace: &Trace, devices: &Devices, counted: &[Vec<Interval>]) -> Tallies {
        let mut index: FxHashMap<(StrId, ArgsId), usize> = FxHashMap::default();
        let mut tallies = Tallies::default();
        let differences = differences(trace);
        let stalls = !trace.events.dma_stall.is_empty();
        let parts = trace.cpu_ops.as_ref().map(|ops| &ops.part_of).filter(|parts| !parts.is_empty());
        // Kernels of a stream follow each other; where their times overlap by some nanoseconds, the clock is to blame.
        let nests = devices.platform != Some(Platform::Gpu);
        for (number, device) in devices.used.iter().enumerate() {
            let mut times = vec![Times::default(); device.ops.len()];
            for_each_self_interval(trace, device, |op, interval| {
                if let Some(times) = times.get_mut(op) {
                    times.self_time += interval.length();
                }
            });
            if !differences.is_empty() {
                correct(trace, &device.ops, &differences, &mut times);
            }
            let mut windows = counted.get(number).map_or(&[][..], Vec::as_slice).iter().peekable();
            let bit = 1u64 << number.min(63);
            let mut all_times = times.iter();
            in_blocks(&device.ops, |&id| {
                let (Some(event), Some(times)) = (trace.events.get(id), all_times.next()) else { return };
                while windows.next_if(|window| window.end <= event.start).is_some() {}
                let in_step = windows.peek().is_some_and(|window| window.start <= event.start);
                let key = (event.name, event.args);
                let at = *index.entry(key).or_insert_with(|| {
                    tallies.entries.push((key, Tally::NONE));
                    tallies.entries.len() - 1
                });
                let difference = differences.get(id as usize).copied().unwrap_or(0);
                let duration = Ps(event.duration.0.saturating_add(difference));
                let device_self =
                    if nests { Ps(times.self_time.0.saturating_add(times.correction).max(0)) } else { duration };
                if let Some((_, tally)) = tallies.entries.get_mut(at) {
                    tally.add(&Tally {
                        count: 1,
                        parts: u64::from(parts.is_some_and(|parts| parts.get(id).is_some())),
                        self_time: times.self_time,
                        min_self: times.self_time,
                        max_self: times.self_time,
                        device_total: duration,
                        device_self,
                        device_min: duration,
                        device_max: duration,
                        dma_stall: Ps(if stalls { trace.events.dma_stall.get(id).unwrap_or(0) } else { 0 }),
                        step_count: u64::from(in_step),
                        step_self: if in_step { device_self } else { Ps::ZERO },
                        devices: bit,
                    });
                }
            });
        }
        tallies
    }
}

/// Duration on the device's clock less that on the host's, by event; empty where the trace tells no other clock.
fn differences(trace: &Trace) -> Vec<i64> {
    let column = &trace.events.device_duration;
    if column.is_empty() {
        return Vec::new();
    }
    let mut differences = vec![0; trace.events.len()];
    column.for_each(|id, duration| {
        if let (Some(slot), Some((_, on_host))) = (differences.get_mut(id as usize), trace.events.time(id)) {
            *slot = duration.saturating_sub(on_host.0);
        }
    });
    differences
}

/// An op's difference is its own self time's, and is taken from the op that it is nested in.
///
/// ```text
/// while.1     [--------------------)   +3            self: +3 -1 -2 = 0
/// fusion.1       [----)  +1  [---)  +2
/// ```
///
/// Where the clocks were aligned late, ops before that moment are squeezed: several start with the next one and take no time
/// on the host's clock. These are not nested in it.
fn correct(trace: &Trace, ops: &[EventId], differences: &[i64], times: &mut [Times]) {
    let mut open: Vec<Vec<(usize, Interval)>> = vec![Vec::new(); trace.lines.len()];
    let mut next = 0;
    in_blocks(ops, |&id| {
        let op = next;
        next += 1;
        let Some(event) = trace.events.get(id) else { return };
        let Some(open) = open.get_mut(event.line.index()) else { return };
        while open.last().is_some_and(|(_, op)| op.end <= event.start) {
            open.pop();
        }
        let difference = differences.get(id as usize).copied().unwrap_or(0);
        // An op that sticks out of the one before it is no child of it.
        let is_squeezed = |outer: &Interval| event.duration == Ps::ZERO && event.start == outer.start;
        let is_child = |(_, outer): &&(usize, Interval)| event.end() <= outer.end && !is_squeezed(outer);
        let parent = open.last().filter(is_child).map(|&(parent, _)| parent);
        if let Some(parent) = parent.and_then(|parent| times.get_mut(parent)) {
            parent.correction = parent.correction.saturating_sub(difference);
        }
        if let Some(own) = times.get_mut(op) {
            own.correction = own.correction.saturating_add(difference);
        }
        open.push((op, Interval::new(event.start, event.end())));
    });
}

/// First start to last end of what a device ran, on its own clock where the trace tells it: the whole of which idle time is
/// a part.
pub fn device_extent(trace: &Trace, devices: &Devices, device: usize) -> Ps {
    let Some(device) = devices.used.get(device) else { return Ps::ZERO };
    let lines = trace.lines.iter().filter(|line| line.plane.index() == device.plane);
    let ops = lines.filter(|line| line.kind == crate::trace::LineKind::DeviceOps);
    let extents = ops.filter_map(|line| line.device_extent);
    let whole = extents.reduce(|a, b| Interval::new(a.start.min(b.start), a.end.max(b.end)));
    whole.map_or(device.span.length(), |whole| whole.length())
}
