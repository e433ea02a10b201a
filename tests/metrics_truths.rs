//! Numbers of real profiles against what is known of them from elsewhere (counted by hand or by independent programs).
//!
//! The profiles are not part of this repository: the tests look for them in `$CROSSPROF_TRACES`, else in
//! `../shared/traces`, and say so where they are absent.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::PathBuf;

use crossprof::input::{ChromeJsonDecoder, Unpacked, Unpacker, XPlaneDecoder};
use crossprof::insight::examine;
use crossprof::metrics::{Devices, Run, Settings, Steps, WindowChoice, median};
use crossprof::report::UnifiedProfile;
use crossprof::trace::Trace;

/// The bytes of a sample; `None`, with a notice, where it is absent.
fn sample(path: &str) -> Option<Vec<u8>> {
    let folder = std::env::var_os("CROSSPROF_TRACES")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/traces"), PathBuf::from);
    let file = folder.join(path);
    let bytes = std::fs::read(&file).ok();
    if bytes.is_none() {
        eprintln!("skipped: {} is not there", file.display());
    }
    bytes
}

fn decode(path: &str) -> Option<Trace> {
    let bytes = sample(path)?;
    if path.ends_with(".pb") {
        let mut decoder = XPlaneDecoder::new(path);
        decoder.push(&bytes).unwrap();
        return Some(decoder.finish().unwrap());
    }
    let mut decoder = ChromeJsonDecoder::new(path);
    let mut sink = |part: Unpacked<'_>| {
        if let Unpacked::Data(data) = part {
            decoder.push(data).unwrap();
        }
    };
    let mut unpacker = Unpacker::new(path);
    unpacker.push(&bytes, &mut sink);
    unpacker.finish(&mut sink);
    Some(decoder.finish().unwrap())
}

/// The generators' totals are of all that the devices did.
fn active() -> Settings {
    Settings { window: WindowChoice::Active, ..Settings::default() }
}

fn profile(path: &str, settings: &Settings) -> Option<UnifiedProfile> {
    let run = Run { trace: decode(path)?, ..Run::default() };
    let profile = examine(&run, settings).profile;
    check_laws(path, &profile);
    Some(profile)
}

/// What holds for every profile.
fn check_laws(path: &str, profile: &UnifiedProfile) {
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-6);
    for step in &profile.steps {
        let parts = step.compute_us + step.communication_us + step.transfer_us;
        assert!(close(parts, step.busy_us), "{path}: parts of {step:?}");
        assert!(close(step.busy_us + step.idle_us, step.duration_us), "{path}: idle of {step:?}");
        assert!(step.busy_us >= 0.0 && step.idle_us >= 0.0, "{path}: {step:?}");
    }
    let of_steps = profile
        .compute_utilization
        .as_ref()
        .filter(|it| it.window.as_deref().is_some_and(|window| window.ends_with("steps")));
    if let (Some(utilization), Some(average)) = (of_steps, profile.step_timing.avg_step_time_us) {
        assert!(close(utilization.kernel_time_us + utilization.overhead_time_us, average), "{path}");
    }
    if let Some(timeline) = &profile.timeline_analysis {
        let gaps = &timeline.gaps;
        let buckets = gaps.gaps_under_10us + gaps.gaps_10_100us + gaps.gaps_100_1000us + gaps.gaps_over_1000us;
        assert_eq!(buckets, gaps.total_gaps, "{path}");
        assert!((0.0..=100.0).contains(&gaps.gap_time_percent), "{path}");
    }
    for device in profile.multi_device.iter().flat_map(|multi| &multi.device_stats) {
        assert!((0.0..=100.0).contains(&device.utilization_percent), "{path}: {device:?}");
        let gaps = device.gaps.as_ref().unwrap().total_gap_time_us;
        assert!(close(device.actual_busy_time_us + gaps, device.total_time_us), "{path}: {device:?}");
    }
}

/// As printed with `digits` decimals.
fn printed(value: f64, digits: usize) -> String {
    format!("{value:.digits$}")
}

