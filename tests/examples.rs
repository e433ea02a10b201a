//! Checks the page's examples: the synthetic runs match the output of their generators, and their reports contain the
//! known values.
//!
//! To update them after changing a generator: `CROSSPROF_WRITE_EXAMPLES=1 cargo test --test tests examples::`.

use crate::support;
use crate::support::{gpu, gunzip, gzip, load_with, tpu};
use crossprof::{Settings, UnifiedProfile, WindowChoice};

const PS_PER_US: f64 = 1e6;

/// Returns the profile of the committed example. The example must contain exactly `text`. The report covers all work of
/// the devices, as the expected values of the generators do.
fn committed(name: &str, text: &str) -> UnifiedProfile {
    let path = support::samples::root().join("www/assets/examples").join(name);
    if std::env::var_os("CROSSPROF_WRITE_EXAMPLES").is_some() {
        std::fs::write(&path, gzip(text.as_bytes())).expect("the examples can be written");
    }
    let bytes = std::fs::read(&path).expect("the example is there");
    assert!(bytes.len() < 150_000, "{name} is {} bytes: too large for a page", bytes.len());
    assert!(gunzip(&bytes) == text.as_bytes(), "{name} is not what its generator writes");
    let (result, mut reports) =
        load_with(name, &bytes, &Settings { window: WindowChoice::Active, ..Settings::default() });
    assert_eq!((result.error, result.warnings.len()), (None, 0), "{name}");
    assert_eq!(reports.len(), 1);
    reports.remove(0)
}

fn close(measured: f64, truth: f64) -> bool {
    (measured - truth).abs() <= truth.abs() * 1e-9 + 1e-6
}

#[test]
fn tpu_training() {
    let (text, truth) = tpu::trace();
    let report = committed("tpu-training.trace.json.gz", &text);
    assert_eq!(report.metadata.platform, "TPU");
    assert_eq!(report.metadata.num_devices, 4);
    assert_eq!(report.step_timing.num_steps, tpu::STEPS);
    assert_eq!(report.step_timing.total_kernels, truth.ops);
    assert!(report.steps.first().is_some_and(|step| step.warm_up), "it compiles again before the next");
    let devices = report.multi_device.expect("four devices").device_stats;
    assert_eq!(devices.len(), truth.busy.len());
    for (device, (busy, span)) in devices.iter().zip(truth.busy.iter().zip(truth.span)) {
        assert!(close(device.actual_busy_time_us, *busy as f64 / PS_PER_US), "{device:?}");
        assert!(close(device.total_time_us, span as f64 / PS_PER_US), "{device:?}");
    }
    for (category, time) in truth.by_category {
        let measured = report.kernels.kernels_by_category.get(&category).map(|c| c.time_us);
        assert!(measured.is_some_and(|us| close(us, time as f64 / PS_PER_US)), "{category}: {measured:?}");
    }
    let compilation = report.compilation.expect("it compiles");
    assert!(close(compilation.compilation_time_us, truth.compile as f64 / PS_PER_US), "{compilation:?}");
    let bytes = std::fs::read(support::samples::root().join("www/assets/examples/tpu-training.trace.json.gz")).unwrap();
    let whole = Settings { window: WindowChoice::All, ..Settings::default() };
    let (_, all) = load_with("tpu-training.trace.json.gz", &bytes, &whole);
    let io = all.into_iter().next().and_then(|report| report.io_operations).expect("it loads data");
    assert!(close(io.io_total_time_us, truth.input as f64 / PS_PER_US), "{io:?}");
}

#[test]
fn gpu_training() {
    let (text, truth) = gpu::trace();
    let report = committed("gpu-training.trace.json.gz", &text);
    assert_eq!(report.metadata.platform, "GPU");
    assert_eq!(report.metadata.num_devices, 2);
    assert_eq!(report.step_timing.num_steps, gpu::STEPS);
    assert_eq!(report.step_timing.total_kernels, truth.ops);
    let devices = report.multi_device.expect("two devices").device_stats;
    assert_eq!(devices.len(), truth.busy.len());
    for (device, busy) in devices.iter().zip(truth.busy) {
        assert!(close(device.actual_busy_time_us, busy as f64 / PS_PER_US), "{device:?}");
    }
    let memory = report.memory_operations.expect("it copies");
    assert_eq!((memory.h2d_count, memory.d2h_count), (Some(20), Some(20)));
    let h2d = memory.transfers.iter().find(|transfer| transfer.direction == "h2d").expect("batches are copied in");
    assert_eq!(h2d.total_bytes, Some(20 * gpu::BATCH_BYTES));
    assert!(close(h2d.total_time_us, truth.h2d as f64 / PS_PER_US), "{h2d:?}");
}
