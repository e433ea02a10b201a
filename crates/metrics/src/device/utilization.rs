//! Measures the busy time of the devices, and how evenly it is distributed among them.

use crate::analysis::Analysis;
use crate::common::statistics::{mean, range, stddev};
use crate::device::devices::{Device, Devices};
use crate::device::gaps::{device_gaps, percent};
use crate::device::hosts::hosts;
use crate::device::scores::DeviceScore;
use crate::op::collectives::{DeviceSums, stated_id};
use crate::profile::metadata::{NOTED_PLACES, device_model};
use crate::step::window::Window;
use base::Ps;
use report::{ComputeUtilization, DeviceArrivals, DevicePlace, DeviceStats, DeviceSteps, MultiDevice};
use run::Run;
use rustc_hash::FxHashMap;
use trace::{Interval, Platform, StatValue, Trace, in_blocks};

/// Builds `compute_utilization` for the window of `devices`. The numbers are per step and device if the window consists
/// of steps, and per device otherwise. Returns `None` if no device was used.
pub(crate) fn compute_utilization(trace: &Trace, devices: &Devices, window: &Window) -> Option<ComputeUtilization> {
    if devices.used.is_empty() {
        return None;
    }
    let op_time: Ps = devices.used.iter().map(|device| op_time(trace, device)).sum();
    let busy: Ps = devices.used.iter().map(|device| device.busy.length()).sum();
    let with_ops: Ps = devices.used.iter().map(Device::busy_with_ops).sum();
    let idle: Ps = devices.used.iter().map(Device::idle).sum();
    let mean = |sum: Ps| sum.as_us() / window.device_steps.max(1) as f64;
    Some(ComputeUtilization {
        compute_util_percent: percent(busy, busy + idle),
        kernel_time_us: mean(busy),
        overhead_time_us: mean(idle),
        window: Some(window.kind.label().to_owned()),
        avg_concurrent_kernels: ratio(op_time, with_ops),
    })
}

/// Builds `multi_device`. Returns `None` if no device was used. If the capture `is_cut`, compares devices over the time
/// that all of them cover.
pub(crate) fn multi_device(run: &Run, found: &Analysis, is_cut: bool) -> Option<MultiDevice> {
    let (trace, devices) = (found.trace(run), &found.devices);
    let mut all = devices_compared(trace, devices, is_cut)?;
    let noted = noted_places(run);
    for (stats, device) in all.device_stats.iter_mut().zip(&devices.used) {
        stats.place = place(trace, device, &noted);
    }
    let breakdown = &found.step_breakdown;
    all.hosts = hosts(trace, devices, breakdown, &found.collectives, &found.memory.devices);
    let means = breakdown.mean_of_device.iter().map(|mean| mean.as_ref().map(|mean| mean.duration_us));
    for ((stats, score), mean) in all.device_stats.iter_mut().zip(&found.scores).zip(means) {
        stats.steps = mean.map(|mean| device_steps(score, mean));
    }
    for ((stats, score), sums) in all.device_stats.iter_mut().zip(&found.scores).zip(&found.collectives.devices) {
        stats.arrivals = arrivals(sums, score);
    }
    Some(all)
}

fn device_steps(score: &DeviceScore, mean: f64) -> DeviceSteps {
    DeviceSteps {
        step_time_us: Some(mean),
        median_step_us: score.steps.map(|steps| steps.median_us),
        slowest_step_us: score.steps.map(|steps| steps.slowest.as_us()),
        slowest_step: score.steps.map(|steps| u64::from(steps.slowest_step)),
        work_us: score.work_us,
        relative_score_percent: score.relative_percent,
        individual_score_percent: score.individual_percent,
    }
}

