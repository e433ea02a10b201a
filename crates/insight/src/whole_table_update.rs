//! A step updates a whole table, although it reads only a few of the table's rows.
//!
//! The gradient of a lookup (`table[ids]`) with respect to the table is an array of the table's size. In this array,
//! only the looked-up rows are not zero. Each step fills this array with zeros, scatters the rows into it, and updates
//! all rows of the table and of the optimizer's state.
//!
//! ```text
//! zeros [V, D] -> scatter (N rows) -> update of table [V, D], first moment [V, D], second moment [V, D]
//! ```
//!
//! The rule looks for a scatter of the backward pass whose result has the shape of an argument that the program
//! updates. The argument must have at least a million elements and at least four times as many rows as the scatter
//! writes (both limits are ours). Tables to which a matrix product also contributes (an embedding that the output layer
//! shares) are excluded, because all of their rows have a gradient. The cost is the time of all ops that write an array
//! of the table's shape, multiplied by the share of the rows that the scatter does not write. Severity: warning from 10
//! % of the op time (JAX guide, overheads), critical from 50 %, or a note if the cost is less than 10 % of the window.
//! Confidence: medium, because an optimizer with momentum or weight decay changes rows without a gradient, too. Remedy:
//! differentiate with respect to the rows, and update only these rows. The rule is skipped if the compiled program is
//! missing.

use super::draft::{Draft, equals};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, shown};
use super::{Needs, Rule, Verdict};
use base::framework_path::training_pass;
use base::{Ps, format};
use hlo::{Argument, ArrayShape, Instruction, Module, Shape, arguments};
use metrics::Op;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule {
    id: "whole_table_update",
    title: "A step updates all rows of a table that it reads in part",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// Minimum number of elements of a table. We chose this limit because updating a smaller table costs little.
const FEWEST_ELEMENTS: f64 = 1e6;
/// Minimum ratio of the table's rows to the rows that a step looks up. We chose this limit because updating single rows
/// also has a cost.
const ROWS_PER_UPDATE: f64 = 4.0;

/// A table that a program updates as a whole.
struct Table<'a> {
    argument: Argument<'a>,
    rows: u64,
    written_rows: f64,
    time: Ps,
    largest: &'a Op,
}

impl Table<'_> {
    /// Returns the time that the rows without a gradient take.
    fn avoidable(&self) -> Ps {
        Ps::new((self.time.as_ps() as f64 * (1.0 - self.written_rows / self.rows as f64)) as i64)
    }
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let tables: Vec<Table<'_>> = numbers.programs().flat_map(|(id, module)| tables(numbers, id, module)).collect();
    let Some(largest) = tables.iter().max_by_key(|it| it.avoidable()) else { return Verdict::Fine };
    let share = numbers.op_percent(tables.iter().map(Table::avoidable).sum());
    if share < OVERHEAD_PERCENT.good {
        return Verdict::Fine;
    }
    let (mut severity, limit) = OVERHEAD_PERCENT.severity(share);
    if numbers.of_window(share) < OVERHEAD_PERCENT.good {
        severity = FindingSeverity::Note;
    }
    let name = match largest.argument.name {
        "" => "the table".to_owned(),
        name => shown(name).to_string(),
    };
    let shape = Shape::Array(largest.argument.shape.clone()).text(false);
    let message = format!(
        "Ops that write arrays of the shape of {name} ({}) take {} of the op time. A step looks up at most {} of its {} rows ({}), \
         but the gradient and the optimizer write all rows. The largest op is {}.",
        shown(&shape),
        format::percent(numbers.op_percent(tables.iter().map(|it| it.time).sum())),
        format::count(largest.written_rows.round() as u64),
        format::count(largest.rows),
        format::percent(100.0 * largest.written_rows / largest.rows as f64),
        numbers.op_with_source(largest.largest),
    );
    let title = format!("Updating table rows without a gradient takes {} of the op time", format::percent(share));
    Draft::new(severity, Confidence::Medium, &title, message)
        .remedy(
            "Look up the rows outside of jax.grad (rows = table[ids]), differentiate the loss with respect to the rows, and update only \
             these: table.at[ids].add(update). Do the same with the optimizer's state (row-wise Adagrad, lazy Adam). The results \
             differ from an optimizer that also moves rows without a gradient.",
        )
        .passed("unused_row_update_percent", share, limit)
        .evidence("written_rows", largest.written_rows)
        .count("table_rows", largest.rows)
        .at_stake(numbers.of_window(share))
        .link(View::Ops, &equals("hlo_op_name", ops.text(numbers.trace, largest.largest.name)))
        .fires()
}

