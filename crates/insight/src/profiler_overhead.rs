//! The profiler itself slows the host down.
//!
//! Devices are idle for at least 10 % of the time, and one of two parts of the profiler takes much of the host's time:
//!
//! * the Python tracer recorded at least 50 calls per millisecond of active device time (ours: a call costs the host about a
//!   microsecond, so 50 calls take 5 % of a millisecond, the lower end of the checklist's 5 to 10 %). Remedy: set
//!   `python_tracer_level = 0`;
//! * launches of CUDA graphs take at least 10 % of the time (ours). The profiler records each kernel of a graph, so a launch
//!   takes some microseconds per kernel. On an H100, a decode step of 114 kernels took 2.5 times as long with tracing as
//!   without. Remedy: measure the step time without tracing.
//!
//! Severity: note. Confidence: medium.

use super::draft::{Draft, lacks};
use super::limits::{IDLE_NOTED_PERCENT, OVERHEAD_PERCENT};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::{Ps, format};
use metrics::for_each_named;
use report::{Confidence, FindingSeverity, View};
use trace::Interval;

pub(super) static RULE: Rule =
    Rule { id: "profiler_overhead", title: "The profiler slows the host down", ..Rule::checked_by(check) };

/// Minimum number of frames of the Python tracer per millisecond of active device time for the rule to fire. We chose
/// this limit because a frame costs about a microsecond, so 50 of them take 5 %, the lower end of the checklist's "5 to
/// 10 %".
const FRAMES_PER_MS: f64 = 50.0;

/// First words of the host calls that launch graphs (`cuGraphLaunch (CudaGraph:97)`).
const LAUNCHES: [&str; 3] = ["cuGraphLaunch", "cudaGraphLaunch", "hipGraphLaunch"];

fn check(numbers: &Numbers<'_>) -> Verdict {
    if numbers.context.analysis.devices.by_line.host_names.is_empty() {
        return numbers.lacks_host_events();
    }
    let Some(window) = numbers.window() else { return lacks("too few device ops ran. Capture several steps.") };
    if window.idle_percent() < IDLE_NOTED_PERCENT {
        return Verdict::Fine;
    }
    let Some(active) = numbers.context.analysis.window.hull().filter(|span| span.length() > Ps::ZERO) else {
        return lacks("no device op ran.");
    };
    let idle = window.idle_percent();
    python_tracer(numbers, active, idle).or_else(|| graph_launches(numbers, active, idle)).unwrap_or(Verdict::Fine)
}

fn python_tracer(numbers: &Numbers<'_>, active: Interval, idle_percent: f64) -> Option<Verdict> {
    let frames = python_frames(numbers, active);
    let rate = frames as f64 / (active.length().as_us() / 1e3);
    if rate < FRAMES_PER_MS {
        return None;
    }
    let message = format!(
        "The Python tracer slows the host down: it recorded {} calls while devices were active, {} per millisecond. Devices are \
         idle for {} of the time.",
        format::count(frames),
        format::number(rate),
        format::percent(idle_percent)
    );
    let found = Draft::new(FindingSeverity::Note, Confidence::Medium, "The Python tracer slows the host down", message)
        .remedy(&format!(
            "Capture again without Python calls ({}) before you rely on host times.",
            numbers.words().no_python_calls
        ))
        .passed("python_frames_per_ms", rate, FRAMES_PER_MS)
        .evidence("python_frames", frames as f64)
        .link(View::Steps, "");
    Some(found.fires())
}

/// Launches of CUDA graphs while devices were active.
struct GraphLaunches {
    count: u64,
    mean_us: f64,
    /// Mean number of kernels per launch.
    kernels: u64,
    /// Percentage of the active time that the launches take.
    percent: f64,
}

impl GraphLaunches {
    /// Measures the launches. `None` if the launches take little time, or if the profiler did not record their kernels.
    fn of(numbers: &Numbers<'_>, active: Interval) -> Option<GraphLaunches> {
        let (mut count, mut time) = (0_u64, Ps::ZERO);
        let devices = &numbers.context.analysis.devices;
        for_each_named(numbers.trace, devices, &|name| LAUNCHES.iter().any(|it| name.starts_with(it)), &mut |event| {
            if let Some(inside) = Interval::new(event.start, event.end()).clip(active) {
                count += 1;
                time += inside.length();
            }
        });
        let percent = 100.0 * time.as_us() / active.length().as_us();
        let stats = &numbers.context.analysis.kernel_stats;
        let kernels = stats.graph_with_op.count + stats.graph_without_op.count;
        let found =
            GraphLaunches { count, mean_us: time.as_us() / count as f64, kernels: kernels / count.max(1), percent };
        (count > 0 && found.kernels > 0 && percent >= OVERHEAD_PERCENT.good).then_some(found)
    }
}

