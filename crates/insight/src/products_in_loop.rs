//! A loop computes small matrix products one by one, although none of them needs the result of another.
//!
//! ```text
//! for each token:  h = cell(h, x)                for each token:  h = cell(h, x)
//!                  logits = h @ w        -->     logits = all h @ w
//! ```
//!
//! The body of a `while` instruction multiplies fewer than 128 rows (ours: a matrix unit of a TPU works on 128 rows) by an
//! argument that the loop leaves unchanged, and no later iteration needs the product to compute its own. The loop runs at
//! least 8 iterations (ours), and does not run the backward pass as well. The products of all iterations can be one
//! product before or after the loop, which reads the array once. The impact is the time of these products, of their
//! products in the backward pass (on the same source line), and of the ops that add the latter up. It is an upper
//! bound, because the one product takes time too. Severity: warning from 10 % of the op time (JAX guide, overheads),
//! critical from 50 %. Confidence: medium, because all results must fit into memory. Remedy: move the product out of the
//! loop. The rule is skipped if the compiled program is missing.

use std::collections::{BTreeMap, BTreeSet};

use super::conversions::{Loops, executions, runs};
use super::draft::{Draft, equals};
use super::limits::OVERHEAD_PERCENT;
use super::loop_state::State;
use super::numbers::{Numbers, shown};
use super::{Needs, Rule, Verdict, small_micro_batches};
use base::framework_path::training_pass;
use base::{Ps, format};
use hlo::{Instruction, Module};
use metrics::Op;
use report::{Confidence, View};

pub(super) static RULE: Rule = Rule {
    id: "products_in_loop",
    title: "A loop computes independent products one by one",
    needs: Needs::AllOps,
    explained_by: &[&[&small_micro_batches::RULE]],
    ..Rule::checked_by(check)
};

/// Products with at least this number of rows use a device well.
const MOST_ROWS: f64 = 128.0;
/// Minimum number of iterations.
const FEWEST_ITERATIONS: u64 = 8;

/// A product that could be computed outside of its loop, with the products and sums of its backward pass.
struct Product<'a> {
    op: &'a Op,
    of_loop: &'a Instruction,
    iterations: u64,
    rows: f64,
    /// Shape of the argument, as HLO text.
    weights: String,
    /// Ops that would not run in the loop, including `op`.
    ops: Vec<&'a Op>,
}

impl Product<'_> {
    fn time(&self) -> Ps {
        self.ops.iter().map(|op| op.self_time).sum()
    }
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let products = numbers.programs().flat_map(|(id, module)| products(numbers, id, module));
    let Some(found) = products.max_by_key(Product::time) else { return Verdict::Fine };
    let share = numbers.op_percent(found.time());
    if share < OVERHEAD_PERCENT.good {
        return Verdict::Fine;
    }
    let (severity, limit) = OVERHEAD_PERCENT.severity(share);
    let iterations = format::count(found.iterations);
    let backward = match found.ops.len() {
        1 => "takes",
        _ => "and the ops of its backward pass take",
    };
    let message = format!(
        "{} runs its body {iterations} times. Each time, {} multiplies {} by an argument ({}), and no later iteration needs the result to \
         compute its own. {} {backward} {} of the op time. One product for all iterations reads the argument once instead of {iterations} \
         times.",
        shown(&found.of_loop.name),
        numbers.op_with_source(found.op),
        format::counted(found.rows.round() as u64, "row"),
        shown(&found.weights),
        shown(numbers.context.analysis.ops.text(numbers.trace, found.op.name)),
        format::percent(share),
    );
    let title = format!(
        "A loop computes {iterations} small products that could be one: {} of the op time",
        format::percent(share)
    );
    Draft::new(severity, Confidence::Medium, &title, message)
        .remedy(
            "Move the product out of the loop. If the loop computes its input, return the input of each iteration (the ys of \
             jax.lax.scan), and compute one product for all of them after the loop. If the input does not depend on the state, \
             compute the product for all iterations before the loop, and pass it to the loop (the xs of jax.lax.scan).",
        )
        .passed("products_in_loop_percent", share, limit)
        .count("iterations", found.iterations)
        .evidence("rows", found.rows)
        .at_stake(numbers.of_window(share))
        .link(View::Ops, &equals("hlo_op_name", numbers.context.analysis.ops.text(numbers.trace, found.op.name)))
        .fires()
}

/// An op in the body of a loop.
struct InLoop<'a> {
    op: &'a Op,
    instruction: &'a Instruction,
    of_loop: &'a Instruction,
}

