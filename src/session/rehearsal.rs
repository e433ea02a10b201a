//! A made-up run of a few events.
//!
//! A browser compiles a function of WebAssembly when it is first called, which takes longer than the call itself: a program that
//! waits for its first profile analyses this one meanwhile, and throws the answers away.

use super::Session;
use super::runs::{LoadedRun, Traced};
use metrics::Run;
use trace::{Args, EventColumn, LineId, Trace, TraceBuilder};

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
    let mut text = |text: &str| b.trace_mut().strings.intern(text);
    let kernel_details = text("regs:32 static_shared:0 dynamic_shared:0 grid:64,1,1 block:256,1,1 occ_pct:50");
    let (hlo_module, tf_op) = (text("jit_f"), text("jit(f)/layer/dot_general"));
    let copy =
        Args { memcpy_details: text("kind_src:pageable kind_dst:device size:4096 dest:0 async:1"), ..Args::default() };
    let kernels = [
        (compute, "sm90_xmma_gemm_bf16bf16_bf16f32_f32", text("gemm.1")),
        (compute, "loop_add_fusion", text("loop_add_fusion")),
        (copies, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", text("all-reduce-start.1")),
    ];
    let none = Args::default();
    for step in 0..3 {
        let start = 100 * step;
        add(&mut b, (python, "train"), (start, 90), &none, Some((EventColumn::StepNum, step)));
        add(&mut b, (python, "PjitFunction(f)"), (start + 5, 50), &none, None);
        add(&mut b, (copies, "MemcpyH2D"), (start + 5, 10), &copy, None);
        for (kernel, (line, name, hlo_op)) in (0..).zip(kernels) {
            let launched = start + 10 + 12 * kernel;
            let correlation = Some((EventColumn::Correlation, 10 * step + kernel));
            add(&mut b, (python, "cuLaunchKernel"), (launched, 4), &none, correlation);
            let args = Args { hlo_op, hlo_module, tf_op, kernel_details, ..Args::default() };
            add(&mut b, (line, name), (launched + 8, 11), &args, correlation);
        }
    }
    b.build()
}

/// Adds an event that begins and lasts so many microseconds. One function: compiled into each call, the builder's methods take 18 kB
/// of WebAssembly.
#[inline(never)]
fn add(
    b: &mut TraceBuilder,
    (line, name): (LineId, &str),
    (start, duration): (i64, i64),
    args: &Args,
    value: Option<(EventColumn, i64)>,
) {
    let event = b.event(line, name, start, duration).args(|it| it.clone_from(args));
    if let Some((column, value)) = value {
        event.value(column, value);
    }
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