fn arrivals(of: &DeviceSums, score: &DeviceScore) -> Option<DeviceArrivals> {
    Some(DeviceArrivals {
        compared: of.sums.compared,
        last: of.last,
        last_percent: 100.0 * of.last_share()?,
        fair_percent: 100.0 * of.fair_share()?,
        wait_time_us: of.sums.wait.as_us(),
        caused_wait_us: of.caused.as_us(),
        delay_us: of.delay.as_us(),
        late_cause: score.cause.map(|cause| cause.label().to_owned()),
    })
}

/// Returns the slice and the coordinates of each chip that the capture kit recorded. The key is the chip's id.
fn noted_places(run: &Run) -> FxHashMap<u32, (u64, String)> {
    let noted = run.capture_notes.get(NOTED_PLACES).map_or("", String::as_str);
    let place = |text: &str| {
        let mut parts = text.split(' ');
        let (id, slice) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let coordinates = parts.next().filter(|text| text.split(',').all(|number| number.parse::<i64>().is_ok()))?;
        Some((id, (slice, coordinates.to_owned())))
    };
    noted.split(';').filter_map(place).collect()
}

/// Returns the place of a TPU chip. The profile records the numbers of chip and core. The capture kit's notes contain
/// the slice and the coordinates. JAX and the groups of collectives use the same device numbers.
fn place(trace: &Trace, device: &Device, noted: &FxHashMap<u32, (u64, String)>) -> Option<DevicePlace> {
    let plane = trace.planes.get(device.plane)?;
    let number = |name: &str| match trace.plane_stat(plane, name)? {
        StatValue::Int(number) => u64::try_from(number).ok(),
        StatValue::Double(_) | StatValue::Text(_) => None,
    };
    let id = stated_id(trace, device.plane).or((trace.hosts.len() < 2).then_some(device.ordinal));
    let noted = id.filter(|_| device.platform == Platform::Tpu).and_then(|id| noted.get(&id));
    let place = DevicePlace {
        local_chip: number("local_chip_id"),
        core: number("core_num"),
        global_chip: number("global_chip_id"),
        slice: noted.map(|(slice, _)| *slice),
        coordinates: noted.map(|(_, coordinates)| coordinates.clone()),
    };
    (place != DevicePlace::default()).then_some(place)
}

/// Builds the part of the section that needs only the ops.
fn devices_compared(trace: &Trace, devices: &Devices, is_cut: bool) -> Option<MultiDevice> {
    let stats: Vec<DeviceStats> = devices.used.iter().map(|device| device_stats(trace, device)).collect();
    // A device that ran no counted step was not measured. It was not necessarily idle.
    let measured = || stats.iter().filter(|device| device.total_time_us > 0.0);
    let column = |value: fn(&DeviceStats) -> f64| -> Vec<f64> { measured().map(value).collect() };
    let utilization: Vec<f64> = measured().filter_map(|device| device.utilization_percent).collect();
    if stats.is_empty() {
        return None;
    }
    let busy: Vec<f64> = if is_cut { shared_busy(devices) } else { column(|device| device.actual_busy_time_us) };
    let (all_busy, all): (Ps, Ps) = (
        devices.used.iter().map(|device| device.busy.length()).sum(),
        devices.used.iter().map(|device| device.window.length()).sum(),
    );
    let starts = || devices.used.iter().map(|device| device.span.start);
    let skew = starts().max().zip(starts().min()).filter(|_| stats.len() > 1);
    let most = busy.iter().copied().max_by(f64::total_cmp).filter(|&most| most > 0.0 && busy.len() > 1);
    Some(MultiDevice {
        num_devices: stats.len() as u64,
        avg_utilization_percent: Some(percent(all_busy, all)),
        utilization_stddev: stddev(&utilization),
        utilization_range: range(&utilization),
        kernel_count_stddev: stddev(&column(|device| device.kernel_count as f64)),
        busy_imbalance_percent: most.zip(mean(&busy)).map(|(most, mean)| (100.0 * (1.0 - mean / most)).max(0.0)),
        start_skew_us: skew.map(|(latest, earliest)| (latest - earliest).as_us()),
        device_stats: stats,
        unused_devices: devices.unused.clone(),
        ..MultiDevice::default()
    })
}

