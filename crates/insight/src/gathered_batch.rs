//! Each device collects the whole batch for an op that XLA does not split.
//!
//! An FFT, a sort, a matrix decomposition or a linear solve reads the result of an all-gather along a batch dimension,
//! possibly after copies and transposes. XLA does not split such ops over devices, so each device receives the whole
//! batch and repeats the work on the whole batch. A batch dimension is one that the op does not transform. The impact
//! is the time of these all-gathers plus the repeated part of the ops. Severity: warning from 10 % of the op time (JAX
//! guide, overheads), critical from 50 %. Confidence: high. Remedy: use `jax.shard_map`. The rule is skipped if the
//! compiled program is missing.

use std::collections::BTreeSet;

use super::decompositions::decomposition;
use super::draft::{Draft, equals};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, shown};
use super::{Needs, Rule, Verdict};
use base::{Ps, format};
use hlo::{ArrayShape, Instruction, InstructionIndex, Module, Shape};
use metrics::Op;
use report::{Confidence, View};

pub(super) static RULE: Rule = Rule {
    id: "gathered_batch",
    title: "Each device collects the whole batch for an op",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// Maximum number of ops between an all-gather and the op that reads its result. We chose a limit that allows a copy, a
/// transpose and the parts of an asynchronous collective.
const MOST_BETWEEN: usize = 8;
/// Ops that do not change values.
const MOVES: [&str; 10] = [
    "bitcast",
    "convert",
    "copy",
    "copy-done",
    "copy-start",
    "get-tuple-element",
    "parameter",
    "reshape",
    "transpose",
    "all-gather-done",
];
/// JAX primitives that solve linear systems. XLA does not split these primitives over devices either.
const SOLVES: [&str; 3] = ["triangular_solve", "tridiagonal_solve", "lu_solve"];

/// An all-gather, and the op that reads its result.
struct Gathered<'a> {
    module: &'a Module,
    gather: &'a Instruction,
    reader: &'a Instruction,
    part: &'a ArrayShape,
    whole: &'a ArrayShape,
    parts: u64,
}

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
    let mut names: BTreeSet<(i64, &str)> = BTreeSet::new();
    let mut readers: BTreeSet<(i64, &str)> = BTreeSet::new();
    let mut found: Vec<(i64, Gathered<'_>)> = Vec::new();
    for id in programs {
        for it in numbers.module(id).map_or_else(Vec::new, gathered) {
            names.insert((id, &it.gather.name));
            // The wait for an asynchronous all-gather is an op too.
            names.extend(
                users(it.module, it.gather)
                    .filter(|user| user.is("all-gather-done"))
                    .map(|user| (id, user.name.as_str())),
            );
            readers.insert((id, &it.reader.name));
            found.push((id, it));
        }
    }
    let rows = |wanted: &BTreeSet<(i64, &str)>| -> Vec<&Op> {
        let is_wanted = |op: &&Op| op.program_id.is_some_and(|id| wanted.contains(&(id, text(op.name))));
        ops.rows.iter().filter(is_wanted).collect()
    };
    let (gathers, read) = (rows(&names), rows(&readers));
    let time = |rows: &[&Op]| numbers.op_percent(rows.iter().map(|op| op.self_time).sum::<Ps>());
    let (sent, computed) = (time(&gathers), time(&read));
    let largest = gathers.iter().max_by_key(|op| op.self_time).and_then(|op| {
        let of_op = found.iter().find(|(id, it)| {
            op.program_id == Some(*id)
                && (it.gather.name == text(op.name)
                    || users(it.module, it.gather).any(|user| user.name == text(op.name)))
        });
        Some((*op, &of_op?.1))
    });
    let Some((op, it)) = largest else { return Verdict::Fine };
    let lost = sent + computed * (1.0 - 1.0 / it.parts as f64);
    if lost < OVERHEAD_PERCENT.good {
        return Verdict::Fine;
    }
    let (severity, limit) = OVERHEAD_PERCENT.severity(lost);
    let kind = kind(it.reader).unwrap_or(&it.reader.opcode);
    let shape = |array: &ArrayShape| shown(&Shape::Array(array.clone()).text(false));
    let takes = match found.len() {
        1 => "This all-gather takes".to_owned(),
        count => format!("{} such all-gathers take", format::count(count as u64)),
    };
    let message = format!(
        "{} collects {} from the parts {} on {} devices, because {} reads the whole array and XLA does not split \
         {kind} over devices. So each device receives the whole batch and computes all of it, although it needs only \
         its part. {takes} {} of the op time, and the ops that read the results take {}.",
        numbers.op_with_source(op),
        shape(it.whole),
        shape(it.part),
        format::count(it.parts),
        shown(&it.reader.name),
        format::percent(sent),
        format::percent(computed),
    );
    let title = format!(
        "Each device collects the whole batch for {kind}, which takes {} of the op time",
        format::percent(lost)
    );
    Draft::new(severity, Confidence::High, &title, message)
        .remedy(&format!(
            "Call {kind} in jax.shard_map over the mesh axis that splits the batch: each device then computes its own \
             part, without communication. For a library function, jax.experimental.custom_partitioning does the same. \
             Splitting the batch along another axis does not help."
        ))
        .passed("gathered_batch_percent", lost, limit)
        .evidence("all_gather_percent", sent)
        .evidence("readers_percent", computed)
        .at_stake(numbers.of_window(lost))
        .link(View::Ops, &equals("hlo_op_name", text(op.name)))
        .fires()
}

