//! Devices gather whole arrays to read a few rows of them.
//!
//! A program all-gathers an array, and each device reads at most 10 % of the result (ours), through slices and gathers. This
//! is the case if devices split a grid, and each needs only the edges of its neighbours. Between the all-gather and the
//! selection, there are only elementwise ops, broadcasts, reshapes, transposes, and reductions along other dimensions. The
//! impact is the time of these all-gathers. Severity: warning from 10 % of the op time (JAX guide, overheads), critical from
//! 50 %. Confidence: high. Remedy: exchange the rows with `jax.lax.ppermute`. The rule is skipped if the compiled program is
//! missing.

use super::array_reads::{Slices, selections};
use super::draft::{Draft, equals};
use super::gathered_batch::{joined, users};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, shown};
use super::{Needs, Rule, Verdict};
use base::{Ps, format};
use hlo::{ArrayShape, Instruction, Module, Shape};
use metrics::Op;
use report::{Confidence, View};

pub(super) static RULE: Rule = Rule {
    id: "gathered_edges",
    title: "Devices gather whole arrays to read a few rows",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// Maximum part of the gathered array that a device reads.
const MOST_READ: f64 = 0.1;

/// An all-gather of which little is read.
struct Gathered<'a> {
    op: &'a Op,
    part: &'a ArrayShape,
    whole: &'a ArrayShape,
    read: f64,
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.communicates() {
        return Verdict::Irrelevant;
    }
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let ops = &numbers.context.analysis.ops;
    let found: Vec<Gathered<'_>> = ops.rows.iter().filter_map(|op| gathered(numbers, op)).collect();
    let Some(largest) = found.iter().max_by_key(|it| it.op.self_time) else { return Verdict::Fine };
    let share = numbers.op_percent(found.iter().map(|it| it.op.self_time).sum::<Ps>());
    if share < OVERHEAD_PERCENT.good {
        return Verdict::Fine;
    }
    let (severity, limit) = OVERHEAD_PERCENT.severity(share);
    let shape = |array: &ArrayShape| shown(&Shape::Array(array.clone()).text(false));
    let read = format::percent(100.0 * largest.read);
    let takes = match found.len() {
        1 => "This all-gather takes".to_owned(),
        count => format!("{} such all-gathers take", format::count(count as u64)),
    };
    let message = format!(
        "{} collects {} from the parts {} of all devices, and each device reads at most {read} of it. {takes} {} of the op time.",
        numbers.op_with_source(largest.op),
        shape(largest.whole),
        shape(largest.part),
        format::percent(share),
    );
    let title = format!(
        "Devices gather whole arrays and read at most {read} of them: {} of the op time",
        format::percent(share)
    );
    Draft::new(severity, Confidence::High, &title, message)
        .remedy(
            "Send only what is read. For the edges of a grid (halo exchange), slice the first and the last rows of each part, and send \
             them to the neighbours with jax.lax.ppermute in jax.shard_map: ppermute(part[-1:], axis, [(i, (i + 1) % n) for i in \
             range(n)]), and part[:1] in the other direction. For single rows, select on the device that has them, and send the result.",
        )
        .passed("gathered_edges_percent", share, limit)
        .passed("read_percent", 100.0 * largest.read, 100.0 * MOST_READ)
        .at_stake(numbers.of_window(share))
        .link(View::Ops, &equals("hlo_op_name", ops.text(numbers.trace, largest.op.name)))
        .fires()
}

/// Returns the all-gather that an op runs or waits for, if each device reads little of its result.
fn gathered<'a>(numbers: &Numbers<'a>, op: &'a Op) -> Option<Gathered<'a>> {
    let (module, instruction) = numbers.instruction(op)?;
    let (gather, result) = match instruction.opcode.as_str() {
        "all-gather" => (instruction, instruction),
        "all-gather-start" => (instruction, done(module, instruction)?),
        "all-gather-done" => (module.operand(instruction, 0)?, instruction),
        _ => return None,
    };
    let (part, whole, _) = joined(module, gather)?;
    let read: f64 = selections(module, result, Slices::OfEachDevice)?.iter().map(|(_, part)| part).sum();
    (read > 0.0 && read <= MOST_READ).then_some(Gathered { op, part, whole, read })
}

/// Returns the end of an asynchronous all-gather.
fn done<'a>(module: &'a Module, start: &'a Instruction) -> Option<&'a Instruction> {
    users(module, start).find(|user| user.is("all-gather-done"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_steps};
    use crate::testing_programs::{Instruction, add_program, instruction, op_of};
    use crate::unhidden_collectives;
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us: an all-gather takes `gather` us, and `reader` reads its result.
    fn steps(gather: i64, reader: fn() -> Vec<Instruction>) -> Trace {
        tpu_steps(12, move |b, at| {
            if at == 0 {
                let mut main = vec![
                    instruction("x.1", "parameter", "f32[32,64]"),
                    instruction("row.1", "parameter", "s32[]").int(9, 1),
                    instruction("all-gather.1", "all-gather", "f32[128,64]").of(&["x.1"]),
                ];
                main.extend(reader());
                add_program(b, 7, vec![("main", main)]);
            }
            op_of(b, 7, ("all-gather.1", "all-gather"), at, gather);
            op_of(b, 7, ("dot.1", "convolution"), at + gather, 1000 - gather);
        })
    }

    /// Reads the rows above and below the device's own part.
    fn edges() -> Vec<Instruction> {
        let slice = |name| instruction(name, "dynamic-slice", "f32[1,64]").of(&["all-gather.1", "row.1", "row.1"]);
        let slice = |name| slice(name).int(20, 1).int(20, 64);
        vec![slice("above.1"), slice("below.1"), instruction("sum.1", "add", "f32[1,64]").of(&["above.1", "below.1"])]
    }

    #[test]
    fn fires_above_its_limit() {
        let found = finding(steps(600, edges), &RULE);
        assert_eq!(found.severity, Critical);
        assert_eq!(found.title, "Devices gather whole arrays and read at most 1.6 % of them: 60.0 % of the op time");
        assert!(
            found.message.contains("collects f32[128,64] from the parts f32[32,64] of all devices"),
            "{}",
            found.message
        );
        assert_eq!(finding(steps(100, edges), &RULE).severity, Warning);
        fine(steps(99, edges), &RULE);
    }

    #[test]
    fn an_array_that_is_used_is_gathered_for_a_reason() {
        fine(steps(600, || vec![instruction("tanh.1", "tanh", "f32[128,64]").of(&["all-gather.1"])]), &RULE);
        // One quarter is more than a few rows.
        let quarter = || vec![instruction("part.1", "slice", "f32[32,64]").of(&["all-gather.1"])];
        fine(steps(600, quarter), &RULE);
    }

    #[test]
    fn it_explains_the_exposed_time() {
        assert!(unhidden_collectives::RULE.causes().any(|rule| *rule == RULE));
    }
}
