//! A reduction over all pairs of rows runs without the matrix units.
//!
//! A fusion broadcasts two operands to an array of all their pairs, computes each element, and reduces the array:
//! `((a[:, None] - b[None]) ** 2).sum(-1)`. Such a sum of squared differences, like a sum of products, can be written
//! as a matrix product. The matrix units compute such a product many times faster. The rule considers fusions that
//! reduce at least 100 million elements, computed from two broadcasts of the same size. The fusion must reduce at least
//! 16 times as many elements as it reads (all limits are ours: a normalisation or a softmax reads about as many as it
//! reduces). Severity: note if these fusions take at least 10 % of the op time, warning from 20 % (the JAX guide's
//! limit for overheads, and twice that limit). Confidence: high. Remedy: use a matrix product. The rule is skipped if
//! the compiled program is missing.

use super::draft::{Draft, equals};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, code_line, shown};
use super::{Rule, Verdict};
use base::format;
use hlo::{Instruction, Module};
use metrics::Op;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule =
    Rule { id: "pairwise_reduction", title: "A reduction over all pairs", ..Rule::checked_by(check) };

/// Minimum number of elements of the reduced array.
const FEWEST_ELEMENTS: f64 = 1e8;
/// Minimum ratio of the reduced array's size to the elements that the fusion reads.
const ELEMENTS_PER_INPUT: f64 = 16.0;
/// Minimum share of the op time for an op to be examined. We chose this limit because smaller ops hardly change the
/// sum.
const EXAMINED_PERCENT: f64 = 0.1;
/// Minimum share of the op time for a warning.
const WARNING_PERCENT: f64 = 2.0 * OVERHEAD_PERCENT.good;

/// A fusion that reduces an array of all pairs.
struct Pairs<'a> {
    op: &'a Op,
    module: &'a Module,
    /// The instruction that combines the two broadcasts.
    combines: &'a Instruction,
    inputs: f64,
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let large = ops.rows.iter().filter(|op| numbers.op_percent(op.self_time) >= EXAMINED_PERCENT);
    let found: Vec<Pairs<'_>> = large.filter_map(|op| pairs(numbers, op)).collect();
    let share = numbers.op_percent(found.iter().map(|it| it.op.self_time).sum());
    let Some(largest) = found.iter().max_by_key(|it| it.op.self_time).filter(|_| share >= OVERHEAD_PERCENT.good) else {
        return Verdict::Fine;
    };
    let is_warning = share >= WARNING_PERCENT;
    let combines = largest.combines;
    let source =
        largest.module.source_of(combines).map_or(String::new(), |source| format!(" at {}", code_line(&source)));
    let elements = combines.shape.elements();
    let message = format!(
        "{} computes {}{source} element by element and reduces it. These are {} elements, although the op reads only \
         {}. The {} of all pairs runs without the matrix units.",
        shown(ops.text(numbers.trace, largest.op.name)),
        shown(&combines.shape.text(false)),
        format::count(elements as u64),
        format::count(largest.inputs as u64),
        combines.opcode,
    );
    Draft::new(
        if is_warning { FindingSeverity::Warning } else { FindingSeverity::Note },
        Confidence::High,
        &format!("A reduction over all pairs of rows takes {} of the op time", format::percent(share)),
        message,
    )
    .remedy(
        "Use a matrix product. For squared distances, |a - b|^2 = |a|^2 - 2 a b + |b|^2: compute a @ b.T, and add the squared norms of \
         the rows (|a|^2 does not change an argmin over b). For other functions of pairs, compute blocks of rows with jax.lax.map \
         if memory is short.",
    )
    .passed("pairwise_reduction_percent", share, if is_warning { WARNING_PERCENT } else { OVERHEAD_PERCENT.good })
    .evidence("pair_elements", elements)
    .at_stake(numbers.of_window(share))
    .link(View::Ops, &equals("hlo_op_name", ops.text(numbers.trace, largest.op.name)))
    .fires()
}

