//! The one walk over all device ops: how often and how long each distinct (name, argument set) ran.

use rustc_hash::FxHashMap;

use crate::metrics::devices::Devices;
use crate::metrics::self_time::self_times;
use crate::trace::classify::Platform;
use crate::trace::{ArgsId, Interval, StrId, Trace, in_blocks};
use crate::units::Ps;

/// Occurrences of one name with one argument set, over all devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// How often it ran.
    pub count: u64,
    /// Those that go on with an execution that an earlier one began.
    pub parts: u64,
    /// Time in which no op nested in it ran on its line.
    pub self_time: Ps,
    /// Shortest self time.
    pub min_self: Ps,
    /// Longest self time.
    pub max_self: Ps,
    /// Summed durations.
    pub total: Ps,
    /// Self time as ops count it: on a GPU, whose kernels do not nest, the duration.
    pub op_self: Ps,
    /// Shortest duration.
    pub min: Ps,
    /// Longest duration.
    pub max: Ps,
    /// Time in which it waited for a copy of its operands or results, where the trace tells it.
    pub dma_stall: Ps,
    /// Occurrences that start in a counted step.
    pub step_count: u64,
    /// Their self time as ops count it.
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
        total: Ps::ZERO,
        op_self: Ps::ZERO,
        min: Ps::MAX,
        max: Ps::ZERO,
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
        self.total += other.total;
        self.op_self += other.op_self;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
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

impl Tallies {
    /// Walks the ops of all used devices of `trace`. Linear in their number. `counted` has the windows of the counted steps of
    /// each used device, in time.
    pub fn new(trace: &Trace, devices: &Devices, counted: &[Vec<Interval>]) -> Tallies {
        let mut index: FxHashMap<(StrId, ArgsId), usize> = FxHashMap::default();
        let mut tallies = Tallies::default();
        let stalls = !trace.events.dma_stall.is_empty();
        let parts = trace.cpu_ops.as_ref().map(|ops| &ops.part_of).filter(|parts| !parts.is_empty());
        // Kernels of a stream follow each other; where their times overlap by some nanoseconds, the clock is to blame.
        let nests = devices.platform != Some(Platform::Gpu);
        for (number, device) in devices.used.iter().enumerate() {
            let times = self_times(trace, device);
            let mut windows = counted.get(number).map_or(&[][..], Vec::as_slice).iter().peekable();
            let bit = 1u64 << number.min(63);
            let mut all_times = times.iter();
            in_blocks(&device.ops, |&id| {
                let (Some(event), Some(&self_time)) = (trace.events.get(id), all_times.next()) else { return };
                while windows.next_if(|window| window.end <= event.start).is_some() {}
                let in_step = windows.peek().is_some_and(|window| window.start <= event.start);
                let key = (event.name, event.args);
                let at = *index.entry(key).or_insert_with(|| {
                    tallies.entries.push((key, Tally::NONE));
                    tallies.entries.len() - 1
                });
                let op_self = if nests { self_time } else { event.duration };
                if let Some((_, tally)) = tallies.entries.get_mut(at) {
                    tally.add(&Tally {
                        count: 1,
                        parts: u64::from(parts.is_some_and(|parts| parts.get(id).is_some())),
                        self_time,
                        min_self: self_time,
                        max_self: self_time,
                        total: event.duration,
                        op_self,
                        min: event.duration,
                        max: event.duration,
                        dma_stall: Ps(if stalls { trace.events.dma_stall.get(id).unwrap_or(0) } else { 0 }),
                        step_count: u64::from(in_step),
                        step_self: if in_step { op_self } else { Ps::ZERO },
                        devices: bit,
                    });
                }
            });
        }
        tallies
    }
}
