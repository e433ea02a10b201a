//! A loop converts the same arrays again in each iteration.
//!
//! Ops in the body of a `while` instruction read whole arrays only to convert them to a narrower type, although the
//! loop leaves these arrays unchanged. Each array has at least 1 MiB (ours: smaller arrays cost nothing). Examples are
//! the weights of a model in a loop over micro-batches or over the tokens to generate. It would be enough to convert
//! such arrays once, before the loop. The cost of an op that only converts is its whole time. The cost of any other op
//! is the time that it would save by reading narrower arrays. The cost excludes the first iteration. Severity: note
//! from 5 % of the op time (ours: half of the limit for a warning), warning from 10 % (JAX guide, overheads).
//! Confidence: high. Remedy: convert the arrays before the loop. If a program without gradients converts its arguments
//! in a loop, [converted_weights](#converted_weights) reports them. The rule is skipped if the compiled program is
//! missing.

use std::collections::BTreeSet;

use super::conversions::{Conversion, Loops, conversions, executions, runs, type_name};
use super::draft::{Draft, equals};
use super::limits::{OVERHEAD_NOTED_PERCENT, OVERHEAD_PERCENT};
use super::numbers::{Numbers, shown};
use super::{Needs, Rule, Verdict, converted_weights};
use base::{Ps, format};
use hlo::Module;
use report::{Confidence, FindingSeverity, View};
use trace::Framework;

pub(super) static RULE: Rule = Rule {
    id: "converted_in_loop",
    title: "A loop converts the same arrays in each iteration",
    needs: Needs::AllOps,
    explained_by: &[&[&converted_weights::RULE]],
    ..Rule::checked_by(check)
};

/// A repeated conversion.
pub(super) struct Repeated<'a> {
    pub conversion: Conversion<'a>,
    /// Name of the loop.
    pub of_loop: &'a str,
    /// Iterations per run.
    pub iterations: u64,
}

impl Repeated<'_> {
    /// Returns the time of all iterations but the first.
    fn avoidable(&self) -> Ps {
        let iterations = i64::try_from(self.iterations).unwrap_or(i64::MAX).max(1);
        let time = self.conversion.avoidable.as_ps();
        Ps::new(time - time / iterations)
    }
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let modules = numbers.programs();
    let found: Vec<Repeated<'_>> = modules.flat_map(|(id, module)| repeated(numbers, id, module)).collect();
    let share = numbers.op_percent(found.iter().map(Repeated::avoidable).sum());
    let Some(largest) = found.iter().max_by_key(|it| it.avoidable()).filter(|_| share >= OVERHEAD_NOTED_PERCENT) else {
        return Verdict::Fine;
    };
    let is_warning = share >= OVERHEAD_PERCENT.good;
    let arrays: BTreeSet<&str> = found.iter().map(|it| it.conversion.origin.name.as_str()).collect();
    let (wide, narrow) = largest.conversion.types;
    let message = format!(
        "{} converts {}, which it never changes, from {} to {} in each of its {} iterations per run. The largest \
         conversion is in {}. Excluding the first iteration, this takes {} of the op time.",
        shown(largest.of_loop),
        format::counted(arrays.len() as u64, "array"),
        type_name(wide),
        type_name(narrow),
        format::count(largest.iterations),
        numbers.op_with_source(largest.conversion.op),
        format::percent(share)
    );
    Draft::new(
        if is_warning { FindingSeverity::Warning } else { FindingSeverity::Note },
        Confidence::High,
        &format!("Conversions that a loop repeats take {} of the op time", format::percent(share)),
        message,
    )
    .remedy(&remedy(numbers.trace.framework, type_name(narrow)))
    .passed(
        "repeated_conversions_percent",
        share,
        if is_warning { OVERHEAD_PERCENT.good } else { OVERHEAD_NOTED_PERCENT },
    )
    .count("converting_iterations", largest.iterations)
    .at_stake(numbers.of_window(share))
    .link(View::Ops, &equals("hlo_op_name", ops.text(numbers.trace, largest.conversion.op.name)))
    .fires()
}

