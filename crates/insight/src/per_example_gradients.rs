//! Per-example gradients are written to memory.
//!
//! `jax.vmap(jax.grad(loss))` computes a gradient of all weights for each example. XLA writes all of these gradients to
//! memory before it reduces them, for example to clip each gradient's norm (differentially private training), or to
//! take their mean.
//!
//! ```text
//! activations [B, T, I], gradients of outputs [B, T, O]  --product-->  gradients [B, I, O]  --reduce-->  [I, O]
//! ```
//!
//! The rule looks for a matrix product below `vmap(transpose(jvp(...)))` whose result has the dimensions of a weight
//! (an argument of the program) and one more dimension. The result must have at least 10 million elements, and at least
//! 4 times as many as the product's operands (both limits are ours). The cost is the time of the ops that read or write
//! arrays of the same size as these gradients. Severity: warning from 10 % of the op time (JAX guide, overheads),
//! critical from 50 %. Confidence: medium, because the program may need each gradient. Remedy: compute norms without
//! the gradients, or reduce over the batch first. The rule is skipped if the compiled program is missing.

use super::draft::{Draft, equals};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, code_line, shown};
use super::{Needs, Rule, Verdict};
use base::{Ps, format, framework_path};
use hlo::{ArrayShape, Instruction, Module, arguments};
use metrics::Op;
use report::{Confidence, View};

pub(super) static RULE: Rule = Rule {
    id: "per_example_gradients",
    title: "Per-example gradients are written to memory",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// Minimum number of elements of the gradients. We chose this limit because a device's caches can hold fewer elements.
const MIN_ELEMENTS: f64 = 1e7;
/// Minimum ratio of the gradients to the operands of their product.
const GRADIENTS_PER_OPERAND: f64 = 4.0;

/// Gradients of single examples, and the time of the ops that read or write arrays of their size.
struct Gradients<'a> {
    shape: String,
    examples: u64,
    source: Option<String>,
    time: Ps,
    largest: &'a Op,
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let found = numbers.programs().filter_map(|(id, module)| gradients(numbers, id, module));
    let Some(found) = found.max_by_key(|found| found.time) else { return Verdict::Fine };
    let share = numbers.op_percent(found.time);
    if share < OVERHEAD_PERCENT.good {
        return Verdict::Fine;
    }
    let (severity, limit) = OVERHEAD_PERCENT.severity(share);
    let source = found.source.map_or(String::new(), |source| format!(" at {}", code_line(&source)));
    let message = format!(
        "A product{source} computes a weight gradient for each of {} examples, {}, and writes all of them to memory. Ops that \
         read or write arrays of this size take {} of the op time. The largest is {}.",
        format::count(found.examples),
        shown(&found.shape),
        format::percent(share),
        numbers.op_with_source(found.largest),
    );
    let title = format!("Storing a gradient for each example takes {} of the op time", format::percent(share));
    Draft::new(severity, Confidence::Medium, &title, message)
        .remedy(
            "If only the norms are needed, as for clipping, compute them from activations and gradients of outputs (ghost norms: the \
             square root of the sum of (a @ a.T) * (g @ g.T) for each example), then differentiate the weighted loss of the whole batch once. If only \
             the mean is needed, use jax.grad of the mean loss. Otherwise process a few examples at a time (jax.lax.map with \
             batch_size).",
        )
        .passed("per_example_gradients_percent", share, limit)
        .count("examples", found.examples)
        .at_stake(numbers.of_window(share))
        .link(View::Ops, &equals("hlo_op_name", ops.text(numbers.trace, found.largest.name)))
        .fires()
}

/// Returns the largest gradients of single examples that a program writes.
fn gradients<'a>(numbers: &Numbers<'a>, id: i64, module: &'a Module) -> Option<Gradients<'a>> {
    let all = || module.instructions().iter();
    let candidates = all().filter(|it| it.is_matrix_product() && is_batched_pullback(&it.metadata.op_name));
    let candidates = candidates.filter(|it| is_larger_than_operands(module, it));
    let weights: Vec<Vec<u64>> =
        arguments(module).into_iter().map(|it| sorted(&it.shape.dimensions)).filter(|it| it.len() > 1).collect();
    let of_weight = candidates.filter_map(|product| {
        let array = product.shape.first_array()?;
        Some((product, array, examples(&array.dimensions, &weights)?))
    });
    let (product, array, examples) = of_weight.max_by(|a, b| a.1.elements().total_cmp(&b.1.elements()))?;
    let elements = array.elements();
    // Scores of attention inside `vmap` have a softmax.
    if all().any(|it| it.is("exponential") && it.shape.elements() == elements) {
        return None;
    }
    let ops = &numbers.context.analysis.ops;
    let has_size = |it: &Instruction| it.shape.arrays().iter().any(|array| array.elements() == elements);
    let moves = |op: &&Op| {
        let instruction = module.instruction(ops.text(numbers.trace, op.name)).filter(|_| op.program_id == Some(id));
        instruction.is_some_and(|it| has_size(it) || module.operands(it).any(has_size))
    };
    let moving: Vec<&'a Op> = ops.rows.iter().filter(moves).collect();
    let largest = moving.iter().copied().max_by_key(|op| op.self_time)?;
    Some(Gradients {
        shape: hlo::Shape::Array(array.clone()).text(false),
        examples,
        source: module.source_of(product),
        time: moving.iter().map(|op| op.self_time).sum(),
        largest,
    })
}

