//! A loop reduces over devices in each iteration, and only adds up the results.
//!
//! ```text
//! for each micro-batch:  sum = sum + all-reduce(gradients)      8 reductions
//! for each micro-batch:  sum = sum + gradients                  1 reduction
//! sum = all-reduce(sum)
//! ```
//!
//! The body of a `while` instruction contains all-reduces or reduce-scatters whose results reach only elements of the loop's state that
//! the loop reads for nothing else. One reduction after the loop gives the same values. The impact is the time of these
//! reductions in all iterations except one. Severity: warning from 10 % of the op time (JAX guide, overheads), critical
//! from 50 %. Confidence: high. Remedy: reduce after the loop. The rule is skipped if the compiled program is missing.

use super::conversions::{Loops, executions, runs};
use super::draft::{Draft, equals};
use super::limits::OVERHEAD_PERCENT;
use super::loop_state::State;
use super::numbers::{Numbers, shown};
use super::{Needs, Rule, Verdict};
use base::{Ps, format};
use hlo::{Instruction, InstructionIndex, Module};
use metrics::Op;
use report::{Confidence, View};

pub(super) static RULE: Rule = Rule {
    id: "reduced_in_loop",
    title: "A loop reduces over devices in each iteration",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// A reduction that could run once, after the loop.
struct Reduction<'a> {
    op: &'a Op,
    instruction: &'a Instruction,
    of_loop: &'a Instruction,
    iterations: u64,
}

impl Reduction<'_> {
    /// Returns the time of all iterations but one.
    fn avoidable(&self) -> Ps {
        let iterations = i64::try_from(self.iterations).unwrap_or(i64::MAX).max(1);
        let time = self.op.self_time.as_ps();
        Ps::new(time - time / iterations)
    }
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.communicates() {
        return Verdict::Irrelevant;
    }
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let found: Vec<Reduction<'_>> =
        numbers.programs().flat_map(|(id, module)| reductions(numbers, id, module)).collect();
    let lost = numbers.op_percent(found.iter().map(Reduction::avoidable).sum());
    let Some(largest) = found.iter().max_by_key(|it| it.avoidable()).filter(|_| lost >= OVERHEAD_PERCENT.good) else {
        return Verdict::Fine;
    };
    let (severity, limit) = OVERHEAD_PERCENT.severity(lost);
    let share = numbers.op_percent(found.iter().map(|it| it.op.self_time).sum());
    let iterations = format::count(largest.iterations);
    let message = format!(
        "{} runs its body {iterations} times. Each time, {} sums {} over the devices, and the loop only adds the result to its state. One \
         reduction after the loop gives the same values. Reductions in such loops take {} of the op time.",
        shown(&largest.of_loop.name),
        numbers.op_with_source(largest.op),
        format::bytes(largest.instruction.shape.bytes().max(0.0) as u64),
        format::percent(share),
    );
    let title = format!(
        "A loop sums over the devices in each of its {iterations} iterations, which takes {} of the op time",
        format::percent(share)
    );
    Draft::new(severity, Confidence::High, &title, message)
        .remedy(
            "Reduce once, after the loop: add up the gradients of the micro-batches on each device, and call jax.lax.pmean or psum on \
             the sum that jax.lax.scan returns, not in its body. If the program uses jax.jit with shardings, the compiler places the \
             reductions: put the loop and one pmean into a jax.shard_map instead.",
        )
        .passed("repeated_reductions_percent", lost, limit)
        .evidence("reductions_percent", share)
        .count("iterations", largest.iterations)
        .at_stake(numbers.of_window(lost))
        .link(View::Ops, &equals("hlo_op_name", numbers.context.analysis.ops.text(numbers.trace, largest.op.name)))
        .fires()
}

/// Returns the reductions of a program that could run once, after their loop.
fn reductions<'a>(numbers: &Numbers<'a>, id: i64, module: &'a Module) -> Vec<Reduction<'a>> {
    let ops = &numbers.context.analysis.ops;
    let loops = Loops::new(module);
    let runs = runs(numbers, id, module);
    let reduction = |op: &'a Op| {
        let instruction = module.instruction(ops.text(numbers.trace, op.name))?;
        let done = matches!(instruction.opcode.as_str(), "all-reduce-done" | "reduce-scatter-done" | "async-done");
        let started = if done { module.operand(instruction, 0)? } else { instruction };
        let is_reduction = |opcode: &str| opcode.starts_with("all-reduce") || opcode.starts_with("reduce-scatter");
        let of_loop = loops.around(instruction).filter(|_| is_reduction(&started.opcode))?;
        let iterations = executions(op).checked_div(runs).filter(|&iterations| iterations > 1)?;
        only_adds(module, &State::of(module, of_loop)?, started).then_some(Reduction {
            op,
            instruction,
            of_loop,
            iterations,
        })
    };
    ops.rows.iter().filter(|op| op.program_id == Some(id)).filter_map(reduction).collect()
}

