//! Tests that missing events are not treated as idle time: runs without ops, launches without kernels, steps without
//! device ops, and devices with only program events. The file also tests impossible times. The tests write each trace
//! themselves, so the code shows its known facts.

use crate::support;
use crossprof::report::{Finding, FindingSeverity};
use crossprof::{Session, Settings, UnifiedProfile};
use serde_json::{Value, json};

/// Rules that would misread missing events as idle time.
const IDLE: [&str; 7] = [
    "low_device_utilization",
    "idle_gaps",
    "host_overhead",
    "many_small_kernels",
    "tensor_core_idle",
    "data_loading",
    "short_mean_kernel",
];

fn event(name: &str, cat: &str, (pid, tid): (i64, i64), ts: f64, dur: f64, args: Value) -> Value {
    json!({"ph": "X", "name": name, "cat": cat, "ts": ts, "dur": dur, "pid": pid, "tid": tid, "args": args})
}

fn named(pid: i64, process: &str, threads: &[(i64, &str)]) -> Vec<Value> {
    let thread = |&(tid, name): &(i64, &str)| json!({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}});
    let process = json!({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": process}});
    std::iter::once(process).chain(threads.iter().map(thread)).collect()
}

/// Analyses a trace in the format of XLA's exporter.
fn xla(events: Vec<Value>) -> UnifiedProfile {
    profile(&json!({"displayTimeUnit": "ns", "traceEvents": events}))
}

/// Analyses a trace in the format of Kineto.
fn kineto(events: Vec<Value>) -> UnifiedProfile {
    profile(&json!({"schemaVersion": 1, "traceEvents": events}))
}

fn profile(trace: &Value) -> UnifiedProfile {
    let (file, reports) = support::load("a.trace.json", trace.to_string().as_bytes());
    assert_eq!(file.error, None);
    reports.into_iter().next().unwrap()
}

fn warning<'p>(profile: &'p UnifiedProfile, code: &str) -> Option<&'p crossprof::Warning> {
    profile.warnings.iter().find(|warning| warning.code == code)
}

/// Returns the message of a warning. Fails if the profile lacks the warning.
fn message<'p>(profile: &'p UnifiedProfile, code: &str) -> &'p str {
    warning(profile, code).unwrap_or_else(|| panic!("no {code} in {:?}", profile.warnings)).message.as_str()
}

/// Returns the findings that fired.
fn fired(profile: &UnifiedProfile) -> impl Iterator<Item = &Finding> {
    profile.findings.iter().filter(|finding| finding.severity != FindingSeverity::NotChecked)
}

fn no_idle_finding(profile: &UnifiedProfile) {
    for finding in fired(profile) {
        assert!(!IDLE.contains(&finding.id.as_str()), "{}: {}", finding.id, finding.message);
    }
}

fn busy(profile: &UnifiedProfile) -> f64 {
    profile.compute_utilization.as_ref().unwrap().compute_util_percent
}

fn near(value: f64, truth: f64) {
    assert!((value - truth).abs() < 1e-6 * truth.abs().max(1.0), "{value} is not {truth}");
}

const TPU: &[(i64, &str)] = &[(2, "XLA Modules"), (3, "XLA Ops")];

/// Builds runs of 900 us, one per millisecond. The runs for which `with_ops` returns true have ten ops of 80 us, 85 us
/// apart.
fn tpu_runs(pid: i64, origin: f64, runs: i64, with_ops: impl Fn(i64) -> bool) -> Vec<Value> {
    let mut events = named(pid, &format!("/device:TPU:{}", pid - 1), TPU);
    for run in 0..runs {
        let start = origin + 1000.0 * run as f64;
        events.push(event("jit_step(1)", "", (pid, 2), start, 900.0, json!({})));
        for op in (0..10).filter(|_| with_ops(run)) {
            events.push(event(&format!("fusion.{op}"), "", (pid, 3), start + 10.0 + 85.0 * op as f64, 80.0, json!({})));
        }
    }
    events
}

/// In the trace, 3 of 10 runs have ops. These three runs are busy while their ops run. The other seven runs are treated
/// as busy for their whole length.
#[test]
fn runs_without_ops_are_counted_and_busy() {
    for first_with_ops in [0, 4, 7] {
        let profile = xla(tpu_runs(1, 0.0, 10, |run| (first_with_ops..first_with_ops + 3).contains(&run)));
        assert!(message(&profile, "runs_without_ops").starts_with("7 of 10 module runs have no ops"), "{profile:?}");
        no_idle_finding(&profile);
        assert_eq!(profile.step_timing.avg_step_time_us, Some(1000.0));
        // In the counted steps (the last step is cut off), the runs with ops each have 800 us of ops.
        let counted = profile.step_timing.num_steps_counted.unwrap();
        let with = (first_with_ops..first_with_ops + 3).filter(|run| *run < counted as i64).count() as f64;
        near(busy(&profile), (80.0 * with + 90.0 * (counted as f64 - with)) / counted as f64);
    }
    let whole = xla(tpu_runs(1, 0.0, 10, |_| true));
    assert_eq!(warning(&whole, "runs_without_ops"), None);
}

