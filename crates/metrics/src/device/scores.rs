//! Compares the devices with each other, and each device's steps with each other: their lengths and their work. The
//! comparison also shows the probable reason why a device arrives late at collectives.
//!
//! Work is the time of a step during which a device is neither idle nor in exposed communication, because idle time and
//! exposed communication both include waiting for other devices.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::common::statistics::median;
use crate::device::devices::{Device, Devices};
use crate::device::self_time::self_times;
use crate::op::collectives::Collectives;
use crate::step::step_breakdown::{Breakdown, MeanPart, StepRow};
use crate::step::step_part::StepPart;
use base::{Ps, sort};
use trace::{StrId, Trace, in_blocks};

/// Reason why a device arrives later than the other devices of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LateCause {
    /// The device spends longer on computation: it runs other ops, runs ops more often, or has individual ops that take
    /// longer.
    Compute,
    /// The device runs the same ops equally often, and nearly all of them take longer by the same factor.
    Throttling,
    /// The device spends longer waiting for input.
    Input,
    /// The device spends longer on copies to or from the host or other devices.
    Transfer,
    /// The device spends longer waiting for the host to compile or to launch.
    Host,
    /// None of the other causes explains half of the extra time.
    Unknown,
}

impl LateCause {
    /// Returns the name that the report uses.
    pub fn label(self) -> &'static str {
        match self {
            LateCause::Compute => "compute",
            LateCause::Throttling => "throttling",
            LateCause::Input => "input",
            LateCause::Transfer => "transfer",
            LateCause::Host => "host",
            LateCause::Unknown => "unknown",
        }
    }
}

/// Lengths of the counted steps of some devices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepSpread {
    /// Middle length, in microseconds.
    pub median_us: f64,
    /// Greatest length.
    pub slowest: Ps,
    /// Index of the step with the greatest length.
    pub slowest_step: u32,
    /// Device that ran the slowest step: index into [`Devices::used`].
    pub slowest_device: u32,
}

impl StepSpread {
    /// Measures the counted steps among `rows`. Returns `None` if no row is a counted step.
    pub fn new<'r>(rows: impl Iterator<Item = &'r StepRow>) -> Option<StepSpread> {
        let (mut lengths, mut slowest): (Vec<f64>, Option<(Ps, u32, u32)>) = Default::default();
        for row in rows.filter(|row| row.counted) {
            let Some(step) = row.step else { continue };
            lengths.push(row.duration.as_us());
            if slowest.is_none_or(|(longest, ..)| row.duration > longest) {
                slowest = Some((row.duration, step, row.device));
            }
        }
        let (slowest, slowest_step, slowest_device) = slowest?;
        Some(StepSpread { median_us: median(&lengths)?, slowest, slowest_step, slowest_device })
    }
}

/// Comparison of a device with the devices that it exchanges data with, and comparison of its steps with each other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceScore {
    /// Lengths of the device's counted steps. `None` without steps.
    pub steps: Option<StepSpread>,
    /// Median work of the device's counted steps, in microseconds. Without steps, the work in the device's window.
    pub work_us: Option<f64>,
    /// Least work of any device in the group, as a share of this device's work, in percent.
    pub relative_percent: Option<f64>,
    /// Least work in any counted step of the device, as a share of the median work of its steps, in percent. `None` for
    /// fewer than two steps.
    pub individual_percent: Option<f64>,
    /// Probable reason why the device arrives late. `None` if the device does not arrive late.
    pub cause: Option<LateCause>,
}

/// Returns the score of each device in use. `devices` and `trace` are limited to the window.
pub(crate) fn scores(
    trace: &Trace,
    devices: &Devices,
    breakdown: &Breakdown,
    collectives: &Collectives,
) -> Vec<DeviceScore> {
    let mut rows: Vec<Vec<&StepRow>> = vec![Vec::new(); devices.used.len()];
    for row in breakdown.rows.iter().filter(|row| row.counted) {
        if let Some(rows) = rows.get_mut(row.device as usize) {
            rows.push(row);
        }
    }
    let mut scores: Vec<DeviceScore> = rows.iter().map(|rows| of_device(rows)).collect();
    let groups = groups(collectives);
    for group in &groups {
        let works = || group.iter().filter_map(|&device| scores.get(device as usize)?.work_us);
        let Some(least) = works().min_by(f64::total_cmp).filter(|_| works().count() > 1) else { continue };
        for &device in group {
            let Some(score) = scores.get_mut(device as usize) else { continue };
            score.relative_percent =
                score.work_us.filter(|&work| work > 0.0).map(|work| (100.0 * least / work).min(100.0));
        }
    }
    for group in groups.iter().filter(|group| group.len() > 1) {
        for &device in group {
            if collectives.devices.get(device as usize).is_some_and(|device| device.is_late()) {
                let cause = cause(trace, devices, breakdown, collectives, &scores, group, device);
                scores.get_mut(device as usize).into_iter().for_each(|score| score.cause = Some(cause));
            }
        }
    }
    scores
}

