//! A scatter adds many rows into a few rows.
//!
//! Rows with the same index are added in sequence: a GPU's threads contend for the same addresses, and a TPU adds row
//! after row. The gradient of a lookup in a small table (a relative position bias, the embedding of a token type) is
//! such a scatter.
//!
//! ```text
//! updates [4194304, 16]  --scatter-add-->  table [32, 16]      131,072 rows for each row of the table
//! ```
//!
//! The rule considers scatters that add at least 16 rows to each row of their result on average, and at least a million
//! elements (both limits are ours: smaller scatters cost little). The cost is the time of the ops that contain such
//! scatters. Severity: warning from 10 % of the op time (JAX guide, overheads), critical from 50 %. Confidence: medium,
//! because indices may be spread evenly. Remedy: replace the scatter by a product with one-hot rows, or sum sorted
//! segments. The rule is skipped if the compiled program is missing.

use super::draft::{Draft, equals};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, code_line, shown};
use super::{Needs, Rule, Verdict};
use base::{Ps, format};
use hlo::{Instruction, Module};
use metrics::Op;
use report::{Confidence, View};

pub(super) static RULE: Rule = Rule {
    id: "colliding_scatter",
    title: "A scatter adds many rows into a few rows",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// Minimum number of added elements.
const MIN_ELEMENTS: f64 = 1e6;
/// Minimum number of rows that are added to each row of the result, on average.
const MIN_ROWS_PER_ROW: f64 = 16.0;

/// A scatter whose rows collide.
struct Scatter<'a> {
    op: &'a Op,
    module: &'a Module,
    scatter: &'a Instruction,
    /// The added rows.
    updates: &'a Instruction,
}

impl Scatter<'_> {
    fn rows_per_row(&self) -> f64 {
        self.updates.shape.elements() / self.scatter.shape.elements().max(1.0)
    }
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let found: Vec<Scatter<'_>> = ops.rows.iter().filter_map(|op| scatter(numbers, op)).collect();
    let share = numbers.op_percent(found.iter().map(|it| it.op.self_time).sum::<Ps>());
    let Some(largest) = found.iter().max_by_key(|it| it.op.self_time).filter(|_| share >= OVERHEAD_PERCENT.good) else {
        return Verdict::Fine;
    };
    let (severity, limit) = OVERHEAD_PERCENT.severity(share);
    let source = largest.module.source_of(largest.scatter);
    let source = source.map_or(String::new(), |source| format!(" at {}", code_line(&source)));
    let message = format!(
        "{}{source} adds {} into {}: on average, {} rows into each row, in any order. Rows with the same index wait for each other.",
        shown(ops.text(numbers.trace, largest.op.name)),
        shown(&largest.updates.shape.text(false)),
        shown(&largest.scatter.shape.text(false)),
        format::count(largest.rows_per_row().round() as u64),
    );
    let title = format!("Adding many rows into a few rows takes {} of the op time", format::percent(share));
    Draft::new(severity, Confidence::Medium, &title, message)
        .remedy(
            "If the result has few rows, replace the lookup by a product: jax.nn.one_hot(ids, rows) @ table. Its gradient is a \
             matrix product. If the ids follow a pattern, as in a relative position bias, look up each distinct id once, and copy \
             the results to their places with slices. Otherwise sort the rows by id first, and use jax.ops.segment_sum(..., \
             indices_are_sorted=True).",
        )
        .passed("colliding_scatter_percent", share, limit)
        .evidence("rows_per_row", largest.rows_per_row())
        .at_stake(numbers.of_window(share))
        .link(View::Ops, &equals("hlo_op_name", ops.text(numbers.trace, largest.op.name)))
        .fires()
}

