//! What is known of real profiles, to the printed digit. The values come from XProf, from the traces' makers and from
//! counting by hand, never from crossprof. Skipped, visibly, where the profiles are absent.

mod support;

use std::collections::BTreeMap;

use crossprof::report::{DeviceStats, MultiDevice, Transfer};
use crossprof::{UnifiedProfile, WindowChoice};
use support::{load_window, samples};

/// The report of one real profile, of all that its devices did; `None` where the profiles are absent.
fn report(path: &str) -> Option<UnifiedProfile> {
    report_of(path, WindowChoice::Active)
}

fn report_of(path: &str, window: WindowChoice) -> Option<UnifiedProfile> {
    let file = samples::traces()?.join(path);
    let bytes = std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let (result, mut reports) = load_window(path, &bytes, window);
    assert_eq!(result.error, None, "{path}");
    assert_eq!(reports.len(), 1, "{path}");
    Some(reports.remove(0))
}

fn devices(report: &UnifiedProfile) -> &MultiDevice {
    report.multi_device.as_ref().expect("devices were used")
}

/// As a person would print it.
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
fn tpu_v6e_on_four_chips() {
    for file in ["tpu-v6e-4chip/host.xplane.pb", "tpu-v6e-4chip/host.trace.json.gz"] {
        let Some(report) = report(file) else { return };
        let devices = devices(&report);
        assert_eq!((report.metadata.platform.as_str(), report.metadata.num_devices), ("TPU", 4), "{file}");
        assert_eq!(report.step_timing.total_kernels, 6013, "{file}");
        let busy: Vec<String> = devices.device_stats.iter().map(busy_ms).collect();
        // Of device_offset_ps and device_duration_ps: see device_clocks.rs.
        assert_eq!(busy, ["78783.72", "78788.30", "78780.80", "78765.08"], "{file}");
        assert_eq!(printed(ms(devices.device_stats[0].total_time_us), 2), "92475.69", "{file}");
        let shares: Vec<String> = devices.device_stats.iter().map(|d| printed(d.utilization_percent, 1)).collect();
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
        // 784.14 ms on the first chip (device_clocks.rs); a step here is the mean over the four.
        assert_eq!(timing.median_step_time_us.map(|us| printed(ms(us), 2)), Some("784.23".to_owned()), "{file}");
        assert_eq!(timing.avg_step_time_us.map(|us| printed(ms(us), 2)), Some("784.14".to_owned()), "{file}");
        assert_eq!(timing.stddev_step_time_us.map(|us| printed(ms(us), 2)), Some("0.11".to_owned()), "{file}");
    }
    let Some(report) = report("tpu-v6e-4chip/host.xplane.pb") else { return };
    assert_eq!(report.metadata.device_type, "TPU v6 Lite");
}

#[test]
fn mi300x_with_eight_gpus() {
    // The JSON of this run holds the events of one GPU only.
    for (file, used, ops) in
        [("mi300x-8gpu-conv/tw003.xplane.pb", 8, 235), ("mi300x-8gpu-conv/tw003.trace.json.gz", 1, 54)]
    {
        let Some(report) = report(file) else { return };
        assert_eq!((report.metadata.platform.as_str(), report.metadata.num_devices), ("GPU", used), "{file}");
        assert_eq!(report.step_timing.total_kernels, ops, "{file}");
        for device in devices(&report).device_stats.iter().filter(|_| used == 8) {
            let share = device.utilization_percent;
            assert!((2.85..3.95).contains(&share), "{file}: {} is {share} % busy", device.device_name);
        }
    }
}

#[test]
fn one_of_eight_gpus_is_used() {
    let Some(attention) = report("gfx950-te-attention/934987a2fc2f.xplane.pb") else { return };
    assert_eq!((attention.metadata.num_devices, attention.metadata.num_devices_visible), (1, Some(8)));
    assert_eq!(attention.step_timing.total_kernels, 150);
    let device = &devices(&attention).device_stats[0];
    assert_eq!(printed(device.actual_busy_time_us, 1), "12133.1");
    assert_eq!(printed(device.total_time_us, 1), "12956.8");
    assert_eq!(printed(device.utilization_percent, 1), "93.6");
    let Some(elementwise) = report("mi300x-elementwise/tw003.xplane.pb") else { return };
    assert_eq!((elementwise.metadata.num_devices, elementwise.metadata.num_devices_visible), (1, Some(8)));
}