/// Returns the busy time of each device within the time that all windows have in common, ignoring gaps in the windows. If a cut
/// ended the recording of some devices early, later work of the other devices is not an imbalance.
fn shared_busy(devices: &Devices) -> Vec<f64> {
    let spans = || devices.used.iter().filter_map(|device| device.window.span());
    let (Some(start), Some(end)) = (spans().map(|span| span.start).max(), spans().map(|span| span.end).min()) else {
        return Vec::new();
    };
    let shared = Interval::new(start, end.max(start));
    let measured = devices.used.iter().filter(|device| device.window.length() > Ps::ZERO);
    measured.map(|device| device.busy.length_within(shared).as_us()).collect()
}

fn device_stats(trace: &Trace, device: &Device) -> DeviceStats {
    let op_time = op_time(trace, device);
    let busy = device.busy.length();
    // The window of a device that ran none of the counted steps is empty.
    let measured = device.window.length() > Ps::ZERO;
    let host = trace.hosts.get(usize::from(device.host)).filter(|_| trace.hosts.len() > 1);
    DeviceStats {
        device_name: device.name.clone(),
        device_id: u64::from(device.ordinal),
        kernel_count: device.num_ops(),
        total_kernel_time_us: op_time.as_us(),
        actual_busy_time_us: busy.as_us(),
        total_time_us: device.window.length().as_us(),
        utilization_percent: measured.then(|| percent(busy, device.window.length())),
        parallelism: ratio(op_time, device.busy_with_ops()),
        device_type: trace.planes.get(device.plane).and_then(|plane| device_model(trace, plane)),
        host: host.cloned(),
        gaps: measured.then(|| device_gaps(device)),
        ..DeviceStats::default()
    }
}

/// Returns the sum of op durations. Nested and concurrent ops are counted separately.
fn op_time(trace: &Trace, device: &Device) -> Ps {
    let mut sum = Ps::ZERO;
    in_blocks(&device.ops, |&id| sum += trace.events.time(id).map_or(Ps::ZERO, |(_, duration)| duration));
    sum
}