#[test]
fn four_chips_of_a_tpu_v6e() {
    for path in ["tpu-v6e-4chip/host.xplane.pb", "tpu-v6e-4chip/host.trace.json.gz"] {
        let Some(profile) = profile(path, &active()) else { return };
        let metadata = &profile.metadata;
        assert_eq!((metadata.platform.as_str(), metadata.num_devices), ("TPU", 4), "{path}");
        let named = if path.ends_with(".pb") { "TPU v6 Lite" } else { "TPU" };
        assert_eq!(metadata.device_type, named);
        let devices = &profile.multi_device.as_ref().unwrap().device_stats;
        let busy: Vec<String> = devices.iter().map(|d| printed(d.actual_busy_time_us / 1e3, 2)).collect();
        assert_eq!(busy, ["78783.72", "78788.30", "78780.80", "78765.08"], "{path}");
        let percent: Vec<String> = devices.iter().map(|d| printed(d.utilization_percent, 1)).collect();
        assert_eq!(percent, ["85.2", "87.1", "87.1", "87.1"], "{path}");
        assert_eq!(printed(devices[0].total_time_us / 1e3, 2), "92475.69", "{path}");
        let timing = &profile.step_timing;
        assert_eq!((timing.num_steps, timing.step_count_source.as_str()), (100, "module_runs"), "{path}");
        assert_eq!(timing.total_kernels, 6013, "{path}");
        // Median over steps of the mean over devices, computed by a separate program.
        assert_eq!(printed(timing.median_step_time_us.unwrap() / 1e3, 2), "784.23", "{path}");
        assert!(profile.steps[99].partial && profile.steps[..99].iter().all(|step| !step.partial), "{path}");
    }
}

#[test]
fn runs_of_the_first_chip_start_784_ms_apart() {
    let Some(trace) = decode("tpu-v6e-4chip/host.xplane.pb") else { return };
    let steps = Steps::find(&trace, &Devices::new(&trace));
    let closed = steps.windows[0].iter().flatten().filter(|window| !window.open);
    let lengths: Vec<f64> = closed.map(|window| window.interval.length().as_us() / 1e3).collect();
    assert_eq!((lengths.len(), printed(median(&lengths).unwrap(), 1)), (99, "784.1".to_owned()));
}

#[test]
fn seven_steps_of_a_synthetic_gpu() {
    let Some(profile) = profile("synth-gpu-7steps/vm.xplane.pb", &Settings::default()) else { return };
    let timing = &profile.step_timing;
    assert_eq!((timing.num_steps, timing.step_count_source.as_str()), (7, "step_num"));
    assert_eq!((timing.avg_step_time_us, timing.stddev_step_time_us), (Some(1000.0), Some(0.0)));
    assert_eq!(timing.kernels_per_step, Some(8.0));
    for (index, step) in profile.steps.iter().enumerate() {
        // Three kernels; an all-reduce; five copies: nothing overlaps.
        assert_eq!((step.compute_us, step.communication_us, step.transfer_us), (240.0, 50.0, 100.0), "{step:?}");
        // The last one begins 100 us before its first op, with its annotation.
        assert_eq!(step.duration_us, if index < 6 { 1000.0 } else { 525.0 });
    }
    let utilization = profile.compute_utilization.unwrap();
    assert_eq!((utilization.kernel_time_us, utilization.overhead_time_us), (390.0, 610.0));
    assert_eq!(utilization.compute_util_percent, 39.0);
}

#[test]
fn gpus_that_are_listed_but_idle_do_not_count() {
    let Some(profile) = profile("gfx950-te-attention/934987a2fc2f.xplane.pb", &active()) else { return };
    assert_eq!((profile.metadata.num_devices, profile.metadata.num_devices_visible), (1, Some(8)));
    assert_eq!(profile.metadata.device_type, "AMD GPU gfx950");
    assert!(profile.metadata.timestamp.unwrap().starts_with("2026-05-20T08:45:02"));
    let device = &profile.multi_device.unwrap().device_stats[0];
    assert_eq!(device.kernel_count, 150);
    assert_eq!(
        (
            printed(device.actual_busy_time_us, 1),
            printed(device.total_time_us, 1),
            printed(device.utilization_percent, 1)
        ),
        ("12133.1".to_owned(), "12956.8".to_owned(), "93.6".to_owned())
    );
    // Its kernels name their module but not its run; the host launches it five times.
    assert_eq!(profile.step_timing.step_count_source, "host_spans");
}