/// Returns true if a path contains a backward pass inside `vmap`: `vmap(transpose(jvp(loss)))`.
fn is_batched_pullback(path: &str) -> bool {
    framework_path::segments(path).any(|segment| segment.starts_with("vmap(transpose(jvp("))
}

fn is_larger_than_operands(module: &Module, product: &Instruction) -> bool {
    let elements = product.shape.first_array().map_or(0.0, ArrayShape::elements);
    let read: f64 = module.operands(product).take(2).map(|it| it.shape.elements()).sum();
    elements >= MIN_ELEMENTS && elements >= GRADIENTS_PER_OPERAND * read
}

/// Returns the dimension that an array of gradients has in addition to the dimensions of a weight.
fn examples(dimensions: &[u64], weights: &[Vec<u64>]) -> Option<u64> {
    (0..dimensions.len()).find_map(|skipped| {
        let others = dimensions.iter().enumerate().filter(|(at, _)| *at != skipped).map(|(_, size)| *size);
        let others = sorted(&others.collect::<Vec<u64>>());
        weights.contains(&others).then(|| dimensions.get(skipped).copied())?
    })
}

fn sorted(dimensions: &[u64]) -> Vec<u64> {
    let mut sorted = dimensions.to_vec();
    sorted.sort_unstable();
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_steps};
    use crate::testing_programs::{add_program, instruction, op_of};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    const PATH: &str = "jit(f)/vmap(transpose(jvp(loss)))/dot_general";

    /// Builds steps of 1000 us. A product with gradients of `shape`, and the op that reduces them, take `time` us.
    fn steps(time: i64, shape: &'static str, path: &'static str) -> Trace {
        tpu_steps(12, move |b, at| {
            if at == 0 {
                let main = vec![
                    instruction("weight.1", "parameter", "f32[2048,1024]"),
                    instruction("a.1", "parameter", "bf16[64,128,2048]").int(9, 1),
                    instruction("g.1", "parameter", "bf16[64,128,1024]").int(9, 2),
                    instruction("dot.1", "dot", shape).of(&["a.1", "g.1"]).path(path),
                    instruction("reduce.1", "reduce", "f32[2048,1024]").of(&["dot.1"]),
                    instruction("add.1", "add", "f32[2048,1024]").of(&["weight.1", "reduce.1"]),
                ];
                add_program(b, 7, vec![("main", main)]);
            }
            op_of(b, 7, ("dot.1", "convolution"), at, time / 2);
            op_of(b, 7, ("reduce.1", "input fusion"), at + time / 2, time / 2);
            op_of(b, 7, ("add.1", "loop fusion"), at + time, 1000 - time);
        })
    }

    #[test]
    fn fires_above_its_limits() {
        let found = finding(steps(400, "bf16[64,2048,1024]", PATH), &RULE);
        let title = "Storing a gradient for each example takes 40.0 % of the op time";
        assert_eq!((found.severity, found.title.as_str()), (Warning, title));
        assert!(found.message.contains("each of 64 examples, bf16[64,2048,1024], and writes"), "{}", found.message);
        assert_eq!(finding(steps(800, "bf16[64,1024,2048]", PATH), &RULE).severity, Critical);
        fine(steps(80, "bf16[64,2048,1024]", PATH), &RULE);
    }

    #[test]
    fn derivatives_by_inputs_and_gradients_of_a_batch_are_fine() {
        // No weight has these dimensions.
        fine(steps(400, "bf16[64,2048,512]", PATH), &RULE);
        fine(steps(400, "bf16[2048,1024]", PATH), &RULE);
        // One backward pass for the whole batch.
        fine(steps(400, "bf16[64,2048,1024]", "jit(f)/transpose(jvp(loss))/dot_general"), &RULE);
    }
}
