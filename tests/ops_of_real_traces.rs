//! Compares kernels, categories, copies and host work of real profiles with facts from other tools.

use std::sync::Arc;

use crate::support::{decode, samples};
use crossprof::Ps;
use crossprof::metrics::{Devices, Tallies, compilation, io_operations, kernels, memory_operations, self_times};
use crossprof::report::{KernelCategory, Kernels};
use crossprof::trace::{ByLine, Interval, IntervalSet, Trace};

fn real(path: &str) -> Trace {
    decode(&samples::real(path))
}

fn found(trace: &Trace) -> (Devices, Kernels) {
    let devices = Devices::new(trace, Arc::new(ByLine::new(trace)));
    let kernels = kernels(trace, &Tallies::new(trace, &devices));
    let shares: f64 = kernels.kernels_by_category.values().filter_map(|it| it.percent).sum();
    assert!((shares - 100.0).abs() < 1e-6, "{shares}");
    assert!(!devices.used.is_empty());
    // On each device, the self times of a line add up to the union of its ops.
    for device in &devices.used {
        let total: Ps = self_times(trace, device).into_iter().sum();
        let unions: Ps = (0..trace.lines.len())
            .map(|line| {
                let events = device.ops.iter().filter_map(|&id| trace.events.get(id));
                let events = events.filter(|event| event.line.index() == line);
                IntervalSet::union_of(events.map(|event| Interval::new(event.start, event.end()))).length()
            })
            .sum();
        assert_eq!(total, unions, "{}", device.name);
    }
    (devices, kernels)
}

fn category<'a>(kernels: &'a Kernels, name: &str) -> &'a KernelCategory {
    kernels
        .kernels_by_category
        .get(name)
        .unwrap_or_else(|| panic!("no {name} in {:?}", kernels.kernels_by_category.keys()))
}

fn total_count(kernels: &Kernels) -> u64 {
    kernels.kernels_by_category.values().map(|it| it.count).sum()
}

/// The tests in `truths.rs` check the categories of this profile.
#[test]
#[ignore = "reads real profiles"]
fn a_tpu_compiles_and_neither_copies_nor_loads() {
    let trace = real("tpu-v6e-4chip/*.xplane.pb");
    let (devices, kernels) = found(&trace);
    assert_eq!((total_count(&kernels), kernels.kernels_by_category.len()), (6013, 5));
    let top = kernels.top_kernels.first().unwrap();
    assert_eq!((top.name.as_str(), top.category.as_str(), top.count), ("copy-done.4", "copy-done", 400));
    assert_eq!(memory_operations(&trace, &devices), None);
    let compilation = compilation(&trace, &devices).unwrap();
    assert_eq!(format!("{:.1}", compilation.compilation_time_us / 1e3), "1528.9");
    assert_eq!(compilation.num_compilation_events, 4);
    assert_eq!(io_operations(&trace, &devices, devices.capture.unwrap()), None);
}

#[test]
#[ignore = "reads real profiles"]
fn gpu_kernels_have_the_category_of_their_instruction_or_library() {
    let trace = real("gfx950-te-attention/*.xplane.pb");
    let (devices, kernels) = found(&trace);
    assert_eq!(total_count(&kernels), 150);
    let attention = kernels.top_kernels.iter().filter(|it| it.name.contains("Fmha"));
    assert!(attention.clone().count() > 0);
    for kernel in attention {
        assert_eq!(kernel.category, "attention", "{}", kernel.name);
    }
    let products = kernels.top_kernels.iter().filter(|it| it.name.starts_with("gemm_fusion"));
    assert!(products.clone().count() > 0);
    for kernel in products {
        assert_eq!(kernel.category, "matmul", "{}", kernel.name);
    }
    assert_eq!(kernels.kernels_by_category.get("other").map_or(0, |it| it.count), 0);
    assert!(memory_operations(&trace, &devices).is_some());
}

/// The library implements this convolution as an image-to-column copy and a matrix product. The instruction shows that
/// both kernels belong to a convolution.
#[test]
#[ignore = "reads real profiles"]
fn a_convolution_stays_one_whatever_kernels_do_it() {
    let trace = real("mi300x-8gpu-conv/*.xplane.pb");
    let (devices, kernels) = found(&trace);
    assert_eq!((devices.used.len(), total_count(&kernels)), (8, 235));
    let parts: Vec<_> = kernels.top_kernels.iter().filter(|it| it.name.starts_with("Cijk_")).collect();
    assert!(!parts.is_empty());
    assert!(parts.iter().all(|it| it.category == "convolution"));
    let path = parts.first().and_then(|it| it.framework_op.as_deref());
    assert!(path.is_some_and(|path| path.ends_with("conv_general_dilated")));
}

/// The expected values are counts and times by `cat` and name. A separate script, which is not in Rust, summed them
/// from the file.
#[test]
#[ignore = "reads real profiles"]
fn kineto_copies_and_library_kernels_are_distinguished() {
    let trace = real("kineto/h100-owlv2.json.gz");
    let (devices, kernels) = found(&trace);
    let memory = memory_operations(&trace, &devices).unwrap();
    assert_eq!((memory.h2d_count, memory.d2h_count), (Some(25), Some(55)));
    assert_eq!(memory.d2h_total_time_us.map(|us| (us * 10.0).round()), Some(129_035.0));
    let memset = memory.transfers.iter().find(|it| it.direction == "memset").unwrap();
    assert_eq!((memset.count, memset.sized_count), (750, 750));
    assert_eq!(category(&kernels, "convolution").count, 5);
    assert_eq!(kernels.top_kernels.first().map(|it| (it.category.as_str(), it.count)), Some(("softmax", 120)));
    assert!(!kernels.kernels_by_category.contains_key("other"));
}

/// The expected values are sums of self time on the chip's clock. A separate script, which is not in Rust, computed
/// them. Of 131,442.706 us, 91,984.025 are custom calls with 0 FLOPs and 0 bytes in the profile (run-b: 91,230.525 of
/// 127,557.201). The custom calls with 0 FLOPs are Pallas kernels without a cost estimate.
#[test]
#[ignore = "reads real profiles"]
fn pallas_kernels_without_an_estimate_have_no_cost() {
    for (run, unknown, all) in [("run-a", 91_984.025_144, 131_442.706_466), ("run-b", 91_230.524_573, 127_557.201_176)]
    {
        let trace = real(&format!("tpu-qwen3-runs/{run}.trace.json.gz"));
        let run = crossprof::run::Run { trace, ..Default::default() };
        let window = crossprof::WindowChoice::Active;
        let settings = crossprof::Settings { device: Some("tpu-v7x".to_owned()), window, ..Default::default() };
        let profile = crossprof::insight::examine(&run, &settings).profile;
        let close =
            |found: Option<f64>, wanted: f64| assert!((found.unwrap() - wanted).abs() < 1e-6, "{found:?} {wanted}");
        close(profile.op_statistics.as_ref().unwrap().known_cost_percent, 100.0 * (1.0 - unknown / all));
        let roofline = profile.roofline.as_ref().unwrap();
        close(roofline.unknown_custom_call_time_percent, 100.0 * unknown / all);
        close(roofline.known_flops_time_percent, 100.0 * (1.0 - unknown / all));
        let warning = profile.warnings.iter().find(|warning| warning.code == "custom_calls_without_cost").unwrap();
        assert!(warning.message.contains("take 7") && warning.remedy.is_some(), "{warning:?}");
    }
}
