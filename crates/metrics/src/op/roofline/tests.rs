//! Compares peaks and points with numbers computed by hand.

use super::*;
use crate::op::categories::OpFamily;
use crate::op::ops::Text;
use facts::Arithmetic;
use hlo::DataType;
use trace::{ArgsId, MemoryBytes, Plane, StatValue, StrId};

fn device(stats: &[(&str, StatValue)], texts: &[(&str, &str)]) -> (Trace, Devices) {
    let mut trace = Trace::default();
    let mut all: Vec<(StrId, StatValue)> = Vec::new();
    for &(name, value) in stats {
        all.push((trace.strings.intern(name), value));
    }
    for &(name, value) in texts {
        let value = StatValue::Text(trace.strings.intern(value));
        all.push((trace.strings.intern(name), value));
    }
    trace.planes.push(Plane { stats: all, ..Plane::default() });
    let mut devices = Devices::of(&trace);
    devices.used.push(crate::device::devices::Device {
        nesting: Default::default(),
        name: "GPU:0".to_owned(),
        platform: trace::Platform::Gpu,
        ordinal: 0,
        plane: 0,
        host: 0,
        ops: Default::default(),
        begun_before: 0,
        busy: Default::default(),
        unrecorded: Default::default(),
        span: trace::Interval::new(Ps::ZERO, Ps::ZERO),
        clock: None,
        window: Default::default(),
    });
    (trace, devices)
}

fn h100() -> (Trace, Devices) {
    let stats = [
        ("clock_rate", StatValue::Int(1_980_000)),
        ("core_count", StatValue::Int(132)),
        ("compute_cap_major", StatValue::Int(9)),
        ("compute_cap_minor", StatValue::Int(0)),
        ("memory_bandwidth", StatValue::Int(3_352_320_000_000)),
    ];
    device(&stats, &[("device_vendor", "Nvidia")])
}

fn op(data_type: &str, family: OpFamily, flops: Option<f64>, bytes: Option<f64>, time_us: i64) -> Op {
    Op {
        program_id: None,
        program: Text::default(),
        module: Text::default(),
        category: Text::default(),
        family,
        name: Text::default(),
        expression: Text::default(),
        framework_path: Text::default(),
        source: Text::default(),
        function: Text::default(),
        deduplicated_name: Text::default(),
        sharding: Text::default(),
        args: ArgsId::NONE,
        occurrences: 1,
        executions: 1,
        total: Ps::new(time_us * 1_000_000),
        self_time: Ps::new(time_us * 1_000_000),
        min: Ps::ZERO,
        max: Ps::ZERO,
        flops,
        model_flops: None,
        bytes,
        memory: None,
        cost_source: None,
        custom_call: None,
        data_type: DataType::from_name(data_type),
        dma_stall: None,
        rematerialized: None,
        missing: 0,
        devices: 1,
        over_host_link: false,
        phase: report::Phase::Other,
        is_mixed: false,
        pair: None,
    }
}

#[track_caller]
fn close(found: Option<f64>, wanted: f64) {
    let found = found.expect("a number");
    assert!((found - wanted).abs() <= 1e-9 * wanted.abs(), "{found} is not {wanted}");
}

#[test]
fn a_gpus_peaks_are_cores_times_clock_times_rate() {
    let (trace, devices) = h100();
    let peaks = peaks(&trace, &devices, None).unwrap();
    // 132 SMs x 1.98 GHz = 261.36e9 cycles per second.
    close(peaks.xprof_flops_per_second, 261.36e9 * 4096.0);
    close(peaks.rates.get(Arithmetic::Fp8), 261.36e9 * 8192.0);
    close(peaks.rates.get(Arithmetic::Fp32), 261.36e9 * 256.0);
    close(peaks.level(Level::Local).map(|it| it.bytes_per_second), 261.36e9 * 256.0);
    close(peaks.level(Level::Hbm).map(|it| it.bytes_per_second), 3.35232e12);
    assert_eq!((peaks.rates_source, peaks.facts), (Source::Profile, None));
    close(peaks.xprof_ridge_point(), 1_070_530.56 / 3_352.32);
}

