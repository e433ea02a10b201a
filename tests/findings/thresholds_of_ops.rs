//! Each rule about ops, communication and devices, on synthetic traces just above and just below its limit.

use crossprof::insight::Verdict;
use crossprof::report::FindingSeverity::{Critical, Note, Warning};
use crossprof::trace::{Framework, StatValue, Trace, TraceBuilder};

use super::runs::{finding, fine, gpu_steps, host_bound, kernel, op, says, tpu_op, tpu_steps};

#[test]
fn async_copy_wait() {
    let trace = |wait: i64| {
        tpu_steps(12, move |b, at| {
            tpu_op(b, "copy-done", at, wait);
            tpu_op(b, "loop fusion", at + wait, 1000 - wait);
        })
    };
    assert_eq!(finding(trace(300), "async_copy_wait").severity, Critical);
    assert_eq!(finding(trace(100), "async_copy_wait").severity, Warning);
    fine(trace(99), "async_copy_wait");
}

#[test]
fn async_copies_of_host_memory_are_named() {
    let text = "%copy-done.1 = f32[8]{0:T(8)} copy-done((f32[8]{0:T(8)}, f32[8]{0:T(8)S(5)}, u32[]) %copy-start.1)";
    let trace = tpu_steps(12, |b, at| {
        let long_name = b.trace_mut().strings.intern(text);
        let line = b.line("/device:TPU:0", "XLA Ops");
        b.event(line, "copy-done.1", at, 500).hlo_category("copy-done").args(|args| args.long_name = long_name);
        tpu_op(b, "loop fusion", at + 500, 500);
    });
    assert!(finding(trace, "async_copy_wait").message.contains("host memory"));
}

/// A copy of 1 GiB is waited for during 500 of 1,000 us per step, and computation takes `compute` of the rest.
#[test]
fn copies_that_no_computation_can_hide_must_move_less() {
    let trace = |compute: i64| {
        tpu_steps(12, move |b, at| {
            let line = b.line("/device:TPU:0", "XLA Ops");
            b.event(line, "copy-done.1", at, 500)
                .hlo_category("copy-done")
                .args(|args| args.bytes_accessed = Some(1 << 30));
            tpu_op(b, "loop fusion", at + 500, compute);
            tpu_op(b, "data formatting", at + 500 + compute, 500 - compute);
        })
    };
    let (hidden, exposed) = (finding(trace(500), "async_copy_wait"), finding(trace(100), "async_copy_wait"));
    // 2^30 bytes in 500 us.
    for found in [&hidden, &exposed] {
        assert!(
            found.message.contains("have finished: 1.00 GiB per step and device, at 2.15 TB/s."),
            "{}",
            found.message
        );
    }
    assert!(hidden.remedy.contains("Overlap the copies with more computation"), "{}", hidden.remedy);
    assert!(
        exposed.message.ends_with("Computation takes only 100 µs, too little to overlap them."),
        "{}",
        exposed.message
    );
    assert!(exposed.remedy.starts_with("Move fewer bytes"), "{}", exposed.remedy);
    let evidence = |name: &str| exposed.evidence.iter().find(|it| it.name == name).map(|it| it.value.round());
    assert_eq!((evidence("compute_us"), evidence("copied_bytes")), (Some(100.0), Some(f64::from(1u32 << 30))));
}

#[test]
fn large_memory_transfers() {
    let trace = |length: i64| {
        gpu_steps(12, move |b, at| {
            op(b, ("/device:GPU:0", "Stream #8(MemcpyH2D)"), "MemcpyH2D", at + 1, at + 5, length);
            kernel(b, "gemm", at + 2, at + 5 + length, 900 - length);
        })
    };
    assert_eq!(finding(trace(310), "large_memory_transfers").severity, Critical);
    assert_eq!(finding(trace(110), "large_memory_transfers").severity, Warning);
    fine(trace(95), "large_memory_transfers");
}

/// Builds training steps with a kernel `name` that is exposed for `exposed`.
fn communicating(name: &'static str, exposed: i64) -> Trace {
    communicating_beside("gemm_bwd", name, exposed)
}