/// Finds the instruction in an op's fusion that combines two broadcasts. The fusion must also reduce an array of
/// the same size.
fn pairs<'a>(numbers: &Numbers<'a>, op: &'a Op) -> Option<Pairs<'a>> {
    let (module, fusion) = numbers.instruction(op)?;
    let fused = module.instructions_of(module.called(fusion, 0).filter(|_| fusion.is("fusion"))?);
    let inputs: f64 = module.operands(fusion).map(|it| it.shape.elements()).sum();
    let is_large = |elements: f64| elements >= FEWEST_ELEMENTS && elements >= ELEMENTS_PER_INPUT * inputs;
    let reduces = |elements: f64| {
        let mut reductions = fused.iter().filter(|it| it.is("reduce"));
        reductions.any(|it| module.operand(it, 0).is_some_and(|operand| operand.shape.elements() == elements))
    };
    let combines = fused.iter().find(|it| {
        let elements = it.shape.elements();
        let both = || {
            [0, 1].iter().all(|&n| module.operand(it, n).is_some_and(|operand| is_spread(module, operand, elements)))
        };
        // A square multiplies one array by itself.
        let of_two = it.operands.first() != it.operands.get(1);
        let is_pairwise = ["subtract", "multiply", "add"].contains(&it.opcode.as_str()) && of_two && both();
        // Pairs of integers are indices, or the counters of a random number generator.
        let is_float = it.shape.first_array().is_some_and(|array| array.data_type.is_floating());
        is_pairwise && is_float && is_large(elements) && reduces(elements)
    })?;
    Some(Pairs { op, module, combines, inputs })
}

/// Returns true for a broadcast of an array, and for a conversion of such a broadcast.
fn is_spread(module: &Module, instruction: &Instruction, elements: f64) -> bool {
    let source = if instruction.is("convert") { module.operand(instruction, 0) } else { Some(instruction) };
    source.is_some_and(|it| {
        let from = module.operand(it, 0).map_or(0.0, |operand| operand.shape.elements());
        it.is("broadcast") && it.shape.elements() == elements && from > 1.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_steps};
    use crate::testing_programs::{add_program, instruction, op_of};
    use report::FindingSeverity::{Note, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us that compute the distances between `rows` rows and 4096 rows of 64 numbers in `time` us.
    fn distances(rows: &str, time: i64, combine: &'static str) -> Trace {
        distances_of("f32", rows, time, combine)
    }

    fn distances_of(data_type: &str, rows: &str, time: i64, combine: &'static str) -> Trace {
        let shape = |sizes: &str| -> &'static str { Box::leak(format!("{data_type}[{sizes}]").into_boxed_str()) };
        let (a, other, pairs) = (shape(&format!("{rows},64")), shape("4096,64"), shape(&format!("{rows},4096,64")));
        let (distances, zero) = (shape(&format!("{rows},4096")), shape(""));
        tpu_steps(12, |b, at| {
            if at == 0 {
                let inside = vec![
                    instruction("p0", "parameter", a),
                    instruction("p1", "parameter", other).int(9, 1),
                    instruction("b0", "broadcast", pairs).of(&["p0"]),
                    instruction("b1", "broadcast", pairs).of(&["p1"]),
                    instruction("d", combine, pairs).of(&["b0", "b1"]),
                    instruction("s", "multiply", pairs).of(&["d", "d"]),
                    instruction("zero", "constant", zero),
                    instruction("r", "reduce", distances).of(&["s", "zero"]),
                ];
                let main = vec![
                    instruction("a", "parameter", a),
                    instruction("b", "parameter", other).int(9, 1),
                    instruction("fusion.1", "fusion", distances).of(&["a", "b"]).calls(&["inside"]),
                    instruction("tanh.2", "tanh", distances).of(&["fusion.1"]),
                ];
                add_program(b, 7, vec![("inside", inside), ("main", main)]);
            }
            op_of(b, 7, ("fusion.1", "loop fusion"), at, time);
            op_of(b, 7, ("tanh.2", "loop fusion"), at + time, 1000 - time);
        })
    }

    #[test]
    fn fires_above_its_limits() {
        let found = finding(distances("8192", 400, "subtract"), &RULE);
        assert_eq!(
            (found.severity, found.title.as_str()),
            (Warning, "A reduction over all pairs of rows takes 40.0 % of the op time")
        );
        assert!(
            found.message.starts_with("fusion.1 computes f32[8192,4096,64] element by element"),
            "{}",
            found.message
        );
        assert_eq!(finding(distances("8192", 150, "subtract"), &RULE).severity, Note);
        fine(distances("8192", 90, "subtract"), &RULE);
        // Too few elements, and a function that a matrix product cannot compute.
        fine(distances("256", 400, "subtract"), &RULE);
        fine(distances("8192", 400, "maximum"), &RULE);
    }

    #[test]
    fn pairs_of_integers_are_indices() {
        assert_eq!(finding(distances_of("bf16", "8192", 400, "add"), &RULE).severity, Warning);
        fine(distances_of("s32", "8192", 400, "add"), &RULE);
    }
}