#[test]
fn a_named_device_has_its_makers_peaks_and_its_own_bandwidth() {
    let (mut trace, devices) = h100();
    let name =
        (trace.strings.intern("gpu_device_name"), StatValue::Text(trace.strings.intern("NVIDIA H100 80GB HBM3")));
    trace.planes[0].stats.push(name);
    let peaks = peaks(&trace, &devices, None).unwrap();
    close(peaks.rates.get(Arithmetic::Bf16), 989.5e12);
    assert_eq!(peaks.rates_source, Source::Facts);
    assert_eq!(peaks.level(Level::Hbm).map(|it| it.source), Some(Source::Profile));
    close(peaks.xprof_flops_per_second, 261.36e9 * 4096.0);
}

#[test]
fn an_amd_profile_states_half_the_bandwidth() {
    let stats = [
        ("clock_rate", StatValue::Int(2_100_000)),
        ("core_count", StatValue::Int(304)),
        ("compute_cap_major", StatValue::Int(9)),
        ("compute_cap_minor", StatValue::Int(4)),
        ("memory_bandwidth", StatValue::Int(2_662_400_000_000)),
        ("memory_size", StatValue::Int(206_141_652_992)),
    ];
    let (trace, devices) = device(&stats, &[("device_vendor", "AMD")]);
    let peaks = peaks(&trace, &devices, None).unwrap();
    assert_eq!(peaks.facts.map(|facts| facts.key), Some("mi300x"));
    close(peaks.level(Level::Hbm).map(|it| it.bytes_per_second), 5.3e12);
    close(peaks.xprof_hbm_bytes_per_second, 2.6624e12);
    close(peaks.xprof_flops_per_second, 304.0 * 2048.0 * 2.1e9);
}

#[test]
fn a_tpu_states_its_peaks_and_the_facts_add_the_other_types() {
    let stats = [
        ("peak_teraflops_per_second", StatValue::Double(229.5)),
        ("peak_hbm_bw_gigabytes_per_second", StatValue::Double(1382.5)),
        ("peak_vmem_rd_bw_gigabytes_per_second", StatValue::Double(1000.0)),
        ("peak_cmem_rd_bw_gigabytes_per_second", StatValue::Double(0.0)),
    ];
    let (trace, devices) = device(&stats, &[("device_type_string", "TPU v5")]);
    let peaks = peaks(&trace, &devices, None).unwrap();
    // The device is one core of a v5p chip, with half of the chip's 459 and 918 TFLOP/s.
    close(peaks.rates.get(Arithmetic::Bf16), 229.5e12);
    close(peaks.rates.get(Arithmetic::Int8), 459e12);
    assert_eq!(peaks.reached(DataType::from_name("f32"), OpFamily::Matmul).unwrap().0, Arithmetic::Bf16);
    assert_eq!(peaks.level(Level::CmemRead), None, "zero stands for no such memory");
    close(peaks.ridge_point(Level::VmemRead, 229.5e12), 229.5);
}

#[test]
fn the_users_choice_replaces_the_profiles_device() {
    let (trace, devices) = h100();
    let chosen = peaks(&trace, &devices, Some("A100-SXM-80GB")).unwrap();
    close(chosen.rates.get(Arithmetic::Tf32), 156e12);
    assert_eq!(chosen.level(Level::Hbm), Some(Bandwidth { bytes_per_second: 2.039e12, source: Source::Chosen }));
    assert_eq!(chosen.level(Level::Local), None);
    let unknown = peaks(&trace, &devices, Some("abacus")).unwrap();
    assert_eq!(unknown.rates_source, Source::Profile);
    let (trace, devices) = device(&[], &[]);
    assert!(peaks(&trace, &devices, None).is_none());
    assert!(peaks(&trace, &devices, Some("t4")).is_some());
}