/// Builds such steps with another compute kernel.
fn communicating_beside(compute: &'static str, name: &'static str, exposed: i64) -> Trace {
    gpu_steps(12, move |b, at| {
        kernel(b, compute, at + 1, at + 5, 900 - exposed);
        op(b, ("/device:GPU:0", "Stream #9(Compute)"), name, at + 2, at + 905 - exposed, exposed);
    })
}

#[test]
fn gradient_synchronization() {
    let reduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)";
    assert_eq!(finding(communicating(reduce, 310), "gradient_synchronization").severity, Critical);
    assert_eq!(finding(communicating(reduce, 110), "gradient_synchronization").severity, Warning);
    fine(communicating(reduce, 95), "gradient_synchronization");
    fine(communicating("ncclDevKernel_AllGather_RING_LL(ncclDevComm*)", 310), "gradient_synchronization");
    // Nothing shows that this is training.
    assert_eq!(says(communicating_beside("gemm", reduce, 310), "gradient_synchronization"), Verdict::Irrelevant);
    // The paths of a program without a backward pass show that it sums no gradients.
    let with_path = |path: &'static str| {
        tpu_steps(12, move |b, at| {
            let path = b.trace_mut().strings.intern(path);
            let line = b.line("/device:TPU:0", "XLA Ops");
            b.event(line, "all-reduce.1", at, 400).hlo_category("all-reduce");
            b.event(line, "dot.1", at + 400, 600).hlo_category("convolution fusion").args(|args| args.tf_op = path);
        })
    };
    let trained = finding(with_path("jit(f)/transpose(jvp(mlp))/dot_general"), "gradient_synchronization");
    assert_eq!(trained.severity, Critical);
    assert_eq!(says(with_path("jit(f)/mlp/dot_general"), "gradient_synchronization"), Verdict::Irrelevant);
}

#[test]
fn unhidden_collectives() {
    let gather = "ncclDevKernel_AllGather_RING_LL(ncclDevComm*)";
    assert_eq!(finding(communicating(gather, 310), "unhidden_collectives").severity, Critical);
    assert_eq!(finding(communicating(gather, 110), "unhidden_collectives").severity, Warning);
    assert_eq!(finding(communicating(gather, 60), "unhidden_collectives").severity, Note);
    fine(communicating(gather, 45), "unhidden_collectives");
    assert_eq!(says(host_bound(900), "unhidden_collectives"), Verdict::Irrelevant);
    let hidden = gpu_steps(12, |b, at| {
        kernel(b, "gemm", at + 1, at + 5, 900);
        op(b, ("/device:GPU:0", "Stream #9(Compute)"), gather, at + 2, at + 100, 600);
    });
    fine(hidden, "unhidden_collectives");
}

#[test]
fn collective_bound() {
    let gather = "ncclDevKernel_AllGather_RING_LL(ncclDevComm*)";
    assert_eq!(finding(communicating(gather, 310), "collective_bound").severity, Warning);
    fine(communicating(gather, 290), "collective_bound");
}

/// Builds TPU steps with three kinds of ops: the first takes `length`, the others take the rest.
fn three_ops(category: &'static str, length: i64) -> Trace {
    tpu_steps(12, move |b, at| {
        tpu_op(b, category, at, length);
        let rest = 1000 - length;
        tpu_op(b, "convolution fusion", at + length, rest - rest / 2);
        tpu_op(b, "reduce", at + length + rest - rest / 2, rest / 2);
    })
}

#[test]
fn dominant_op() {
    assert_eq!(finding(three_ops("custom-call", 510), "dominant_op").severity, Warning);
    fine(three_ops("custom-call", 500), "dominant_op");
    fine(three_ops("all-gather", 600), "dominant_op");
    fine(tpu_steps(12, |b, at| tpu_op(b, "custom-call", at, 1000)), "dominant_op");
}

