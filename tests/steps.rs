//! Tests the steps in the project's own recordings. `tests/data/steps.py` made the recordings, and summed their raw
//! events without crossprof (`*.truth.json`). One test reads real profiles without named steps.

use std::path::{Path, PathBuf};

use crate::support::{load, samples};
use crossprof::UnifiedProfile;
use serde_json::Value;

fn recording(file: &str) -> PathBuf {
    samples::root().join("tests/data/jax-cpu-steps").join(file)
}

fn profile_of(path: &Path) -> UnifiedProfile {
    let (result, mut profiles) = load(&path.file_name().unwrap().to_string_lossy(), &std::fs::read(path).unwrap());
    assert_eq!(result.error, None);
    profiles.remove(0)
}

fn profile(case: &str) -> UnifiedProfile {
    profile_of(&recording(&format!("{case}.xplane.pb.gz")))
}

fn truth(case: &str) -> Value {
    serde_json::from_slice(&std::fs::read(recording(&format!("{case}.truth.json"))).unwrap()).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// Requires equality to within one or two nanoseconds, because the JSON rounds its decimals.
fn close(ours: &[f64], truth: &[f64]) {
    assert_eq!(ours.len(), truth.len(), "{ours:?} against {truth:?}");
    assert!(ours.iter().zip(truth).all(|(a, b)| (a - b).abs() < 0.01), "{ours:?} against {truth:?}");
}

fn durations(profile: &UnifiedProfile) -> Vec<f64> {
    profile.steps.iter().map(|step| step.duration_us).collect()
}

fn warns(profile: &UnifiedProfile, code: &str) -> String {
    let warning = profile.warnings.iter().find(|warning| warning.code == code);
    warning.unwrap_or_else(|| panic!("no {code} in {:?}", profile.warnings)).message.clone()
}

fn finding(profile: &UnifiedProfile, id: &str) -> String {
    let finding = profile.findings.iter().find(|finding| finding.id == id);
    finding.unwrap_or_else(|| panic!("no {id} in {:?}", profile.findings)).message.clone()
}

#[test]
fn compilation_is_in_the_steps_that_compile() {
    let profile = profile("recompile");
    close(&durations(&profile), &numbers(&truth("recompile")["lengths_us"]));
    let compiling: Vec<u64> = profile.steps.iter().filter(|step| step.compiles).map(|step| step.index).collect();
    assert_eq!(compiling, [5, 6, 7]);
    assert!(profile.steps.iter().all(|step| step.compiles == step.warm_up && !step.partial));
    assert_eq!(profile.step_timing.num_steps_counted, Some(5));
}

/// The trace JSON has no program numbers. All other values are identical.
#[test]
fn the_json_of_the_capture_agrees() {
    let (xplane, json) = (profile("recompile"), profile_of(&recording("recompile.trace.json.gz")));
    close(&durations(&json), &durations(&xplane));
    let (ours, theirs) = (json.compilation.unwrap(), xplane.compilation.unwrap());
    close(&[ours.compilation_time_us], &[theirs.compilation_time_us]);
    assert_eq!(ours.num_compilation_events, theirs.num_compilation_events);
    assert_eq!((theirs.num_xla_modules, ours.num_xla_modules), (Some(4), None));
    let why = json.not_measured.iter().find(|it| it.field == "compilation.num_xla_modules").unwrap();
    assert!(why.reason.contains("not their programs"), "{}", why.reason);
}

#[test]
fn devices_that_run_one_after_another_have_steps_of_their_own() {
    let (profile, truth) = (profile("replicas"), truth("replicas"));
    let devices: Vec<Vec<f64>> = truth["lengths_us"].as_array().unwrap().iter().map(numbers).collect();
    assert_eq!(devices.len(), 4);
    close(&durations(&profile), &devices.concat());
    let timing = &profile.step_timing;
    assert_eq!(timing.devices_in_step.as_deref(), Some("one_after_another"));
    close(&[timing.step_start_skew_us.unwrap()], &[truth["start_skew_us"].as_f64().unwrap()]);
    // Except for the last step of each device, the next step ends each step. The devices run in parallel.
    let ended: Vec<f64> = devices.iter().flat_map(|device| &device[..5]).copied().collect();
    let rate = 1e6 * ended.len() as f64 / ended.iter().sum::<f64>();
    let throughput = &profile.throughput;
    assert!((throughput.all_devices_steps_per_sec.unwrap() / rate - 1.0).abs() < 1e-5, "{throughput:?} against {rate}");
    assert!(warns(&profile, "steps_one_after_another").contains("4 devices run their steps one after another"));
    assert_eq!(profile.steps.iter().filter(|step| step.partial).count(), 4);
}

#[test]
fn devices_that_threads_feed_are_independent() {
    let (profile, truth) = (profile("threads"), truth("threads"));
    let timing = &profile.step_timing;
    assert_eq!((timing.devices_in_step.as_deref(), timing.num_steps), (Some("independent"), 10));
    close(&[timing.step_start_skew_us.unwrap()], &[truth["start_skew_us"].as_f64().unwrap()]);
    let devices: Vec<Vec<f64>> = truth["lengths_us"].as_array().unwrap().iter().map(numbers).collect();
    let mean = |step: usize| devices.iter().map(|device| device[step]).sum::<f64>() / 4.0;
    close(&durations(&profile)[..9], &(0..9).map(mean).collect::<Vec<f64>>());
    assert!(warns(&profile, "steps_independent").contains("are per device"));
}

#[test]
fn many_different_programs_are_no_steps() {
    let profile = profile("programs");
    assert_eq!((profile.step_timing.step_count_source.as_str(), profile.steps.len()), ("unknown", 0));
    assert!(warns(&profile, "steps_unknown").contains("no program dominates"));
    let why = profile.not_measured.iter().find(|it| it.field == "step_timing.avg_step_time_us").unwrap();
    assert!(why.reason.contains("no program dominates"), "{}", why.reason);
}

#[test]
fn functions_and_ranges_that_repeat_are_the_steps() {
    for (case, marker) in [("function", "calls of train_step"), ("range", "update ranges")] {
        let profile = profile(case);
        let timing = &profile.step_timing;
        assert_eq!((timing.step_count_source.as_str(), timing.step_marker.as_deref()), ("host_spans", Some(marker)));
        assert_eq!((timing.num_steps, timing.kernels_per_step), (6, Some(10.0)));
        // The last step lasts until the end of its own span.
        close(&durations(&profile)[..5], &numbers(&truth(case)["lengths_us"])[..5]);
        assert!(warns(&profile, "steps_from_host_spans").contains(marker));
    }
}

/// Converts a percentage of the idle time to a percentage of the steps.
fn of_idle(profile: &UnifiedProfile, percent: f64) -> f64 {
    let steps = profile.step_breakdown.as_ref().unwrap();
    percent * steps.duration_us / steps.parts.idle_us()
}

#[test]
fn waits_of_devices_are_named() {
    let input = profile("input");
    let fetching = truth("input")["fetch_batch_percent"].as_f64().unwrap();
    let stake = input.findings.iter().find(|it| it.id == "data_loading").unwrap().time_at_stake_percent.unwrap();
    // While the batch is fetched, nothing runs except the end of an op, which the op's event does not show (0.012 % of the
    // time).
    assert!((stake - fetching).abs() < 0.05 && stake <= fetching, "{stake} against {fetching}");
    let named = format!("in fetch_batch for {:.1} %", of_idle(&input, fetching));
    let message = finding(&input, "data_loading");
    assert!(message.contains(&named), "{message} lacks {named}");

    let bare = profile("bare");
    let between = truth("bare")["between_marks_percent"].as_f64().unwrap();
    let named = format!("in no recorded event for {:.1} %", of_idle(&bare, between));
    let message = finding(&bare, "low_device_utilization");
    assert!(message.contains(&named), "{message} lacks {named}");
}

/// The expected values were counted by hand. Each capture has five calls or launches, with 30 ops on one GPU, 47 ops on
/// eight GPUs, and 15 ops on one GPU.
#[test]
#[ignore = "reads real profiles"]
fn gpu_captures_without_annotations_have_steps() {
    for (file, marker, ops) in [
        ("gfx950-te-attention/*.xplane.pb", "launches of loss_fn", 30.0),
        ("mi300x-8gpu-conv/*.xplane.pb", "launches of forward_3d_conv", 47.0 / 8.0),
        ("mi300x-elementwise/*.xplane.pb", "calls of elementwise_ops", 15.0),
    ] {
        let timing = profile_of(&samples::real(file)).step_timing;
        assert_eq!((timing.num_steps, timing.step_marker.as_deref()), (5, Some(marker)), "{file}");
        assert_eq!(timing.kernels_per_step, Some(ops), "{file}");
    }
    // An eager program: twelve arrays with different sizes.
    for file in ["mi300x-8gpu-conv/*.trace.json.gz", "gtx1080ti-2gpu/*.xplane.pb"] {
        assert_eq!(profile_of(&samples::real(file)).step_timing.step_count_source, "unknown", "{file}");
    }
}