/// Returns true if the loop only adds a reduced value to elements of its state, and reads these elements for nothing else.
fn only_adds(module: &Module, state: &State<'_>, reduced: &Instruction) -> bool {
    let Some(found) = state.reached(reduced).filter(|it| !it.elements.is_empty()) else { return false };
    let start = module.index_of(reduced);
    let is_linear = |at: &InstructionIndex| {
        Some(*at) == start || module.at(*at).is_some_and(|it| std::ptr::eq(it, state.root) || is_linear(module, it))
    };
    let of_reached = || state.reads.iter().filter(|(element, _)| found.elements.contains(element));
    // An element that is only replaced is no sum.
    let is_sum =
        |element: &usize| !state.of_condition.contains(element) && of_reached().any(|(read, _)| read == element);
    let is_only_added_to = |(_, read): &(usize, &Instruction)| {
        let next = state.reached(read);
        next.is_some_and(|it| {
            it.elements.is_subset(&found.elements) && start.is_some_and(|at| !it.values.contains(&at))
        })
    };
    found.elements.iter().all(is_sum) && of_reached().all(is_only_added_to) && found.values.iter().all(is_linear)
}

/// Opcodes with which the sum of results equals the result of the sum, if the other operands do not depend on the value.
const LINEAR: [&str; 17] = [
    "add",
    "all-reduce-done",
    "async-done",
    "bitcast",
    "broadcast",
    "constant",
    "convert",
    "copy",
    "divide",
    "get-tuple-element",
    "multiply",
    "parameter",
    "reduce-scatter-done",
    "reshape",
    "subtract",
    "transpose",
    "tuple",
];

/// Returns true if an instruction is linear, or fuses only linear instructions.
fn is_linear(module: &Module, instruction: &Instruction) -> bool {
    let is_simple = |it: &Instruction| LINEAR.contains(&it.opcode.as_str());
    match instruction.opcode.as_str() {
        "fusion" => hlo::fused(module, instruction).iter().all(is_simple),
        _ => is_simple(instruction),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradient_synchronization;
    use crate::testing::{finding, fine, says, tpu_steps};
    use crate::testing_programs::{add_text_program, op_of};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us with a loop of 4 iterations. Each iteration reduces for `time`, and computes the gradient from
    /// `weights`.
    fn steps(time: i64, weights: &'static str) -> Trace {
        let state = "(s32[], f32[8,8], f32[8,8])";
        let text = format!(
            "HloModule jit_f\n\nadd {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}}\n\n\
             body {{\n  p = {state} parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n  \
             sum = f32[8,8] get-tuple-element(p), index=1\n  w = f32[8,8] get-tuple-element(p), index=2\n  \
             gradient.1 = f32[8,8] dot({weights}, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n  \
             all-reduce.1 = f32[8,8] all-reduce(gradient.1), replica_groups={{{{0,1}}}}, to_apply=add\n  \
             half = f32[] constant(0.5)\n  halves = f32[8,8] broadcast(half), dimensions={{}}\n  \
             mean = f32[8,8] multiply(all-reduce.1, halves)\n  more = f32[8,8] add(sum, mean)\n  \
             one = s32[] constant(1)\n  next = s32[] add(i, one)\n  ROOT t = {state} tuple(next, more, w)\n}}\n\n\
             condition {{\n  q = {state} parameter(0)\n  j = s32[] get-tuple-element(q), index=0\n  n = s32[] constant(4)\n  \
             ROOT lt = pred[] compare(j, n), direction=LT\n}}\n\n\
             ENTRY main {{\n  x = {state} parameter(0)\n  \
             while.1 = {state} while(x), condition=condition, body=body\n  \
             g = f32[8,8] get-tuple-element(while.1), index=1\n  ROOT tanh.1 = f32[8,8] tanh(g)\n}}\n"
        );
        tpu_steps(12, |b, at| {
            if at == 0 {
                add_text_program(b, 7, &text);
            }
            for iteration in 0..4 {
                let start = at + iteration * 240;
                op_of(b, 7, ("gradient.1", "convolution fusion"), start, 240 - time);
                op_of(b, 7, ("all-reduce.1", "all-reduce"), start + 240 - time, time);
            }
            op_of(b, 7, ("tanh.1", "loop fusion"), at + 960, 40);
        })
    }

    #[test]
    fn fires_above_its_limit() {
        let found = finding(steps(200, "w"), &RULE);
        let title = "A loop sums over the devices in each of its 4 iterations, which takes 80.0 % of the op time";
        assert_eq!((found.severity, found.title.as_str()), (Critical, title));
        let said = "while.1 runs its body 4 times. Each time, all-reduce.1 sums 256 B over the devices";
        assert!(found.message.starts_with(said), "{}", found.message);
        assert!((found.time_at_stake_percent.unwrap() - 60.0).abs() < 0.1, "{found:?}");
        assert_eq!(finding(steps(34, "w"), &RULE).severity, Warning);
        fine(steps(33, "w"), &RULE);
    }

    #[test]
    fn a_sum_that_the_next_iteration_reads_must_be_reduced_in_the_loop() {
        fine(steps(200, "sum"), &RULE);
    }

    #[test]
    fn it_explains_the_exposed_synchronisation() {
        assert!(gradient_synchronization::RULE.causes().any(|rule| *rule == RULE));
        assert!(matches!(says(steps(200, "w"), &RULE), Verdict::Fires(_)));
    }
}