#[test]
fn unfused_data_formatting() {
    assert_eq!(finding(three_ops("data formatting", 100), "unfused_data_formatting").severity, Warning);
    fine(three_ops("data formatting", 99), "unfused_data_formatting");
}

#[test]
fn data_shuffle() {
    assert_eq!(finding(three_ops("slice", 300), "data_shuffle").severity, Warning);
    fine(three_ops("slice", 299), "data_shuffle");
    // Ops that compute positions have their own rule.
    fine(three_ops("gather", 300), "data_shuffle");
    fine(three_ops("sort", 300), "data_shuffle");
}

#[test]
fn gather_scatter() {
    assert_eq!(finding(three_ops("gather", 300), "gather_scatter").severity, Warning);
    fine(three_ops("scatter fusion", 299), "gather_scatter");
}

#[test]
fn one_hot_lookup() {
    let trace = |one_hot: i64, reader: i64, rows: i64| {
        tpu_steps(12, move |b, at| {
            let matrix = format!("f32[{rows},50304]");
            let texts = [
                format!("%fusion.1 = {matrix}{{1,0}} fusion(s32[{rows}]{{0}} %ids), kind=kLoop, calls=%f"),
                format!("%dot.2 = f32[{rows},128]{{1,0}} dot({matrix}{{1,0}} %fusion.1, f32[50304,128]{{1,0}} %table)"),
                "%tanh.3 = f32[8]{0} tanh(f32[8]{0} %x)".to_owned(),
            ];
            let texts = texts.map(|text| b.trace_mut().strings.intern(&text));
            let path = b.trace_mut().strings.intern("jit(f)/jit(_one_hot)/eq");
            let line = b.line("/device:TPU:0", "XLA Ops");
            let mut now = at;
            let spans = [("fusion.1", one_hot), ("dot.2", reader), ("tanh.3", 1000 - one_hot - reader)];
            for ((name, time), text) in spans.into_iter().zip(texts) {
                b.event(line, name, now, time).args(|args| {
                    args.long_name = text;
                    if name == "fusion.1" {
                        args.tf_op = path;
                    }
                });
                now += time;
            }
        })
    };
    let found = finding(trace(100, 300, 64), "one_hot_lookup");
    assert_eq!((found.severity, found.title.as_str()), (Warning, "A one-hot matrix takes 40.0 % of the op time"));
    assert!(found.message.starts_with("fusion.1 writes a one-hot matrix, f32[64,50304]."), "{}", found.message);
    assert_eq!(finding(trace(50, 100, 64), "one_hot_lookup").severity, Note);
    fine(trace(10, 30, 64), "one_hot_lookup");
    fine(trace(100, 300, 16), "one_hot_lookup");
}

#[test]
fn sorting() {
    let found = finding(three_ops("sort", 300), "sorting");
    assert_eq!((found.severity, found.filter.as_deref()), (Warning, Some("category=\"sort\"")));
    assert!(found.message.ends_with("The largest is sort.1.") && found.remedy.contains("jax.lax.top_k"), "{found:?}");
    fine(three_ops("sort", 299), "sorting");
    let trace = tpu_steps(12, |b, at| {
        let source = b.trace_mut().strings.intern("train.py:31");
        let line = b.line("/device:TPU:0", "XLA Ops");
        b.event(line, "sort.7", at, 900).hlo_category("sort").args(|args| args.source = source);
    });
    assert!(finding(trace, "sorting").message.ends_with("The largest is sort.7 (train.py:31)."));
}

#[test]
fn while_loop_overhead() {
    let trace = |own: i64| {
        tpu_steps(12, move |b, at| {
            tpu_op(b, "while", at, 1000);
            tpu_op(b, "loop fusion", at, 1000 - own);
        })
    };
    assert_eq!(finding(trace(100), "while_loop_overhead").severity, Warning);
    assert_eq!(finding(trace(50), "while_loop_overhead").severity, Note);
    fine(trace(49), "while_loop_overhead");
}

