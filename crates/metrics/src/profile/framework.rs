//! Finds the framework that a program is written with. JAX, TensorFlow and PyTorch are recognised from the output of
//! their profilers. A library on top of JAX (Flax, PAXml, Haiku) is recognised if the profile names one of its files or
//! programs.
//!
//! Reads the source files and call stacks of ops, the files and names of the compiled programs that ran, and the frames of
//! Python tracers that contain a path. Names of scopes and classes are not evidence, because users choose them.

use rustc_hash::FxHashSet;

use crate::op::ops::Ops;
use facts::{FrameworkClues, FrameworkEvidence};
use hlo::Modules;
use trace::{Framework, LineKind, StrId, Trace};

/// Returns `metadata.framework`.
pub(crate) fn framework(trace: &Trace, ops: &Ops, modules: &Modules) -> &'static str {
    match trace.framework {
        framework @ (Framework::TensorFlow | Framework::PyTorch) => framework.name(),
        framework @ (Framework::Jax | Framework::Unknown) => on_jax(trace, ops, modules).unwrap_or(framework.name()),
    }
}

/// Finds the library on top of JAX. Examines each distinct text once.
fn on_jax(trace: &Trace, ops: &Ops, modules: &Modules) -> Option<&'static str> {
    let mut found = FrameworkClues::default();
    let mut seen = FxHashSet::default();
    for op in &ops.rows {
        for (evidence, text) in [(FrameworkEvidence::File, op.source), (FrameworkEvidence::Module, op.module)] {
            if !text.is_empty() && seen.insert(text) {
                found.look(evidence, without_number(ops.text(trace, text), evidence));
            }
        }
    }
    for module in modules.read() {
        module.files().iter().for_each(|file| found.look(FrameworkEvidence::File, file));
    }
    let mut files: FxHashSet<StrId> = FxHashSet::default();
    for args in (0..trace.args.len()).filter_map(|index| trace.args.set(index)) {
        for text in [args.source, args.source_stack] {
            if !text.is_empty() && files.insert(text) {
                trace.text(text).lines().for_each(|frame| found.look(FrameworkEvidence::File, frame));
            }
        }
    }
    let line_kind: Vec<LineKind> = trace.lines.iter().map(|line| line.kind).collect();
    let mut names: FxHashSet<StrId> = FxHashSet::default();
    for kind in trace.events.kinds() {
        match line_kind.get(kind.line.index()) {
            Some(LineKind::Modules) if names.insert(kind.name) => {
                found.look(FrameworkEvidence::Module, without_number(trace.text(kind.name), FrameworkEvidence::Module));
            }
            Some(LineKind::Host) if names.insert(kind.name) => {
                let name = trace.text(kind.name);
                if name.contains(".py(") {
                    found.look(FrameworkEvidence::File, name);
                }
            }
            _ => {}
        }
    }
    found.framework()
}

/// Removes the number of a program: returns `jit_f` for `jit_f(7)`.
fn without_number(text: &str, evidence: FrameworkEvidence) -> &str {
    match evidence {
        FrameworkEvidence::Module => text.split('(').next().unwrap_or(text),
        FrameworkEvidence::File => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use run::{Run, Settings};
    use trace::TraceBuilder;

    fn framework_of(framework: Framework, source: &str, stack: &str, module: &str, frame: &str) -> String {
        let mut b = TraceBuilder::new();
        let ops = b.line("/device:TPU:0", "XLA Ops");
        let modules = b.line("/device:TPU:0", "XLA Modules");
        let python = b.line("/host:CPU", "python");
        let [source, stack] = [source, stack].map(|text| b.trace_mut().strings.intern(text));
        let _ = b.event(ops, "fusion", 0, 10).args(|args| (args.source, args.source_stack) = (source, stack));
        b.event(modules, module, 0, 10);
        b.event(python, frame, 0, 10);
        let mut trace = b.build();
        trace.framework = framework;
        let run = Run { trace, ..Run::default() };
        analyse(&run, &Settings::default()).profile.metadata.framework
    }

    #[test]
    fn files_and_programs_identify_a_library_on_top_of_jax() {
        let flax = "/x/flax/linen/linear.py:287";
        assert_eq!(framework_of(Framework::Jax, flax, "", "jit_f(1)", "main"), "Flax");
        assert_eq!(
            framework_of(Framework::Jax, "", "/x/train.py:3:1\n/x/haiku/_src/basic.py:1:2", "jit_f(1)", "main"),
            "Haiku"
        );
        assert_eq!(framework_of(Framework::Jax, flax, "", "pjit__wrapped_step_fn(77)", "main"), "PAXml");
        assert_eq!(framework_of(Framework::Unknown, "", "", "jit_f(1)", "flax/nnx/module.py(12): f"), "Flax");
        assert_eq!(
            framework_of(Framework::Jax, "/home/flax/train.py:1", "", "jit_flax(1)", "$linear.py:3 flax"),
            "JAX"
        );
        assert_eq!(framework_of(Framework::PyTorch, flax, "", "jit_f(1)", "main"), "PyTorch");
    }
}
