//! Counts all device ops in a single pass: number and time of each distinct (name, argument set).

use crate::device::devices::Devices;
use crate::device::self_time::self_times;
use crate::op::categories::Recognised;
use base::Ps;
use trace::{ArgsId, EventColumn, EventKind, Interval, Numbering, StrId, Trace, in_blocks};

/// Occurrences of one name with one argument set, over all devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Number of starts of the op in the window.
    pub count: u64,
    /// Number of events that only continue an execution of an earlier event.
    pub parts: u64,
    /// Time during which no op that started later ran on the op's line, as computed by [`self_times`].
    pub self_time: Ps,
    /// Shortest self time.
    pub min_self: Ps,
    /// Longest self time.
    pub max_self: Ps,
    /// Sum of the durations.
    pub total: Ps,
    /// Shortest duration.
    pub min: Ps,
    /// Longest duration.
    pub max: Ps,
    /// Time during which the op waited for a copy of its operands or results, if the trace records such waits.
    pub dma_stall: Ps,
    /// Correction of `count` for occurrences that an edge of the window cuts, in billionths. The cost of a part of an
    /// occurrence is proportional to the part's length. For an op that started before the window, the part inside the
    /// window is added. For an op that continues after the window, the part outside the window is subtracted.
    pub missing: i64,
    /// The last range of devices in use that the op ran on; see [`Tallies::earlier`].
    pub devices: DeviceRange,
}

/// Consecutive devices in use, from `first` up to the device before `end`. The devices of an op usually form one range,
/// even if there are thousands: all devices, or the devices of one host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceRange {
    /// Index into [`Devices::used`].
    pub first: u32,
    /// Index after the last device.
    pub end: u32,
}

impl DeviceRange {
    /// A range without devices.
    pub const NONE: DeviceRange = DeviceRange { first: 0, end: 0 };

    /// Extends the range by `device`, which must not be before the range's last device. If this starts a new range,
    /// returns the old range.
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

    /// Adds the occurrences of `other`, except its devices.
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
    /// The names, argument sets and tallies.
    pub entries: Vec<((StrId, ArgsId), Tally)>,
    /// Earlier ranges of devices, each with the index of its entry in `entries`. The last range is in the [`Tally`]
    /// itself.
    pub earlier: Vec<(u32, DeviceRange)>,
    /// Cache of the categories that were recognised so far.
    pub(crate) recognised: Recognised,
}

impl Tallies {
    /// Counts the ops of `trace` on all devices in use. Takes time linear in the number of ops.
    pub fn new(trace: &Trace, devices: &Devices) -> Tallies {
        let most = devices.most_distinct_ops(trace);
        let mut numbers: Numbering<(StrId, ArgsId)> = Numbering::with_capacity(most);
        let kinds = trace.events.kinds();
        // Entry of each kind that occurred.
        let mut places: Vec<Option<u32>> = vec![None; kinds.len()];
        let entries = Vec::with_capacity(most);
        let mut tallies = Tallies { entries, recognised: devices.recognised.clone(), ..Tallies::default() };
        let stalls = !trace.events.column(EventColumn::DmaStall).is_empty();
        let parts = trace.cpu_ops.as_ref().map(|ops| &ops.part_of).filter(|parts| !parts.is_empty());
        for (number, device) in (0u32..).zip(&devices.used) {
            let times = self_times(trace, device);
            let mut all_times = times.iter();
            in_blocks(&device.ops, |&id| {
                let event = trace.events.kind_and_time(id);
                let (Some((kind, interval)), Some(&self_time)) = (event, all_times.next()) else { return };
                let (Some(&EventKind { name, args, .. }), Some(place)) = (kinds.get(kind), places.get_mut(kind)) else {
                    return;
                };
                let (count, missing) = trace.events.whole(id).map_or((1, 0), |whole| part_of(interval, whole));
                let at = *place.get_or_insert_with(|| numbers.number((name, args)));
                if at as usize == tallies.entries.len() {
                    tallies.entries.push(((name, args), Tally::NONE));
                }
                if let Some((_, tally)) = tallies.entries.get_mut(at as usize) {
                    let duration = interval.length();
                    let before = tally.devices.extend(number);
                    tallies.earlier.extend(before.map(|before| (at, before)));
                    tally.add(&Tally {
                        count,
                        parts: u64::from(count > 0 && parts.is_some_and(|parts| parts.get(id).is_some())),
                        self_time,
                        min_self: self_time,
                        max_self: self_time,
                        total: duration,
                        min: duration,
                        max: duration,
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

/// Returns the count of an op that an edge of the window cuts, and the correction of this count; see
/// [`Tally::missing`].
fn part_of(left: Interval, whole: Interval) -> (u64, i64) {
    let count = i64::from(left.start == whole.start);
    let part = (1e9 * left.length().as_ps() as f64 / whole.length().as_ps().max(1) as f64) as i64;
    (count as u64, part - count * 1_000_000_000)
}
