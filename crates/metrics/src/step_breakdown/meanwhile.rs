//! What the hosts do while devices are idle, for the report: a mean over steps, and by name for the steps that stall.

use super::Breakdown;
use crate::devices::Devices;
use crate::host_waits::HostRanges;
use crate::window::Window;
use base::sort;
use report::{HostMeanwhile, HostRangeTime, StepBreakdownStep};
use trace::{Interval, IntervalSet, Trace};

/// Ranges that are listed.
const MOST_RANGES: usize = 20;

/// Below this share of idle time nobody asks what the host does in it.
const LEAST_IDLE: f64 = 0.005;

/// At most so many steps name their range: those that are idle longest.
const MOST_STALLS: usize = 20;

/// A step stalls where it is idle for longer than the mean by more than this share of it.
const LEAST_STALL: f64 = 0.05;

/// What the hosts do in the idle time of the window; also names the range of each of `steps` that stalls. `None` without host threads and
/// where devices are busy. `captured` are the devices over the whole capture.
pub fn meanwhile(
    trace: &Trace,
    breakdown: &Breakdown,
    captured: &Devices,
    window: &Window,
    steps: &mut [StepBreakdownStep],
) -> Option<HostMeanwhile> {
    let mean = breakdown.mean.as_ref()?;
    breakdown.host_threads.as_ref()?;
    let mean_idle = mean.duration_us - mean.busy_us();
    let stalls = stalls(steps, mean_idle, mean.duration_us);
    if mean_idle < LEAST_IDLE * mean.duration_us && stalls.is_empty() {
        return None;
    }
    let ranges = HostRanges::new(trace, captured);
    for at in stalls {
        let Some(step) = steps.get_mut(at) else { continue };
        let waits = ranges.waits(captured, &breakdown.windows_of_step(step.index, captured.used.len()));
        step.host_range = waits.ranges.into_iter().next().map(|(name, _)| name);
    }
    let waits = ranges.waits(captured, &window.of_device);
    let per_step = |time: base::Ps| time.as_us() / window.device_steps.max(1) as f64;
    let range = |(name, time): (String, base::Ps)| HostRangeTime { name, time_us: per_step(time) };
    Some(HostMeanwhile {
        ranges: waits.ranges.into_iter().take(MOST_RANGES).map(range).collect(),
        outside_us: per_step(waits.outside),
    })
}

/// The steps that are idle for much longer than the mean, longest first.
fn stalls(steps: &[StepBreakdownStep], mean_idle_us: f64, step_us: f64) -> Vec<usize> {
    let idle = |at: usize| steps.get(at).map_or(0.0, |step| step.parts.idle_us());
    let mut stalls: Vec<usize> =
        (0..steps.len()).filter(|&at| idle(at) - mean_idle_us > LEAST_STALL * step_us).collect();
    sort::sort_by(&mut stalls, |a, b| idle(*b).total_cmp(&idle(*a)).then(a.cmp(b)));
    stalls.truncate(MOST_STALLS);
    stalls
}

impl Breakdown {
    /// When each used device runs the step.
    fn windows_of_step(&self, step: u64, num_devices: usize) -> Vec<IntervalSet> {
        let mut windows = vec![IntervalSet::default(); num_devices];
        for row in self.rows.iter().filter(|row| row.step.map(u64::from) == Some(step)) {
            if let Some(window) = windows.get_mut(row.device as usize) {
                *window = IntervalSet::union_of([Interval::new(row.start, row.start + row.duration)]);
            }
        }
        windows
    }
}

#[cfg(test)]
mod tests {
    use crate::{Run, Settings, analyse};
    use trace::TraceBuilder;

    /// Twelve steps of 100 us that compute for 90; the host is in `fetch` before each launch, and in `save` for 50 us of the seventh step.
    #[test]
    fn ranges_are_means_over_steps_and_a_stall_has_its_own() {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let stream = b.line("/device:GPU:0", "Stream #1(Compute)");
        let mut now = 0;
        for step in 0..13 {
            let length = if step == 6 { 150 } else { 100 };
            b.event(python, "train", now, length).step_num(step);
            b.event(python, "fetch", now, 8);
            if step == 6 {
                b.event(python, "save", now + 8, 50);
            }
            b.event(python, "cuLaunchKernel", now + length - 92, 1).correlation(step);
            b.event(stream, "gemm", now + length - 90, 90).correlation(step);
            now += length;
        }
        let run = Run { trace: b.build(), ..Run::default() };
        let found = analyse(&run, &Settings::default()).profile.step_breakdown.unwrap();
        let meanwhile = found.host_meanwhile.as_ref().unwrap();
        let near = |value: f64, truth: f64| assert!((value - truth).abs() < 1e-9, "{value} is not {truth}: {found:?}");
        let of = |name: &str| meanwhile.ranges.iter().find(|range| range.name == name).unwrap().time_us;
        let steps = found.num_steps.unwrap() as f64;
        near(of("save"), 50.0 / steps);
        near(of("fetch"), 8.0);
        let stalls: Vec<(u64, &str)> =
            found.steps.iter().filter_map(|step| Some((step.index, step.host_range.as_deref()?))).collect();
        assert_eq!(stalls.len(), 1, "{found:?}");
        assert_eq!(stalls[0].1, "save");
    }
}
