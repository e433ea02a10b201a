//! Compares real profiles with known facts, exact to the printed digit. The values come from XProf, from the authors of
//! the traces or from counting by hand, but never from crossprof.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::{decode, load_with, samples};
use crossprof::metrics::Devices;
use crossprof::metrics::Steps;
use crossprof::metrics::median;
use crossprof::report::{DeviceStats, MultiDevice};
use crossprof::trace::ByLine;
use crossprof::{Settings, UnifiedProfile, WindowChoice};

/// Returns the report of one real profile, which covers all work of its devices.
fn report(path: &str) -> UnifiedProfile {
    report_with(path, &Settings { window: WindowChoice::Active, ..Settings::default() })
}

fn report_with(path: &str, settings: &Settings) -> UnifiedProfile {
    let (result, mut reports) = load_with(path, &samples::real_bytes(path), settings);
    assert_eq!(result.error, None, "{path}");
    assert_eq!(reports.len(), 1, "{path}");
    reports.remove(0)
}

fn devices(report: &UnifiedProfile) -> &MultiDevice {
    report.multi_device.as_ref().expect("devices were used")
}

/// Formats a number with this many decimals.
fn printed(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}")
}

fn ms(us: f64) -> f64 {
    us / 1000.0
}

fn busy_ms(device: &DeviceStats) -> String {
    printed(ms(device.actual_busy_time_us), 2)
}

#[test]
#[ignore = "reads real profiles"]
fn tpu_v6e_on_four_chips() {
    for file in ["tpu-v6e-4chip/*.xplane.pb", "tpu-v6e-4chip/*.trace.json.gz"] {
        let report = report(file);
        let devices = devices(&report);
        assert_eq!((report.metadata.platform.as_str(), report.metadata.num_devices), ("TPU", 4), "{file}");
        let named = if file.ends_with(".pb") { "TPU v6 Lite" } else { "TPU" };
        assert_eq!(report.metadata.device_type, named);
        assert_eq!(report.step_timing.total_kernels, 6013, "{file}");
        let busy: Vec<String> = devices.device_stats.iter().map(busy_ms).collect();
        // These values come from `device_offset_ps` and `device_duration_ps`: see `device_clocks.rs`.
        assert_eq!(busy, ["78783.72", "78788.30", "78780.80", "78765.08"], "{file}");
        assert_eq!(printed(ms(devices.device_stats[0].total_time_us), 2), "92475.69", "{file}");
        let shares: Vec<String> =
            devices.device_stats.iter().map(|d| printed(d.utilization_percent.unwrap(), 1)).collect();
        assert_eq!(shares, ["85.2", "87.1", "87.1", "87.1"], "{file}");

        let by_category: BTreeMap<&str, (u64, String)> = report
            .kernels
            .kernels_by_category
            .iter()
            .map(|(name, category)| (name.as_str(), (category.count, printed(ms(category.time_us), 3))))
            .collect();
        for (name, count, time) in [
            ("copy-done", 2400, "304033.212"),
            ("loop fusion", 1200, "9619.894"),
            ("all-reduce", 12, "1460.345"),
            ("broadcast", 1, "4.444"),
        ] {
            assert_eq!(by_category.get(name), Some(&(count, time.to_owned())), "{file}: {name}");
        }
        let copy_start = report.kernels.kernels_by_category.get("copy-start").expect("copy-start");
        assert_eq!((copy_start.count, printed(ms(copy_start.time_us), 4)), (2400, "0.0090".to_owned()), "{file}");

        let timing = &report.step_timing;
        assert_eq!(timing.step_count_source, "module_runs", "{file}");
        assert!(timing.step_marker.as_deref().is_some_and(|marker| marker.contains("jit_f")), "{file}");
        assert_eq!(timing.num_steps, 100, "{file}");
        // The step takes 784.14 ms on the first chip (`device_clocks.rs`). A step here is the mean over the four chips.
        assert_eq!(timing.median_step_time_us.map(|us| printed(ms(us), 2)), Some("784.23".to_owned()), "{file}");
        assert_eq!(timing.avg_step_time_us.map(|us| printed(ms(us), 2)), Some("784.14".to_owned()), "{file}");
        assert_eq!(timing.stddev_step_time_us.map(|us| printed(ms(us), 2)), Some("0.11".to_owned()), "{file}");
        assert!(report.steps[99].partial && report.steps[..99].iter().all(|step| !step.partial), "{file}");
    }
}