fn of_device(rows: &[&StepRow]) -> DeviceScore {
    let works: Vec<f64> = rows.iter().map(|row| row.parts.work().as_us()).collect();
    let work_us = median(&works);
    let least = works.iter().copied().min_by(f64::total_cmp).filter(|_| works.len() > 1);
    let positive = work_us.filter(|&work| work > 0.0);
    DeviceScore {
        steps: StepSpread::new(rows.iter().copied()),
        work_us,
        individual_percent: least.zip(positive).map(|(least, work)| 100.0 * least / work),
        ..DeviceScore::default()
    }
}

/// Returns the groups of devices that wait for each other, directly or through other devices.
fn groups(collectives: &Collectives) -> Vec<Vec<u32>> {
    if collectives.runs.is_empty() {
        return Vec::new();
    }
    let numbers = collectives.connected();
    let mut groups: Vec<Vec<u32>> = vec![Vec::new(); numbers.len()];
    for (device, number) in (0u32..).zip(numbers) {
        if let Some(group) = groups.get_mut(number as usize) {
            group.push(device);
        }
    }
    groups.retain(|group| !group.is_empty());
    groups
}

/// Compares the time that a late device spends in each part of a step with the medians of the other devices of its
/// group.
fn cause(
    trace: &Trace,
    devices: &Devices,
    breakdown: &Breakdown,
    collectives: &Collectives,
    scores: &[DeviceScore],
    group: &[u32],
    late: u32,
) -> LateCause {
    let mean = |device: u32| breakdown.mean_of_device.get(device as usize)?.as_ref();
    let Some(own) = mean(late) else { return LateCause::Unknown };
    let others: Vec<&MeanPart> =
        group.iter().filter(|&&device| device != late).filter_map(|&device| mean(device)).collect();
    let time = |mean: &MeanPart, parts: &[StepPart]| parts.iter().map(|&part| mean.part_us(part)).sum::<f64>();
    let extra = |parts: &[StepPart]| {
        let usual = median(&others.iter().map(|mean| time(mean, parts)).collect::<Vec<_>>());
        usual.map_or(0.0, |usual| (time(own, parts) - usual).max(0.0))
    };
    use StepPart as P;
    let extras = [
        (LateCause::Compute, extra(&[P::Compute, P::DataMovement, P::DeviceToDevice])),
        (LateCause::Input, extra(&StepPart::WAITS_FOR_INPUT)),
        (LateCause::Transfer, extra(&[P::HostToDevice, P::DeviceToHost, P::PeerToPeer])),
        (LateCause::Host, extra(&StepPart::WAITS_FOR_HOST)),
        (LateCause::Unknown, extra(&[P::Barrier, P::KernelWait, P::OtherIdle])),
    ];
    let all: f64 = extras.iter().map(|(_, time)| time).sum();
    let most = extras.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, time)| 2.0 * time > all);
    // Arrivals are compared by time, so a reason must explain at least half of the delay per step.
    let steps = own.num_steps.max(1) as f64;
    let delay = collectives.devices.get(late as usize).map_or(0.0, |device| device.delay.as_us() / steps);
    let Some((cause, _)) = most.filter(|(_, time)| *time > 0.0 && 2.0 * time >= delay) else {
        return LateCause::Unknown;
    };
    if cause != LateCause::Compute {
        return cause;
    }
    let least = |&device: &u32| Some((scores.get(device as usize)?.work_us?, device));
    let best = group.iter().filter(|&&device| device != late).filter_map(least).min_by(|a, b| a.0.total_cmp(&b.0));
    let of = |device: u32| devices.used.get(device as usize);
    match best.and_then(|(_, best)| of(best)).zip(of(late)) {
        Some((best, late)) if all_slower(trace, collectives, late, best) => LateCause::Throttling,
        _ => LateCause::Compute,
    }
}

/// Ops that both devices ran equally often must make up at least this share of the work. We chose this limit because
/// helper programs that only one device runs take little time.
const LEAST_COMMON: f64 = 0.95;
/// A single op may make up at most this share of the work. We chose this limit because one slow op does not show that
/// the device is slow.
const MOST_OF_ONE: f64 = 0.9;
/// Minimum slowdown that is attributed to the device's clock. We chose this limit because smaller slowdowns are noise.
const LEAST_SLOWDOWN: f64 = 1.01;