#[test]
fn one_kernel_on_each_gtx_1080_ti() {
    let Some(report) = report("gtx1080ti-2gpu/cyclops.xplane.pb") else { return };
    assert_eq!((report.metadata.platform.as_str(), report.metadata.num_devices), ("GPU", 2));
    assert_eq!(report.metadata.num_events, Some(55));
    let Some(json) = self::report("gtx1080ti-2gpu/cyclops.trace.json.gz") else { return };
    assert_eq!(json.metadata.num_events, Some(41));
}

#[test]
fn seven_steps_of_known_parts() {
    let Some(report) = report("synth-gpu-7steps/vm.xplane.pb") else { return };
    let timing = &report.step_timing;
    assert_eq!(timing.num_steps, 7);
    assert_eq!(timing.step_count_source, "step_num");
    assert_eq!(timing.avg_step_time_us, Some(1000.0));
    assert_eq!(timing.kernels_per_step, Some(8.0));
    let main = report_of("synth-gpu-7steps/vm.xplane.pb", WindowChoice::Main).expect("it is there");
    let busy = main.compute_utilization.as_ref().expect("a device is used");
    assert_eq!((busy.kernel_time_us, busy.overhead_time_us, busy.compute_util_percent), (390.0, 610.0, 39.0));
    for step in report.steps.iter().filter(|step| step.counted) {
        // Kernels 240, one all-reduce 50, copies 100.
        assert_eq!((step.compute_us, step.communication_us, step.transfer_us), (240.0, 50.0, 100.0), "{step:?}");
        assert_eq!((step.busy_us, step.idle_us, step.duration_us), (390.0, 610.0, 1000.0), "{step:?}");
    }
    let memory = report.memory_operations.as_ref().expect("copies");
    let direction = |name: &str| -> &Transfer {
        memory.transfers.iter().find(|transfer| transfer.direction == name).expect("a direction")
    };
    for (name, count, time, sized) in [("h2d", 14, 350.0, 7), ("d2h", 7, 210.0, 7), ("d2d", 7, 140.0, 7)] {
        let transfer = direction(name);
        assert_eq!((transfer.count, transfer.total_time_us, transfer.sized_count), (count, time, sized), "{name}");
        assert_eq!(transfer.total_bytes, Some(7 * 1_048_576), "{name}");
    }
}

#[test]
fn two_runs_of_one_serving_job() {
    for (file, all_to_all) in [("run-a", 256), ("run-b", 0)] {
        let Some(report) = report(&format!("tpu-qwen3-runs/{file}.trace.json.gz")) else { return };
        assert_eq!((report.metadata.platform.as_str(), report.metadata.num_devices), ("TPU", 2), "{file}");
        assert_eq!(report.metadata.device_type, "TPU", "{file}: no chip name in it");
        let found = report.kernels.kernels_by_category.get("all-to-all").map_or(0, |category| category.count);
        assert_eq!(found, all_to_all, "{file}");
    }
}

#[test]
fn other_producers() {
    let Some(pascal) = report("pascal-tf-laptop/LAPTOP.xplane.pb") else { return };
    assert_eq!(pascal.metadata.framework, "TensorFlow");
    for file in ["h100-owlv2.json.gz", "rank-0.json.gz", "rank-1.json.gz", "top-level-array.pt.trace.json.gz"] {
        let Some(report) = report(&format!("kineto/{file}")) else { return };
        assert_eq!(report.metadata.framework, "PyTorch", "{file}");
        assert_eq!(report.metadata.platform, "GPU", "{file}");
        assert!(report.step_timing.total_kernels > 0, "{file}");
    }
}