#[test]
#[ignore = "reads real profiles"]
fn runs_of_the_first_chip_start_784_ms_apart() {
    let trace = decode(&samples::real("tpu-v6e-4chip/*.xplane.pb"));
    let steps = Steps::find(&trace, &Devices::new(&trace, Arc::new(ByLine::new(&trace))));
    let closed = steps.windows[0].iter().flatten().filter(|window| !window.open);
    let lengths: Vec<f64> = closed.map(|window| window.interval.length().as_us() / 1e3).collect();
    assert_eq!((lengths.len(), printed(median(&lengths).unwrap(), 1)), (99, "784.1".to_owned()));
}

#[test]
#[ignore = "reads real profiles"]
fn the_users_count_divides_the_time_of_the_steps_found() {
    let settings = Settings { num_steps: Some(50), ..Settings::default() };
    let report = report_with("tpu-v6e-4chip/*.xplane.pb", &settings);
    assert_eq!((report.step_timing.num_steps, report.step_timing.step_count_source.as_str()), (50, "user"));
    assert_eq!(report.step_timing.kernels_per_step, Some(30.0));
    assert!(report.warnings.iter().any(|warning| warning.code == "num_steps_overridden"));
}

#[test]
#[ignore = "reads real profiles"]
fn mi300x_with_eight_gpus() {
    let report = report("mi300x-8gpu-conv/*.xplane.pb");
    assert_eq!((report.metadata.platform.as_str(), report.metadata.num_devices), ("GPU", 8));
    assert_eq!(report.metadata.device_type, "AMD GPU gfx942");
    assert_eq!(report.step_timing.total_kernels, 235);
    let shares = devices(&report).device_stats.iter().filter_map(|device| device.utilization_percent);
    let of = |pick: fn(f64, f64) -> f64| printed(shares.clone().reduce(pick).unwrap(), 1);
    assert_eq!((of(f64::min), of(f64::max)), ("2.9".to_owned(), "3.9".to_owned()));
}

/// The JSON next to the xplane file comes from a different capture with one GPU.
#[test]
#[ignore = "reads real profiles"]
fn one_gpu_of_a_json_trace() {
    let report = report("mi300x-8gpu-conv/*.trace.json.gz");
    assert_eq!((report.metadata.platform.as_str(), report.metadata.num_devices), ("GPU", 1));
    assert_eq!(report.step_timing.total_kernels, 54);
}

#[test]
#[ignore = "reads real profiles"]
fn one_of_eight_gpus_is_used() {
    let attention = report("gfx950-te-attention/*.xplane.pb");
    assert_eq!((attention.metadata.num_devices, attention.metadata.num_devices_visible), (1, Some(8)));
    assert_eq!(attention.metadata.device_type, "AMD GPU gfx950");
    assert!(attention.metadata.timestamp.as_ref().unwrap().starts_with("2026-05-20T08:45:02"));
    let device = &devices(&attention).device_stats[0];
    assert_eq!(device.kernel_count, 150);
    assert_eq!(printed(device.actual_busy_time_us, 1), "12133.1");
    assert_eq!(printed(device.total_time_us, 1), "12956.8");
    assert_eq!(printed(device.utilization_percent.unwrap(), 1), "93.6");
    let elementwise = report("mi300x-elementwise/*.xplane.pb");
    assert_eq!((elementwise.metadata.num_devices, elementwise.metadata.num_devices_visible), (1, Some(8)));
}