/// Returns the JAX name of an operation that XLA does not split over devices. `None` for other ops.
fn kind(instruction: &Instruction) -> Option<&str> {
    match instruction.opcode.as_str() {
        "fft" | "sort" | "cholesky" => return Some(&instruction.opcode),
        "triangular-solve" => return Some("triangular_solve"),
        "custom-call" => {}
        _ => return None,
    }
    let path = instruction.metadata.op_name.as_str();
    let last = path.rsplit('/').next().unwrap_or_default();
    let last = last.rsplit('(').next().unwrap_or(last).trim_end_matches(')');
    let known = decomposition(path).map(|(primitive, _)| primitive);
    known.or_else(|| (SOLVES.contains(&last) || last == "fft").then_some(last))
}

/// Returns true if a dimension of the operand is a batch dimension, that is, if the op does not transform along it.
fn is_batch(reader: &Instruction, rank: usize, dimension: usize) -> bool {
    let own = reader.attributes();
    match reader.opcode.as_str() {
        "sort" => !own.dimensions.iter().any(|&sorted| usize::try_from(sorted) == Ok(dimension)),
        "fft" => dimension + own.fft_length.len() < rank,
        // Matrices.
        _ => dimension + 2 < rank,
    }
}

/// Returns the all-gathers of a program whose results are read by an op that XLA does not split.
fn gathered(module: &Module) -> Vec<Gathered<'_>> {
    let gathers = module.instructions().iter().filter(|it| it.is("all-gather") || it.is("all-gather-start"));
    let found = gathers.filter_map(|gather| {
        let (part, whole, dimension) = joined(module, gather)?;
        let sizes = whole.dimensions.get(dimension).zip(part.dimensions.get(dimension));
        let parts = sizes.map(|(whole, part)| whole / (*part).max(1)).filter(|&parts| parts > 1)?;
        let reader = reader(module, gather, whole, dimension)?;
        Some(Gathered { module, gather, reader, part, whole, parts })
    });
    found.collect()
}

/// Returns the operand and the result of an all-gather, and the dimension in which it joins the parts.
pub(super) fn joined<'a>(
    module: &'a Module,
    gather: &'a Instruction,
) -> Option<(&'a ArrayShape, &'a ArrayShape, usize)> {
    let part = module.operand(gather, 0)?.shape.array()?;
    // An asynchronous all-gather returns its operand and its result.
    let whole = gather.shape.arrays().into_iter().last()?;
    let dimension = part.dimensions.iter().zip(&whole.dimensions).position(|(part, whole)| part != whole)?;
    Some((part, whole, dimension))
}

/// Returns the instructions of the same computation that read the result of an instruction.
pub(super) fn users<'a>(module: &'a Module, instruction: &'a Instruction) -> impl Iterator<Item = &'a Instruction> {
    let index = module.index_of(instruction);
    let all = module.computation(instruction.computation).map_or(&[][..], |it| module.instructions_of(it));
    all.iter().filter(move |it| index.is_some_and(|index| it.operands.contains(&index)))
}

/// Finds the op that reads the whole array.
fn reader<'a>(
    module: &'a Module,
    gather: &'a Instruction,
    whole: &ArrayShape,
    dimension: usize,
) -> Option<&'a Instruction> {
    let reads_whole =
        |operand: &Instruction| operand.shape.array().is_some_and(|array| array.dimensions == whole.dimensions);
    let is_reader = |user: &Instruction| kind(user).is_some() && is_batch(user, whole.dimensions.len(), dimension);
    first_user(module, gather, &|user| is_reader(user) && module.operands(user).any(reads_whole))
}

