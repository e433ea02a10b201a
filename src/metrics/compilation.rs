//! Compilation on the host, and the modules that ran.
//!
//! Compilation is what XLA does between HLO and program. Tracing and lowering in Python come before it and are not
//! counted; neither are frames of the Python tracer, which are named after functions, not after work.

use std::collections::BTreeSet;

use super::devices::Devices;
use super::host_work::{HostWork, host_spans};
use crate::report::Compilation;
use crate::trace::classify::Platform;
use crate::trace::{Framework, LineKind, Trace, in_blocks};

/// The compilation section. No span in a JAX capture with host events means that nothing was compiled, since JAX marks each
/// compilation; in any other capture without a span the time is unknown and the section absent.
pub fn compilation(trace: &Trace, devices: &Devices) -> Option<Compilation> {
    let spans = host_spans(trace, devices, HostWork::Compile);
    let knows_there_was_none = trace.framework == Framework::Jax && !devices.host_names.is_empty();
    if spans.union.is_empty() && !knows_there_was_none {
        return None;
    }
    let time = spans.union.length();
    Some(Compilation {
        compilation_time_us: time.as_us(),
        num_xla_modules: num_modules(trace, devices),
        num_compilation_events: spans.outermost,
        compilation_percent: share_of_capture(time, devices),
    })
}

/// `100 * time / capture`, 0 for an empty capture.
pub(super) fn share_of_capture(time: crate::units::Ps, devices: &Devices) -> f64 {
    let capture = devices.capture.map_or(0, |capture| capture.length().0);
    if capture > 0 { (100.0 * time.0 as f64 / capture as f64).clamp(0.0, 100.0) } else { 0.0 }
}

/// Distinct modules that ran on the used devices: names on the `XLA Modules` lines of TPUs (they carry the program's
/// fingerprint), elsewhere the pairs of module and program that the ops name. `None` where nothing names one.
fn num_modules(trace: &Trace, devices: &Devices) -> Option<u64> {
    let mut modules = BTreeSet::new();
    for device in &devices.used {
        if device.platform == Platform::Tpu {
            let lines = trace.lines.iter().zip(&devices.events_by_line);
            let lines = lines
                .filter(|(line, _)| line.plane.index() == device.plane && line.kind == LineKind::Modules)
                .flat_map(|(_, events)| events.iter());
            modules.extend(lines.filter_map(|id| trace.events.get(id)).map(|event| (event.name, None)));
        } else {
            let mut seen = vec![false; trace.args.len()];
            in_blocks(&device.ops, |&id| {
                let Some(event) = trace.events.get(id) else { return };
                if let Some(seen) = seen.get_mut(event.args.index()) {
                    *seen = true;
                }
            });
            let args = (0..).zip(seen).filter(|(_, seen)| *seen).filter_map(|(index, _)| trace.args.set(index));
            let named = args.filter(|args| !args.hlo_module.is_empty());
            modules.extend(named.map(|args| (args.hlo_module, args.program_id)));
        }
    }
    (!modules.is_empty()).then_some(modules.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::builder::TraceBuilder;

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
        compilation(&trace, &Devices::new(&trace))
    }

    #[test]
    fn compilation_is_the_union_of_its_spans() {
        let found = capture(true, Framework::Jax).unwrap();
        assert_eq!((found.compilation_time_us, found.num_compilation_events), (200.0, 1));
        assert_eq!((found.compilation_percent, found.num_xla_modules), (20.0, Some(2)));
    }

    #[test]
    fn only_jax_without_a_span_means_that_nothing_was_compiled() {
        assert_eq!(capture(false, Framework::Jax).map(|it| it.compilation_time_us), Some(0.0));
        assert_eq!(capture(false, Framework::Unknown), None);
    }
}
