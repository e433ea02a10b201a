//! A batched loop runs until the slowest example of its batch is done.
//!
//! The condition of a `while` instruction reduces an array of at least 8 predicates, one per example of a batch.
//! `jax.vmap` turns `jax.lax.while_loop` into such a loop. The loop ends when the condition is false for all examples.
//! Until then, each iteration also recomputes the finished examples and discards their results. The rule fires if the
//! loop with its body takes at least 20 % of the op time. If the number of iterations is known, it must be at least 10
//! (all limits are ours: a short loop, or a loop over few examples, wastes little). Severity: warning. Confidence:
//! medium, because the capture does not show how many iterations each example needs. The rule is skipped if the
//! compiled program is missing.

use std::collections::BTreeSet;

use super::draft::{Draft, equals};
use super::numbers::{Numbers, code_line, shown};
use super::{Needs, Rule, Verdict};
use base::{Ps, format};
use hlo::{Computation, DataType, Instruction, Module};
use metrics::Op;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule {
    id: "batched_loop",
    title: "A batched loop runs until its slowest example is done",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// Minimum number of examples in a batch.
const FEWEST_LANES: f64 = 8.0;
/// Minimum number of iterations.
const FEWEST_ITERATIONS: u64 = 10;
/// The rule fires if the loop with its body takes at least this percentage of the op time (twice the JAX guide's limit
/// for overheads).
const LEAST_PERCENT: f64 = 20.0;

/// A loop whose condition reduces predicates.
struct Loop<'a> {
    name: &'a str,
    path: &'a str,
    source: Option<String>,
    lanes: f64,
    /// Self time of the loop, its body and its condition.
    time: Ps,
    /// Number of iterations per run. `None` if no op shows the number.
    iterations: Option<u64>,
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let loops = numbers.programs();
    let loops = loops.flat_map(|(id, module)| loops_of(numbers, id, module));
    let is_long = |found: &Loop<'_>| found.iterations.is_none_or(|count| count >= FEWEST_ITERATIONS);
    let Some(found) = loops.filter(is_long).max_by_key(|found| found.time) else { return Verdict::Fine };
    let share = numbers.op_percent(found.time);
    if share < LEAST_PERCENT {
        return Verdict::Fine;
    }
    let lanes = format::count(found.lanes as u64);
    let source = found.source.map_or(String::new(), |source| format!(" ({})", code_line(&source)));
    let times = found.iterations.map(|count| format!("{} iterations", format::count(count)));
    let message = format!(
        "{}{source}, including its body, takes {} of the op time{}. {} It ends when the condition is false for all \
         {lanes} examples of the batch. Until then, each iteration computes all examples and discards the results of \
         finished ones.",
        shown(found.name),
        format::percent(share),
        times.as_ref().map_or(String::new(), |times| format!(", in {times} per run")),
        if is_vmapped(found.path) {
            "jax.vmap turned a jax.lax.while_loop into one loop for the whole batch."
        } else {
            "Its condition combines one predicate per example."
        },
    );
    let title = match times {
        Some(times) => format!("A loop over a batch of {lanes} runs {times}, until its slowest example is done"),
        None => format!("A loop over a batch of {lanes} runs until its slowest example is done"),
    };
    Draft::new(FindingSeverity::Warning, Confidence::Medium, &title, message)
        .remedy(
            "Return the number of iterations of each example from the loop. If few examples need many, limit the \
             number of iterations or relax the tolerance, put examples of similar length into one batch, or stop \
             after the usual number and continue with a smaller batch of unfinished examples.",
        )
        .passed("loop_percent", share, LEAST_PERCENT)
        .evidence("examples", found.lanes)
        .evidence_where("iterations", found.iterations.map(|count| count as f64))
        .at_stake(numbers.of_window(share))
        .link(View::Ops, &equals("hlo_op_name", found.name))
        .fires()
}

/// Returns true if `jax.vmap` encloses the loop: `jit(f)/vmap(solve)/while`.
fn is_vmapped(path: &str) -> bool {
    path.rsplit_once("/while").is_some_and(|(before, _)| before.contains("vmap("))
}

/// Returns the loops of a program whose condition reduces predicates.
fn loops_of<'a>(numbers: &Numbers<'a>, id: i64, module: &'a Module) -> Vec<Loop<'a>> {
    let whiles = module.instructions().iter().filter(|it| it.is("while"));
    let found = whiles.filter_map(|it| Some((it, module.called(it, 0)?, lanes(module, module.called(it, 1)?)?)));
    found.map(|(it, body, lanes)| measure(numbers, id, (module, it, body), lanes)).collect()
}

