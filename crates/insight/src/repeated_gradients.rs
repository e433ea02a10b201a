//! Several programs compute the gradients of the same model.
//!
//! Two or more programs compute gradients, and at least half of the backward paths of one program also occur in another
//! program (our limit: the same layers are differentiated twice). The comparison ignores the programs' names. Each step
//! then runs the forward and backward passes once per program, for example once to train and once to log the gradient
//! norm. The impact is the time of these programs, excluding the longest one. Severity: warning from 10 % of the op
//! time (JAX guide, overheads), critical from 50 %. Confidence: medium, because the programs may differentiate
//! different losses on purpose, such as the losses of a generator and a discriminator. Remedy: compute gradients once,
//! and return everything else from that program. The rule is not reported if the paths of ops are unknown.

use std::collections::{BTreeMap, BTreeSet};

use super::draft::{Draft, equals};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, shown};
use super::{Needs, Rule, Verdict};
use base::framework_path::training_pass;
use base::{Ps, format};
use report::{Confidence, View};

pub(super) static RULE: Rule = Rule {
    id: "repeated_gradients",
    title: "Several programs compute gradients of the same model",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// A program: its time and the paths of its backward pass. The paths do not contain the program's name.
#[derive(Default)]
struct Program<'a> {
    time: Ps,
    backward: BTreeSet<&'a str>,
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    let mut programs: Vec<(&str, Program<'_>)> = programs(numbers).into_iter().collect();
    programs.retain(|(_, program)| !program.backward.is_empty());
    programs.sort_by_key(|(name, program)| (std::cmp::Reverse(program.time), *name));
    let Some((first, others)) = programs.split_first() else { return Verdict::Irrelevant };
    let repeats: Vec<&(&str, Program<'_>)> = others.iter().filter(|(_, it)| is_same(&first.1, it)).collect();
    let share = numbers.op_percent(repeats.iter().map(|(_, program)| program.time).sum());
    if share < OVERHEAD_PERCENT.good {
        return Verdict::Fine;
    }
    let (severity, limit) = OVERHEAD_PERCENT.severity(share);
    let with_share = |(name, program): &(&str, Program<'_>)| {
        format!("{} ({} of the op time)", shown(name), format::percent(numbers.op_percent(program.time)))
    };
    let all: Vec<String> = [first].into_iter().chain(repeats.iter().copied()).map(with_share).collect();
    let message = format!(
        "{} programs run the forward and the backward pass of the same layers: {}.",
        format::count(all.len() as u64),
        all.join(", ")
    );
    let title = format!(
        "{} programs compute gradients of the same model; the repeated work takes {} of the op time",
        format::count(all.len() as u64),
        format::percent(share)
    );
    Draft::new(severity, Confidence::Medium, &title, message)
        .remedy(
            "Compute the gradients once in each step: return the loss, the metrics and the gradient norms from the \
             program that trains (jax.value_and_grad with has_aux=True), or compute them only every n-th step.",
        )
        .passed("repeated_gradients_percent", share, limit)
        .at_stake(numbers.of_window(share))
        .link(View::Ops, &equals("hlo_module", repeats.first().map_or("", |(name, _)| name)))
        .fires()
}

/// Returns true if at least half of the backward paths of one program also occur in the other.
fn is_same(a: &Program<'_>, b: &Program<'_>) -> bool {
    let common = a.backward.intersection(&b.backward).count();
    2 * common >= a.backward.len().min(b.backward.len())
}

/// Returns the programs that ran, by name.
fn programs<'a>(numbers: &'a Numbers<'_>) -> BTreeMap<&'a str, Program<'a>> {
    let ops = &numbers.context.analysis.ops;
    let mut programs: BTreeMap<&str, Program<'_>> = BTreeMap::new();
    for op in ops.rows.iter().filter(|op| !op.module.is_empty()) {
        let program = programs.entry(ops.text(numbers.trace, op.module)).or_default();
        program.time += op.self_time;
        let path = ops.text(numbers.trace, op.framework_path);
        if training_pass(path) == Some("backward") {
            program.backward.extend(path.split_once('/').map(|(_, inner)| inner));
        }
    }
    programs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, says, tpu_steps};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us. Each step trains. Each step also runs another program for `other` us, with a backward
    /// pass of the layer.
    fn steps(other: i64, layer: &'static str) -> Trace {
        tpu_steps(12, move |b, at| {
            let line = b.line("/device:TPU:0", "XLA Ops");
            let path = format!("jit(grad_norm)/transpose(jvp({layer}))/dot_general");
            let texts = ["jit(train_step)/transpose(jvp(mlp))/dot_general", &path, "jit_train_step", "jit_grad_norm"];
            let [trains, norms, train_step, grad_norm] = texts.map(|it| b.trace_mut().strings.intern(it));
            b.event(line, "dot.1", at, 1000 - other).args(|args| (args.tf_op, args.hlo_module) = (trains, train_step));
            b.event(line, "dot.2", at + 1000 - other, other)
                .args(|args| (args.tf_op, args.hlo_module) = (norms, grad_norm));
        })
    }

    #[test]
    fn fires_above_its_limit() {
        let found = finding(steps(400, "mlp"), &RULE);
        assert_eq!(
            (found.severity, found.title.as_str()),
            (Warning, "2 programs compute gradients of the same model; the repeated work takes 40.0 % of the op time")
        );
        let said = "2 programs run the forward and the backward pass of the same layers: jit_train_step (60.0 % of the \
            op time), jit_grad_norm (40.0 % of the op time).";
        assert_eq!(found.message, said);
        assert_eq!(finding(steps(100, "mlp"), &RULE).severity, Warning);
        assert_eq!(finding(steps(500, "mlp"), &RULE).severity, Critical);
        fine(steps(90, "mlp"), &RULE);
    }

    #[test]
    fn another_model_is_no_repetition() {
        fine(steps(400, "discriminator"), &RULE);
        let alone = tpu_steps(12, |b, at| {
            let line = b.line("/device:TPU:0", "XLA Ops");
            b.event(line, "dot.1", at, 900).hlo_module("jit_f").tf_op("jit(f)/mlp/dot_general");
        });
        assert_eq!(says(alone, &RULE), Verdict::Irrelevant);
    }
}