#[test]
fn sparse_core_ops_do_not_count_as_ops_of_their_chip() {
    let mut events = tpu_runs(1, 0.0, 6, |run| run == 0);
    events.extend(named(2, "/device:TPU:0 SparseCore 0", &[(1, "SparseCore Ops")]));
    for op in 0..2000 {
        events.push(event(&format!("sc_op.{op}"), "", (2, 1), 3.0 * op as f64, 2.5, json!({})));
    }
    let profile = xla(events);
    assert!(message(&profile, "runs_without_ops").starts_with("5 of 6 module runs have no ops"));
    no_idle_finding(&profile);
}

/// The trace contains only module runs.
#[test]
fn module_runs_alone_make_a_device_busy_time_and_steps() {
    for (process, platform) in [("/device:TPU:0", "TPU"), ("/device:GPU:0", "GPU")] {
        let mut events = named(1, process, &[(2, "XLA Modules")]);
        for run in 0..6 {
            let start = 5_000_000.0 + 1000.0 * run as f64;
            events.push(event("jit_train_step(1)", "", (1, 2), start, 900.0, json!({"run_id": run.to_string()})));
        }
        let profile = xla(events);
        assert_eq!((profile.metadata.platform.as_str(), profile.metadata.num_devices), (platform, 1));
        assert_eq!(profile.step_timing.avg_step_time_us, Some(1000.0));
        assert_eq!(profile.step_timing.num_steps, 6);
        near(busy(&profile), 90.0);
        assert!(message(&profile, "runs_without_ops").starts_with("The file has 6 module runs and no ops"));
        assert_eq!(warning(&profile, "no_device_ops"), None);
        no_idle_finding(&profile);
        // No op is invented.
        assert_eq!(profile.step_timing.total_kernels, 0);
        assert!(profile.kernels.top_kernels.is_empty());
    }
}

/// Builds five runs of 800 us, one per millisecond, with one command buffer of 790 us each. If `with_stream` is true,
/// also builds the command buffer's four kernels of 180 us on a stream.
fn command_buffers(with_stream: bool) -> UnifiedProfile {
    let stream = [(20, "Stream #20(Compute)")];
    let lines = [(21, "XLA Ops"), (22, "XLA Modules")];
    let mut events = named(1, "/device:GPU:0", &[lines.as_slice(), if with_stream { &stream } else { &[] }].concat());
    for run in 0..5 {
        let start = 1000.0 * run as f64;
        events.push(event("jit_forward(7)", "", (1, 22), start, 800.0, json!({})));
        let args = json!({"hlo_module": "jit_forward", "hlo_op": "command_buffer_3"});
        events.push(event("command_buffer_3", "", (1, 21), start, 790.0, args));
        for kernel in (0..4).filter(|_| with_stream) {
            let at = start + 10.0 + 190.0 * kernel as f64;
            events.push(event(&format!("fusion_{kernel}"), "", (1, 20), at, 180.0, json!({"correlation_id": "1"})));
        }
    }
    xla(events)
}

#[test]
fn ops_missing_in_command_buffers_are_reported() {
    let alone = command_buffers(false);
    assert_eq!((alone.metadata.platform.as_str(), alone.metadata.num_devices), ("GPU", 1));
    assert_eq!(alone.step_timing.avg_step_time_us, Some(1000.0));
    near(busy(&alone), 79.0);
    assert!(
        message(&alone, "command_buffer_ops").starts_with("5 ops with a total time of 3.95 ms are command buffers")
    );
    let with_kernels = command_buffers(true);
    near(busy(&with_kernels), 72.0);
    assert_eq!(warning(&with_kernels, "command_buffer_ops"), None);
}

/// Builds launches every 100 us. Each launch from `first` on has a kernel of 60 us, except the launch `lost`.
fn launches(first: i64, launches: i64, lost: Option<i64>) -> Vec<Value> {
    let mut events = Vec::new();
    for number in 0..launches {
        let start = 1000.0 + 100.0 * number as f64;
        let args = json!({"correlation": number});
        events.push(event("cudaLaunchKernel", "cuda_runtime", (10, 10), start, 5.0, args.clone()));
        if number >= first && lost != Some(number) {
            let args = json!({"device": 0, "stream": 7, "correlation": number});
            events.push(event("k", "kernel", (0, 7), start + 10.0, 60.0, args));
        }
    }
    events
}

