//! Every expert processes every token, although each token is sent to few experts.
//!
//! A mixture of experts chooses only a few experts for each token (`top_k` of the router's scores). If the program still
//! multiplies all tokens by the weights of all experts, and only then multiplies the results by the (mostly zero) gates, most
//! of the products are not needed.
//!
//! ```text
//! scores [N, E] -> top_k -> K experts for each token
//! einsum('nd,edf->enf', tokens, weights)     N x E vectors are multiplied, and N x K are needed
//! ```
//!
//! The rule looks for a `top_k` over E scores of N tokens, with E at least 2 K. The rule also looks for a product of
//! the forward pass that forms the pairs of token and expert: its result has the dimensions E and N, with at least 16
//! elements for each pair (ours), and none of its operands has both dimensions. One operand of this product must be
//! weights: it has as many elements as an argument of the program with the dimension E. The cost is the time of all
//! products that read or write such pairs, multiplied by the share that is not needed, 1 - K/E. Severity: warning from
//! 10 % of the op time (JAX guide, overheads), critical from 50 %, or a note if the cost is less than 10 % of the
//! window. Confidence: medium, because small experts may be faster this way. Remedy: compute only the tokens of each
//! expert. The rule is skipped if the compiled program is missing.

use std::collections::BTreeSet;

use super::draft::{Draft, equals};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::Numbers;
use super::{Needs, Rule, Verdict};
use base::framework_path::training_pass;
use base::{Ps, format};
use hlo::{ArrayShape, Instruction, InstructionIndex, Module};
use metrics::Op;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule {
    id: "dense_experts",
    title: "Every expert processes every token",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// Minimum ratio of all experts to the experts that are chosen for a token. Below this ratio, little can be saved.
const EXPERTS_PER_CHOICE: u64 = 2;
/// Minimum number of elements for each pair of token and expert. We chose this limit because masks and gates have one
/// element.
const ELEMENTS_PER_PAIR: f64 = 16.0;

#[derive(Clone, Debug, PartialEq)]
struct Routing {
    experts: u64,
    chosen: u64,
    /// Dimensions of the tokens: one, or batch and sequence.
    tokens: Vec<u64>,
}

/// The products of a program's experts.
struct Experts<'a> {
    routing: Routing,
    time: Ps,
    largest: &'a Op,
}

impl Experts<'_> {
    /// Returns the time of the products that are not needed.
    fn avoidable(&self) -> Ps {
        Ps::new((self.time.as_ps() as f64 * (1.0 - self.routing.chosen as f64 / self.routing.experts as f64)) as i64)
    }
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let found = numbers.programs().filter_map(|(id, module)| experts(numbers, id, module));
    let Some(found) = found.max_by_key(Experts::avoidable) else { return Verdict::Fine };
    let share = numbers.op_percent(found.avoidable());
    if share < OVERHEAD_PERCENT.good {
        return Verdict::Fine;
    }
    let (mut severity, limit) = OVERHEAD_PERCENT.severity(share);
    if numbers.of_window(share) < OVERHEAD_PERCENT.good {
        severity = FindingSeverity::Note;
    }
    let Routing { experts, chosen, tokens } = &found.routing;
    let message = format!(
        "Each of {} tokens is sent to {} of {} experts, but every expert processes every token. The experts' matrix \
         products take {} of the op time; the largest is {}. Computing only the chosen experts would need {} of \
         these products.",
        format::count(tokens.iter().product()),
        format::count(*chosen),
        format::count(*experts),
        format::percent(numbers.op_percent(found.time)),
        numbers.op_with_source(found.largest),
        format::percent(100.0 * *chosen as f64 / *experts as f64),
    );
    let title = format!("Experts that were not chosen take {} of the op time", format::percent(share));
    Draft::new(severity, Confidence::Medium, &title, message)
        .remedy(
            "Multiply each token only by the weights of its experts: sort the tokens by expert and use jax.lax.ragged_dot (or a kernel \
             for grouped products), or gather the tokens of each expert into a buffer of fixed capacity and scatter the results back.",
        )
        .passed("unchosen_experts_percent", share, limit)
        .count("experts", *experts)
        .count("chosen_experts", *chosen)
        .at_stake(numbers.of_window(share))
        .link(View::Ops, &equals("hlo_op_name", ops.text(numbers.trace, found.largest.name)))
        .fires()
}