/// Builds TPU steps of 1000 us with a loop fusion of `time` that moves `bytes` and computes `flops`, on a device with 100
/// GB/s and 1 TFLOP/s.
fn with_costs(time: i64, bytes: i64, flops: i64) -> Trace {
    let mut b = TraceBuilder::new();
    for step in 0..12 {
        let modules = b.line("/device:TPU:0", "XLA Modules");
        b.event(modules, "jit_f(1)", step * 1000, 1000).run_id(step);
        let line = b.line("/device:TPU:0", "XLA Ops");
        let op = b.event(line, "fusion.1", step * 1000, time).hlo_category("loop fusion").hlo_module("jit_f");
        op.args(|args| (args.bytes_accessed, args.flops) = (Some(bytes), Some(flops)));
        tpu_op(&mut b, "custom-call", step * 1000 + time, 1000 - time);
    }
    b.plane_stat("/device:TPU:0", "peak_teraflops_per_second", StatValue::Double(1.0));
    b.plane_stat("/device:TPU:0", "peak_hbm_bw_gigabytes_per_second", StatValue::Double(100.0));
    b.build()
}

#[test]
fn low_memory_bandwidth() {
    // In 500 us, the memory can move 50 MB.
    assert_eq!(finding(with_costs(500, 19_000_000, 1_000), "low_memory_bandwidth").severity, Warning);
    assert_eq!(finding(with_costs(500, 29_000_000, 1_000), "low_memory_bandwidth").severity, Note);
    fine(with_costs(500, 31_000_000, 1_000), "low_memory_bandwidth");
    fine(with_costs(90, 2_000_000, 1_000), "low_memory_bandwidth");
    // Above the ridge point of 10 FLOP per byte, memory is not the limit.
    fine(with_costs(500, 19_000_000, 200_000_000), "low_memory_bandwidth");
}

/// Builds TPU steps of 1000 us with a product that takes `time` and computes `flops`, on a device with 1 TFLOP/s that is
/// busy for `busy` per step.
fn with_products(time: i64, flops: i64, busy: i64) -> Trace {
    let mut b = TraceBuilder::new();
    for step in 0..12 {
        let modules = b.line("/device:TPU:0", "XLA Modules");
        b.event(modules, "jit_f(1)", step * 1000, 1000).run_id(step);
        let line = b.line("/device:TPU:0", "XLA Ops");
        let op = b.event(line, "convolution.1", step * 1000, time).hlo_category("convolution").hlo_module("jit_f");
        op.args(|args| (args.bytes_accessed, args.flops) = (Some(1_000), Some(flops)));
        tpu_op(&mut b, "reduce", step * 1000 + time, busy - time);
    }
    b.plane_stat("/device:TPU:0", "peak_teraflops_per_second", StatValue::Double(1.0));
    b.plane_stat("/device:TPU:0", "peak_hbm_bw_gigabytes_per_second", StatValue::Double(100.0));
    b.build()
}

#[test]
fn low_flop_rate() {
    // In 400 us, the device can compute 400 MFLOP. 35 % of that are 140.
    assert_eq!(finding(with_products(400, 139_000_000, 900), "low_flop_rate").severity, Warning);
    fine(with_products(400, 141_000_000, 900), "low_flop_rate");
    fine(with_products(190, 1_000_000, 900), "low_flop_rate");
    // An op this short mostly consists of its start-up.
    fine(with_products(9, 1_000, 20), "low_flop_rate");
}

#[test]
fn memory_bound_and_compute_bound() {
    // In 1000 us, the device can move 100 MB and compute 1 GFLOP.
    assert_eq!(finding(with_costs(900, 71_000_000, 1_000), "memory_bound").severity, Note);
    fine(with_costs(900, 69_000_000, 1_000), "memory_bound");
    fine(with_costs(900, 71_000_000, 510_000_000), "memory_bound");
    assert_eq!(finding(with_costs(900, 1_000, 710_000_000), "compute_bound").severity, Note);
    fine(with_costs(900, 1_000, 690_000_000), "compute_bound");
    fine(with_costs(900, 51_000_000, 710_000_000), "compute_bound");
}