fn products<'a>(numbers: &Numbers<'a>, id: i64, module: &'a Module) -> Vec<Product<'a>> {
    let ops = &numbers.context.analysis.ops;
    let text = |text| ops.text(numbers.trace, text);
    let loops = Loops::new(module);
    let in_loop = |op: &'a Op| {
        let instruction = module.instruction(text(op.name)).filter(|_| op.program_id == Some(id))?;
        Some(InLoop { op, instruction, of_loop: loops.around(instruction)? })
    };
    let all: Vec<InLoop<'a>> = ops.rows.iter().filter_map(in_loop).collect();
    if all.is_empty() {
        return Vec::new();
    }
    let runs = runs(numbers, id, module);
    let mut states: BTreeMap<&str, Option<State<'a>>> = BTreeMap::new();
    let mut is_outside_recurrence = |it: &&InLoop<'a>| {
        let state = states.entry(&it.of_loop.name).or_insert_with(|| State::of(module, it.of_loop));
        state.as_ref().is_some_and(|state| state.is_outside_recurrence(it.instruction))
    };
    let is_product = |it: &&InLoop<'a>| product(module, it.instruction).is_some();
    let independent: Vec<&InLoop<'a>> = all.iter().filter(|it| is_product(it) && is_outside_recurrence(it)).collect();
    let is_argument = |it: &Instruction| it.is("parameter") && module.entry_index() == Some(it.computation);
    // An argument, or its conversion before the loop. Other arrays may be parts of a larger computation that the loop divides to save
    // memory: a loop over blocks of keys multiplies each block by all queries.
    let is_weight = |operand: &&'a Instruction| {
        let (origin, is_invariant) = loops.origin(operand);
        is_invariant && (is_argument(origin) || !origin.operands.is_empty() && module.operands(origin).all(is_argument))
    };
    let is_backward = |op: &Op| training_pass(text(op.framework_path)) == Some("backward");
    let forward = |it: &InLoop<'a>| {
        let iterations = executions(it.op).checked_div(runs).filter(|&count| count >= FEWEST_ITERATIONS)?;
        let weights = module.operands(it.instruction).filter(is_weight);
        let weights = weights.max_by(|a, b| a.shape.elements().total_cmp(&b.shape.elements()))?;
        let rows = rows(module, product(module, it.instruction)?, weights.shape.elements())?;
        // A loop that also runs the backward pass accumulates gradients: separate iterations save memory.
        let trains = all.iter().any(|other| std::ptr::eq(other.of_loop, it.of_loop) && is_backward(other.op));
        if rows >= MOST_ROWS || trains {
            return None;
        }
        let source = text(it.op.source);
        let is_of_line = |other: &Op| !source.is_empty() && is_backward(other) && text(other.source) == source;
        let products: Vec<&InLoop<'a>> =
            independent.iter().filter(|other| std::ptr::eq(other.op, it.op) || is_of_line(other.op)).copied().collect();
        let results: BTreeSet<_> = products.iter().filter_map(|it| module.index_of(it.instruction)).collect();
        let is_sum_of_products = |other: &&InLoop<'a>| {
            adds(module, other.instruction)
                && other.instruction.operands.iter().any(|operand| results.contains(operand))
        };
        let sums = all.iter().filter(is_sum_of_products).map(|it| it.op);
        Some(Product {
            op: it.op,
            of_loop: it.of_loop,
            iterations,
            rows,
            weights: weights.shape.text(false),
            ops: products.iter().map(|it| it.op).chain(sums).collect(),
        })
    };
    independent.iter().filter_map(|it| forward(it)).collect()
}

/// Returns the number of rows that a product multiplies by an array with this number of elements. `None` if the product does not
/// read all of the array.
///
/// For `[rows, k] x [k, columns]`, the square of the rows is `(rows * k) * (rows * columns) / (k * columns)`.
fn rows(module: &Module, product: &Instruction, elements: f64) -> Option<f64> {
    let operands = [module.operand(product, 0)?.shape.elements(), module.operand(product, 1)?.shape.elements()];
    let other = match operands {
        [first, second] if second == elements => first,
        [first, second] if first == elements => second,
        _ => return None,
    };
    Some((other * product.shape.elements() / elements).sqrt())
}

/// Returns true if an instruction only adds.
fn adds(module: &Module, instruction: &Instruction) -> bool {
    let is_simple = |it: &Instruction| ["add", "bitcast", "copy", "parameter"].contains(&it.opcode.as_str());
    instruction.is("add") || instruction.is("fusion") && hlo::fused(module, instruction).iter().all(is_simple)
}