fn ratio(part: Ps, whole: Ps) -> Option<f64> {
    (whole > Ps::ZERO).then(|| part.as_ps() as f64 / whole.as_ps() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{IntervalSet, TraceBuilder};

    /// ```text
    /// us     0      10     20     30     40
    /// GPU:0  [k1          )        [k2   )      busy 30 of 40
    ///             [k3    )                      concurrent with k1
    /// GPU:1         [k1   )[k2   )              busy 20 of 20, starts 10 later
    /// ```
    fn two_gpus() -> Trace {
        let mut b = TraceBuilder::new();
        let first = b.line("/device:GPU:0", "Stream #1(Compute)");
        let second = b.line("/device:GPU:0", "Stream #2(Compute)");
        let other = b.line("/device:GPU:1", "Stream #1(Compute)");
        b.event(first, "k1", 0, 20);
        b.event(first, "k2", 30, 10);
        b.event(second, "k3", 8, 10);
        b.event(other, "k1", 10, 10);
        b.event(other, "k2", 20, 10);
        b.build()
    }

    #[test]
    fn chips_have_the_places_that_the_file_and_the_kit_record() {
        let mut b = TraceBuilder::new();
        for (chip, id) in [(0, 4), (1, 6)] {
            let plane = format!("/device:TPU:{chip}");
            let line = b.line(&plane, "XLA Ops");
            b.event(line, "fusion", 0, 10);
            for (name, value) in [("local_chip_id", chip), ("global_chip_id", id), ("global_core_id", id)] {
                b.plane_stat(&plane, name, StatValue::Int(value));
            }
        }
        let notes = "4 0 0,1,0;5 0 1,1,0;6 1 -1,0,2;7 1 x;8";
        let capture_notes = [("device_places".to_owned(), notes.to_owned())].into_iter().collect();
        let run = Run { trace: b.build(), capture_notes, ..Run::default() };
        let (noted, devices) = (noted_places(&run), Devices::of(&run.trace));
        let found: Vec<DevicePlace> =
            devices.used.iter().map(|device| place(&run.trace, device, &noted).unwrap()).collect();
        let place = |local, id, slice, coordinates: &str| DevicePlace {
            local_chip: Some(local),
            global_chip: Some(id),
            slice: Some(slice),
            coordinates: Some(coordinates.to_owned()),
            core: None,
        };
        assert_eq!(found, [place(0, 4, 0, "0,1,0"), place(1, 6, 1, "-1,0,2")]);
    }

    #[test]
    fn devices_are_measured_over_their_own_spans() {
        let trace = two_gpus();
        let multi = devices_compared(&trace, &Devices::of(&trace), false).unwrap();
        let first = multi.device_stats.first().unwrap();
        assert_eq!((first.actual_busy_time_us, first.total_time_us, first.total_kernel_time_us), (30.0, 40.0, 40.0));
        assert_eq!((first.utilization_percent, first.kernel_count), (Some(75.0), 3));
        assert_eq!(first.parallelism, Some(40.0 / 30.0));
        // Both devices are busy for 50 of 60 us: each device is weighted by the length of its window.
        assert_eq!(multi.avg_utilization_percent, Some(100.0 * 50.0 / 60.0));
        assert_eq!(multi.utilization_range, Some(25.0));
        assert_eq!(multi.start_skew_us, Some(10.0));
        // The mean busy time is 25 us, and the busiest device is busy for 30 us.
        assert_eq!(multi.busy_imbalance_percent, Some(100.0 * (1.0 - 25.0 / 30.0)));
    }

    /// In floating point, the mean of 0.1, 0.1 and 0.1 us is more than 0.1 us.
    #[test]
    fn devices_that_are_equally_busy_are_balanced() {
        let mut b = TraceBuilder::new();
        for device in 0..3 {
            let line = b.line(&format!("/device:GPU:{device}"), "Stream #1(Compute)");
            b.event(line, "k", 0, 1);
        }
        let trace = b.build();
        let mut devices = Devices::of(&trace);
        for device in &mut devices.used {
            device.busy = IntervalSet::union_of([Interval::new(Ps::ZERO, Ps::new(100_000))]);
        }
        assert_eq!(devices_compared(&trace, &devices, false).unwrap().busy_imbalance_percent, Some(0.0));
    }

    /// If only GPU:0 ran a step, there is no other device to compare it with.
    #[test]
    fn a_device_without_a_window_is_not_compared() {
        let trace = two_gpus();
        let mut devices = Devices::of(&trace);
        let other = devices.used.get_mut(1).unwrap();
        (other.window, other.busy) = Default::default();
        for is_cut in [false, true] {
            let multi = devices_compared(&trace, &devices, is_cut).unwrap();
            assert_eq!((multi.num_devices, multi.avg_utilization_percent), (2, Some(75.0)));
            assert_eq!((multi.utilization_stddev, multi.utilization_range), (None, None));
            assert_eq!((multi.kernel_count_stddev, multi.busy_imbalance_percent), (None, None));
        }
    }

    #[test]
    fn without_steps_the_window_is_the_active_span() {
        let trace = two_gpus();
        let window = Window { device_steps: 2, ..Window::default() };
        let utilization = compute_utilization(&trace, &Devices::of(&trace), &window).unwrap();
        assert_eq!((utilization.kernel_time_us, utilization.overhead_time_us), (25.0, 5.0));
        assert_eq!(utilization.window.as_deref(), Some("active_span"));
        assert_eq!(utilization.avg_concurrent_kernels, Some(60.0 / 50.0));
        assert_eq!(compute_utilization(&Trace::default(), &Devices::of(&Trace::default()), &window), None);
    }
}