/// Finds the first user of an all-gather that meets the caller's condition. Looks through ops that only move the
/// gathered array.
pub(super) fn first_user<'a>(
    module: &'a Module,
    gather: &'a Instruction,
    is_wanted: &dyn Fn(&Instruction) -> bool,
) -> Option<&'a Instruction> {
    let mut seen: BTreeSet<InstructionIndex> = BTreeSet::new();
    let mut level: Vec<&Instruction> = vec![gather];
    for _ in 0..=MOST_BETWEEN {
        let mut next = Vec::new();
        for user in level.into_iter().flat_map(|it| users(module, it)) {
            if !module.index_of(user).is_some_and(|index| seen.insert(index)) {
                continue;
            }
            if is_wanted(user) {
                return Some(user);
            }
            if moves(module, user) {
                next.push(user);
            }
        }
        level = next;
    }
    None
}

/// Returns true if an op does not change values, or if it is a fusion of such ops.
fn moves(module: &Module, instruction: &Instruction) -> bool {
    let is_move = |it: &Instruction| MOVES.contains(&it.opcode.as_str());
    let fused = hlo::fused(module, instruction);
    is_move(instruction) || (!fused.is_empty() && fused.iter().all(is_move))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, says, tpu_steps};
    use crate::testing_programs::{add_program, instruction, op_of};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us: an all-gather along the batch takes `gather`, and `reader` takes twice as long.
    fn steps(reader: (&'static str, &'static str), field: (u32, i64), gather: i64) -> Trace {
        tpu_steps(12, move |b, at| {
            if at == 0 {
                let whole = "f32[16,8,64]";
                let main = vec![
                    instruction("x.1", "parameter", "f32[4,8,64]"),
                    instruction("all-gather.1", "all-gather", whole).of(&["x.1"]),
                    instruction("copy.1", "copy", whole).of(&["all-gather.1"]),
                    instruction("reader.1", reader.0, whole).of(&["copy.1"]).path(reader.1).int(field.0, field.1),
                ];
                add_program(b, 7, vec![("main", main)]);
            }
            op_of(b, 7, ("all-gather.1", "all-gather"), at, gather);
            op_of(b, 7, ("reader.1", reader.0), at + gather, 2 * gather);
            op_of(b, 7, ("dot.1", "convolution"), at + 3 * gather, 1000 - 3 * gather);
        })
    }

    const FFT: (&str, &str) = ("fft", "jit(f)/jit(fft)/fft");

    #[test]
    fn fires_above_its_limit() {
        // The loss is the all-gather and three quarters of the FFT, because each device would compute its own quarter anyway.
        let found = finding(steps(FFT, (32, 64), 200), &RULE);
        assert_eq!(
            (found.severity, found.title.as_str()),
            (Critical, "Each device collects the whole batch for fft, which takes 50.0 % of the op time")
        );
        let said = "all-gather.1 collects f32[16,8,64] from the parts f32[4,8,64] on 4 devices, because reader.1 reads the \
             whole array";
        assert!(found.message.starts_with(said), "{}", found.message);
        assert_eq!(finding(steps(FFT, (32, 64), 40), &RULE).severity, Warning);
        fine(steps(FFT, (32, 64), 39), &RULE);
    }

    #[test]
    fn only_batches_of_ops_that_are_not_split_count() {
        let eigh = ("custom-call", "jit(f)/jit(eigh)/eigh");
        assert_eq!(finding(steps(eigh, (77, 4), 200), &RULE).severity, Critical);
        // A dot needs the gathered weights for its own work, and so does a library call that computes a dot.
        fine(steps(("dot", "jit(f)/dot_general"), (77, 4), 200), &RULE);
        fine(steps(("custom-call", "jit(f)/dot_general"), (77, 4), 200), &RULE);
        // A sort along the dimension that the devices split.
        fine(steps(("sort", "jit(f)/sort"), (14, 0), 200), &RULE);
        assert_eq!(finding(steps(("sort", "jit(f)/sort"), (14, 2), 200), &RULE).severity, Critical);
    }

    #[test]
    fn without_a_program_it_is_not_checked() {
        let trace = tpu_steps(12, |b, at| op_of(b, 7, ("all-gather.1", "all-gather"), at, 900));
        assert!(matches!(says(trace, &RULE), Verdict::NotChecked(_)));
        let alone = tpu_steps(12, |b, at| op_of(b, 7, ("fft.1", "fft"), at, 900));
        assert_eq!(says(alone, &RULE), Verdict::Irrelevant);
    }
}