#[test]
fn rematerialization() {
    let trace = |length: i64| {
        tpu_steps(12, move |b, at| {
            let line = b.line("/device:TPU:0", "XLA Ops");
            let expression = b.trace_mut().strings.intern("%fusion.1.remat = f32[8]{0} fusion(f32[8]{0} %p)");
            let again = b.event(line, "fusion.1.remat", at, length).hlo_category("loop fusion");
            again.args(|args| args.long_name = expression);
            tpu_op(b, "convolution fusion", at + length, 1000 - length);
        })
    };
    assert_eq!(finding(trace(100), "rematerialization").severity, Note);
    fine(trace(99), "rematerialization");
}

/// Builds a GPU of this vendor and compute capability that alternates between two kernels.
fn two_kernels(first: &'static str, length: i64, second: &'static str, capability: (i64, i64)) -> Trace {
    let mut b = TraceBuilder::new();
    let python = b.line("/host:CPU", "python");
    for step in 0..12 {
        let at = step * 1000;
        b.event(python, "train", at, 900).step_num(step);
        let line = b.line("/device:GPU:0", "Stream #7(Compute)");
        let op = "jit(f)/jit(main)/dot_general";
        b.event(line, first, at, length).hlo_op("custom-call.1").hlo_module("jit_f").tf_op(op);
        b.event(line, second, at + length, 1000 - length).hlo_op("custom-call.2").hlo_module("jit_f").tf_op(op);
    }
    for (name, value) in [("compute_cap_major", capability.0), ("compute_cap_minor", capability.1)] {
        b.plane_stat("/device:GPU:0", name, StatValue::Int(value));
    }
    b.build()
}

const SGEMM: &str = "ampere_sgemm_128x64_nn";
const HGEMM: &str = "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_nn";

#[test]
fn bf16_in_fp32() {
    assert_eq!(finding(two_kernels(SGEMM, 110, HGEMM, (8, 0)), "bf16_in_fp32").severity, Warning);
    fine(two_kernels(SGEMM, 90, HGEMM, (8, 0)), "bf16_in_fp32");
    // Volta has no bfloat16.
    assert_eq!(says(two_kernels(SGEMM, 500, HGEMM, (7, 0)), "bf16_in_fp32"), Verdict::Irrelevant);
}

#[test]
fn tensor_cores_unused() {
    assert_eq!(finding(two_kernels(SGEMM, 110, HGEMM, (8, 0)), "tensor_cores_unused").severity, Warning);
    fine(two_kernels(SGEMM, 90, HGEMM, (8, 0)), "tensor_cores_unused");
    assert_eq!(says(two_kernels(SGEMM, 500, HGEMM, (6, 1)), "tensor_cores_unused"), Verdict::Irrelevant);
}

#[test]
fn low_occupancy() {
    let trace = |name: &'static str, occupancy: &'static str, length: i64| {
        gpu_steps(12, move |b, at| {
            let details =
                b.trace_mut().strings.intern(&format!("regs:32 grid:8,1,1 block:128,1,1 occ_pct:{occupancy}"));
            let full = b.trace_mut().strings.intern("regs:32 grid:8,1,1 block:128,1,1 occ_pct:100");
            let line = b.line("/device:GPU:0", "Stream #7(Compute)");
            b.event(line, name, at, length).args(|args| args.kernel_details = details);
            b.event(line, "input_reduce_fusion", at + length, 1000 - length).args(|args| args.kernel_details = full);
        })
    };
    assert_eq!(finding(trace("loop_add_fusion", "49", 110), "low_occupancy").severity, Note);
    fine(trace("loop_add_fusion", "50", 110), "low_occupancy");
    fine(trace("loop_add_fusion", "49", 90), "low_occupancy");
    fine(trace(HGEMM, "13", 500), "low_occupancy");
}

/// Builds TPU steps with SparseCores that run for `busy` per step.
fn with_sparse_cores(busy: i64, wait: i64) -> Trace {
    tpu_steps(12, move |b, at| {
        let line = b.line("/device:TPU:0 SparseCore 0", "Sparse Core Ops");
        b.event(line, "lookup", at, busy);
        tpu_op(b, "all-gather-done", at, wait);
        tpu_op(b, "loop fusion", at + wait, 1000 - wait);
    })
}