/// Returns the matrix product that an instruction is or fuses.
pub(super) fn product<'a>(module: &'a Module, instruction: &'a Instruction) -> Option<&'a Instruction> {
    if instruction.is_matrix_product() {
        return Some(instruction);
    }
    hlo::fused(module, instruction).iter().find(|it| it.is_matrix_product())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_steps};
    use crate::testing_programs::{add_text_program, op_of};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us with a loop of 10 iterations over the state `h`. In each, `cell.1` computes the next `h`, and
    /// `logits.1` multiplies `input` by `weights` and takes `time`. `next` is the next `h`.
    fn steps(time: i64, input: &'static str, weights: &'static str, next: &'static str) -> Trace {
        let state = "(s32[], f32[4,8], f32[8,32], f32[10,4,8], f32[10,4,32], f32[8,8], f32[8,32])";
        let slice = |shape: &str, from: &str| {
            format!("{shape} dynamic-slice({from}, i, zero, zero), dynamic_slice_sizes={{1,4,8}}")
        };
        let text = format!(
            "HloModule jit_f\n\nbody {{\n  p = {state} parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n  \
             h = f32[4,8] get-tuple-element(p), index=1\n  w = f32[8,32] get-tuple-element(p), index=2\n  \
             xs = f32[10,4,8] get-tuple-element(p), index=3\n  ys = f32[10,4,32] get-tuple-element(p), index=4\n  \
             u = f32[8,8] get-tuple-element(p), index=5\n  \
             v = f32[8,32] get-tuple-element(p), index=6\n  zero = s32[] constant(0)\n  \
             slice.1 = {}\n  x = f32[4,8] bitcast(slice.1)\n  \
             cell.1 = f32[4,8] dot(h, u), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n  \
             logits.1 = f32[4,32] dot({input}, {weights}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n  \
             part = f32[4,8] slice(logits.1), slice={{[0:4], [0:8]}}\n  more.1 = f32[4,8] add(cell.1, part)\n  \
             wide = f32[1,4,32] bitcast(logits.1)\n  all = f32[10,4,32] dynamic-update-slice(ys, wide, i, zero, zero)\n  \
             w2 = f32[8,32] negate(w)\n  one = s32[] constant(1)\n  j = s32[] add(i, one)\n  \
             ROOT t = {state} tuple(j, {next}, w, xs, all, u, v)\n}}\n\n\
             condition {{\n  q = {state} parameter(0)\n  k = s32[] get-tuple-element(q), index=0\n  n = s32[] constant(10)\n  \
             ROOT lt = pred[] compare(k, n), direction=LT\n}}\n\n\
             ENTRY main {{\n  zero.2 = s32[] constant(0)\n  h.2 = f32[4,8] parameter(0)\n  w.2 = f32[8,32] parameter(1)\n  \
             xs.2 = f32[10,4,8] parameter(2)\n  ys.2 = f32[10,4,32] parameter(3)\n  u.2 = f32[8,8] parameter(4)\n  \
             x.2 = f32[8,8] parameter(5)\n  \
             v.2 = f32[8,32] dot(x.2, w.2), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n  \
             v.3 = f32[8,32] tanh(v.2)\n  \
             start = {state} tuple(zero.2, h.2, w.2, xs.2, ys.2, u.2, v.3)\n  \
             while.1 = {state} while(start), condition=condition, body=body\n  \
             g = f32[10,4,32] get-tuple-element(while.1), index=4\n  ROOT tanh.1 = f32[10,4,32] tanh(g)\n}}\n",
            slice("f32[1,4,8]", "xs"),
        );
        tpu_steps(12, |b, at| {
            if at == 0 {
                add_text_program(b, 7, &text);
            }
            for iteration in 0..10 {
                let start = at + iteration * 96;
                op_of(b, 7, ("cell.1", "convolution fusion"), start, 96 - time);
                op_of(b, 7, ("logits.1", "convolution fusion"), start + 96 - time, time);
            }
            op_of(b, 7, ("tanh.1", "loop fusion"), at + 960, 40);
        })
    }

    #[test]
    fn fires_above_its_limit() {
        let found = finding(steps(60, "h", "w", "cell.1"), &RULE);
        let title = "A loop computes 10 small products that could be one: 60.0 % of the op time";
        assert_eq!((found.severity, found.title.as_str()), (Critical, title));
        let said = "while.1 runs its body 10 times. Each time, logits.1 multiplies 4 rows by an argument (f32[8,32]), and no later";
        assert!(found.message.starts_with(said), "{}", found.message);
        assert_eq!(finding(steps(10, "h", "w", "cell.1"), &RULE).severity, Warning);
        fine(steps(9, "h", "w", "cell.1"), &RULE);
    }

    #[test]
    fn a_product_whose_input_is_known_before_the_loop_is_found() {
        // The next state needs this product, but the product needs no state.
        assert!(finding(steps(60, "x", "w", "more.1"), &RULE).title.starts_with("A loop computes 10"));
    }

    #[test]
    fn products_of_the_recurrence_stay_in_the_loop() {
        fine(steps(60, "h", "w", "more.1"), &RULE);
        // The loop changes the argument.
        fine(steps(60, "h", "w2", "cell.1"), &RULE);
    }

    #[test]
    fn a_loop_may_divide_a_product_of_computed_arrays() {
        // `v` is computed before the loop, as queries are.
        fine(steps(60, "h", "v", "cell.1"), &RULE);
    }
}