/// Returns the products of a program's experts. `None` if its experts do not process all tokens.
fn experts<'a>(numbers: &Numbers<'a>, id: i64, module: &'a Module) -> Option<Experts<'a>> {
    let routing = routing(module)?;
    let of_pairs = arrays_of_pairs(module, &routing);
    let is_of_pairs = |it: &Instruction| module.index_of(it).is_some_and(|index| of_pairs.contains(&index));
    let reads_pairs = |it: &Instruction| it.operands.iter().any(|operand| of_pairs.contains(operand));
    let weights = sizes_of_weights(module, &routing);
    let has_size = |it: &Instruction| it.shape.first_array().is_some_and(|array| weights.contains(&array.elements()));
    let has_weights = |it: &Instruction| has_size(it) || module.operands(it).any(has_size);
    let entry = module.instructions_of(module.entry()?);
    let products = || entry.iter().filter(|it| is_product(module, it) && has_weights(it));
    let is_forward = |it: &Instruction| !matches!(training_pass(&it.metadata.op_name), Some("backward" | "recomputed"));
    products().find(|it| is_forward(it) && is_of_pairs(it) && !reads_pairs(it))?;
    let ops = &numbers.context.analysis.ops;
    let names: BTreeSet<&str> =
        products().filter(|it| is_of_pairs(it) || reads_pairs(it)).map(|it| it.name.as_str()).collect();
    let of_program = ops.rows.iter().filter(|op| op.program_id == Some(id));
    let running: Vec<&'a Op> = of_program.filter(|op| names.contains(ops.text(numbers.trace, op.name))).collect();
    let largest = running.iter().max_by_key(|op| op.self_time).copied()?;
    Some(Experts { routing, time: running.iter().map(|op| op.self_time).sum(), largest })
}

/// Returns the choice of experts in a program: the `top_k` with the most scores.
fn routing(module: &Module) -> Option<Routing> {
    let of_top_k = || module.instructions().iter().filter(|it| it.metadata.op_name.ends_with("/top_k"));
    let is_top_k = |it: &&Instruction| {
        it.is("sort")
            || it.is("topk")
            || it.custom_call_target().is_some_and(|target| target.eq_ignore_ascii_case("topk"))
    };
    let scores = of_top_k().filter(is_top_k).filter_map(|it| module.operand(it, 0)?.shape.first_array());
    let routings = scores.filter_map(|scores| {
        let (&experts, tokens) = scores.dimensions.split_last()?;
        let is_chosen = |array: &&ArrayShape| {
            let kept = array.dimensions.split_last();
            kept.is_some_and(|(&chosen, rows)| rows == tokens && chosen > 0 && chosen * EXPERTS_PER_CHOICE <= experts)
        };
        let chosen = of_top_k().filter_map(|it| it.shape.first_array()).find(is_chosen)?.dimensions.last()?;
        Some(Routing { experts, chosen: *chosen, tokens: tokens.to_vec() })
    });
    routings.max_by_key(|it| it.experts.saturating_mul(it.tokens.iter().product()))
}

/// Returns the sizes of the experts' weights, in elements. Weights are arguments with a dimension for the experts. A
/// size is the product of this dimension and all later ones, because an earlier dimension is the number of layers.
fn sizes_of_weights(module: &Module, routing: &Routing) -> Vec<f64> {
    let arguments =
        module.entry().into_iter().flat_map(|it| module.instructions_of(it)).filter(|it| it.is("parameter"));
    let arrays = arguments.filter_map(|it| it.shape.first_array());
    let of_experts = arrays.filter_map(|array| {
        let place = array.dimensions.iter().position(|&size| size == routing.experts)?;
        let dimensions = array.dimensions.get(place..).filter(|dimensions| dimensions.len() > 2)?;
        Some(dimensions.iter().map(|&size| size as f64).product())
    });
    of_experts.collect()
}

