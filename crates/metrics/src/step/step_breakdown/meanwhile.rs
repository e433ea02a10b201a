//! Measures the hosts' activity while devices are idle, for the report: the mean over steps and, for each stalled step, the
//! name of the host range that takes most of the idle time.

use super::{Breakdown, StepRow};
use crate::analysis::Analysis;
use crate::device::devices::{Devices, interval};
use crate::host::host_threads::HostRole;
use crate::host::host_waits::{HostRanges, RangeCall, WaitedIn, thread_name};
use crate::host::host_work::{HostWork, for_each_named_on};
use crate::step::window::{Window, WindowKind};
use base::{Ps, sort};
use facts::host_spans;
use report::{HostCall, HostMeanwhile, HostOtherThread, HostRangeTime, StepBreakdownStep};
use rustc_hash::FxHashMap;
use trace::{Interval, IntervalSet, StrId, Trace};

const MOST_RANGES: usize = 20;

/// Without stalled steps, the host's activity is reported only if devices are idle for at least this share of the mean
/// step.
const LEAST_IDLE: f64 = 0.005;

/// Maximum number of stalled steps for which the report names the host range. The steps with the most idle time come first.
const MOST_STALLS: usize = 20;

/// A step is stalled if its idle time exceeds the mean by at least this share of the step.
const LEAST_STALL: f64 = 0.05;

/// Measures the hosts' activity during the idle time of the counted steps, or of the window if no step is counted. Also sets
/// the host range of each stalled step in `steps`. Returns `None` if there are no host threads, or if the devices are hardly
/// ever idle. `captured` are the devices over the whole capture.
pub(super) fn meanwhile(
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
        let of_step = breakdown.windows(captured, |row| row.step.map(u64::from) == Some(step.index));
        let waits = ranges.waits(captured, &of_step);
        if let Some(most) = waits.most() {
            let thread = Some(most.thread).filter(|thread| !thread.is_empty());
            (step.host_range, step.host_thread) = (Some(most.name), thread);
        }
    }
    let (windows, rows) = breakdown.measured_windows(captured, window);
    Some(of_windows(trace, captured, &ranges, &windows, rows))
}

/// Activity of the hosts while devices are idle and no thread that feeds devices is in the input pipeline.
#[derive(Clone, Debug)]
pub struct WithoutInput {
    /// Activities, as means over steps.
    pub meanwhile: HostMeanwhile,
    /// The idle time, as a mean over steps, in microseconds.
    pub idle_us: f64,
    /// Part of the idle time during which a thread of the host transfers data, in microseconds.
    pub transfer_us: f64,
    /// Name and thread of the transfer span that takes the largest part of the idle time.
    pub transfer: Option<(String, String)>,
}

/// Measures the hosts' activity during the idle time that the input pipeline does not explain. Returns `None` if there
/// are no host threads, or if the input pipeline explains all of the idle time. `trace` is the whole capture.
pub fn without_input(trace: &Trace, analysis: &Analysis) -> Option<WithoutInput> {
    let Analysis { captured, hosts, step_breakdown, window, .. } = analysis;
    step_breakdown.host_threads.as_ref()?;
    let (mut windows, rows) = step_breakdown.measured_windows(captured, window);
    let mut idle: Ps = Ps::ZERO;
    let mut transfer = Ps::ZERO;
    let mut names: FxHashMap<(StrId, &str), Ps> = FxHashMap::default();
    for (device, window) in captured.used.iter().zip(&mut windows) {
        let Some(host) = hosts.get(&device.host) else { continue };
        *window = window.difference(&device.set_from_host(&host.held_by_input));
        let of_device = device.set_to_host(&window.difference(&device.busy));
        idle += of_device.length();
        let roles = host.role(HostRole::Transfer).map(IntervalSet::parts).unwrap_or_default();
        transfer += roles.iter().map(|&part| of_device.length_within(part)).sum::<Ps>();
        let is_transfer = |name: &str| host_spans::work(name) == Some(HostWork::Transfer);
        for_each_named_on(trace, captured, &is_transfer, &mut |of, event| {
            let time = of_device.length_within(interval(event));
            if of == device.host && time > Ps::ZERO {
                let thread = thread_name(trace, trace.lines.get(event.line.index()));
                *names.entry((event.name, thread)).or_default() += time;
            }
        });
    }
    if idle <= Ps::ZERO {
        return None;
    }
    let ranges = HostRanges::new(trace, captured);
    let per_step = |time: Ps| time.as_us() / rows.max(1) as f64;
    let longest = names.into_iter().map(|((name, thread), time)| (time, trace.text(name), thread));
    let longest = longest.max_by(|a, b| a.0.cmp(&b.0).then_with(|| (b.1, b.2).cmp(&(a.1, a.2))));
    Some(WithoutInput {
        meanwhile: of_windows(trace, captured, &ranges, &windows, rows),
        idle_us: per_step(idle),
        transfer_us: per_step(transfer),
        transfer: longest.map(|(_, name, thread)| (name.to_owned(), thread.to_owned())),
    })
}