#[test]
fn the_peak_is_that_of_the_ops_own_type() {
    let (trace, devices) = h100();
    let peaks = peaks(&trace, &devices, Some("h100-sxm")).unwrap();
    let of = |data_type: &str, family| peaks.reached(DataType::from_name(data_type), family).unwrap();
    assert_eq!(of("f32", OpFamily::Matmul), (Arithmetic::Tf32, 494.5e12));
    assert_eq!(of("f32", OpFamily::Elementwise), (Arithmetic::Fp32, 67e12));
    assert_eq!(of("f8e4m3fn", OpFamily::Matmul), (Arithmetic::Fp8, 1979e12));
    assert_eq!(of("f4e2m1fn", OpFamily::Matmul), (Arithmetic::Fp8, 1979e12));
    assert_eq!(of("s8", OpFamily::Matmul), (Arithmetic::Int8, 1979e12));
    assert_eq!(of("s32", OpFamily::Elementwise), (Arithmetic::Fp32, 67e12));
    assert_eq!(of("unknown", OpFamily::Matmul), (Arithmetic::Fp16, 989.5e12));
}

#[test]
fn copies_to_the_host_wait_for_its_link_and_not_for_the_devices_memory() {
    let (trace, devices) = h100();
    let peaks = peaks(&trace, &devices, Some("h100-sxm"));
    let roofline = Roofline { peaks, ..Roofline::default() };
    let copy = Op { over_host_link: true, ..op("f32", OpFamily::DataMovement, None, Some(33.5e6), 100) };
    let within = Op { over_host_link: false, ..copy };
    assert_eq!([&copy, &within].map(|op| roofline.bound_label(op)), [Some("Host link"), Some("HBM")]);
    let found = roofline.point(&copy).unwrap();
    assert_eq!((found.roofline_efficiency, found.bottleneck_intensity), (None, None));
    close(found.max_mem_bw_utilization, 0.1);
    let all = |ops: &[&Op]| roofline.point_of_all(ops).map(|point| point.bound_by.label());
    assert_eq!((all(&[&copy, &copy]), all(&[&copy, &within])), (Some("Host link"), Some("HBM")));
}

#[test]
fn a_point_is_bound_by_the_roof_it_is_nearest_to() {
    let (trace, devices) = h100();
    let peaks = peaks(&trace, &devices, Some("h100-sxm")).unwrap();
    // 100 us at the fp32 peak of 67e12 are 6.7e9 FLOPs; at 3.35e12 B/s they move 335e6 bytes.
    let half_compute = op("f32", OpFamily::Elementwise, Some(3.35e9), Some(33.5e6), 100);
    let found = point(&peaks, &half_compute);
    close(found.compute_efficiency, 0.5);
    close(found.max_mem_bw_utilization, 0.1);
    assert_eq!(found.bound_by, Bound::Compute);
    close(found.roofline_efficiency, 0.5);
    close(found.optimal_flop_rate, 67e12);
    close(found.bottleneck_intensity, 100.0);
    let memory = op("f32", OpFamily::Elementwise, Some(0.67e9), Some(167.5e6), 100);
    let found = point(&peaks, &memory);
    assert_eq!(found.bound_by.label(), "HBM");
    close(found.roofline_efficiency, 0.5);
    close(found.optimal_flop_rate, 13.4e12);
    // XProf compares every data type with 4096 FLOPs per cycle, and uses the profile's bandwidth.
    let theirs = point_as_xprof(&peaks, &memory);
    close(theirs.compute_efficiency, 6.7e12 / (261.36e9 * 4096.0));
    close(theirs.max_mem_bw_utilization, 1.675e12 / 3.35232e12);
    let nothing = point(&peaks, &op("f32", OpFamily::Elementwise, None, None, 100));
    assert_eq!((nothing.bound_by, nothing.roofline_efficiency), (Bound::Unknown, None));
    let still = point(&peaks, &op("f32", OpFamily::Elementwise, Some(0.0), Some(0.0), 100));
    assert_eq!((still.bound_by, still.optimal_flop_rate, still.intensity), (Bound::Unknown, None, None));
}

