//! Each device gathers the parts of all devices and then adds them up.
//!
//! An op reads the result of an all-gather, possibly after copies and transposes, and reduces it along the dimension in
//! which the parts were joined (`jax.lax.all_gather(x, axis).mean(0)`). Each device then receives and adds up the
//! arrays of all devices. An all-reduce would send and add each part once. The impact is the time of these all-gathers
//! and of the ops that read them. Severity: warning from 10 % of the op time (JAX guide, overheads), critical from
//! 50 %. Confidence: high. Remedy: use `jax.lax.psum` or `pmean`. The rule is skipped if the compiled program is
//! missing.

use std::collections::BTreeSet;

use super::draft::{Draft, equals};
use super::gathered_batch::{first_user, joined, users};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, code_line};
use super::{Needs, Rule, Verdict};
use base::{Ps, format};
use hlo::{ArrayShape, Instruction, Module};
use metrics::Op;
use report::{Confidence, View};

pub(super) static RULE: Rule = Rule {
    id: "gathered_sum",
    title: "Devices collect all parts to add them up",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    if !numbers.communicates() {
        return Verdict::Irrelevant;
    }
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let text = |text| ops.text(numbers.trace, text);
    let gathers = ops.rows.iter().filter(|op| text(op.category).starts_with("all-gather"));
    let programs: BTreeSet<i64> = gathers.filter_map(|op| op.program_id).collect();
    let mut gathers: BTreeSet<(i64, &str)> = BTreeSet::new();
    let mut readers: BTreeSet<(i64, &str)> = BTreeSet::new();
    let mut count = 0u64;
    for id in programs {
        for (module, gather, reader) in numbers.module(id).into_iter().flat_map(sums) {
            count += 1;
            gathers.insert((id, &gather.name));
            let waits = users(module, gather).filter(|user| user.is("all-gather-done"));
            gathers.extend(waits.map(|user| (id, user.name.as_str())));
            readers.insert((id, &reader.name));
        }
    }
    let rows = |wanted: &BTreeSet<(i64, &str)>| -> Vec<&Op> {
        let is_wanted = |op: &&Op| op.program_id.is_some_and(|id| wanted.contains(&(id, text(op.name))));
        ops.rows.iter().filter(is_wanted).collect()
    };
    let (sending, adding) = (rows(&gathers), rows(&readers));
    let time = |rows: &[&Op]| numbers.op_percent(rows.iter().map(|op| op.self_time).sum::<Ps>());
    let (sent, added) = (time(&sending), time(&adding));
    let Some(largest) = sending.iter().max_by_key(|op| op.self_time) else { return Verdict::Fine };
    let lost = sent + added;
    if lost < OVERHEAD_PERCENT.good {
        return Verdict::Fine;
    }
    let (severity, limit) = OVERHEAD_PERCENT.severity(lost);
    let message = format!(
        "{} collects the arrays of all devices, and an op then adds them up: each device receives and adds all of \
         them. {} such all-gathers take {} of the op time, and the ops that read them take {}.",
        numbers.op_with_source(largest),
        format::count(count),
        format::percent(sent),
        format::percent(added),
    );
    let title =
        format!("Devices collect all parts to add them up, which takes {} of the op time", format::percent(lost));
    Draft::new(severity, Confidence::High, &title, message)
        .remedy(&format!(
            "Replace all_gather followed by a sum or mean at {} by jax.lax.psum or pmean. If each device needs only its part of the \
             sum, use jax.lax.psum_scatter.",
            match text(largest.source) {
                "" => "this place".to_owned(),
                source => code_line(source),
            }
        ))
        .passed("gathered_sum_percent", lost, limit)
        .evidence("all_gather_percent", sent)
        .evidence("readers_percent", added)
        .at_stake(numbers.of_window(lost))
        .link(View::Ops, &equals("hlo_op_name", text(largest.name)))
        .fires()
}

/// Returns the all-gathers of a program whose results are reduced along the dimension in which the parts were joined,
/// each with the op that reduces its result.
fn sums(module: &Module) -> impl Iterator<Item = (&Module, &Instruction, &Instruction)> {
    let gathers = module.instructions().iter().filter(|it| it.is("all-gather") || it.is("all-gather-start"));
    gathers.filter_map(move |gather| {
        let (_, whole, dimension) = joined(module, gather)?;
        let reduces = |it: &Instruction| reduces(module, it, whole, dimension);
        let reader = first_user(module, gather, &|user| reduces(user) || hlo::fused(module, user).iter().any(reduces))?;
        Some((module, gather, reader))
    })
}

/// Returns true if the instruction reduces an array of this shape along the dimension.
fn reduces(module: &Module, instruction: &Instruction, whole: &ArrayShape, dimension: usize) -> bool {
    let is_whole = module
        .operand(instruction, 0)
        .and_then(|operand| operand.shape.array())
        .is_some_and(|array| array.dimensions == whole.dimensions);
    let along = &instruction.attributes().dimensions;
    instruction.is("reduce") && is_whole && along.iter().any(|&it| usize::try_from(it) == Ok(dimension))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, says, tpu_steps};
    use crate::testing_programs::{add_program, instruction, op_of};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us: an all-gather takes `gather`, and a reduction along `dimension` takes half as long.
    fn steps(dimension: i64, gather: i64) -> Trace {
        tpu_steps(12, move |b, at| {
            if at == 0 {
                let main = vec![
                    instruction("x.1", "parameter", "f32[1,600,96]"),
                    instruction("zero.1", "constant", "f32[]"),
                    instruction("all-gather.1", "all-gather", "f32[8,600,96]").of(&["x.1"]),
                    instruction("copy.1", "copy", "f32[8,600,96]").of(&["all-gather.1"]),
                    instruction("reduce.1", "reduce", "f32[600,96]").of(&["copy.1", "zero.1"]).int(14, dimension),
                ];
                add_program(b, 7, vec![("main", main)]);
            }
            op_of(b, 7, ("all-gather.1", "all-gather"), at, gather);
            op_of(b, 7, ("reduce.1", "reduce"), at + gather, gather / 2);
            op_of(b, 7, ("dot.1", "convolution"), at + gather * 3 / 2, 1000 - gather * 3 / 2);
        })
    }

    #[test]
    fn fires_above_its_limit() {
        let found = finding(steps(0, 400), &RULE);
        assert_eq!(
            (found.severity, found.title.as_str()),
            (Critical, "Devices collect all parts to add them up, which takes 60.0 % of the op time")
        );
        assert!(found.message.contains("1 such all-gathers take 40.0 % of the op time"), "{}", found.message);
        assert_eq!(finding(steps(0, 68), &RULE).severity, Warning);
        fine(steps(0, 64), &RULE);
    }

    #[test]
    fn a_sum_along_another_dimension_is_fine() {
        fine(steps(1, 400), &RULE);
    }

    #[test]
    fn without_a_program_it_is_not_checked() {
        let trace = tpu_steps(12, |b, at| op_of(b, 7, ("all-gather.1", "all-gather"), at, 900));
        assert!(matches!(says(trace, &RULE), Verdict::NotChecked(_)));
    }
}