fn remedy(framework: Framework, narrow: &str) -> String {
    match framework {
        Framework::Jax | Framework::Unknown => format!(
            "Convert the arrays before the loop: call jax.tree.map(lambda w: w.astype(jnp.{narrow}), params) outside of the function \
             that jax.lax.scan, fori_loop or while_loop runs. If that function computes gradients, compute them with respect to the \
             converted arrays."
        ),
        Framework::TensorFlow | Framework::PyTorch => "Convert the arrays before the loop.".to_owned(),
    }
}

/// Returns the conversions that the loops of a program repeat in each iteration.
pub(super) fn repeated<'a>(numbers: &Numbers<'a>, id: i64, module: &'a Module) -> Vec<Repeated<'a>> {
    let loops = Loops::new(module);
    let runs = runs(numbers, id, module);
    let of_loop = |conversion: Conversion<'a>| {
        let around = loops.around(conversion.instruction).filter(|_| conversion.is_invariant && conversion.is_whole)?;
        let iterations = executions(conversion.op).checked_div(runs)?;
        (iterations > 1).then_some(Repeated { of_loop: &around.name, iterations, conversion })
    };
    conversions(numbers, id, module).into_iter().filter_map(of_loop).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_steps};
    use crate::testing_programs::{add_program, instruction, op_of};
    use report::FindingSeverity::{Note, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us with a loop of 10 iterations. Each iteration converts the weights in `time` us.
    /// `changed` names the value that each iteration returns as the new weights.
    fn steps(time: i64, shape: &'static str, changed: &'static str) -> Trace {
        tpu_steps(12, move |b, at| {
            if at == 0 {
                let narrow: &'static str = Box::leak(shape.replace("f32", "bf16").into_boxed_str());
                let body = vec![
                    instruction("state.2", "parameter", ""),
                    instruction("w.2", "get-tuple-element", shape).of(&["state.2"]),
                    instruction("x.2", "get-tuple-element", shape).of(&["state.2"]).int(13, 1),
                    instruction("convert.2", "convert", narrow).of(&["w.2"]),
                    instruction("dot.2", "dot", shape).of(&["convert.2", "x.2"]),
                    instruction("next.2", "tuple", "").of(&[changed, "dot.2"]),
                ];
                let condition = vec![instruction("state.3", "parameter", "")];
                let main = vec![
                    instruction("w.1", "parameter", shape),
                    instruction("x.1", "parameter", shape).int(9, 1),
                    instruction("start.1", "tuple", "").of(&["w.1", "x.1"]),
                    instruction("while.1", "while", "").of(&["start.1"]).calls(&["body", "condition"]),
                    instruction("tanh.1", "tanh", shape).of(&["x.1"]),
                ];
                add_program(b, 7, vec![("condition", condition), ("body", body), ("main", main)]);
            }
            for iteration in 0..10 {
                op_of(b, 7, ("convert.2", "convert"), at + iteration * 50, time);
                op_of(b, 7, ("dot.2", "convolution"), at + iteration * 50 + time, 50 - time);
            }
            op_of(b, 7, ("tanh.1", "loop fusion"), at + 500, 500);
        })
    }

    #[test]
    fn fires_above_its_limits() {
        let found = finding(steps(20, "f32[1024,256]", "w.2"), &RULE);
        let title = "Conversions that a loop repeats take 18.0 % of the op time";
        assert_eq!((found.severity, found.title.as_str()), (Warning, title));
        let said = "while.1 converts 1 array, which it never changes, from float32 to bfloat16 in each of its 10 iterations per run.";
        assert!(found.message.starts_with(said), "{}", found.message);
        assert_eq!(finding(steps(12, "f32[1024,256]", "w.2"), &RULE).severity, Warning);
        assert_eq!(finding(steps(6, "f32[1024,256]", "w.2"), &RULE).severity, Note);
        fine(steps(5, "f32[1024,256]", "w.2"), &RULE);
        fine(steps(20, "f32[1024,255]", "w.2"), &RULE);
        // Each iteration has other weights.
        fine(steps(20, "f32[1024,256]", "x.2"), &RULE);
    }
}
