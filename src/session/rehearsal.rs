//! A made-up run of a few events.
//!
//! A browser compiles a function of WebAssembly when it is first called, which takes longer than the call itself: a program that
//! waits for its first profile analyses this one meanwhile, and throws the answers away.

use super::Session;
use super::runs::{LoadedRun, Traced};
use metrics::Run;
use trace::{Trace, TraceBuilder};

impl Session {
    /// A session with a run of three steps on one GPU.
    pub fn rehearsal() -> Session {
        let run = Run { name: "rehearsal".to_owned(), trace: three_steps(), ..Run::default() };
        Session { runs: vec![LoadedRun::Traced(Box::new(Traced::new(run)))].into(), ..Session::default() }
    }
}

/// ```text
/// python    [PjitFunction(f)      )
///             [launch)[launch)[launch)
/// compute             [gemm )[loop_add)
/// copies      [H2D)                    [all-reduce)
/// ```
fn three_steps() -> Trace {
    let mut b = TraceBuilder::new();
    let python = b.line("/host:CPU", "python");
    let compute = b.line("/device:GPU:0", "Stream #1(Compute)");
    let copies = b.line("/device:GPU:0", "Stream #2(MemcpyH2D)");
    let shape =
        b.trace_mut().strings.intern("regs:32 static_shared:0 dynamic_shared:0 grid:64,1,1 block:256,1,1 occ_pct:50");
    for step in 0..3 {
        let start = 100 * step;
        b.event(python, "train", start, 90).step_num(step);
        b.event(python, "PjitFunction(f)", start + 5, 50);
        b.event(copies, "MemcpyH2D", start + 5, 10)
            .memcpy_details("kind_src:pageable kind_dst:device size:4096 dest:0 async:1");
        for (kernel, (line, name, op)) in (0..).zip([
            (compute, "sm90_xmma_gemm_bf16bf16_bf16f32_f32", "gemm.1"),
            (compute, "loop_add_fusion", "loop_add_fusion"),
            (copies, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "all-reduce-start.1"),
        ]) {
            let launched = start + 10 + 12 * kernel;
            let correlation = 10 * step + kernel;
            b.event(python, "cuLaunchKernel", launched, 4).correlation(correlation);
            b.event(line, name, launched + 8, 11)
                .hlo_op(op)
                .hlo_module("jit_f")
                .tf_op("jit(f)/layer/dot_general")
                .args(|args| args.kernel_details = shape)
                .correlation(correlation);
        }
    }
    b.build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use metrics::Settings;

    #[test]
    fn the_made_up_run_has_something_for_every_analysis() {
        let report = Session::rehearsal().report(0, &Settings::default()).unwrap();
        assert_eq!((report.steps.len(), report.kernel_statistics.is_some()), (3, true));
        assert!(report.communication.is_some() && report.launches.is_some() && report.step_breakdown.is_some());
        assert!(report.op_statistics.is_some() && !report.findings.is_empty());
    }
}