#[test]
#[ignore = "reads real profiles"]
fn one_kernel_on_each_gtx_1080_ti() {
    let xplane = report("gtx1080ti-2gpu/*.xplane.pb");
    assert_eq!((xplane.metadata.platform.as_str(), xplane.metadata.num_devices), ("GPU", 2));
    assert_eq!(xplane.metadata.num_events, Some(55));
    let json = report("gtx1080ti-2gpu/*.trace.json.gz");
    assert_eq!(json.metadata.num_events, Some(41));
}

#[test]
#[ignore = "reads real profiles"]
fn two_runs_of_one_serving_job() {
    for (file, all_to_all) in [("run-a", 256), ("run-b", 0)] {
        let report = report(&format!("tpu-qwen3-runs/{file}.trace.json.gz"));
        assert_eq!((report.metadata.platform.as_str(), report.metadata.num_devices), ("TPU", 2), "{file}");
        assert_eq!(report.metadata.device_type, "TPU", "{file}: no chip name in it");
        let found = report.kernels.kernels_by_category.get("all-to-all").map_or(0, |category| category.count);
        assert_eq!(found, all_to_all, "{file}");
        let kinds = report.communication.iter().flat_map(|it| &it.kinds);
        let counts: Vec<u64> = kinds.filter(|kind| kind.kind == "all-to-all").map(|kind| kind.count).collect();
        assert_eq!(counts.iter().sum::<u64>(), all_to_all, "{file}");
        let timing = &report.step_timing;
        assert_eq!((timing.num_steps, timing.step_marker.as_deref()), (1, Some("runs of jit_step_fun")), "{file}");
        if file == "run-a" {
            // The expected value is the mean of 65558.338535 and 65427.078031 us, the values of `device_duration_ps` in
            // the file.
            assert_eq!(printed(timing.avg_step_time_us.unwrap(), 4), "65492.7083");
        }
    }
}

#[test]
#[ignore = "reads real profiles"]
fn a_steps_line_of_tensorflow() {
    let report = report("pascal-tf-laptop/*.xplane.pb");
    assert_eq!(report.metadata.framework, "TensorFlow");
    let timing = &report.step_timing;
    assert_eq!((timing.step_count_source.as_str(), timing.num_steps), ("steps_line", 1));
    // The only step has no successor, but is still counted.
    assert_eq!(printed(timing.avg_step_time_us.unwrap(), 3), "992212.659");
    assert!(report.steps[0].partial && report.steps[0].counted);
}

/// Compares the number of kernels, copies and fills, and the names of the steps.
#[test]
#[ignore = "reads real profiles"]
fn pytorch() {
    let numbered = ["551", "552"].as_slice();
    for (file, ops, steps, source) in [
        ("h100-owlv2.json.gz", 4330 + 750 + 85, None, None),
        ("rank-0.json.gz", 1154 + 40 + 10, Some(numbered), None),
        ("rank-1.json.gz", 1104 + 40 + 10, Some(numbered), None),
        ("top-level-array.pt.trace.json.gz", 9538 + 377 + 12, None, Some(("step_num", 6))),
    ] {
        let report = report(&format!("kineto/{file}"));
        assert_eq!(
            (report.metadata.framework.as_str(), report.metadata.platform.as_str()),
            ("PyTorch", "GPU"),
            "{file}"
        );
        assert_eq!(report.step_timing.total_kernels, ops, "{file}");
        if let Some(names) = steps {
            let found: Vec<&str> = report.steps.iter().map(|step| step.name.as_deref().unwrap()).collect();
            assert_eq!(found, names, "{file}");
        }
        let timing = &report.step_timing;
        assert!(source.is_none_or(|known| known == (timing.step_count_source.as_str(), timing.num_steps)), "{file}");
    }
}
