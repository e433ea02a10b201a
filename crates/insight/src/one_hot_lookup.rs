//! A table is read through a product with a one-hot matrix.
//!
//! An op whose path contains `one_hot` writes a matrix of at least a million elements. The measure is the share of the op time
//! that this op takes together with the ops that read its result. Severity: note from 5 %, warning from 20 % (ours: a lookup
//! takes less than a percent). The compiled program shows which ops read the matrix, including those that read it after
//! conversions, multiplications and outer products, because these operations preserve its zeros. Without the program, all ops
//! with an operand of the same shape are assumed to read it. Confidence: medium. Remedy: use `table[ids]`.

use std::collections::BTreeSet;

use super::draft::{Draft, equals, lacks};
use super::numbers::{Numbers, shown};
use super::{Rule, Verdict};
use base::{Ps, format};
use hlo::{Instruction, InstructionIndex, Module};
use metrics::{Op, elements, op_shapes};
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule =
    Rule { id: "one_hot_lookup", title: "One-hot matrices take much of the time", ..Rule::checked_by(check) };

/// Minimum share of the op time for a note.
const NOTE_PERCENT: f64 = 5.0;
/// Minimum share of the op time for a warning. We chose this limit because a lookup takes less than a percent.
const WARNING_PERCENT: f64 = 20.0;
/// Minimum number of elements of the one-hot matrix. We chose this limit because a small one-hot matrix is a fair way
/// to select.
const FEWEST_ELEMENTS: f64 = 1e6;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    if ops.rows.is_empty() {
        return lacks("no device op ran. Capture while the program runs on the device.");
    }
    let text = |text| ops.text(numbers.trace, text);
    let one_hot = ops.rows.iter().filter(|op| text(op.framework_path).contains("one_hot"));
    let large = one_hot.filter_map(|op| {
        let shape = op_shapes(text(op.expression))?.result;
        (elements(&shape) >= FEWEST_ELEMENTS).then_some((op, shape))
    });
    let large: Vec<(&Op, String)> = large.collect();
    let Some((op, shape)) = large.iter().max_by_key(|(op, _)| op.self_time) else { return Verdict::Fine };
    let time = match time_in_program(numbers, op, &large) {
        Some(time) => time,
        None => op.self_time + time_by_shapes(numbers, op, shape),
    };
    let share = numbers.op_percent(time);
    if share < NOTE_PERCENT {
        return Verdict::Fine;
    }
    let costs = share >= WARNING_PERCENT;
    let severity = if costs { FindingSeverity::Warning } else { FindingSeverity::Note };
    let message = format!(
        "{} writes a one-hot matrix, {}. Writing it and the ops that read it take {} of the op time. Nearly all of its elements are \
         zero.",
        numbers.op_with_source(op),
        shown(shape),
        format::percent(share)
    );
    Draft::new(severity, Confidence::Medium, &format!("A one-hot matrix takes {} of the op time", format::percent(share)), message)
        .remedy(
            "Read the rows of the table directly: table[ids] or jnp.take(table, ids, axis=0). For the loss, pick the logits of the \
             labels with jnp.take_along_axis instead of multiplying by a one-hot matrix. To send tokens to experts, sort them by \
             expert and gather their rows, or use jax.lax.ragged_dot.",
        )
        .passed("one_hot_percent", share, if costs { WARNING_PERCENT } else { NOTE_PERCENT })
        .at_stake(numbers.of_window(share))
        .link(View::Ops, &equals("hlo_op_name", text(op.name)))
        .fires()
}

/// Sums the time of the ops with an operand of this shape.
fn time_by_shapes(numbers: &Numbers<'_>, op: &Op, shape: &str) -> Ps {
    let ops = &numbers.context.analysis.ops;
    let reads = |it: &&Op| {
        let found = op_shapes(ops.text(numbers.trace, it.expression));
        !std::ptr::eq(*it, op) && found.is_some_and(|found| found.operands.iter().any(|it| it == shape))
    };
    ops.rows.iter().filter(reads).map(|it| it.self_time).sum()
}