#[test]
fn eight_gpus_of_which_none_is_busy() {
    let Some(profile) = profile("mi300x-8gpu-conv/tw003.xplane.pb", &active()) else { return };
    assert_eq!((profile.metadata.platform.as_str(), profile.metadata.num_devices), ("GPU", 8));
    assert_eq!(profile.metadata.device_type, "AMD GPU gfx942");
    assert_eq!(profile.step_timing.total_kernels, 235);
    let multi = profile.multi_device.unwrap();
    let percent = |pick: fn(f64, f64) -> f64| {
        printed(multi.device_stats.iter().map(|d| d.utilization_percent).reduce(pick).unwrap(), 1)
    };
    assert_eq!((percent(f64::min), percent(f64::max)), ("2.9".to_owned(), "3.9".to_owned()));
}

/// The JSON beside that xplane is of another capture: it holds one GPU.
#[test]
fn one_gpu_of_a_json_trace() {
    let Some(profile) = profile("mi300x-8gpu-conv/tw003.trace.json.gz", &active()) else { return };
    assert_eq!((profile.metadata.num_devices, profile.step_timing.total_kernels), (1, 54));
}

#[test]
fn a_steps_line_of_tensorflow() {
    let Some(profile) = profile("pascal-tf-laptop/LAPTOP.xplane.pb", &active()) else { return };
    let timing = &profile.step_timing;
    assert_eq!((timing.step_count_source.as_str(), timing.num_steps), ("steps_line", 1));
    // Its only step has no successor: it counts all the same.
    assert_eq!(printed(timing.avg_step_time_us.unwrap(), 3), "992212.659");
    assert!(profile.steps[0].partial && profile.steps[0].counted);
}

#[test]
fn one_step_of_a_serving_job() {
    for run in ["run-a", "run-b"] {
        let path = format!("tpu-qwen3-runs/{run}.trace.json.gz");
        let Some(profile) = profile(&path, &active()) else { return };
        let timing = &profile.step_timing;
        assert_eq!((profile.metadata.num_devices, timing.num_steps), (2, 1));
        assert_eq!(timing.step_marker.as_deref(), Some("runs of jit_step_fun"));
        if run == "run-a" {
            // Mean of 65558.338535 and 65427.078031 us, the device_duration_ps of the file.
            assert_eq!(printed(timing.avg_step_time_us.unwrap(), 4), "65492.7083");
        }
    }
}

#[test]
fn pytorch_steps() {
    let Some(profile) = profile("kineto/rank-0.json.gz", &active()) else { return };
    let names: Vec<Option<&str>> = profile.steps.iter().map(|step| step.name.as_deref()).collect();
    assert_eq!(names, [Some("551"), Some("552")]);
    assert_eq!(profile.metadata.framework, "PyTorch");
    let Some(profile) = self::profile("kineto/top-level-array.pt.trace.json.gz", &active()) else { return };
    assert_eq!((profile.step_timing.num_steps, profile.step_timing.step_count_source.as_str()), (6, "step_num"));
}

#[test]
fn the_users_count_divides_the_time_of_the_steps_found() {
    let settings = Settings { num_steps: Some(50), ..Settings::default() };
    let Some(profile) = profile("tpu-v6e-4chip/host.xplane.pb", &settings) else { return };
    assert_eq!((profile.step_timing.num_steps, profile.step_timing.step_count_source.as_str()), (50, "user"));
    assert_eq!(profile.step_timing.kernels_per_step, Some(30.0));
    assert!(profile.warnings.iter().any(|warning| warning.code == "num_steps_overridden"));
}