fn measure<'a>(
    numbers: &Numbers<'a>,
    id: i64,
    (module, instruction, body): (&'a Module, &'a Instruction, &'a Computation),
    lanes: f64,
) -> Loop<'a> {
    let ops = &numbers.context.analysis.ops;
    let name = |op: &Op| ops.text(numbers.trace, op.name);
    let rows = || ops.rows.iter().filter(|op| op.program_id == Some(id));
    let mut inside: BTreeSet<&str> = BTreeSet::from([instruction.name.as_str()]);
    for at in 0..instruction.called.len() {
        let called = module.called(instruction, at);
        each_inside(module, called, 0, &mut |it| {
            inside.insert(&it.name);
        });
    }
    let direct: BTreeSet<&str> = module.instructions_of(body).iter().map(|it| it.name.as_str()).collect();
    let runs = rows().find(|op| name(op) == instruction.name).map(|op| op.executions);
    let of_body = rows().filter(|op| direct.contains(name(op))).map(|op| op.executions).max();
    Loop {
        name: &instruction.name,
        path: &instruction.metadata.op_name,
        source: module.source_of(instruction),
        lanes,
        time: rows().filter(|op| inside.contains(name(op))).map(|op| op.self_time).sum(),
        iterations: of_body.zip(runs.filter(|&runs| runs > 0)).map(|(of_body, runs)| of_body / runs),
    }
}

/// Returns the number of predicates that a condition reduces to one. `None` if the condition reduces no predicates, or
/// too few.
fn lanes(module: &Module, condition: &Computation) -> Option<f64> {
    let mut most = 0.0_f64;
    each_inside(module, Some(condition), 0, &mut |it| {
        if it.is("reduce") || it.is("reduce-window") {
            let operand = module.operand(it, 0).and_then(|operand| operand.shape.array());
            let predicates = operand.filter(|array| array.data_type == DataType::PRED);
            most = most.max(predicates.map_or(0.0, |array| array.elements()));
        }
    });
    (most >= FEWEST_LANES).then_some(most)
}

/// Maximum depth of nested computations that are read.
const DEEPEST: usize = 16;

/// Visits the instructions of a computation and of the computations that it calls.
pub(super) fn each_inside<'a>(
    module: &'a Module,
    computation: Option<&'a Computation>,
    depth: usize,
    visit: &mut dyn FnMut(&'a Instruction),
) {
    let Some(computation) = computation.filter(|_| depth < DEEPEST) else { return };
    for it in module.instructions_of(computation) {
        visit(it);
        for at in 0..it.called.len() {
            each_inside(module, module.called(it, at), depth + 1, visit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, says, tpu_steps};
    use crate::testing_programs::{add_program, instruction, op_of};
    use report::FindingSeverity::Warning;
    use trace::Trace;

    /// Builds steps of 1000 us in which a loop over `lanes` runs `iterations` times and takes `time`.
    fn steps(lanes: &'static str, iterations: i64, time: i64) -> Trace {
        let mut is_first = true;
        tpu_steps(12, move |b, at| {
            if std::mem::take(&mut is_first) {
                let or = instruction("or.1", "or", "pred[]");
                let condition = vec![
                    instruction("done.1", "parameter", lanes),
                    instruction("any.1", "reduce", "pred[]").of(&["done.1"]).calls(&["or"]),
                ];
                let body = vec![
                    instruction("state.2", "parameter", lanes),
                    instruction("fusion.3", "fusion", lanes).of(&["state.2"]),
                ];
                let main = vec![
                    instruction("state.1", "parameter", lanes),
                    instruction("while.1", "while", lanes)
                        .of(&["state.1"])
                        .calls(&["body", "condition"])
                        .path("jit(f)/vmap(solve)/while"),
                ];
                let computations = [("or", vec![or]), ("condition", condition), ("body", body), ("main", main)];
                add_program(b, 7, computations.into());
            }
            op_of(b, 7, ("while.1", "while"), at, time);
            for iteration in 0..iterations {
                op_of(b, 7, ("fusion.3", "loop fusion"), at + iteration * (time / iterations), time / iterations);
            }
            op_of(b, 7, ("dot.9", "convolution"), at + time, 1000 - time);
        })
    }

    #[test]
    fn fires_above_its_limit() {
        let found = finding(steps("pred[256]", 10, 200), &RULE);
        assert_eq!(
            (found.severity, found.title.as_str()),
            (Warning, "A loop over a batch of 256 runs 10 iterations, until its slowest example is done")
        );
        assert!(
            found.message.starts_with(
                "while.1, including its body, takes 20.0 % of the op time, in 10 iterations per run. jax.vmap"
            ),
            "{found:?}"
        );
        fine(steps("pred[256]", 10, 190), &RULE);
        fine(steps("pred[256]", 9, 900), &RULE);
        fine(steps("pred[7]", 10, 900), &RULE);
        // A counted loop has one condition for the whole batch.
        fine(steps("s32[256]", 10, 900), &RULE);
    }

    #[test]
    fn without_a_program_it_is_not_checked() {
        let trace = tpu_steps(12, |b, at| op_of(b, 7, ("while.1", "while"), at, 900));
        assert!(matches!(says(trace, &RULE), Verdict::NotChecked(_)));
    }

    #[test]
    fn only_loops_inside_vmap_are_vmapped() {
        assert!(is_vmapped("jit(f)/vmap()/while") && is_vmapped("jit(f)/jvp(vmap(solve))/while/body/add"));
        assert!(!is_vmapped("jit(f)/while/body/vmap(g)/add") && !is_vmapped(""));
    }
}