/// Sums the time of the ops that write or read the one-hot matrices of a program. Also includes matrices that have zeros in the
/// same places, because they come from one-hot matrices through multiplications, conversions and changes of shape only. `None`
/// without the compiled program.
fn time_in_program(numbers: &Numbers<'_>, of: &Op, one_hot: &[(&Op, String)]) -> Option<Ps> {
    let ops = &numbers.context.analysis.ops;
    let (module, _) = numbers.instruction(of)?;
    let in_program =
        |op: &Op| module.instruction(ops.text(numbers.trace, op.name)).filter(|_| op.program_id == of.program_id);
    let mut sparse: BTreeSet<InstructionIndex> = BTreeSet::new();
    let mut sizes: Vec<f64> = Vec::new();
    for instruction in one_hot.iter().filter_map(|(op, _)| in_program(op)) {
        sparse.extend(module.index_of(instruction));
        sizes.extend(
            instruction.shape.arrays().iter().map(|array| array.elements()).filter(|&count| count >= FEWEST_ELEMENTS),
        );
    }
    // Operands come before their users.
    for (index, instruction) in (0..).zip(module.instructions()) {
        if !instruction.operands.iter().any(|operand| sparse.contains(operand)) {
            continue;
        }
        let has_size = instruction.shape.arrays().iter().any(|array| sizes.contains(&array.elements()));
        if has_size && keeps_zeros(module, instruction) {
            sparse.insert(index);
        } else if expands(module, instruction) {
            sparse.insert(index);
            sizes.extend(instruction.shape.first_array().map(|array| array.elements()));
        }
    }
    let touches = |op: &&Op| {
        in_program(op).is_some_and(|it| {
            module.index_of(it).is_some_and(|index| sparse.contains(&index))
                || it.operands.iter().any(|operand| sparse.contains(operand))
        })
    };
    Some(ops.rows.iter().filter(touches).map(|op| op.self_time).sum())
}

/// Minimum ratio of the size of a product's result to the size of its larger operand. Above this ratio, a product of
/// one-hot matrices consists mostly of zeros: each element that the product sums makes at most one element of a row
/// nonzero.
const EXPANSION: f64 = 4.0;

/// Returns true for a product that is much larger than its operands, such as the outer products of the rows of two one-hot
/// matrices.
fn expands(module: &Module, instruction: &Instruction) -> bool {
    let elements = |it: &Instruction| it.shape.first_array().map_or(0.0, |array| array.elements());
    let fused = module.called(instruction, 0).filter(|_| instruction.is("fusion"));
    let is_product = instruction.is_matrix_product()
        || fused.is_some_and(|it| module.instructions_of(it).iter().any(Instruction::is_matrix_product));
    let largest = module.operands(instruction).map(elements).fold(0.0, f64::max);
    is_product && largest > 0.0 && elements(instruction) >= EXPANSION * largest
}

