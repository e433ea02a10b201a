//! A training step computes gradients of parameters that it does not train.
//!
//! A program trains some parameters and returns others unchanged. Some ops of its backward pass compute gradients that update no
//! parameter: the program reduces each of them to a single number, such as the norm of all gradients. The compiler then cannot
//! remove these ops. This happens, for example, if `optax.clip_by_global_norm` comes before `optax.multi_transform`. The impact is the
//! time of these ops. Severity: warning from 10 % of the op time (JAX guide, overheads), critical from 50 %. Confidence: high.
//! Remedy: differentiate with respect to the trained parameters only. The rule is skipped if the compiled program is missing.

use super::draft::{Draft, equals};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, shown};
use super::{Needs, Rule, Verdict};
use base::framework_path::training_pass;
use base::{Ps, format};
use hlo::{Module, array_uses};
use metrics::Op;
use report::{Confidence, LayerFreezing, View};

pub(super) static RULE: Rule = Rule {
    id: "frozen_gradients",
    title: "Gradients of frozen parameters are computed",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// A program that computes gradients without updating a parameter with them, and the ops that do so.
struct Frozen<'a> {
    module: &'a Module,
    parameters: LayerFreezing,
    ops: Vec<&'a Op>,
}

impl Frozen<'_> {
    fn time(&self) -> Ps {
        self.ops.iter().map(|op| op.self_time).sum()
    }
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let largest = numbers.programs().filter_map(|(id, module)| frozen(numbers, id, module)).max_by_key(Frozen::time);
    let Some(found) = largest else { return Verdict::Fine };
    let share = numbers.op_percent(found.time());
    let Some(op) = found.ops.iter().max_by_key(|op| op.self_time).filter(|_| share >= OVERHEAD_PERCENT.good) else {
        return Verdict::Fine;
    };
    let (severity, limit) = OVERHEAD_PERCENT.severity(share);
    let LayerFreezing { trained_arrays, frozen_arrays, frozen, .. } = &found.parameters;
    let examples = match frozen.as_slice() {
        [] => String::new(),
        [only] => format!(" ({})", shown(only)),
        [first, ..] => format!(" ({} and others)", shown(first)),
    };
    let computes = if found.ops.len() == 1 { "computes" } else { "compute" };
    let message = format!(
        "{} trains {} of parameters and returns {}{examples} unchanged. But {} of its backward pass ({} of the op time) {computes} \
         gradients that update no parameter. The program uses them only to compute single numbers, such as a norm. The largest is {}.",
        shown(found.module.name()),
        format::counted(*trained_arrays, "array"),
        format::count(*frozen_arrays),
        format::counted(found.ops.len() as u64, "op"),
        format::percent(share),
        numbers.op_with_source(op),
    );
    let title = format!("Gradients of frozen parameters take {} of the op time", format::percent(share));
    Draft::new(severity, Confidence::High, &title, message)
        .remedy(
            "Compute gradients of the trained parameters only: pass the frozen parameters as another argument of the loss, which \
             jax.grad does not differentiate, or apply jax.lax.stop_gradient to them. The gradients of the frozen parameters are computed \
             because a norm over all gradients needs them: use optax.clip_by_global_norm in the transform of the trained parameters, not \
             before optax.multi_transform or optax.masked.",
        )
        .passed("frozen_gradients_percent", share, limit)
        .count("frozen_arrays", *frozen_arrays)
        .at_stake(numbers.of_window(share))
        .link(View::Ops, &equals("hlo_op_name", numbers.context.analysis.ops.text(numbers.trace, op.name)))
        .fires()
}

/// Returns the ops that compute gradients which update no parameter. `None` if there are none, or if the program trains all of its
/// parameters.
fn frozen<'a>(numbers: &Numbers<'a>, id: i64, module: &'a Module) -> Option<Frozen<'a>> {
    let parameters = metrics::layer_freezing_of(module).filter(|it| it.frozen_arrays > 0)?;
    let ops = &numbers.context.analysis.ops;
    let used = array_uses(module);
    let is_unused = |op: &&Op| {
        op.program_id == Some(id)
            && training_pass(ops.text(numbers.trace, op.framework_path)) == Some("backward")
            && module
                .instruction(ops.text(numbers.trace, op.name))
                .and_then(|it| module.index_of(it))
                .is_some_and(|index| !used.contains(&index))
    };
    let ops: Vec<&Op> = ops.rows.iter().filter(is_unused).collect();
    (!ops.is_empty()).then_some(Frozen { module, parameters, ops })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_steps};
    use crate::testing_programs::add_text_program;
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us of a program that trains `head` and returns `base` unchanged. The gradient of `base` takes `time`,
    /// and `scale` computes what the update of `head` is multiplied by.
    fn steps(time: i64, scale: &'static str) -> Trace {
        let metadata = |name: &str| format!("metadata={{op_name=\"{name}\"}}");
        let backward = metadata("jit(f)/transpose(jvp(base))/dot_general");
        let text = format!(
            "HloModule jit_f\n\nadd {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}}\n\n\
             ENTRY main {{\n  base = f32[8,8] parameter(0), {}\n  head = f32[8,8] parameter(1), {}\n  x = f32[8,8] parameter(2), {}\n  \
             h = f32[8,8] dot(x, base), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}, {}\n  \
             ghead.1 = f32[8,8] dot(h, x), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}, {backward}\n  \
             gbase.1 = f32[8,8] dot(x, head), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}, {backward}\n  \
             square = f32[8,8] multiply(gbase.1, gbase.1)\n  zero = f32[] constant(0)\n  \
             norm = f32[] reduce(square, zero), dimensions={{0,1}}, to_apply=add\n  \
             factor = f32[8,8] {scale}\n  update = f32[8,8] multiply(ghead.1, factor)\n  \
             new = f32[8,8] subtract(head, update)\n  ROOT t = (f32[8,8], f32[8,8]) tuple(base, new)\n}}\n",
            metadata("params['base']"),
            metadata("params['head']"),
            metadata("x"),
            metadata("jit(f)/jvp(base)/dot_general"),
        );
        tpu_steps(12, |b, at| {
            if at == 0 {
                add_text_program(b, 7, &text);
            }
            let path = b.trace_mut().strings.intern("jit(f)/transpose(jvp(base))/dot_general");
            for (name, start, duration) in [("gbase.1", at, time), ("ghead.1", at + time, 1000 - time)] {
                let line = b.line("/device:TPU:0", "XLA Ops");
                let op = b.event(line, name, start, duration).hlo_category("convolution fusion").hlo_module("jit_f");
                op.args(|args| (args.program_id, args.tf_op) = (Some(7), path));
            }
        })
    }

    const NORM: &str = "broadcast(norm), dimensions={}";

    #[test]
    fn fires_above_its_limit() {
        let found = finding(steps(600, NORM), &RULE);
        let title = "Gradients of frozen parameters take 60.0 % of the op time";
        assert_eq!((found.severity, found.title.as_str()), (Critical, title));
        let said = "jit_f trains 1 array of parameters and returns 1 (params['base']) unchanged. But 1 op of its backward pass";
        assert!(found.message.starts_with(said), "{}", found.message);
        assert_eq!(finding(steps(100, NORM), &RULE).severity, Warning);
        fine(steps(99, NORM), &RULE);
    }

    #[test]
    fn gradients_that_change_a_parameter_are_used() {
        fine(steps(600, "negate(gbase.1)"), &RULE);
    }
}
