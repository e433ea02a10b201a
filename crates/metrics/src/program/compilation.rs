//! Measures compilation on the host and counts the modules that ran.
//!
//! Compilation is XLA's work from HLO to program. Tracing and lowering in Python come before compilation and are not
//! counted. Frames of the Python tracer are not counted either, because they are named after functions and not after
//! kinds of work.

use std::collections::BTreeSet;

use crate::device::devices::Devices;
use crate::host::host_work::HostWork;
use facts::host_spans;
use report::Compilation;
use trace::{Framework, LineKind, Platform, Trace, in_blocks};

/// Builds the compilation section. JAX marks each compilation. If a JAX capture has host runtime spans but no
/// compilation spans, nothing was compiled. In any other capture without compilation spans, the time is unknown and the
/// section is absent. Ops of a CPU backend and frames of the Python tracer are on host threads too, but are not treated
/// as runtime spans.
pub fn compilation(trace: &Trace, devices: &Devices) -> Option<Compilation> {
    let spans = crate::host::host_work::host_spans(trace, devices, HostWork::Compile);
    if spans.union.is_empty() && !(trace.framework == Framework::Jax && has_host_spans(trace)) {
        return None;
    }
    let time = spans.union.length();
    Some(Compilation {
        compilation_time_us: time.as_us(),
        num_xla_modules: num_modules(trace, devices),
        num_compilation_events: spans.outermost.len() as u64,
        compilation_percent: share_of_capture(time, devices),
    })
}

/// Returns true if the host tracer was on: a host thread has a span that is neither an op, nor a frame of the Python
/// tracer, nor a GPU driver call.
pub(crate) fn has_host_spans(trace: &Trace) -> bool {
    trace.events.kinds().iter().any(|kind| {
        let is_host = trace.lines.get(kind.line.index()).is_some_and(|line| line.kind == LineKind::Host);
        let is_op = || trace.args.set(kind.args.index()).is_some_and(|args| !args.hlo_op.is_empty());
        let name = trace.text(kind.name);
        is_host && !is_op() && !host_spans::is_frame(name) && !is_driver_call(name)
    })
}

/// Returns true for `cudaLaunchKernel`, `cuMemcpyAsync`, `hipModuleLaunchKernel` and other calls that a GPU driver's tracer
/// records on host threads.
fn is_driver_call(name: &str) -> bool {
    let rest = ["cuda", "cu", "hip"].iter().find_map(|prefix| name.strip_prefix(prefix));
    rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
}

fn share_of_capture(time: base::Ps, devices: &Devices) -> f64 {
    let capture = devices.capture.map_or(0, |capture| capture.length().as_ps());
    if capture > 0 { (100.0 * time.as_ps() as f64 / capture as f64).clamp(0.0, 100.0) } else { 0.0 }
}

/// Counts the distinct modules that ran on the devices in use. On TPUs, modules are the names on the `XLA Modules`
/// lines, which contain the program's fingerprint. On other platforms, modules are the pairs of module and program that
/// ops name. Returns `None` if no op names a module. Also returns `None` if an op names its module but not its program,
/// as in trace JSON, because programs with the same name then cannot be distinguished.
fn num_modules(trace: &Trace, devices: &Devices) -> Option<u64> {
    let mut modules = BTreeSet::new();
    let mut seen = vec![false; trace.args.len()];
    for device in &devices.used {
        if device.platform == Platform::Tpu {
            let runs = devices.by_line.events_of(trace, device.plane, LineKind::Modules);
            modules.extend(runs.filter_map(|id| trace.events.get(id)).map(|event| (event.name, None)));
        } else {
            in_blocks(&device.ops, |&id| {
                let Some(event) = trace.events.get(id) else { return };
                if let Some(seen) = seen.get_mut(event.args.index()) {
                    *seen = true;
                }
            });
        }
    }
    let args = (0..).zip(seen).filter(|(_, seen)| *seen).filter_map(|(index, _)| trace.args.set(index));
    for args in args.filter(|args| !args.hlo_module.is_empty()) {
        modules.insert((args.hlo_module, Some(args.program_id?)));
    }
    (!modules.is_empty()).then_some(modules.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::TraceBuilder;

    fn capture(compiles: bool, framework: Framework) -> Option<Compilation> {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let modules = b.line("/device:TPU:0", "XLA Modules");
        let ops = b.line("/device:TPU:0", "XLA Ops");
        b.event(python, "train", 0, 1000);
        if compiles {
            b.event(python, "backend_compile", 100, 200);
            b.event(python, "TfrtTpuCompiler::Compile", 110, 150);
        }
        for (name, start) in [("jit_f(1)", 400), ("jit_f(1)", 500), ("jit_f(2)", 600)] {
            b.event(modules, name, start, 50);
            b.event(ops, "fusion.1", start, 50);
        }
        let mut trace = b.build();
        trace.framework = framework;
        compilation(&trace, &Devices::of(&trace))
    }

    #[test]
    fn compilation_is_the_union_of_its_spans() {
        let found = capture(true, Framework::Jax).unwrap();
        assert_eq!((found.compilation_time_us, found.num_compilation_events), (200.0, 1));
        assert_eq!((found.compilation_percent, found.num_xla_modules), (20.0, Some(2)));
    }

    #[test]
    fn without_spans_of_the_host_compilation_is_unknown() {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let worker = b.line("/host:CPU", "tf_XLAEigen/1");
        b.event(python, "$train.py:3 main", 0, 100);
        b.event(worker, "dot.1", 10, 10).hlo_op("dot.1").hlo_module("jit_f");
        let mut trace = b.build();
        trace.framework = Framework::Jax;
        assert_eq!(compilation(&trace, &Devices::of(&trace)), None);
    }

    #[test]
    fn calls_of_a_driver_are_no_spans_of_the_host_tracer() {
        let mut b = TraceBuilder::new();
        let calls = b.line("/host:CPU", "Host Threads/1");
        let stream = b.line("/device:GPU:0", "Stream #1(Compute)");
        b.event(calls, "cuLaunchKernel", 0, 1);
        b.event(calls, "hipModuleLaunchKernel", 2, 1);
        b.event(stream, "gemm", 5, 5);
        let mut trace = b.build();
        trace.framework = Framework::Jax;
        assert_eq!(compilation(&trace, &Devices::of(&trace)), None);
    }

    #[test]
    fn modules_are_counted_only_where_their_programs_are_named() {
        let modules = |programs: &[Option<i64>]| {
            let mut b = TraceBuilder::new();
            let worker = b.line("/host:CPU", "tf_XLAEigen/1");
            for &program in programs {
                b.event(worker, "dot.1", 0, 10)
                    .hlo_op("dot.1")
                    .hlo_module("jit_f")
                    .args(|args| args.program_id = program);
            }
            let trace = b.build();
            num_modules(&trace, &Devices::of(&trace))
        };
        assert_eq!(modules(&[Some(1), Some(2), Some(1)]), Some(2));
        assert_eq!(modules(&[Some(1), None]), None);
    }

    #[test]
    fn only_jax_without_a_span_means_that_nothing_was_compiled() {
        assert_eq!(capture(false, Framework::Jax).map(|it| it.compilation_time_us), Some(0.0));
        assert_eq!(capture(false, Framework::Unknown), None);
    }
}
