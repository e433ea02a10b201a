//! Sampling sorts all classes, and draws a random number for each of them.
//!
//! Top-k and top-p sampling keep few of the classes of a vocabulary. The program sorts all classes (`jnp.sort`,
//! `jnp.argsort`), and `jax.random.categorical` draws Gumbel noise for each. The rule fires if both the sort and the
//! draw use at least 4096 classes (ours: smaller vocabularies are sorted quickly), and together take at least 10 % of
//! the op time (JAX guide, overheads). Severity: warning, critical from 50 %. Confidence: high. Remedy: take the
//! largest classes with `jax.lax.top_k`, and sort and draw only among these. The rule is skipped if the capture
//! contains no HLO.

use super::draft::{Draft, equals, lacks};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::Numbers;
use super::random_draws::{Drawn, Draws};
use super::{Needs, Rule, Verdict};
use base::{Ps, format};
use metrics::Op;
use report::{Confidence, View};

pub(super) static RULE: Rule = Rule {
    id: "sampling_over_all_classes",
    title: "Sampling sorts and draws over all classes",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// Minimum number of classes.
const LEAST_CLASSES: u64 = 4096;
/// Function that draws the noise of `jax.random.categorical`.
const GUMBEL: &str = "jax.random.gumbel";

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    if ops.rows.iter().all(|op| numbers.instruction(op).is_none()) {
        return lacks("the capture contains no HLO.");
    }
    let Some((sort, classes)) = ops
        .rows
        .iter()
        .filter(|op| numbers.is_sort(op))
        .filter_map(|op| sorted(numbers, op))
        .max_by_key(|(op, _)| op.self_time)
    else {
        return Verdict::Irrelevant;
    };
    let draws = Draws::new(numbers);
    let drawing: Vec<&Op> =
        ops.rows.iter().filter(|op| op.program_id == sort.program_id && draws.source(numbers, op).is_some()).collect();
    let is_noise = |op: &&&Op| {
        let drawn = Drawn::by(numbers, op);
        drawn.sampler == Some(GUMBEL) && drawn.array.is_some_and(|array| array.dimensions.contains(&classes))
    };
    let Some(noise) = drawing.iter().filter(is_noise).max_by_key(|op| op.self_time) else { return Verdict::Irrelevant };
    let sorts =
        ops.rows.iter().filter(|op| numbers.is_sort(op) && sorted(numbers, op).is_some_and(|it| it.1 == classes));
    let share = |ops: &mut dyn Iterator<Item = &Op>| numbers.op_percent(ops.map(|op| op.self_time).sum::<Ps>());
    let (sorting, drawing) = (share(&mut sorts.into_iter()), share(&mut drawing.iter().copied()));
    let lost = numbers.of_window(sorting + drawing);
    if lost < OVERHEAD_PERCENT.good {
        return Verdict::Fine;
    }
    let (severity, limit) = OVERHEAD_PERCENT.severity(lost);
    let both = format::percent(sorting + drawing);
    let message = format!(
        "The program sorts {} classes ({} of the op time) and draws a random number for each ({}). The largest sort is {}, and the \
         largest op that draws noise for jax.random.categorical is {}.",
        format::count(classes),
        format::percent(sorting),
        format::percent(drawing),
        numbers.op_with_source(sort),
        numbers.op_with_source(noise),
    );
    Draft::new(
        severity,
        Confidence::High,
        &format!("Sampling over all {} classes takes {both} of the op time", format::count(classes)),
        message,
    )
    .remedy(
        "If sampling keeps few classes (top-k, top-p), take the likeliest first: values, ids = jax.lax.top_k(logits, \
         k), with k of a few hundred. These values are already sorted. Apply top-p to them, draw with \
         jax.random.categorical(key, values), and look up the class in ids.",
    )
    .passed("sampling_percent", lost, limit)
    .evidence("sort_percent_of_ops", sorting)
    .evidence("random_numbers_percent_of_ops", drawing)
    .count("num_classes", classes)
    .at_stake(lost)
    .link(View::Ops, &equals("hlo_op_name", ops.text(numbers.trace, sort.name)))
    .fires()
}

/// Returns the op and the number of classes that it sorts, if there are many classes.
fn sorted<'a>(numbers: &Numbers<'a>, op: &'a Op) -> Option<(&'a Op, u64)> {
    let (_, instruction) = numbers.instruction(op)?;
    let classes = instruction.shape.first_array()?.dimensions.iter().copied().max()?;
    (classes >= LEAST_CLASSES).then_some((op, classes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, says, tpu_steps};
    use crate::testing_programs::{add_program, instruction, op_of};
    use crate::{random_numbers, sorting};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us that sort `sorted` and draw noise for `drawn`, each for `each` us.
    fn steps(sorted: &'static str, drawn: &'static str, each: i64) -> Trace {
        tpu_steps(12, move |b, at| {
            let path = "jit(f)/sample/jit(_gumbel)/jit(_uniform)/while";
            if at == 0 {
                let main = vec![
                    instruction("x.1", "parameter", sorted),
                    instruction("sort.1", "sort", sorted).of(&["x.1"]).path("jit(f)/sample/sort"),
                    instruction("noise.1", "add", drawn).of(&["x.1", "x.1"]).path(path),
                ];
                add_program(b, 7, vec![("main", main)]);
            }
            let line = b.line("/device:TPU:0", "XLA Ops");
            let [noise, source] = [path, "serve.py:7"].map(|it| b.trace_mut().strings.intern(it));
            op_of(b, 7, ("sort.1", "sort"), at, each);
            b.event(line, "noise.1", at + each, each).hlo_category("loop fusion").args(|args| {
                (args.program_id, args.tf_op, args.source) = (Some(7), noise, source);
            });
            op_of(b, 7, ("dot.1", "convolution"), at + 2 * each, 1000 - 2 * each);
        })
    }

    #[test]
    fn fires_if_sort_and_noise_have_the_same_classes() {
        let found = finding(steps("f32[8,50304]", "f32[8,50304]", 300), &RULE);
        assert_eq!(found.severity, Critical);
        assert_eq!(found.title, "Sampling over all 50\u{202f}304 classes takes 60.0 % of the op time");
        assert!(found.message.contains("(30.0 % of the op time)"), "{}", found.message);
        assert!(found.remedy.contains("jax.lax.top_k(logits, k)"));
        assert_eq!(finding(steps("f32[8,50304]", "f32[8,50304]", 60), &RULE).severity, Warning);
        assert_eq!(says(steps("f32[8,50304]", "f32[8,50304]", 40), &RULE), Verdict::Fine);
    }

    #[test]
    fn other_sorts_and_other_noise_are_left_to_their_rules() {
        for (sorted, drawn) in [("f32[8,2048]", "f32[8,2048]"), ("f32[8,50304]", "f32[8,512]")] {
            assert_eq!(says(steps(sorted, drawn, 300), &RULE), Verdict::Irrelevant);
            finding(steps(sorted, drawn, 300), &sorting::RULE);
            finding(steps(sorted, drawn, 300), &random_numbers::RULE);
        }
    }
}