/// Returns the instructions of the entry computation whose arrays have a dimension for the experts and the dimensions
/// of the tokens. Also returns instructions that only reshape such an array, because reshaping does not change the
/// number of elements.
fn arrays_of_pairs(module: &Module, routing: &Routing) -> BTreeSet<InstructionIndex> {
    let all_tokens: u64 = routing.tokens.iter().product();
    let fewest = all_tokens as f64 * routing.experts as f64 * ELEMENTS_PER_PAIR;
    let has_pairs = |array: &ArrayShape| {
        let mut dimensions = array.dimensions.clone();
        let mut take = |size: u64| {
            let place = dimensions.iter().position(|&it| it == size);
            place.map(|place| dimensions.swap_remove(place)).is_some()
        };
        array.elements() >= fewest
            && take(routing.experts)
            && (take(all_tokens) || routing.tokens.iter().all(|&size| take(size)))
    };
    let elements = |it: &Instruction| it.shape.first_array().map_or(0.0, ArrayShape::elements);
    let keeps_size = |it: &Instruction| {
        let is_known = matches!(it.opcode.as_str(), "bitcast" | "reshape" | "get-tuple-element" | "copy" | "fusion");
        is_known && !is_product(module, it)
    };
    let same_size = |it: &Instruction| {
        let size = elements(it);
        let operands: Vec<InstructionIndex> = it.operands.iter().copied().filter(|_| keeps_size(it)).collect();
        operands.into_iter().filter(move |&operand| module.at(operand).is_some_and(|it| elements(it) == size))
    };
    let of_entry: Vec<(InstructionIndex, &Instruction)> =
        (0..).zip(module.instructions()).filter(|(_, it)| module.entry_index() == Some(it.computation)).collect();
    let mut found: BTreeSet<InstructionIndex> = BTreeSet::new();
    // Operands come before their users.
    for &(index, it) in &of_entry {
        if it.shape.first_array().is_some_and(has_pairs) || same_size(it).any(|operand| found.contains(&operand)) {
            found.insert(index);
        }
    }
    for &(index, it) in of_entry.iter().rev() {
        if found.contains(&index) {
            found.extend(same_size(it));
        }
    }
    found
}

/// Returns true for a matrix product, and for a fusion that contains one.
fn is_product(module: &Module, instruction: &Instruction) -> bool {
    let fused = module.called(instruction, 0).filter(|_| instruction.is("fusion"));
    instruction.is_matrix_product()
        || fused.is_some_and(|it| module.instructions_of(it).iter().any(Instruction::is_matrix_product))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_steps};
    use crate::testing_programs::{add_program, instruction, op_of};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us in which two products of 8 experts process 512 tokens in `time` us. The first product
    /// multiplies `rows` rows for each expert. The router chooses `chosen` of the 8 experts.
    fn steps(time: i64, rows: &'static str, chosen: &'static str) -> Trace {
        let shape = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
        let (hidden, out) = (shape(format!("f32[8,{rows},64]")), shape(format!("f32[8,{rows},32]")));
        let chosen = shape(format!("s32[512,{chosen}]"));
        let route = "jit(f)/moe/top_k";
        tpu_steps(12, move |b, at| {
            if at == 0 {
                let main = vec![
                    instruction("x.1", "parameter", "f32[512,32]"),
                    instruction("up.1", "parameter", "f32[8,32,64]").int(9, 1),
                    instruction("down.1", "parameter", "f32[8,64,32]").int(9, 2),
                    instruction("scores.1", "parameter", "f32[512,8]").int(9, 3),
                    instruction("sort.1", "sort", "f32[512,8]").of(&["scores.1"]).path(route),
                    instruction("slice.1", "slice", chosen).of(&["sort.1"]).path(route),
                    instruction("dot.1", "dot", hidden).of(&["x.1", "up.1"]).path("jit(f)/moe/dot_general"),
                    instruction("dot.2", "dot", out).of(&["dot.1", "down.1"]).path("jit(f)/moe/dot_general"),
                    instruction("sum.1", "reduce", "f32[512,32]").of(&["dot.2"]),
                ];
                add_program(b, 7, vec![("main", main)]);
            }
            op_of(b, 7, ("dot.1", "convolution"), at, time / 2);
            op_of(b, 7, ("dot.2", "convolution"), at + time / 2, time / 2);
            op_of(b, 7, ("sum.1", "reduce"), at + time, 1000 - time);
        })
    }

    #[test]
    fn fires_above_its_limits() {
        // 2 of 8 experts are needed: three quarters of 400 us can be avoided.
        let found = finding(steps(400, "512", "2"), &RULE);
        let title = "Experts that were not chosen take 30.0 % of the op time";
        assert_eq!((found.severity, found.title.as_str()), (Warning, title));
        let start = "Each of 512 tokens is sent to 2 of 8 experts, but every expert processes every token.";
        assert!(found.message.starts_with(start), "{}", found.message);
        assert!(found.message.contains("take 40.0 % of the op time; the largest is dot."), "{}", found.message);
        assert!(found.message.ends_with("would need 25.0 % of these products."), "{}", found.message);
        assert_eq!(finding(steps(800, "512", "2"), &RULE).severity, Critical);
        fine(steps(120, "512", "2"), &RULE);
    }

    #[test]
    fn experts_that_compute_their_own_tokens_are_fine() {
        // Buffers of fixed capacity.
        fine(steps(400, "192", "2"), &RULE);
        // Nearly all experts are chosen.
        fine(steps(400, "512", "6"), &RULE);
    }
}