/// Returns the scatter that an op runs, alone or in a fusion, if the rows of this scatter collide.
fn scatter<'a>(numbers: &Numbers<'a>, op: &'a Op) -> Option<Scatter<'a>> {
    let (module, instruction) = numbers.instruction(op)?;
    let scatter = of_instruction(module, instruction)?;
    let updates = module.operand(scatter, 2)?;
    let found = Scatter { op, module, scatter, updates };
    let collides = updates.shape.elements() >= MIN_ELEMENTS && found.rows_per_row() >= MIN_ROWS_PER_ROW;
    (collides && adds(module, scatter)).then_some(found)
}

/// Returns the instruction itself if it is a scatter, or the scatter that its fusion contains.
pub(super) fn of_instruction<'a>(module: &'a Module, instruction: &'a Instruction) -> Option<&'a Instruction> {
    if instruction.is("scatter") {
        return Some(instruction);
    }
    let fused = module.called(instruction, 0).filter(|_| instruction.is("fusion"))?;
    module.instructions_of(fused).iter().find(|it| it.is("scatter"))
}

/// Returns true if a scatter adds its updates, false if it overwrites values.
fn adds(module: &Module, scatter: &Instruction) -> bool {
    let combiner = module.called(scatter, 0).map_or(&[][..], |it| module.instructions_of(it));
    combiner.iter().any(|it| it.is("add"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_steps};
    use crate::testing_programs::{add_program, instruction, op_of};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us with a fused scatter of `rows` rows into `f32[32,16]` that takes `time` us.
    fn steps(time: i64, rows: &'static str, combine: &'static str) -> Trace {
        let updates: &'static str = Box::leak(format!("f32[{rows},16]").into_boxed_str());
        let ids: &'static str = Box::leak(format!("s32[{rows},1]").into_boxed_str());
        tpu_steps(12, move |b, at| {
            if at == 0 {
                let combiner = vec![
                    instruction("a", "parameter", "f32[]"),
                    instruction("b", "parameter", "f32[]").int(9, 1),
                    instruction("c", combine, "f32[]").of(&["a", "b"]),
                ];
                let inside = vec![
                    instruction("p0", "parameter", "f32[32,16]"),
                    instruction("p1", "parameter", ids).int(9, 1),
                    instruction("p2", "parameter", updates).int(9, 2),
                    instruction("scatter.1", "scatter", "f32[32,16]").of(&["p0", "p1", "p2"]).calls(&["combiner"]),
                ];
                let main = vec![
                    instruction("zeros", "parameter", "f32[32,16]"),
                    instruction("ids", "parameter", ids).int(9, 1),
                    instruction("rows", "parameter", updates).int(9, 2),
                    instruction("fusion.1", "fusion", "f32[32,16]").of(&["zeros", "ids", "rows"]).calls(&["inside"]),
                    instruction("tanh.2", "tanh", "f32[32,16]").of(&["fusion.1"]),
                ];
                add_program(b, 7, vec![("combiner", combiner), ("inside", inside), ("main", main)]);
            }
            op_of(b, 7, ("fusion.1", "input fusion"), at, time);
            op_of(b, 7, ("tanh.2", "loop fusion"), at + time, 1000 - time);
        })
    }

    #[test]
    fn fires_above_its_limits() {
        let found = finding(steps(400, "4194304", "add"), &RULE);
        let title = "Adding many rows into a few rows takes 40.0 % of the op time";
        assert_eq!((found.severity, found.title.as_str()), (Warning, title));
        assert!(
            found.message.starts_with(
                "fusion.1 adds f32[4194304,16] into f32[32,16]: on average, 131\u{202f}072 rows into each row"
            ),
            "{}",
            found.message
        );
        assert_eq!(finding(steps(800, "4194304", "add"), &RULE).severity, Critical);
        fine(steps(90, "4194304", "add"), &RULE);
    }

    #[test]
    fn scatters_that_write_or_add_little_are_fine() {
        fine(steps(400, "4194304", "maximum"), &RULE);
        fine(steps(400, "256", "add"), &RULE);
    }
}