#[test]
fn levels_of_a_tpus_memory_bound_too() {
    let stats = [
        ("peak_teraflops_per_second", StatValue::Double(918.0)),
        ("peak_hbm_bw_gigabytes_per_second", StatValue::Double(1600.0)),
        ("peak_vmem_rd_bw_gigabytes_per_second", StatValue::Double(20_000.0)),
    ];
    let (trace, devices) = device(&stats, &[("device_type_string", "TPU v6 Lite")]);
    let peaks = peaks(&trace, &devices, None).unwrap();
    let mut op = op("bf16", OpFamily::Matmul, Some(1e6), Some(2.2e9), 100);
    // The op moves only a few bytes of HBM, but half of the VMEM bytes that are possible in its time.
    op.memory = Some(MemoryBytes {
        hbm_read: 10_000_000,
        hbm_write: 6_000_000,
        vmem_read: 1_000_000_000,
        ..Default::default()
    });
    let found = point(&peaks, &op);
    assert_eq!(found.bound_by, Bound::Memory(Level::VmemRead));
    close(found.max_mem_bw_utilization, 0.5);
    close(found.bottleneck_intensity, 1e-3);
    close(found.level_intensity[Level::Hbm as usize], 1.0 / 16.0);
}

#[test]
fn mfu_is_time_at_peak_per_available_time() {
    let (trace, devices) = h100();
    let peaks = peaks(&trace, &devices, Some("h100-sxm")).unwrap();
    // The ops need 100 us at the bf16 peak, 50 us at the fp8 peak, and 40 us for recomputed bf16 work.
    let bf16 = op("bf16", OpFamily::Matmul, Some(989.5e12 * 100e-6), None, 300);
    let fp8 = op("f8e4m3fn", OpFamily::Matmul, Some(1979e12 * 50e-6), None, 200);
    let mut again = op("bf16", OpFamily::Matmul, Some(989.5e12 * 40e-6), None, 100);
    let unknown = op("bf16", OpFamily::Matmul, None, None, 100);
    // Two devices have windows of 500 us each.
    let measure = |rows: &[Op], time: i64, peaks: Option<&Peaks>| {
        let ops = Ops { rows: rows.to_vec(), device_time: Ps::new(time), ..Ops::default() };
        Utilization::new(&ops, false, peaks, &|op| Some(*op))
    };
    let time = 1_000_000_000;
    let found = measure(&[bf16, fp8, again, unknown], time, Some(&peaks));
    close(found.mfu.ok(), 19.0);
    assert!(found.hfu.unwrap_err().contains("recomputed"));
    again.rematerialized = Some(true);
    let found = measure(&[bf16, fp8, again], time, Some(&peaks));
    close(found.mfu.ok(), 15.0);
    close(found.hfu.ok(), 19.0);
    assert!(measure(&[unknown], time, Some(&peaks)).mfu.unwrap_err().contains("FLOPs"));
    assert!(measure(&[bf16], time, None).mfu.unwrap_err().contains("peak"));
    assert!(measure(&[bf16], 0, Some(&peaks)).mfu.is_err());
}

#[test]
fn cycles_of_elementwise_gpu_kernels_are_no_flops() {
    let mut cycles = op("f32", OpFamily::Elementwise, Some(1e12), Some(167.5e6), 100);
    cycles.cost_source = Some(CostSource::Hlo);
    let product = Op { family: OpFamily::Matmul, ..cycles };
    let (trace, devices) = h100();
    let peaks = peaks(&trace, &devices, Some("h100-sxm"));
    let gpu = Roofline { peaks: peaks.clone(), gpu: true, ..Roofline::default() };
    assert_eq!(gpu.point(&cycles).map(|it| (it.compute_efficiency, it.bound_by.label())), Some((None, "HBM")));
    assert_eq!(gpu.point(&product).map(|it| it.bound_by), Some(Bound::Compute));
    // The memory is not the limit of an op that uses only a tenth of the bandwidth.
    let slow = Op { bytes: Some(33.5e6), ..cycles };
    assert_eq!(gpu.point(&slow).map(|it| (it.bound_by, it.roofline_efficiency)), Some((Bound::Unknown, None)));
    let tpu = Roofline { peaks, ..Roofline::default() };
    assert!(tpu.point(&cycles).unwrap().compute_efficiency.is_some());
}