/// Measures the hosts' activity while the devices are idle in `windows`. The results are means over `rows`, the number
/// of steps summed over devices.
fn of_windows(
    trace: &Trace,
    captured: &Devices,
    ranges: &HostRanges,
    windows: &[IntervalSet],
    rows: u64,
) -> HostMeanwhile {
    let mut waits = ranges.waits(captured, windows);
    ranges.add_calls(trace, captured, windows, &mut waits.ranges);
    let per_step = |time: Ps| time.as_us() / rows.max(1) as f64;
    let call = |it: RangeCall| HostCall { name: it.name, place: it.place, percent: it.percent, count: it.count };
    let range = |it: WaitedIn| HostRangeTime {
        time_us: per_step(it.time),
        thread: Some(it.thread).filter(|thread| !thread.is_empty()),
        waits: it.waits,
        name: it.name,
        place: it.place,
        calls: it.calls.into_iter().map(call).collect(),
        other_thread: it.other_thread.map(|other| HostOtherThread {
            thread: Some(other.thread).filter(|thread| !thread.is_empty()),
            calls: other.calls.into_iter().map(call).collect(),
        }),
    };
    HostMeanwhile {
        outside_us: per_step(waits.outside),
        silent_us: Some(per_step(waits.silent)),
        ranges: waits.ranges.into_iter().take(MOST_RANGES).map(range).collect(),
        behind: waits.behind.into_iter().take(MOST_RANGES).map(range).collect(),
    }
}

/// Returns the steps that are idle for much longer than the mean, longest first.
fn stalls(steps: &[StepBreakdownStep], mean_idle_us: f64, step_us: f64) -> Vec<usize> {
    let idle = |at: usize| steps.get(at).map_or(0.0, |step| step.parts.idle_us());
    let mut stalls: Vec<usize> =
        (0..steps.len()).filter(|&at| idle(at) - mean_idle_us > LEAST_STALL * step_us).collect();
    sort::sort_by(&mut stalls, |a, b| idle(*b).total_cmp(&idle(*a)).then(a.cmp(b)));
    stalls.truncate(MOST_STALLS);
    stalls
}

impl Breakdown {
    /// Returns the windows of the devices in use that the means cover, and the number of steps in these windows.
    fn measured_windows(&self, captured: &Devices, window: &Window) -> (Vec<IntervalSet>, u64) {
        match self.window {
            WindowKind::Steps => {
                let rows = self.rows.iter().filter(|row| row.counted).count() as u64;
                (self.windows(captured, |row| row.counted), rows)
            }
            _ => (window.of_device.clone(), window.device_steps),
        }
    }

    /// Returns the times of each device in use that the wanted rows cover.
    fn windows(&self, captured: &Devices, is_wanted: impl Fn(&StepRow) -> bool) -> Vec<IntervalSet> {
        let of_device = |device: usize| {
            let rows = self.rows.iter().filter(|row| row.device as usize == device && is_wanted(row));
            IntervalSet::union_of(rows.map(|row| Interval::new(row.start, row.start + row.duration)))
        };
        (0..captured.used.len()).map(of_device).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::analyse;
    use run::{Run, Settings};
    use trace::TraceBuilder;

    /// There are twelve steps of 100 us that compute for 90 us. The host is in `fetch` before each launch, and in `save` for 50
    /// us of the seventh step.
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

    /// There are two steps of 100 us in a capture of 10 ms. Before the steps, the host spends most of the capture in `setup`.
    #[test]
    fn ranges_cover_the_steps_of_the_breakdown_in_any_window() {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let stream = b.line("/device:GPU:0", "Stream #1(Compute)");
        b.event(stream, "gemm", 0, 10);
        b.event(python, "setup", 100, 9_000);
        for step in 0..4 {
            let start = 9_600 + 100 * step;
            b.event(python, "train", start, 100).step_num(step);
            b.event(python, "fetch", start, 20);
            b.event(stream, "gemm", start + 20, 80).correlation(step);
        }
        let run = Run { trace: b.build(), ..Run::default() };
        let of = |window: &str| {
            let settings = Settings { window: window.parse().unwrap(), ..Settings::default() };
            let found = analyse(&run, &settings).profile.step_breakdown.unwrap();
            let meanwhile = found.host_meanwhile.unwrap();
            let named_us: f64 = meanwhile.ranges.iter().map(|it| it.time_us).sum();
            assert!(named_us + meanwhile.outside_us <= found.duration_us - found.device_busy_us + 1e-9, "{window}");
            meanwhile.ranges
        };
        assert_eq!(of("main").iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["fetch"]);
        assert_eq!((of("all"), of("active")), (of("main"), of("main")));
    }
}