#[test]
fn launches_without_kernels_are_counted_and_nothing_is_judged() {
    let profile = kineto(launches(18, 50, None));
    assert!(message(&profile, "launches_without_ops").starts_with("18 of 50 launches have no kernel"));
    no_idle_finding(&profile);
    let unchecked = profile.findings.iter().find(|finding| finding.id == "host_overhead").unwrap();
    assert_eq!(unchecked.severity, FindingSeverity::NotChecked);
    // If all launches have kernels, the device waits for the host. The device also waits for the host if one launch in
    // a hundred is lost at an edge.
    for (count, lost) in [(50, None), (100, Some(99))] {
        let profile = kineto(launches(0, count, lost));
        assert_eq!(warning(&profile, "launches_without_ops"), None);
        let is_judged = |finding: &Finding| ["host_overhead", "many_small_kernels"].contains(&finding.id.as_str());
        assert!(fired(&profile).any(is_judged), "{:?}", profile.findings);
    }
    // A call whose name never started a kernel is not a launch that lost its kernel.
    let mut events = launches(0, 50, None);
    for number in 0..50 {
        let args = json!({"correlation": 1000 + number});
        events.push(event("cudaLaunchHostFunc", "cuda_runtime", (10, 10), 900.0, 5.0, args));
    }
    assert_eq!(warning(&kineto(events), "launches_without_ops"), None);
}

/// Launches that are recorded into a graph start no kernels.
#[test]
fn launches_that_record_a_graph_lack_nothing() {
    let recorded = |with_edges: bool| {
        let mut events = launches(18, 50, None);
        if with_edges {
            let edge = |name, ts| event(name, "cuda_runtime", (10, 10), ts, 1.0, json!({}));
            events.push(edge("cudaStreamBeginCapture", 990.0));
            events.push(edge("cudaStreamEndCapture", 2790.0));
        }
        kineto(events)
    };
    assert!(warning(&recorded(false), "launches_without_ops").is_some());
    assert_eq!(warning(&recorded(true), "launches_without_ops"), None);
}

/// Builds 32 numbered steps of 54 us, 55 us apart. The steps for which `with_ops` returns true have kernels.
fn numbered_steps(with_ops: impl Fn(i64) -> bool) -> UnifiedProfile {
    let mut events = Vec::new();
    for step in 0..32 {
        let start = 55_000.0 * step as f64;
        events.push(event(&format!("ProfilerStep#{step}"), "user_annotation", (10, 10), start, 54_000.0, json!({})));
        for kernel in (0..100).filter(|_| with_ops(step)) {
            let args = json!({"device": 0, "stream": 7});
            events.push(event("decode_gemm", "kernel", (0, 7), start + 100.0 + 30.0 * kernel as f64, 20.0, args));
        }
    }
    kineto(events)
}

#[test]
fn steps_without_device_ops_are_counted_and_nothing_is_judged() {
    for with_ops in [|step: i64| step < 2, |step: i64| step % 16 == 5, |step: i64| step == 0 || step == 31] {
        let profile = numbered_steps(with_ops);
        assert!(message(&profile, "steps_without_ops").starts_with("30 of 32 steps have no GPU op"));
        no_idle_finding(&profile);
    }
    assert_eq!(warning(&numbered_steps(|_| true), "steps_without_ops"), None);
}

/// Loads two files of one run whose clocks are unrelated.
fn two_hosts(first: Vec<Value>, second: Vec<Value>) -> UnifiedProfile {
    let mut session = Session::new();
    for (host, events) in [("host0", first), ("host1", second)] {
        let text = json!({"traceEvents": events}).to_string();
        let path = format!("logs/plugins/profile/run1/{host}.trace.json");
        let file = session.begin(&path, Some(text.len() as u64));
        session.push(file, text.as_bytes());
        assert_eq!(session.finish(file).error, None);
    }
    assert_eq!(session.runs().len(), 1);
    session.report(0, &Settings::default()).unwrap().clone()
}

#[test]
fn hosts_with_unrelated_clocks_are_aligned() {
    let by_runs = two_hosts(tpu_runs(1, 5_000_000.0, 6, |_| true), tpu_runs(2, 912_345_678.0, 6, |_| true));
    let message = message(&by_runs, "host_clocks_not_aligned");
    assert!(message.contains("aligned by 6 shared module runs"), "{message}");
    // From the first run to the end of the last, without the 907 s between the clocks.
    near(by_runs.metadata.capture_duration_us.unwrap(), 5900.0);
    assert_eq!(by_runs.step_timing.avg_step_time_us, Some(1000.0));
    assert_eq!(warning(&by_runs, "steps_one_after_another"), None);
    // It is unknown which host is later.
    assert_eq!((by_runs.multi_device.unwrap().start_skew_us, by_runs.step_timing.step_start_skew_us), (None, None));

    // If there are only kernels, the first kernels of all hosts are aligned.
    let kernels = |device: i64, origin: f64| -> Vec<Value> {
        let mut events = named(device, &format!("/device:GPU:{device}"), &[(1, "Stream #1(Compute)")]);
        for kernel in 0..20 {
            events.push(event("gemm", "", (device, 1), origin + 100.0 * kernel as f64, 50.0, json!({})));
        }
        events
    };
    let by_starts = two_hosts(kernels(0, 7.0), kernels(1, 80_000_000.0));
    near(by_starts.metadata.capture_duration_us.unwrap(), 1950.0);
}

