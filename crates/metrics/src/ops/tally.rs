//! The one walk over all device ops: how often and how long each distinct (name, argument set) ran.

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::categories::Recognised;
use crate::devices::Devices;
use crate::self_time::self_times;
use base::Ps;
use trace::{ArgsId, Event, EventColumn, Interval, StrId, Trace, in_blocks};

/// Occurrences of one name with one argument set, over all devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// How often the op started.
    pub count: u64,
    /// Events that go on with an execution that an earlier one began.
    pub parts: u64,
    /// Time in which no op that started later ran on its line, by [`self_times`].
    pub self_time: Ps,
    /// Shortest self time.
    pub min_self: Ps,
    /// Longest self time.
    pub max_self: Ps,
    /// Summed durations.
    pub total: Ps,
    /// Shortest duration.
    pub min: Ps,
    /// Longest duration.
    pub max: Ps,
    /// Time in which the op waited for a copy of its operands or results, where the trace states it.
    pub dma_stall: Ps,
    /// What the occurrences that an edge of the window cuts lack to whole ones, in billionths: the cost of a part is that part of
    /// the op's. An op that started before the window adds its part, one that goes on behind it takes off what lies there.
    pub missing: i64,
    /// The last used devices that the op ran on without one between them on which it did not; see [`Tallies::earlier`].
    pub devices: DeviceRange,
}

/// Used devices that follow each other, from `first` to before `end`. What thousands of devices ran is mostly one range: all of them, or
/// those of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceRange {
    /// Index into [`Devices::used`].
    pub first: u32,
    /// Behind the last one.
    pub end: u32,
}

impl DeviceRange {
    /// A range without devices.
    pub const NONE: DeviceRange = DeviceRange { first: 0, end: 0 };

    /// Goes on with `device`, which is none before the last one. What it held before, where it has to begin anew.
    fn extend(&mut self, device: u32) -> Option<DeviceRange> {
        if self.end == device + 1 {
            return None;
        }
        let before = *self;
        let goes_on = before.end == device && before != DeviceRange::NONE;
        *self = DeviceRange { first: if goes_on { before.first } else { device }, end: device + 1 };
        (!goes_on && before != DeviceRange::NONE).then_some(before)
    }
}

impl Tally {
    /// A tally without occurrences.
    pub const NONE: Tally = Tally {
        count: 0,
        parts: 0,
        self_time: Ps::ZERO,
        min_self: Ps::MAX,
        max_self: Ps::ZERO,
        total: Ps::ZERO,
        min: Ps::MAX,
        max: Ps::ZERO,
        dma_stall: Ps::ZERO,
        missing: 0,
        devices: DeviceRange::NONE,
    };

    /// Adds the occurrences of `other`, but for its devices.
    pub fn add(&mut self, other: &Tally) {
        self.count += other.count;
        self.parts += other.parts;
        self.self_time += other.self_time;
        self.min_self = self.min_self.min(other.min_self);
        self.max_self = self.max_self.max(other.max_self);
        self.total += other.total;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.dma_stall += other.dma_stall;
        self.missing = self.missing.saturating_add(other.missing);
    }
}

/// The tally of every distinct (name, argument set), in order of first occurrence.
#[derive(Clone, Debug, Default)]
pub struct Tallies {
    /// The entries.
    pub entries: Vec<((StrId, ArgsId), Tally)>,
    /// Devices of entries, by index, before those that are in the [`Tally`] itself.
    pub earlier: Vec<(u32, DeviceRange)>,
    /// What the ops were recognised as so far.
    pub(crate) recognised: Recognised,
}

impl Tallies {
    /// Walks the ops of all used devices of `trace`. Linear in their number.
    pub fn new(trace: &Trace, devices: &Devices) -> Tallies {
        let most = devices.most_distinct_ops(trace);
        let mut index: FxHashMap<(StrId, ArgsId), usize> = FxHashMap::with_capacity_and_hasher(most, FxBuildHasher);
        let entries = Vec::with_capacity(most);
        let mut tallies = Tallies { entries, recognised: devices.recognised.clone(), ..Tallies::default() };
        let stalls = !trace.events.column(EventColumn::DmaStall).is_empty();
        let parts = trace.cpu_ops.as_ref().map(|ops| &ops.part_of).filter(|parts| !parts.is_empty());
        for (number, device) in (0u32..).zip(&devices.used) {
            let times = self_times(trace, device);
            let mut all_times = times.iter();
            in_blocks(&device.ops, |&id| {
                let (Some(event), Some(&self_time)) = (trace.events.get(id), all_times.next()) else { return };
                let (count, missing) = trace.events.whole(id).map_or((1, 0), |whole| part_of(&event, whole));
                let key = (event.name, event.args);
                let at = *index.entry(key).or_insert_with(|| {
                    tallies.entries.push((key, Tally::NONE));
                    tallies.entries.len() - 1
                });
                if let Some((_, tally)) = tallies.entries.get_mut(at) {
                    let before = tally.devices.extend(number);
                    tallies.earlier.extend(before.map(|before| (at as u32, before)));
                    tally.add(&Tally {
                        count,
                        parts: u64::from(count > 0 && parts.is_some_and(|parts| parts.get(id).is_some())),
                        self_time,
                        min_self: self_time,
                        max_self: self_time,
                        total: event.duration,
                        min: event.duration,
                        max: event.duration,
                        dma_stall: Ps::new(if stalls {
                            trace.events.column(EventColumn::DmaStall).get(id).unwrap_or(0)
                        } else {
                            0
                        }),
                        missing,
                        devices: DeviceRange::NONE,
                    });
                }
            });
        }
        tallies
    }
}

/// How often an op counts that an edge of the window cuts, and what it lacks then to that: see [`Tally::missing`].
fn part_of(left: &Event, whole: Interval) -> (u64, i64) {
    let count = i64::from(left.start == whole.start);
    let part = (1e9 * left.duration.as_ps() as f64 / whole.length().as_ps().max(1) as f64) as i64;
    (count as u64, part - count * 1_000_000_000)
}
