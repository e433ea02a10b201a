//! A Jacobian with few columns is computed in reverse mode.
//!
//! `jax.jacrev` runs one backward pass for each output, `jax.jacfwd` one forward pass for each input. The rule fires if a
//! program runs backward passes for many more outputs than the function has inputs:
//!
//! ```text
//! f: 3 inputs -> 64 outputs      jacrev: 64 backward passes      jacfwd: 3 forward passes
//! ```
//!
//! Such a program contains the rows of an identity matrix (a comparison of two counters of n x n) as seeds, and ops
//! below `vmap(transpose(jvp(...)))`. The number of outputs is n, at least 8. The number of inputs is the smallest last
//! dimension of a matrix product below such a path. The rule fires if n is at least 4 times the number of inputs (both
//! limits are ours), and these ops take at least 10 % of the op time. Severity: warning, critical from 50 % (JAX guide,
//! overheads). The impact is the share of passes that forward mode saves. Confidence: medium, because forward mode may
//! have to recompute other derivatives. Remedy: use `jax.jacfwd`. The rule is skipped if the compiled program is
//! missing.

use super::draft::{Draft, equals};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::Numbers;
use super::{Needs, Rule, Verdict};
use base::{Ps, format, framework_path};
use hlo::{Instruction, Module};
use metrics::Op;
use report::{Confidence, View};

pub(super) static RULE: Rule = Rule {
    id: "reverse_jacobian",
    title: "A Jacobian with few columns is computed in reverse mode",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// Minimum number of outputs. We chose this limit because fewer passes cost little.
const MIN_OUTPUTS: u64 = 8;
/// Minimum ratio of outputs to inputs. We chose this limit because a forward pass for each input has its own costs.
const OUTPUTS_PER_INPUT: u64 = 4;

/// The backward passes of a Jacobian.
struct Jacobian<'a> {
    outputs: u64,
    inputs: u64,
    time: Ps,
    largest: &'a Op,
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let found = numbers.programs().filter_map(|(id, module)| jacobian(numbers, id, module));
    let Some(found) = found.max_by_key(|found| found.time) else { return Verdict::Fine };
    let share = numbers.op_percent(found.time);
    if share < OVERHEAD_PERCENT.good {
        return Verdict::Fine;
    }
    let (severity, limit) = OVERHEAD_PERCENT.severity(share);
    let (outputs, inputs) = (format::count(found.outputs), format::count(found.inputs));
    let message = format!(
        "The program computes a Jacobian by {outputs} backward passes, one for each output (vmap of a transposed jvp, as in \
         jax.jacrev). The function has only {}. These passes take {} of the op time. The largest op is {}.",
        if found.inputs == 1 { "1 input".to_owned() } else { format!("{inputs} inputs") },
        format::percent(share),
        numbers.op_with_source(found.largest),
    );
    let title = format!(
        "A Jacobian of {outputs} outputs by {inputs} inputs, in reverse mode, takes {} of the op time",
        format::percent(share)
    );
    Draft::new(severity, Confidence::Medium, &title, message)
        .remedy(&format!(
            "Use jax.jacfwd, which runs a forward pass for each input: {inputs} instead of {outputs}. It also stores fewer \
             intermediate results for an outer gradient."
        ))
        .passed("reverse_jacobian_percent", share, limit)
        .count("outputs", found.outputs)
        .count("inputs", found.inputs)
        .at_stake(numbers.of_window(share * (1.0 - found.inputs as f64 / found.outputs as f64)))
        .link(View::Ops, &equals("hlo_op_name", ops.text(numbers.trace, found.largest.name)))
        .fires()
}