/// Returns true if the result has zeros where an operand of the same size has zeros.
fn keeps_zeros(module: &Module, instruction: &Instruction) -> bool {
    let keeps = |it: &Instruction| {
        let opcode = it.opcode.as_str();
        matches!(
            opcode,
            "bitcast"
                | "copy"
                | "reshape"
                | "transpose"
                | "convert"
                | "multiply"
                | "get-tuple-element"
                | "tuple"
                | "broadcast"
        )
    };
    let is_input = |it: &Instruction| it.is("parameter") || it.is("constant");
    match module.called(instruction, 0).filter(|_| instruction.is("fusion")) {
        Some(fused) => module.instructions_of(fused).iter().all(|it| keeps(it) || is_input(it)),
        None => keeps(instruction),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_steps};
    use crate::testing_programs::{add_program, instruction, op_of};
    use report::FindingSeverity::{Note, Warning};

    #[test]
    fn fires_above_its_limit() {
        let trace = |one_hot: i64, reader: i64, rows: i64| {
            tpu_steps(12, move |b, at| {
                let matrix = format!("f32[{rows},50304]");
                let texts = [
                    format!("%fusion.1 = {matrix}{{1,0}} fusion(s32[{rows}]{{0}} %ids), kind=kLoop, calls=%f"),
                    format!(
                        "%dot.2 = f32[{rows},128]{{1,0}} dot({matrix}{{1,0}} %fusion.1, f32[50304,128]{{1,0}} %table)"
                    ),
                    "%tanh.3 = f32[8]{0} tanh(f32[8]{0} %x)".to_owned(),
                ];
                let texts = texts.map(|text| b.trace_mut().strings.intern(&text));
                let path = b.trace_mut().strings.intern("jit(f)/jit(_one_hot)/eq");
                let line = b.line("/device:TPU:0", "XLA Ops");
                let mut now = at;
                let spans = [("fusion.1", one_hot), ("dot.2", reader), ("tanh.3", 1000 - one_hot - reader)];
                for ((name, time), text) in spans.into_iter().zip(texts) {
                    b.event(line, name, now, time).args(|args| {
                        args.long_name = text;
                        if name == "fusion.1" {
                            args.tf_op = path;
                        }
                    });
                    now += time;
                }
            })
        };
        let found = finding(trace(100, 300, 64), &RULE);
        assert_eq!((found.severity, found.title.as_str()), (Warning, "A one-hot matrix takes 40.0 % of the op time"));
        assert!(found.message.starts_with("fusion.1 writes a one-hot matrix, f32[64,50304]."), "{}", found.message);
        assert_eq!(finding(trace(50, 100, 64), &RULE).severity, Note);
        fine(trace(10, 30, 64), &RULE);
        fine(trace(100, 300, 16), &RULE);
    }

    /// A product with a mask sends tokens to experts. The mask is the outer product of two one-hot matrices.
    #[test]
    fn products_with_masks_of_one_hot_matrices_count() {
        let steps = tpu_steps(12, |b, at| {
            if at == 0 {
                add_program(
                    b,
                    7,
                    vec![(
                        "main",
                        vec![
                            instruction("x", "parameter", "f32[1024,64]"),
                            instruction("gates", "parameter", "f32[1024,2,32]").int(9, 1),
                            instruction("eq.1", "compare", "f32[1024,2,640]").of(&["gates", "gates"]),
                            instruction("dot.2", "dot", "f32[1024,32,640]").of(&["gates", "eq.1"]),
                            instruction("convert.3", "convert", "f32[1024,32,640]").of(&["dot.2"]),
                            instruction("dot.4", "dot", "f32[20480,64]").of(&["convert.3", "x"]),
                            instruction("tanh.5", "tanh", "f32[20480,64]").of(&["dot.4"]),
                        ],
                    )],
                );
            }
            let path = b.trace_mut().strings.intern("jit(f)/jit(_one_hot)/eq");
            let text =
                b.trace_mut().strings.intern("%eq.1 = f32[1024,2,640]{2,1,0} fusion(s32[1024]{0} %ids), kind=kLoop");
            let line = b.line("/device:TPU:0", "XLA Ops");
            let op = b.event(line, "eq.1", at, 10).hlo_category("loop fusion").hlo_module("jit_f");
            op.args(|args| (args.program_id, args.long_name, args.tf_op) = (Some(7), text, path));
            for (name, start, time) in
                [("dot.2", 10, 40), ("convert.3", 50, 50), ("dot.4", 100, 300), ("tanh.5", 400, 600)]
            {
                op_of(b, 7, (name, "loop fusion"), at + start, time);
            }
        });
        let found = finding(steps, &RULE);
        assert_eq!(found.title, "A one-hot matrix takes 40.0 % of the op time");
    }
}