/// Returns true if both devices run the same ops equally often, and the ops of `late` take longer by nearly the same
/// factor. The mean deviation of the ops' factors from the factor of the sums, weighted by time, is at most half of the
/// slowdown.
fn all_slower(trace: &Trace, collectives: &Collectives, late: &Device, best: &Device) -> bool {
    let communication: FxHashSet<StrId> = collectives.ops.iter().map(|op| op.name).collect();
    let (slow, fast) = (op_times(trace, late, &communication), op_times(trace, best, &communication));
    let all: Ps = slow.values().map(|(_, time)| *time).sum();
    let mut common: Vec<(f64, f64)> = slow
        .iter()
        .filter_map(|(op, (count, time))| {
            let (other_count, other) = fast.get(op)?;
            (count == other_count && *other > Ps::ZERO).then(|| (time.as_us(), other.as_us()))
        })
        .collect();
    // Sums of fractions depend on the order.
    sort::sort_by(&mut common, |a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let sum = |value: fn(&(f64, f64)) -> f64| common.iter().map(value).sum::<f64>();
    let (own, other) = (sum(|times| times.0), sum(|times| times.1));
    let longest = common.last().map_or(0.0, |times| times.0);
    if other <= 0.0 || own < LEAST_COMMON * all.as_us() || longest > MOST_OF_ONE * own {
        return false;
    }
    let ratio = own / other;
    let deviation = common.iter().map(|(own, other)| (own - ratio * other).abs()).sum::<f64>() / other;
    ratio >= LEAST_SLOWDOWN && 2.0 * deviation <= ratio - 1.0
}

/// Returns the number of runs and the self time of each op of a device, by name and program, except communication.
fn op_times(
    trace: &Trace,
    device: &Device,
    communication: &FxHashSet<StrId>,
) -> FxHashMap<(StrId, Option<i64>), (u64, Ps)> {
    let mut found: FxHashMap<(StrId, Option<i64>), (u64, Ps)> = FxHashMap::default();
    let times = self_times(trace, device);
    let mut times = times.iter();
    in_blocks(&device.ops, |&id| {
        let (Some(event), Some(&time)) = (trace.events.get(id), times.next()) else { return };
        if !communication.contains(&event.name) {
            let sums = found.entry((event.name, trace.args.get(event.args).program_id)).or_default();
            *sums = (sums.0 + 1, sums.1 + time);
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::device_time::DeviceTime;
    use crate::op::collectives::Collectives;
    use hlo::Modules;
    use trace::{IntervalSet, TraceBuilder};

    /// Returns the reason why the last of four chips is late. The chips run three ops and then an all-reduce. `times`
    /// returns the durations of the three ops on a chip.
    fn cause_of_last(times: impl Fn(u32) -> Vec<i64>) -> Option<LateCause> {
        let mut b = TraceBuilder::new();
        for chip in 0..4u32 {
            let line = b.line(&format!("/device:TPU:{chip}"), "XLA Ops");
            for step in 0..4i64 {
                let mut at = 10_000 * step;
                for (n, duration) in (0..).zip(times(chip)) {
                    b.event(line, &format!("fusion.{n}"), at, duration).hlo_category("loop fusion");
                    at += duration;
                }
                let end = 10_000 * step + 5000;
                b.event(line, "all-reduce.1", at, end - at).hlo_category("all-reduce");
            }
        }
        let trace = b.build();
        let devices = Devices::of(&trace);
        let times = DeviceTime::of_all(&trace, &devices);
        let windows: Vec<IntervalSet> = devices.used.iter().map(|device| device.window.clone()).collect();
        let collectives = Collectives::new(&trace, &devices, &times, &Modules::new(&trace), &windows);
        let rows = devices.used.iter().zip(&times).zip(0u32..).map(|((device, time), index)| {
            let mut parts = crate::step::step_part::Parts::default();
            for (part, set) in time.parts() {
                parts.add(part, set.length_within(device.span));
            }
            StepRow { device: index, parts, counted: true, duration: device.span.length(), ..StepRow::default() }
        });
        let rows: Vec<StepRow> = rows.collect();
        let mean = |row: &StepRow| {
            let parts_us = StepPart::ALL.map(|part| row.parts.get(part).as_us());
            Some(MeanPart { num_steps: 4, parts_us: parts_us.map(|us| us / 4.0), ..MeanPart::default() })
        };
        let breakdown = Breakdown { mean_of_device: rows.iter().map(mean).collect(), rows, ..Breakdown::default() };
        let scores = scores(&trace, &devices, &breakdown, &collectives);
        assert!(scores.iter().take(3).all(|score| score.cause.is_none()), "{scores:?}");
        assert_eq!(scores.first().unwrap().relative_percent, Some(100.0));
        scores.last().unwrap().cause
    }

    #[test]
    fn the_cause_of_a_late_device_follows_from_its_ops() {
        let late = |slow: [i64; 3]| move |chip: u32| if chip == 3 { slow.to_vec() } else { vec![1000, 500, 100] };
        assert_eq!(cause_of_last(late([1050, 525, 105])), Some(LateCause::Throttling));
        // The ratios differ by less than half of the slowdown.
        assert_eq!(cause_of_last(late([1060, 520, 104])), Some(LateCause::Throttling));
        // One op is slow, or there is one more op.
        assert_eq!(cause_of_last(late([1080, 500, 100])), Some(LateCause::Compute));
        let more = |chip: u32| if chip == 3 { vec![1000, 500, 100, 90] } else { vec![1000, 500, 100] };
        assert_eq!(cause_of_last(more), Some(LateCause::Compute));
        assert_eq!(cause_of_last(late([1000, 500, 100])), None);
    }
}