#[test]
fn events_without_times_do_not_decide_what_the_capture_is() {
    let kernel = |ts: f64, dur: f64, number: i64| {
        let args = json!({"device": 0, "stream": 7, "correlation": number});
        event("sgemm", "kernel", (0, 7), ts, dur, args)
    };
    for (origin, untimed) in [(1_615_207_264_500_000.0, 1000), (1_615_207_264_500_000.0, 5000), (5_000_000.0, 1000)] {
        let real = (0..50).map(|number| kernel(origin + 1100.0 * number as f64, 900.0, 10_000 + number));
        let zeros = (0..untimed).map(|number| kernel(0.0, 0.0, number));
        for events in [zeros.clone().chain(real.clone()).collect::<Vec<_>>(), real.chain(zeros).collect()] {
            let profile = kineto(events);
            assert_eq!(warning(&profile, "untimed_events").unwrap().count, Some(untimed as u64));
            assert_eq!((profile.step_timing.total_kernels, profile.metadata.num_events), (50, Some(50)));
            near(profile.metadata.capture_duration_us.unwrap(), 49.0 * 1100.0 + 900.0);
            assert_eq!(profile.warnings.iter().filter(|it| it.severity == crossprof::Severity::Damage).count(), 0);
        }
    }
}

#[test]
fn ops_inside_another_op_of_their_stream_are_reported() {
    let kernel = |name: &str, ts: f64, dur: f64, stream: i64| {
        event(name, "kernel", (0, stream), ts, dur, json!({"device": 0, "stream": stream}))
    };
    let gemms = || (0..3).map(|number| kernel("gemm", 1100.0 + 100.0 * number as f64, 80.0, 7));
    let with = |first: Value| kineto(std::iter::once(first).chain(gemms()).collect());
    let profile = with(kernel("fmha_bwd", 1000.0, 1_600_000.0, 7));
    let message = message(&profile, "ops_overlap_on_stream");
    assert!(message.starts_with("3 ops are inside another op of their stream"), "{message}");
    assert!(message.contains("fmha_bwd (1.60 s) covers 3"), "{message}");
    // Overlap on another stream is normal. It is also no error if a kernel starts early, while the last blocks of the
    // previous kernel end.
    for first in [kernel("fmha_bwd", 1000.0, 1_600_000.0, 8), kernel("fmha_bwd", 1000.0, 105.0, 7)] {
        assert_eq!(warning(&with(first), "ops_overlap_on_stream"), None);
    }
}

#[test]
fn the_delay_of_a_kernel_that_starts_before_its_launch_is_unknown() {
    let trace = |early: i64| {
        let mut events = Vec::new();
        for number in 0..5 {
            let at = 1000.0 + 10.0 * number as f64;
            let start = if number < early { at - 3.0 } else { at + 8.0 };
            events.push(event("cuLaunchKernelEx", "cuda_driver", (10, 10), at, 6.0, json!({"correlation": number})));
            let args = json!({"correlation": number});
            events.push(event("ncclDevKernel_SendRecv", "kernel", (0, 21), start, 1.0, args));
        }
        kineto(events)
    };
    let profile = trace(5);
    let launches = profile.launches.as_ref().unwrap();
    assert_eq!((launches.count, launches.early_count, launches.clock_difference_us), (5, 5, Some(3.0)));
    let delays = [launches.avg_launch_delay_us, launches.median_launch_delay_us, launches.max_launch_delay_us];
    assert_eq!(delays, [None; 3]);
    let finding = fired(&profile).find(|finding| finding.id == "device_clock_skew").unwrap();
    assert!(finding.message.contains("delay of 5 of 5 launches is unknown"), "{}", finding.message);
    // The other launches keep their delays: 2 us from the end of the call.
    let profile = trace(2);
    let launches = profile.launches.as_ref().unwrap();
    assert_eq!((launches.early_count, launches.avg_launch_delay_us), (2, Some(2.0)));
    assert_eq!(trace(0).launches.unwrap().clock_difference_us, None);
}