/// Returns the tables that a program updates although it scatters a gradient into few of their rows.
fn tables<'a>(numbers: &Numbers<'a>, id: i64, module: &'a Module) -> Vec<Table<'a>> {
    let scatters = module.instructions().iter().filter(|it| it.is("scatter") && is_backward(it));
    let mut written: Vec<(&ArrayShape, f64)> = Vec::new();
    for scatter in scatters {
        let (Some(table), Some(update)) = (scatter.shape.first_array(), module.operand(scatter, 2)) else { continue };
        let rows = table.dimension(0).unwrap_or(0) as f64;
        let written_rows = update.shape.elements() * rows / table.elements().max(1.0);
        if table.elements() >= FEWEST_ELEMENTS && rows >= ROWS_PER_UPDATE * written_rows && written_rows > 0.0 {
            match written.iter_mut().find(|(known, _)| known.dimensions == table.dimensions) {
                Some((_, known)) => *known += written_rows,
                None => written.push((table, written_rows)),
            }
        }
    }
    if written.is_empty() {
        return Vec::new();
    }
    let arguments = arguments(module);
    let updated = arguments.into_iter().filter(|it| it.is_carried);
    let mut found: Vec<Table<'a>> = Vec::new();
    for argument in updated {
        let dimensions = &argument.shape.dimensions;
        let Some(&(table, written_rows)) = written.iter().find(|(table, _)| table.dimensions == *dimensions) else {
            continue;
        };
        let rows = table.dimension(0).unwrap_or(0);
        // The moments of the optimizer have the shape of the table.
        let is_known = found.iter().any(|it| it.argument.shape.dimensions == *dimensions);
        if is_known || rows as f64 <= ROWS_PER_UPDATE * written_rows || has_product(module, table) {
            continue;
        }
        let ops = &numbers.context.analysis.ops;
        let of_program = ops.rows.iter().filter(|op| op.program_id == Some(id));
        let writes = |op: &&Op| {
            let instruction = module.instruction(ops.text(numbers.trace, op.name));
            instruction.is_some_and(|it| it.shape.arrays().iter().any(|array| array.dimensions == *dimensions))
        };
        let writing: Vec<&'a Op> = of_program.filter(writes).collect();
        let time: Ps = writing.iter().map(|op| op.self_time).sum();
        if let Some(&largest) = writing.iter().max_by_key(|op| op.self_time) {
            found.push(Table { argument, rows, written_rows, time, largest });
        }
    }
    found
}

fn is_backward(instruction: &Instruction) -> bool {
    training_pass(&instruction.metadata.op_name) == Some("backward")
}

/// Returns true if a matrix product computes an array with the table's dimensions, in any order.
fn has_product(module: &Module, table: &ArrayShape) -> bool {
    let sorted = |array: &ArrayShape| {
        let mut dimensions = array.dimensions.clone();
        dimensions.sort_unstable();
        dimensions
    };
    let wanted = sorted(table);
    let mut products = module.instructions().iter().filter(|it| it.is_matrix_product());
    products.any(|it| it.shape.first_array().is_some_and(|array| sorted(array) == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_steps};
    use crate::testing_programs::{add_program, instruction, op_of};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    const BACKWARD: &str = "jit(f)/transpose(jvp(lookup))/scatter-add";

    /// Builds steps of 1000 us. In each step, ops that write `f32[65536,64]` take `time` us: zeros, a scatter of `rows`
    /// rows, and the update of the table.
    fn steps(time: i64, rows: &'static str, path: &'static str, product: bool) -> Trace {
        const TABLE: &str = "f32[65536,64]";
        let update: &'static str = Box::leak(format!("f32[{rows},64]").into_boxed_str());
        let ids: &'static str = Box::leak(format!("s32[{rows},1]").into_boxed_str());
        tpu_steps(12, move |b, at| {
            if at == 0 {
                let mut main = vec![
                    instruction("table.1", "parameter", TABLE),
                    instruction("ids.1", "parameter", ids).int(9, 1),
                    instruction("rows.1", "parameter", update).int(9, 2),
                    instruction("zero.1", "constant", "f32[]"),
                    instruction("zeros.1", "broadcast", TABLE).of(&["zero.1"]),
                    instruction("scatter.1", "scatter", TABLE).of(&["zeros.1", "ids.1", "rows.1"]).path(path),
                ];
                if product {
                    main.push(instruction("dot.1", "dot", "f32[64,65536]").of(&["rows.1", "rows.1"]));
                }
                main.push(instruction("add.1", "add", TABLE).of(&["table.1", "scatter.1"]));
                main.push(instruction("out.1", "tuple", "").of(&["add.1"]));
                add_program(b, 7, vec![("main", main)]);
            }
            let each = time / 4;
            op_of(b, 7, ("zeros.1", "loop fusion"), at, each);
            op_of(b, 7, ("scatter.1", "scatter"), at + each, each);
            op_of(b, 7, ("add.1", "loop fusion"), at + 2 * each, 2 * each);
            op_of(b, 7, ("rows.1", "convolution"), at + time, 1000 - time);
        })
    }

    #[test]
    fn fires_above_its_limits() {
        // 1/16 of the rows have a gradient: 15/16 of 400 us can be avoided.
        let found = finding(steps(400, "4096", BACKWARD, false), &RULE);
        let title = "Updating table rows without a gradient takes 37.5 % of the op time";
        assert_eq!((found.severity, found.title.as_str()), (Warning, title));
        assert!(found.message.contains("(f32[65536,64]) take 40.0 % of the op time"), "{}", found.message);
        assert!(found.message.contains("at most 4\u{202f}096 of its 65\u{202f}536 rows (6.2 %)"), "{}", found.message);
        assert!(found.message.ends_with("The largest op is add.1."), "{}", found.message);
        assert_eq!(finding(steps(800, "4096", BACKWARD, false), &RULE).severity, Critical);
        fine(steps(100, "4096", BACKWARD, false), &RULE);
    }

    #[test]
    fn tables_whose_rows_mostly_have_gradients_are_fine() {
        fine(steps(400, "20000", BACKWARD, false), &RULE);
        // The output layer shares the table.
        fine(steps(400, "4096", BACKWARD, true), &RULE);
        // A scatter of the forward pass is no gradient.
        fine(steps(400, "4096", "jit(f)/scatter-add", false), &RULE);
    }
}
