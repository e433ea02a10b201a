//! Two synthetic runs, one of a GPU and one of a TPU.
//!
//! On the first call, browsers compile a WebAssembly function into slow code. After the function has run often,
//! browsers compile it into fast code. A worker that waits for its first profile therefore analyses these two runs
//! repeatedly and discards the results.

use super::Session;
use super::runs::LoadedRun;
use run::Run;
use trace::{Trace, TraceBuilder};

/// Number of layers of the program.
const LAYERS: i64 = 30;

impl Session {
    /// Returns a session with one GPU run and one TPU run of `steps` steps each.
    pub fn rehearsal(steps: i64) -> Session {
        let runs = [("gpu", on_gpu(steps)), ("tpu", on_tpu(steps))].map(|(name, trace)| {
            let run = Run { name: name.to_owned(), trace, ..Run::default() };
            LoadedRun::new(run, None)
        });
        Session { runs: runs.into(), ..Session::default() }
    }
}

/// ```text
/// python    [PjitFunction(f)                )
///             [launch)[launch)[launch)
/// compute             [gemm )[loop_add)
/// copies      [H2D)                    [all-reduce)
///                     one layer
/// ```
fn on_gpu(steps: i64) -> Trace {
    let mut b = TraceBuilder::new();
    let python = b.line("/host:CPU", "python");
    let compute = b.line("/device:GPU:0", "Stream #1(Compute)");
    let copies = b.line("/device:GPU:0", "Stream #2(MemcpyH2D)");
    let shape =
        b.trace_mut().strings.intern("regs:32 static_shared:0 dynamic_shared:0 grid:64,1,1 block:256,1,1 occ_pct:50");
    for step in 0..steps {
        let begun = 100 * LAYERS * step;
        b.event(python, "train", begun, 100 * LAYERS - 10).step_num(step);
        b.event(python, "PjitFunction(f)", begun + 5, 100 * LAYERS - 50);
        for layer in 0..LAYERS {
            let start = begun + 100 * layer;
            b.event(copies, "MemcpyH2D", start + 5, 10)
                .memcpy_details("kind_src:pageable kind_dst:device size:4096 dest:0 async:1");
            for (kernel, (line, name, op)) in (0..).zip([
                (compute, "sm90_xmma_gemm_bf16bf16_bf16f32_f32", "gemm"),
                (compute, "loop_add_fusion", "loop_add_fusion"),
                (copies, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "all-reduce-start"),
            ]) {
                let launched = start + 10 + 12 * kernel;
                let correlation = 10 * (LAYERS * step + layer) + kernel;
                b.event(python, "cuLaunchKernel", launched, 4).correlation(correlation);
                b.event(line, name, launched + 8, 11)
                    .hlo_op(&format!("{op}.{layer}"))
                    .hlo_module("jit_f")
                    .tf_op(&format!("jit(f)/layer_{layer}/dot_general"))
                    .args(|args| args.kernel_details = shape)
                    .correlation(correlation);
            }
        }
    }
    b.build()
}

/// ```text
/// modules   [jit_f(7)                                )
/// ops       [fusion) [copy-start)[dot )  [copy-done)
///                     one layer
/// ```
///
/// Each step has ops whose names occur only in that step, because some captures have a million different ops.
fn on_tpu(steps: i64) -> Trace {
    const OPS: [(&str, &str, &str); 4] = [
        ("fusion", "loop fusion", "fusion(bf16[8,128]{1,0} %p.1, f32[128]{0} %p.2), kind=kLoop"),
        ("copy-start", "copy-start", "copy-start(bf16[8,128]{1,0} %p.1)"),
        ("dot", "convolution", "convolution(bf16[8,128]{1,0} %p.1, bf16[128,128]{1,0} %p.2), dim_labels=bf_io->bf"),
        ("copy-done", "copy-done", "copy-done(bf16[8,128]{1,0} %copy-start"),
    ];
    let mut b = TraceBuilder::new();
    let [modules, ops] = ["XLA Modules", "XLA Ops"].map(|line| b.line("/device:TPU:0", line));
    for step in 0..steps {
        let begun = 100 * LAYERS * step;
        b.event(modules, "jit_f(7)", begun, 100 * LAYERS - 10).run_id(step);
        for layer in 0..LAYERS {
            let number = LAYERS * step + layer;
            let source = b.trace_mut().strings.intern(&format!("/home/me/train.py:{layer}"));
            for (at, (op, category, call)) in (0..).zip(OPS) {
                let end = if op == "copy-done" { format!(".{number})") } else { String::new() };
                let name = format!("{op}.{number}");
                let expression = format!("%{name} = bf16[8,128]{{1,0}} {call}{end}");
                let expression = b.trace_mut().strings.intern(&expression);
                b.event(ops, &name, begun + 100 * layer + 24 * at, 20)
                    .hlo_category(category)
                    .tf_op(&format!("jit(f)/layer_{layer}/{op}:"))
                    .args(|args| {
                        (args.program_id, args.long_name, args.source) = (Some(7), expression, source);
                        (args.flops, args.bytes_accessed) = (Some(1 << 20), Some(4096));
                    });
            }
        }
    }
    b.build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::Settings;

    #[test]
    fn the_made_up_runs_have_something_for_every_analysis() {
        let report = Session::rehearsal(3).report(0, &Settings::default()).unwrap();
        assert_eq!((report.steps.len(), report.kernel_statistics.is_some()), (3, true));
        assert!(report.communication.is_some() && report.launches.is_some() && report.step_breakdown.is_some());
        assert!(report.op_statistics.is_some() && !report.findings.is_empty());
        let report = Session::rehearsal(3).report(1, &Settings::default()).unwrap();
        // The first step is the warm-up.
        assert_eq!((report.steps.len(), report.op_statistics.unwrap().num_ops), (3, 2 * 30 * 4));
    }
}