#[test]
fn sparse_core() {
    assert_eq!(finding(with_sparse_cores(100, 10), "sparse_core").severity, Note);
    fine(with_sparse_cores(99, 10), "sparse_core");
    assert_eq!(says(three_ops("gather", 10), "sparse_core"), Verdict::Irrelevant);
}

#[test]
fn sparse_core_offload() {
    assert_eq!(finding(with_sparse_cores(10, 100), "sparse_core_offload").severity, Note);
    fine(with_sparse_cores(10, 99), "sparse_core_offload");
}

#[test]
fn unused_visible_devices() {
    let trace = |visible: usize| {
        let mut b = TraceBuilder::new();
        kernel(&mut b, "gemm", 1, 5, 100);
        for device in 0..visible {
            b.line(&format!("/device:GPU:{device}"), "Stream #7(Compute)");
        }
        b.build()
    };
    assert_eq!(finding(trace(2), "unused_visible_devices").severity, Warning);
    fine(trace(1), "unused_visible_devices");
    let remedy = |framework| finding(Trace { framework, ..trace(2) }, "unused_visible_devices").remedy;
    assert!(remedy(Framework::Jax).contains("jax.make_mesh"));
    assert!(!remedy(Framework::TensorFlow).contains("jax") && !remedy(Framework::PyTorch).contains("jax"));
}

/// Builds two devices that gather from each other. The second works `more` longer, and the first waits for it.
fn two_devices(more: i64) -> Trace {
    gpu_steps(12, move |b, at| {
        for (device, work) in [("/device:GPU:0", 500), ("/device:GPU:1", 500 + more)] {
            op(b, (device, "Stream #7(Compute)"), "gemm", at + 1, at + 5, work);
            let gather = "ncclDevKernel_AllGather_RING_LL(ncclDevComm*)";
            op(b, (device, "Stream #9(Compute)"), gather, at + 2, at + 5 + work, 900 - work);
        }
    })
}

#[test]
fn straggler_device() {
    // The median of two devices is between them.
    let found = finding(two_devices(220), "straggler_device");
    assert_eq!((found.severity, found.title.as_str()), (Warning, "The other devices wait for /device:GPU:1"));
    assert_eq!(finding(two_devices(110), "straggler_device").severity, Note);
    fine(two_devices(90), "straggler_device");
    assert_eq!(says(host_bound(500), "straggler_device"), Verdict::Irrelevant);
}

#[test]
fn device_clock_skew() {
    // Launched in the next step, but started `early` before the launch.
    let trace = |early: i64| gpu_steps(12, move |b, at| kernel(b, "gemm", at + 1100, at + 1100 - early, 500));
    assert_eq!(finding(trace(1000), "device_clock_skew").severity, Warning);
    assert_eq!(finding(trace(50), "device_clock_skew").severity, Note);
    // Below the limit it is still reported if many launches have no known delay. Here all launches lack one.
    assert_eq!(finding(trace(49), "device_clock_skew").severity, Note);
    fine(trace(0), "device_clock_skew");
    fine(trace(-5), "device_clock_skew");
}

/// Builds steps of which every second one is `more` longer.
fn uneven(steps: i64, more: i64) -> Trace {
    let mut b = TraceBuilder::new();
    let python = b.line("/host:CPU", "python");
    let mut at = 0;
    for step in 0..steps {
        let length = 1000 + more * (step % 2);
        b.event(python, "train", at, length).step_num(step);
        kernel(&mut b, "gemm", at + 1, at + 5, length - 100);
        at += length;
    }
    b.build()
}

#[test]
fn step_time_variation() {
    assert_eq!(finding(uneven(13, 600), "step_time_variation").severity, Warning);
    assert_eq!(finding(uneven(13, 120), "step_time_variation").severity, Note);
    fine(uneven(13, 80), "step_time_variation");
}
