//! Provides runs for the tests of findings: real runs, and synthetic runs from the trace builder.

use crossprof::UnifiedProfile;
use crossprof::insight::{Verdict, examine, verdict};
use crossprof::report::{Finding, FindingSeverity};
use crossprof::run::{Run, Settings};
use crossprof::trace::{Trace, TraceBuilder};

/// Returns `severity id` for each finding that fired, in order.
pub(super) fn fired(profile: &UnifiedProfile) -> Vec<String> {
    let checked = profile.findings.iter().filter(|finding| finding.severity != FindingSeverity::NotChecked);
    checked.map(|finding| format!("{} {}", finding.severity.label(), finding.id)).collect()
}

/// Returns the verdict of the rule `id` on a synthetic trace.
pub(super) fn says(trace: Trace, id: &str) -> Verdict {
    let run = Run { trace, ..Run::default() };
    let examined = examine(&run, &Settings::default());
    verdict(&examined.context(&run), id).unwrap()
}

/// Returns the finding of the rule `id` on a synthetic trace. Fails if the rule does not fire.
pub(super) fn finding(trace: Trace, id: &str) -> Finding {
    match says(trace, id) {
        Verdict::Fires(finding) => *finding,
        other => panic!("{id}: {other:?}"),
    }
}

/// Builds a GPU trace with a step annotation every 1000 us. `each` adds the events of one step, and receives the start
/// of the step.
pub(super) fn gpu_steps(steps: i64, mut each: impl FnMut(&mut TraceBuilder, i64)) -> Trace {
    let mut b = TraceBuilder::new();
    let python = b.line("/host:CPU", "python");
    for step in 0..steps {
        b.event(python, "train", step * 1000, 900).step_num(step);
        each(&mut b, step * 1000);
    }
    b.build()
}

/// Adds a kernel on the compute stream. The host launches the kernel at `launch`.
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

/// Builds a TPU trace with a module run every 1000 us. `each` adds the ops of one run, and receives the start of the
/// run.
pub(super) fn tpu_steps(steps: i64, mut each: impl FnMut(&mut TraceBuilder, i64)) -> Trace {
    let mut b = TraceBuilder::new();
    let modules = b.line("/device:TPU:0", "XLA Modules");
    for step in 0..steps {
        b.event(modules, "jit_f(1)", step * 1000, 1000).run_id(step);
        each(&mut b, step * 1000);
    }
    b.build()
}

/// Builds 12 steps of 1000 us. In each step, one kernel runs for `busy` us, and the next kernel is launched at the
/// start of the next step.
pub(super) fn host_bound(busy: i64) -> Trace {
    gpu_steps(12, |b, at| kernel(b, "gemm", at + 1, at + 5, busy))
}