fn jacobian<'a>(numbers: &Numbers<'a>, id: i64, module: &'a Module) -> Option<Jacobian<'a>> {
    let all = || module.instructions().iter();
    let outputs = all().filter_map(|it| identity(module, it)).filter(|&size| size >= MIN_OUTPUTS).max()?;
    let products = all().filter(|it| it.is_matrix_product() && is_pullback(&it.metadata.op_name));
    let sizes = products.filter_map(|it| it.shape.first_array()?.dimensions.last().copied());
    let inputs = sizes.filter(|&size| size > 0).min()?;
    if outputs < OUTPUTS_PER_INPUT * inputs {
        return None;
    }
    let ops = &numbers.context.analysis.ops;
    let of_program = ops.rows.iter().filter(|op| op.program_id == Some(id));
    let found: Vec<&'a Op> = of_program.filter(|op| is_pullback(ops.text(numbers.trace, op.framework_path))).collect();
    let largest = found.iter().copied().max_by_key(|op| op.self_time)?;
    Some(Jacobian { outputs, inputs, time: found.iter().map(|op| op.self_time).sum(), largest })
}

/// Returns true if a path contains a backward pass inside `vmap`, possibly differentiated again.
fn is_pullback(path: &str) -> bool {
    framework_path::segments(path).any(|segment| segment.contains("vmap(transpose(jvp("))
}

/// Returns n if an instruction makes the seeds of a Jacobian, that is, if it compares two counters of n x n for
/// equality.
fn identity(module: &Module, instruction: &Instruction) -> Option<u64> {
    let array = instruction.shape.array().filter(|_| instruction.is("compare"))?;
    let [rows, columns] = *array.dimensions.as_slice() else { return None };
    let counts = |n: usize| module.operand(instruction, n).is_some_and(|it| it.is("iota"));
    (rows == columns && counts(0) && counts(1)).then_some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_steps};
    use crate::testing_programs::{add_program, instruction};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    const PATH: &str = "jit(f)/jvp(vmap(vmap(transpose(jvp(g)))))/dot_general";

    /// Builds steps of 1000 us in which a pullback of this shape and path takes `time` us, in a program with this
    /// identity.
    fn steps(time: i64, identity: &'static str, shape: &'static str, path: &'static str) -> Trace {
        tpu_steps(12, move |b, at| {
            if at == 0 {
                let main = vec![
                    instruction("w.1", "parameter", "f32[256,3]"),
                    instruction("iota.1", "iota", identity),
                    instruction("iota.2", "iota", identity),
                    instruction("eq.1", "compare", identity).of(&["iota.1", "iota.2"]),
                    instruction("dot.1", "dot", shape).of(&["eq.1", "w.1"]).path(path),
                    instruction("tanh.1", "tanh", shape).of(&["dot.1"]),
                ];
                add_program(b, 7, vec![("main", main)]);
            }
            let line = b.line("/device:TPU:0", "XLA Ops");
            for (name, path, start, time) in
                [("dot.1", path, at, time), ("tanh.1", "jit(f)/tanh", at + time, 1000 - time)]
            {
                let op = b.event(line, name, start, time).hlo_category("loop fusion").hlo_module("jit_f").tf_op(path);
                op.args(|args| args.program_id = Some(7));
            }
        })
    }

    #[test]
    fn fires_above_its_limits() {
        let found = finding(steps(400, "s32[64,64]", "f32[8192,64,3]", PATH), &RULE);
        let title = "A Jacobian of 64 outputs by 3 inputs, in reverse mode, takes 40.0 % of the op time";
        assert_eq!((found.severity, found.title.as_str()), (Warning, title));
        assert!(found.remedy.contains("3 instead of 64"), "{}", found.remedy);
        assert_eq!(finding(steps(800, "s32[64,64]", "f32[8192,64,3]", PATH), &RULE).severity, Critical);
        fine(steps(90, "s32[64,64]", "f32[8192,64,3]", PATH), &RULE);
    }

    #[test]
    fn wide_jacobians_and_other_gradients_are_fine() {
        fine(steps(400, "s32[64,64]", "f32[8192,64,48]", PATH), &RULE);
        fine(steps(400, "s32[4,4]", "f32[8192,4,1]", PATH), &RULE);
        fine(steps(400, "s32[64,64]", "f32[8192,64,3]", "jit(f)/transpose(jvp(g))/dot_general"), &RULE);
    }
}
