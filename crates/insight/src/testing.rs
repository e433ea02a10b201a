//! Synthetic runs just above and just below the rules' limits.

use super::{Rule, Verdict, cut, examine};
use crate::numbers::Numbers;
use report::Finding;
use run::{Run, Settings};
use trace::{Framework, StatValue, Trace, TraceBuilder};

pub(super) fn says(trace: Trace, rule: &Rule) -> Verdict {
    let run = Run { trace, ..Run::default() };
    let examined = examine(&run, &Settings::default());
    cut::checked(&Numbers::new(&examined.context(&run)), rule)
}

/// Returns the finding on a synthetic trace. Fails if the rule does not fire.
pub(super) fn finding(trace: Trace, rule: &Rule) -> Finding {
    match says(trace, rule) {
        Verdict::Fires(finding) => *finding,
        other => panic!("{}: {other:?}", rule.id),
    }
}

/// Builds a GPU trace with a step annotation every 1000 us. `each` adds the events of one step, given its start.
pub(super) fn gpu_steps(steps: i64, mut each: impl FnMut(&mut TraceBuilder, i64)) -> Trace {
    let mut b = TraceBuilder::new();
    let python = b.line("/host:CPU", "python");
    for step in 0..steps {
        b.event(python, "train", step * 1000, 900).step_num(step);
        each(&mut b, step * 1000);
    }
    b.build()
}

/// Adds a kernel to the compute stream. The host launches this kernel at `launch`.
pub(super) fn kernel(b: &mut TraceBuilder, name: &str, launch: i64, start: i64, duration: i64) {
    op(b, ("/device:GPU:0", "Stream #7(Compute)"), name, launch, start, duration);
}

/// Adds an op on any line, launched at `launch`.
pub(super) fn op(
    b: &mut TraceBuilder,
    (plane, line): (&str, &str),
    name: &str,
    launch: i64,
    start: i64,
    duration: i64,
) {
    let host = b.line("/host:CPU", "launcher");
    let device = b.line(plane, line);
    let id = i64::try_from(b.trace_mut().events.len()).unwrap();
    b.event(host, "cuLaunchKernel", launch, 2).correlation(id);
    b.event(device, name, start, duration).correlation(id);
}

/// Builds a TPU trace with a module run every 1000 us. `each` adds the ops of one run, given its start.
pub(super) fn tpu_steps(steps: i64, mut each: impl FnMut(&mut TraceBuilder, i64)) -> Trace {
    let mut b = TraceBuilder::new();
    let modules = b.line("/device:TPU:0", "XLA Modules");
    for step in 0..steps {
        b.event(modules, "jit_f(1)", step * 1000, 1000).run_id(step);
        each(&mut b, step * 1000);
    }
    b.build()
}

pub(super) fn tpu_op(b: &mut TraceBuilder, category: &str, start: i64, duration: i64) {
    let line = b.line("/device:TPU:0", "XLA Ops");
    let name = format!("{}.1", category.replace(' ', "_"));
    b.event(line, &name, start, duration).hlo_category(category).hlo_module("jit_f");
}

/// Requires that the rule does not fire, because the trace is below the limit.
pub(super) fn fine(trace: Trace, rule: &Rule) {
    assert_eq!(says(trace, rule), Verdict::Fine, "{}", rule.id);
}

/// Builds 12 steps of 1000 us. In each step, one kernel runs for `busy` us. The next kernel is launched at the start of
/// the next step.
pub(super) fn host_bound(busy: i64) -> Trace {
    gpu_steps(12, |b, at| kernel(b, "gemm", at + 1, at + 5, busy))
}

/// Builds steps in which the host prepares input while the device waits, and transfers it during the last `transfer` us.
pub(super) fn with_transfers(transfer: i64) -> Trace {
    gpu_steps(12, move |b, at| {
        kernel(b, "gemm", at + 1, at + 5, 400);
        let python = b.line("/host:CPU", "python");
        b.event(python, "next_batch", at + 410, 580 - transfer);
        b.event(python, "BufferFromHostBuffer", at + 990 - transfer, transfer);
    })
}

