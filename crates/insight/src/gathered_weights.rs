//! Each run of a program gathers the same weights again.
//!
//! A program runs at least twice per step, and each run all-gathers some of its arguments from their parts on the
//! devices. The program returns no array of the size of such a part, so it does not update these arguments: in each
//! step, every run after the first gathers values that the devices already had. Examples are an actor, an evaluation or
//! a decode loop that uses the sharded parameters of training. The impact is the time of these all-gathers in all runs
//! of a step except one. Severity: warning from 10 % of the op time (JAX guide, overheads), critical from 50 %.
//! Confidence: medium, because the capture does not show whether the arguments of two runs are the same arrays. Remedy:
//! gather the weights once. The rule is skipped if the compiled program is missing.

use std::collections::BTreeMap;

use super::draft::{Draft, equals};
use super::gathered_batch::joined;
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, shown};
use super::{Needs, Rule, Verdict};
use base::{Ps, format};
use hlo::{ArrayShape, Instruction, Module, Shape};
use metrics::Op;
use report::{Confidence, View};

pub(super) static RULE: Rule = Rule {
    id: "gathered_weights",
    title: "Each run gathers the same weights",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// Minimum number of runs per step. A program that runs once per step may get new weights in each run.
const FEWEST_RUNS: f64 = 2.0;
/// Maximum number of ops between an argument and its all-gather.
const MOST_BETWEEN: usize = 4;

/// An all-gather of an argument.
struct Gather<'a> {
    op: &'a Op,
    module: &'a Module,
    argument: &'a Instruction,
    part: &'a ArrayShape,
    whole: &'a ArrayShape,
    runs_per_step: f64,
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.communicates() {
        return Verdict::Irrelevant;
    }
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    if numbers.steps_in_window().is_none() {
        return numbers.lacks_steps("the steps are unknown.");
    }
    let ops = &numbers.context.analysis.ops;
    let mut programs: BTreeMap<i64, Vec<Gather<'_>>> = BTreeMap::new();
    for op in &ops.rows {
        if let Some((id, gather)) = op.program_id.zip(gather(numbers, op)) {
            programs.entry(id).or_default().push(gather);
        }
    }
    // The share of the op time that all runs but the first of each step take.
    let lost = |gathers: &[Gather<'_>]| -> f64 {
        gathers.iter().map(|it| numbers.op_percent(it.op.self_time) * (1.0 - 1.0 / it.runs_per_step)).sum()
    };
    let Some((gathers, lost)) = programs
        .values()
        .map(|gathers| (gathers, lost(gathers)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .filter(|(_, lost)| *lost >= OVERHEAD_PERCENT.good)
    else {
        return Verdict::Fine;
    };
    let Some(largest) = gathers.iter().max_by_key(|it| it.op.self_time) else { return Verdict::Fine };
    let (severity, limit) = OVERHEAD_PERCENT.severity(lost);
    let text = |text| ops.text(numbers.trace, text);
    let shape = |array: &ArrayShape| shown(&Shape::Array(array.clone()).text(false));
    let bytes: f64 = gathers.iter().map(|it| it.whole.bytes()).sum();
    let all: Ps = gathers.iter().map(|it| it.op.self_time).sum();
    let share = numbers.op_percent(all);
    let runs = format::count(largest.runs_per_step.round() as u64);
    let program = shown(largest.module.name());
    let argument = match largest.argument.metadata.op_name.as_str() {
        "" => String::new(),
        name => format!(" of the argument {}", shown(&name.replace('\\', ""))),
    };
    let message = format!(
        "{program} runs {runs} times per step, and each run gathers {} ({}) from all devices. The program does not return new \
         values of these arguments, so the devices receive the same weights {runs} times. The all-gathers take {} of the op \
         time. The largest is {}, which computes {} from the part {}{argument}.",
        format::counted(gathers.len() as u64, "argument"),
        format::bytes(bytes.max(0.0) as u64),
        format::percent(share),
        numbers.op_with_source(largest.op),
        shape(largest.whole),
        shape(largest.part),
    );
    let title = format!(
        "{program} gathers the same weights in each of its {runs} runs per step: {} of the op time",
        format::percent(share)
    );
    Draft::new(severity, Confidence::Medium, &title, message)
        .remedy(
            "Gather the weights once per step, before the first run: weights = jax.device_put(weights, NamedSharding(mesh, \
             PartitionSpec())), and pass these to the program. If they do not fit into a device's memory, shard them so that \
             each device computes with its own part (tensor parallelism), or put several runs into one program with \
             jax.lax.scan, and gather outside of the loop.",
        )
        .passed("gathered_again_percent", lost, limit)
        .evidence("all_gather_percent", share)
        .evidence("runs_per_step", largest.runs_per_step)
        .at_stake(numbers.of_window(lost))
        .link(View::Ops, &equals("hlo_op_name", text(largest.op.name)))
        .fires()
}

/// Returns the all-gather that an op runs or waits for, if it gathers an argument that the program does not return.
fn gather<'a>(numbers: &Numbers<'a>, op: &'a Op) -> Option<Gather<'a>> {
    let (module, instruction) = numbers.instruction(op)?;
    let gather = match instruction.opcode.as_str() {
        "all-gather" | "all-gather-start" => instruction,
        "all-gather-done" => module.operand(instruction, 0)?,
        _ => return None,
    };
    let runs_per_step = numbers.runs_per_step(op).filter(|&runs| runs >= FEWEST_RUNS)?;
    let (part, whole, _) = joined(module, gather)?;
    let entry = module.entry()?;
    let argument = argument(module, gather).filter(|it| module.entry_index() == Some(it.computation))?;
    let returned = module.root(entry)?.shape.arrays();
    let own = argument.shape.array()?;
    let is_returned = returned.iter().any(|it| it.data_type == own.data_type && it.dimensions == own.dimensions);
    (!is_returned).then_some(Gather { op, module, argument, part, whole, runs_per_step })
}

/// Returns the parameter that an instruction gathers, possibly converted or copied.
fn argument<'a>(module: &'a Module, gather: &'a Instruction) -> Option<&'a Instruction> {
    let mut at = module.operand(gather, 0)?;
    for _ in 0..MOST_BETWEEN {
        match at.opcode.as_str() {
            "parameter" => return Some(at),
            "bitcast" | "convert" | "copy" | "reshape" | "transpose" => at = module.operand(at, 0)?,
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective_bound;
    use crate::testing::{finding, fine, says, tpu_steps};
    use crate::testing_programs::{add_program, instruction, op_of};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us, each with `runs` runs of a program that gathers its argument for `gather` us and returns an
    /// array of the shape `result`.
    fn steps(runs: i64, gather: i64, result: &'static str) -> Trace {
        tpu_steps(12, move |b, at| {
            if at == 0 {
                let main = vec![
                    instruction("w.1", "parameter", "f32[16,64]").path("params['w']"),
                    instruction("x.1", "parameter", "f32[4,64]"),
                    instruction("all-gather.1", "all-gather", "f32[64,64]").of(&["w.1"]),
                    instruction("dot.1", "dot", result).of(&["x.1", "all-gather.1"]),
                ];
                add_program(b, 7, vec![("main", main)]);
            }
            for run in 0..runs {
                op_of(b, 7, ("all-gather.1", "all-gather"), at + run * 1000 / runs, gather);
                op_of(b, 7, ("dot.1", "convolution"), at + run * 1000 / runs + gather, 1000 / runs - gather);
            }
        })
    }

    #[test]
    fn fires_above_its_limit() {
        let found = finding(steps(4, 200, "f32[4,64]"), &RULE);
        assert_eq!(found.severity, Critical);
        assert_eq!(found.title, "jit_f gathers the same weights in each of its 4 runs per step: 80.0 % of the op time");
        for part in ["each run gathers 1 argument (16.0 KiB)", "from the part f32[16,64] of the argument params['w']."]
        {
            assert!(found.message.contains(part), "{}", found.message);
        }
        // Three of four runs gather again: 60 % of the op time.
        assert!((found.time_at_stake_percent.unwrap() - 60.0).abs() < 0.1, "{found:?}");
        assert_eq!(finding(steps(4, 34, "f32[4,64]"), &RULE).severity, Warning);
        fine(steps(4, 33, "f32[4,64]"), &RULE);
    }

    #[test]
    fn a_program_that_updates_its_weights_or_runs_once_is_left_out() {
        fine(steps(4, 200, "f32[16,64]"), &RULE);
        fine(steps(1, 800, "f32[4,64]"), &RULE);
        assert!(matches!(says(steps(1, 800, "f32[4,64]"), &collective_bound::RULE), Verdict::Fires(_)));
    }
}
