//! Tests that device work belongs to the step that launched it, that steps end at the right time, and that clearly
//! visible steps are found.
//!
//! The expected values come from hand counts of the small traces below, from sums of raw events in
//! `tests/data/steps.py`, and from public reports.

use std::fmt::Write;

use crate::support::{load, samples};
use compare::{Options, StepTimeVerdict, Subject, WorkMeasure, WorkVerdict};
use crossprof::UnifiedProfile;
use serde_json::Value;

/// A PyTorch trace. Times are in microseconds.
#[derive(Default)]
struct Kineto(String);

impl Kineto {
    fn event(&mut self, cat: &str, name: &str, (pid, tid): (u32, u32), ts: i64, dur: i64, correlation: Option<i64>) {
        let args =
            correlation.map_or_else(String::new, |id| format!(r#""correlation":{id},"device":0,"stream":{tid}"#));
        let _ = write!(
            self.0,
            r#"{{"ph":"X","cat":"{cat}","name":"{name}","pid":{pid},"tid":{tid},"ts":{ts},"dur":{dur},"args":{{{args}}}}},"#
        );
    }

    fn range(&mut self, name: &str, ts: i64, dur: i64) {
        self.event("user_annotation", name, (100, 100), ts, dur, None);
    }

    /// Adds a launch at `launch`, and its kernel on a stream.
    fn kernel(&mut self, name: &str, stream: u32, id: i64, launch: i64, (start, dur): (i64, i64)) {
        self.event("cuda_runtime", "cudaLaunchKernel", (100, 100), launch, 2, Some(id));
        self.event("kernel", name, (0, stream), start, dur, Some(id));
    }

    fn profile(&self) -> UnifiedProfile {
        let events = self.0.trim_end_matches(',');
        let text = format!(
            r#"{{"schemaVersion":1,"deviceProperties":[{{"id":0,"name":"NVIDIA A100","computeMajor":8}}],"traceEvents":[{events}]}}"#
        );
        profile("trace.json", text.as_bytes())
    }
}

fn profile(name: &str, bytes: &[u8]) -> UnifiedProfile {
    let (result, mut profiles) = load(name, bytes);
    assert_eq!(result.error, None);
    profiles.remove(0)
}

fn recorded(case: &str) -> (UnifiedProfile, Value) {
    let folder = samples::root().join("tests/data/jax-cpu-steps");
    let read = |file: String| std::fs::read(folder.join(file)).unwrap();
    let name = format!("{case}.xplane.pb.gz");
    (profile(&name, &read(name.clone())), serde_json::from_slice(&read(format!("{case}.truth.json"))).unwrap())
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

fn of_steps(profile: &UnifiedProfile, value: fn(&report::Step) -> f64) -> Vec<f64> {
    profile.steps.iter().map(value).collect()
}

fn close(ours: &[f64], truth: &[f64], within: f64) {
    assert_eq!(ours.len(), truth.len(), "{ours:?} against {truth:?}");
    assert!(ours.iter().zip(truth).all(|(a, b)| (a - b).abs() <= within), "{ours:?} against {truth:?}");
}

fn has(profile: &UnifiedProfile, code: &str) -> bool {
    profile.warnings.iter().any(|warning| warning.code == code)
}

/// Builds steps of 100 us on a device that is 250 us behind the host. The host's annotations vary from 60 to 140 us. Each
/// step first copies its input on a separate stream, as soon as the copy is launched, and then runs ten kernels of 10 us.
fn behind() -> Kineto {
    let mut trace = Kineto::default();
    // 200 us of other work were launched before the capture.
    trace.event("kernel", "old", (0, 7), 50, 200, Some(9000));
    let (mut host, mut id) = (0, 0);
    for (step, length) in (0i64..).zip([60, 140, 80, 120, 100]) {
        trace.range(&format!("ProfilerStep#{}", 10 + step), host, length - 1);
        id += 1;
        trace.kernel("Memcpy HtoD (Pinned -> Device)", 21, id, host + 2, (host + 5, 10));
        for kernel in 0..10 {
            id += 1;
            trace.kernel("gemm", 7, id, host + 10 + kernel, (250 + step * 100 + kernel * 10, 10));
        }
        host += length;
    }
    trace
}

#[test]
fn device_work_belongs_to_the_step_that_launched_it() {
    let profile = behind().profile();
    assert_eq!(of_steps(&profile, |step| step.num_kernels), [11.0; 5]);
    // The work is 100 us of kernels, and a copy that overlaps with the kernels of earlier steps.
    assert_eq!(of_steps(&profile, |step| step.device_work_us.unwrap()), [110.0; 5]);
    assert_eq!(of_steps(&profile, |step| step.duration_us), [100.0; 5]);
    assert_eq!(of_steps(&profile, |step| step.host_duration_us.unwrap()), [59.0, 139.0, 79.0, 119.0, 99.0]);
    // The lag is the time from the annotation to the first kernel. Annotations begin at 0, 60, 200, 280 and 400.
    assert_eq!(of_steps(&profile, |step| step.lag_us.unwrap()), [250.0, 290.0, 250.0, 270.0, 250.0]);
    let timing = &profile.step_timing;
    assert_eq!(timing.device_work_tied_by.as_deref(), Some("correlation"));
    assert_eq!((timing.device_lag_us, timing.host_step_time_us), (Some(250.0), Some(100.0)));
    // The first work was launched before the capture, so it belongs to no step.
    assert!(!has(&profile, "steps_tied_by_time"), "{:?}", profile.warnings);
    assert!(!profile.findings.iter().any(|finding| finding.id == "step_time_variation"), "{:?}", profile.findings);
}

/// The host's times are noisy in both runs. One run launches a third more kernels, so its kernels take a third more
/// time in total.
#[test]
fn more_work_is_proven_although_step_times_are_noisy() {
    let noisy = |kernels: i64| {
        let mut trace = Kineto::default();
        let (mut host, mut id) = (0, 0);
        for (step, length) in (0i64..).zip([300, 900, 500, 1400, 350, 800]) {
            trace.range(&format!("ProfilerStep#{step}"), host, length - 1);
            for kernel in 0..kernels {
                id += 1;
                trace.kernel("gemm", 7, id, host + kernel * 5, (host + 20 + kernel * 10, 10));
            }
            host += length;
        }
        Subject::new(trace.profile())
    };
    let found = compare::compare(&[noisy(15), noisy(20)], &Options::default());
    assert_eq!(found.step_time[0].verdict, StepTimeVerdict::Equal);
    let work: Vec<_> = found.device_work.iter().map(|it| (it.measure, it.values, it.verdict)).collect();
    assert_eq!(
        work,
        [(WorkMeasure::Time, [200.0, 150.0], WorkVerdict::More), (WorkMeasure::Ops, [20.0, 15.0], WorkVerdict::More)]
    );
    let says = found.summary.iter().any(|it| it.contains("200 µs against 150 µs (+33.3 %, proven)"));
    assert!(says, "{:?}", found.summary);
}

/// XLA's CPU backend runs three programs per step, which the host dispatches without waiting.
#[test]
fn runs_of_several_programs_belong_to_the_step_that_dispatched_them() {
    let (profile, truth) = recorded("behind");
    assert_eq!(profile.step_timing.device_work_tied_by.as_deref(), Some("dispatch"));
    close(&of_steps(&profile, |step| step.num_kernels), &numbers(&truth["ops"]), 0.0);
    close(&of_steps(&profile, |step| step.lag_us.unwrap()), &numbers(&truth["lag_us"]), 0.01);
    close(&of_steps(&profile, |step| step.host_duration_us.unwrap()), &numbers(&truth["host_lengths_us"]), 0.01);
    // An op's event ends slightly before its marker.
    let (ours, theirs) = (of_steps(&profile, |step| step.device_work_us.unwrap()), numbers(&truth["work_us"]));
    assert!(ours.iter().zip(&theirs).all(|(a, b)| (a / b - 1.0).abs() < 0.01), "{ours:?} against {theirs:?}");
    assert_eq!(profile.step_timing.num_steps_counted, Some(8));
}

/// In this trace, only XProf's groups link ops to steps, because the device runs each step 150 us after the host.
#[test]
fn groups_of_xprof_tie_ops_to_steps() {
    let mut b = trace::TraceBuilder::new();
    let (python, ops) = (b.line("/host:CPU", "python"), b.line("/device:GPU:0", "Stream #7(Compute)"));
    for step in 0..4 {
        b.event(python, "train", step * 100, 99).step_num(step).value(trace::EventColumn::GroupId, step + 40);
        for op in 0..=step {
            b.event(ops, "gemm", 150 + step * 100 + op * 10, 10).value(trace::EventColumn::GroupId, step + 40);
        }
    }
    let profile = metrics_run(b.build());
    assert_eq!(profile.step_timing.device_work_tied_by.as_deref(), Some("group"));
    assert_eq!(of_steps(&profile, |step| step.num_kernels), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(of_steps(&profile, |step| step.lag_us.unwrap()), [150.0; 4]);
}

#[test]
fn numbers_that_begin_again_are_steps_all_the_same() {
    let (profile, truth) = recorded("epochs");
    let timing = &profile.step_timing;
    assert_eq!((timing.num_steps, timing.num_steps_counted), (12, Some(12)));
    assert_eq!(timing.step_marker.as_deref(), Some("train annotations"));
    let mean = truth["from_first_start_us"].as_f64().unwrap() / 12.0;
    close(&[timing.avg_step_time_us.unwrap()], &[mean], 1e-3 * mean);
    close(&of_steps(&profile, |step| step.num_kernels), &numbers(&truth["ops"]), 0.0);
    assert!(has(&profile, "step_numbers_repeat") && profile.steps.iter().all(|step| step.name.is_none()));
}

/// In a PyTorch trace, annotations are steps even if their step number never changes.
#[test]
fn a_number_that_never_changes_is_no_reason_to_drop_annotations() {
    let mut b = trace::TraceBuilder::new();
    let python = b.line("/host:CPU", "python");
    for step in 0..6 {
        b.event(python, "train", step * 100, 99).step_num(0);
        b.event(python, "inner", step * 100 + 5, 20).step_num(0);
        b.event(python, "inner", step * 100 + 40, 20).step_num(0);
    }
    let run = metrics_run(b.build());
    assert_eq!((run.step_timing.num_steps, run.step_timing.avg_step_time_us), (6, Some(599.0 / 6.0)));
}

fn metrics_run(trace: trace::Trace) -> UnifiedProfile {
    let run = run::Run { trace, ..run::Run::default() };
    metrics::analyse(&run, &run::Settings::default()).profile
}

#[test]
fn the_last_step_ends_when_it_ends() {
    let (profile, truth) = recorded("sleep");
    let length = truth["from_first_start_us"].as_f64().unwrap();
    close(&[profile.step_timing.avg_step_time_us.unwrap()], &[length], 1.0);
    close(&[profile.compute_utilization.unwrap().compute_util_percent], &[100.0 * 110.145 / length], 0.01);

    // The only step takes 9.5 ms and has 2 ms of kernels in its first 2.5 ms.
    let mut one = Kineto::default();
    one.range("ProfilerStep#1", 0, 9500);
    for kernel in 0..5 {
        one.kernel("gemm", 7, kernel, 100 + kernel * 500, (120 + kernel * 500, 400));
    }
    let long = one.profile();
    assert_eq!((long.step_timing.num_steps_counted, long.step_timing.avg_step_time_us), (Some(1), Some(9500.0)));
    // A trailing annotation without ops ends the previous step, and is not counted as a step.
    one.range("ProfilerStep#2", 10_000, 50);
    let two = one.profile();
    assert_eq!((two.step_timing.num_steps_counted, two.step_timing.avg_step_time_us), (Some(1), Some(10_000.0)));
    assert_eq!(two.throughput.steps_per_sec, Some(100.0));
    // The same is true for an annotation with only a few ops of the next step.
    one.kernel("gemm", 7, 100, 10_010, (10_020, 10));
    assert_eq!(one.profile().step_timing.avg_step_time_us, Some(10_000.0));
}

#[test]
fn an_empty_step_keeps_its_length() {
    let mut trace = Kineto::default();
    for step in 0..4 {
        trace.range(&format!("ProfilerStep#{step}"), step * 10_000, 9_990);
        if step != 1 {
            trace.kernel("gemm", 7, step, step * 10_000 + 100, (step * 10_000 + 120, 2_400));
        }
    }
    let profile = trace.profile();
    close(&of_steps(&profile, |step| step.duration_us), &[10_000.0, 10_000.0, 10_000.0, 9_990.0], 0.0);
    assert_eq!(of_steps(&profile, |step| step.num_kernels), [1.0, 0.0, 1.0, 1.0]);
    assert!(profile.steps.iter().all(|step| step.counted), "{:?}", profile.steps);
}

#[test]
fn steps_that_are_plainly_there_are_found() {
    // A server writes annotations with different numbers. The thread has no name.
    let mut serving = Kineto::default();
    for step in 0..8 {
        serving.range(&format!("step[DECODE bs={}]", 64 - step % 3), step * 1000, 950);
        serving.kernel("decode", 7, step, step * 1000 + 10, (step * 1000 + 30, 700));
    }
    let found = serving.profile();
    assert_eq!(found.step_timing.step_marker.as_deref(), Some("forward pass annotations"));
    assert_eq!((found.step_timing.num_steps, found.step_timing.avg_step_time_us), (8, Some(1000.0)));

    // Numbered layers of one step are not steps.
    let mut layers = Kineto::default();
    for layer in 0..8 {
        layers.range(&format!("decoder_layer_{layer}"), layer * 1000, 950);
        layers.kernel(&format!("k{layer}"), 7, layer, layer * 1000 + 10, (layer * 1000 + 30, 700));
    }
    assert_eq!(layers.profile().step_timing.step_count_source, "unknown");

    // The program calls the optimizer once per step.
    let mut training = Kineto::default();
    for step in 0..5 {
        training.range("Optimizer.zero_grad#SGD.zero_grad", step * 1000, 20);
        training.kernel("fill", 7, 2 * step, step * 1000 + 5, (step * 1000 + 30, 5));
        training.kernel("gemm", 7, 2 * step + 1, step * 1000 + 100, (step * 1000 + 120, 500));
    }
    let found = training.profile();
    assert_eq!((found.step_timing.num_steps, found.step_timing.avg_step_time_us), (5, Some(1000.0)));

    // These runtime calls start no device work.
    let mut freeing = Kineto::default();
    for kernel in 0..60 {
        freeing.kernel("gemm", 7, kernel, kernel * 200, (kernel * 200 + 20, 150));
    }
    for call in 0..9 {
        freeing.event("cuda_runtime", "cudaFree", (100, 100), 13_000 + call * 4000, 3500, Some(1000 + call));
        freeing.event("user_annotation", "waiting", (100, 101), 13_000 + call * 4000, 3500, None);
    }
    let found = freeing.profile();
    assert_eq!(found.step_timing.step_count_source, "unknown");
    assert_eq!(found.step_timing.total_kernels, 60);
}

#[test]
fn a_sequence_that_every_device_repeats_is_a_step() {
    let mut b = trace::TraceBuilder::new();
    for device in 0..2 {
        let compute = b.line(&format!("/device:GPU:{device}"), "Stream #118(Compute)");
        let nccl = b.line(&format!("/device:GPU:{device}"), "Stream #119(Compute)");
        for step in 0..4 {
            b.event(compute, "loop_fusion", step * 500, 200);
            b.event(nccl, "ncclDevKernel_AllGather_RING_LL", step * 500 + 150, 200);
        }
    }
    let profile = metrics_run(b.build());
    assert_eq!(profile.step_timing.step_count_source, "device_ops");
    assert_eq!((profile.step_timing.num_steps, profile.step_timing.avg_step_time_us), (4, Some(500.0)));
    let parts = profile.step_breakdown.unwrap().parts;
    assert_eq!((parts.compute_us, parts.communication_us), (200.0, 150.0));
}

#[test]
fn runs_of_a_program_are_named_by_position() {
    let mut b = trace::TraceBuilder::new();
    let (modules, ops) = (b.line("/device:TPU:0", "XLA Modules"), b.line("/device:TPU:0", "XLA Ops"));
    for run in 0..5 {
        b.event(modules, "jit_step(7)", run * 100, 90).run_id(-1_748_634_271 + run);
        b.event(ops, "fusion.1", run * 100, 80);
    }
    let profile = metrics_run(b.build());
    assert_eq!(profile.step_timing.step_count_source, "module_runs");
    assert!(profile.steps.iter().all(|step| step.name.is_none()), "{:?}", profile.steps);
}

#[test]
#[ignore = "reads real profiles"]
fn cases_of_public_reports() {
    let read = |path: &str| {
        let file = samples::traces().join("../cases").join(path);
        profile(path.rsplit('/').next().unwrap(), &std::fs::read(file).unwrap())
    };
    let epochs = read("steps/epochs.xplane.pb.gz");
    assert_eq!(epochs.step_timing.num_steps_counted, Some(18));
    close(&[epochs.step_timing.avg_step_time_us.unwrap()], &[22_090.0], 10.0);
    let sleep = read("steps/host-sleep.xplane.pb.gz");
    close(&[sleep.step_timing.avg_step_time_us.unwrap()], &[204_600.0], 200.0);
    assert!(sleep.compute_utilization.unwrap().compute_util_percent < 3.0);
    let two = read("steps/two_steps_last_empty.json");
    assert_eq!((two.step_timing.avg_step_time_us, two.throughput.steps_per_sec), (Some(10_000.0), Some(100.0)));
    assert_eq!(read("steps/one_step_long.json").step_timing.avg_step_time_us, Some(9_500.0));
    let freeing = read("steps/span_cudaFree.json");
    assert_eq!((freeing.step_timing.num_steps, freeing.step_timing.total_kernels), (0, 61));
    assert_eq!(read("steps/callbacks.xplane.pb.gz").step_timing.num_steps_counted, Some(11));
    for (file, steps) in [
        ("reports/s15b_empty_middle.json", 32),
        ("reports/r15_gpu_events_in_2_of_32_steps.json", 32),
        ("reports/s15d_sglang_step_annotation.json", 12),
    ] {
        let found = read(file);
        assert_eq!(found.step_timing.num_steps, steps, "{file}");
    }
    let nccl = read("reports/r18_jax_gpu_nccl_streams.json");
    assert_eq!(nccl.step_timing.avg_step_time_us, Some(500.0));
    let parts = nccl.step_breakdown.unwrap().parts;
    assert_eq!((parts.compute_us, parts.communication_us), (200.0, 150.0));
}