/// Returns the share of the time that launches of CUDA graphs take because the profiler records each of their kernels.
/// `None` if this share is small.
pub(super) fn slow_graph_launches_percent(numbers: &Numbers<'_>) -> Option<f64> {
    Some(GraphLaunches::of(numbers, numbers.context.analysis.window.hull()?)?.percent)
}

fn graph_launches(numbers: &Numbers<'_>, active: Interval, idle_percent: f64) -> Option<Verdict> {
    let found = GraphLaunches::of(numbers, active)?;
    let message = format!(
        "The profiler records each kernel of a CUDA graph, which slows down the launches of graphs: a launch takes {} on average for \
         {} kernels, and the launches take {} of the time. Devices are idle for {} of the time.",
        format::time_us(found.mean_us),
        format::count(found.kernels),
        format::percent(found.percent),
        format::percent(idle_percent)
    );
    let draft = Draft::new(FindingSeverity::Note, Confidence::Medium, "Tracing slows down the launches of CUDA graphs", message)
        .remedy(
            "Measure the step time without tracing before you act on idle time: time several steps, and wait for the last result once. \
             The times of the kernels themselves are right.",
        )
        .passed("graph_launch_percent", found.percent, OVERHEAD_PERCENT.good)
        .evidence("graph_launches", found.count as f64)
        .evidence("graph_launch_mean_us", found.mean_us)
        .link(View::Steps, "");
    Some(draft.fires())
}

/// Counts frames (`$file.py:12 function`) on host threads that start within `active`.
fn python_frames(numbers: &Numbers<'_>, active: Interval) -> u64 {
    let mut frames = 0;
    let devices = &numbers.context.analysis.devices;
    for_each_named(numbers.trace, devices, &|name| name.starts_with('$'), &mut |event| {
        frames += u64::from(event.start >= active.start && event.start < active.end);
    });
    frames
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, gpu_steps, kernel};
    use report::FindingSeverity::{Note, Warning};

    #[test]
    fn fires_above_its_limit() {
        let trace = |frames: i64, busy: i64| {
            gpu_steps(12, move |b, at| {
                kernel(b, "gemm", at + 1, at + 5, busy);
                let python = b.line("/host:CPU", "python");
                for frame in 0..frames {
                    b.event(python, "$train.py:12 step", at + frame, 1);
                }
            })
        };
        assert_eq!(finding(trace(60, 500), &RULE).severity, Note);
        fine(trace(45, 500), &RULE);
        fine(trace(60, 950), &RULE);
    }

    #[test]
    fn launches_of_graphs_count_if_they_take_much_of_the_time() {
        let trace = |launch: i64, busy: i64| {
            gpu_steps(12, move |b, at| {
                let host = b.line("/host:CPU", "python");
                b.event(host, "cuGraphLaunch (CudaGraph:97)", at, launch).correlation(at);
                let stream = b.line("/device:GPU:0", "Stream #7(Compute)");
                for (node, start) in [(1, at + launch), (2, at + launch + busy / 2)] {
                    let kernel = b.event(stream, "add", start, busy / 2).hlo_op("add.1").correlation(at);
                    kernel.args(|args| (args.graph_id, args.graph_node_id) = (Some(97), Some(node)));
                }
            })
        };
        let waiting = finding(trace(600, 300), &crate::host_overhead::RULE);
        assert_eq!(waiting.severity, Warning);
        assert!(waiting.message.contains("Here these launches take 60"), "{}", waiting.message);
        let found = finding(trace(200, 500), &RULE);
        assert_eq!((found.severity, found.title.as_str()), (Note, "Tracing slows down the launches of CUDA graphs"));
        assert!(found.message.contains("takes 200 µs on average for 2 kernels"), "{}", found.message);
        fine(trace(90, 500), &RULE);
        fine(trace(20, 950), &RULE);
    }
}