/// Builds `count` kernels of `length` us, `gap` us apart.
pub(super) fn small_kernels(count: i64, length: i64, gap: i64) -> Trace {
    let mut b = TraceBuilder::new();
    for index in 0..count {
        let start = index * (length + gap);
        kernel(&mut b, "add", start.saturating_sub(2), start, length);
    }
    b.build()
}

/// Builds steps in which XLA compiles for `compile` while the device waits.
pub(super) fn compiling(busy: i64, compile: i64) -> Trace {
    let mut trace = gpu_steps(12, |b, at| {
        kernel(b, "gemm", at + 1, at + 5, busy);
        if compile > 0 {
            let python = b.line("/host:CPU", "compiler");
            b.event(python, "backend_compile", at + busy + 10, compile);
        }
    });
    trace.framework = Framework::Jax;
    trace
}

/// Builds steps in which the compiler runs one kernel for `length` us and 60 short kernels, before the program's
/// kernels run.
pub(super) fn autotuning(length: i64) -> Trace {
    let mut trace = gpu_steps(12, |b, at| {
        let pool = b.line("/host:CPU", "tf_pjrt_compile_thread_pool/7");
        let stream = b.line("/device:GPU:0", "Stream #7(Compute)");
        let details = b.trace_mut().strings.intern("regs:32 grid:8,1,1 block:128,1,1 occ_pct:2");
        for (index, length) in (0..).zip(std::iter::once(length).chain([1; 60])) {
            let id = -1 - at - index;
            let start = if index == 0 { at + 5 } else { at + 5 + length + 600 + 3 * index };
            b.event(pool, "cuLaunchKernel", at + index, 1).correlation(id);
            let kernel = b.event(stream, "stream_executor::gpu::DelayKernel", start, length).correlation(id);
            kernel.args(|args| args.kernel_details = details);
        }
        let python = b.line("/host:CPU", "python");
        b.event(python, "backend_compile", at, 800);
        kernel(b, "input_reduce_fusion", at + 901, at + 905, 10);
        kernel(b, "loop_add_fusion", at + 902, at + 920, 10);
    });
    trace.framework = Framework::Jax;
    trace
}

/// Builds training steps with a kernel `name` that is exposed for `exposed`.
pub(super) fn communicating(name: &'static str, exposed: i64) -> Trace {
    communicating_beside("gemm_bwd", name, exposed)
}

/// Builds the steps of [`communicating`] with another compute kernel.
pub(super) fn communicating_beside(compute: &'static str, name: &'static str, exposed: i64) -> Trace {
    gpu_steps(12, move |b, at| {
        kernel(b, compute, at + 1, at + 5, 900 - exposed);
        op(b, ("/device:GPU:0", "Stream #9(Compute)"), name, at + 2, at + 905 - exposed, exposed);
    })
}

/// Builds TPU steps with three kinds of ops: the first takes `length`, the others take the rest.
pub(super) fn three_ops(category: &'static str, length: i64) -> Trace {
    tpu_steps(12, move |b, at| {
        tpu_op(b, category, at, length);
        let rest = 1000 - length;
        tpu_op(b, "convolution fusion", at + length, rest - rest / 2);
        tpu_op(b, "reduce", at + length + rest - rest / 2, rest / 2);
    })
}

/// Builds TPU steps of 1000 us with a loop fusion of `time` that moves `bytes` and computes `flops`, on a device with
/// 100 GB/s and 1 TFLOP/s.
pub(super) fn with_costs(time: i64, bytes: i64, flops: i64) -> Trace {
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

/// Builds a GPU of this vendor and compute capability that alternates between two kernels.
pub(super) fn two_kernels(first: &'static str, length: i64, second: &'static str, capability: (i64, i64)) -> Trace {
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

pub(super) const SGEMM: &str = "ampere_sgemm_128x64_nn";
pub(super) const HGEMM: &str = "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_nn";

/// Builds TPU steps with SparseCores that run for `busy` per step.
pub(super) fn with_sparse_cores(busy: i64, wait: i64) -> Trace {
    tpu_steps(12, move |b, at| {
        let line = b.line("/device:TPU:0 SparseCore 0", "Sparse Core Ops");
        b.event(line, "lookup", at, busy);
        tpu_op(b, "all-gather-done", at, wait);
        tpu_op(b, "loop fusion", at + wait, 1000 - wait);
    })
}
