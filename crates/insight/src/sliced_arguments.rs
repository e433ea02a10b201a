//! Parts of arguments are copied in each run.
//!
//! An op reads a part of an argument with fixed bounds, and only copies it: all of its instructions are slices, reshapes and
//! bitcasts. An example is `weights[i]`, if the weights of all layers are one array and a Python loop calls the layers. XLA must copy
//! such a part if the op that uses it reads whole arrays only, as matrix products of libraries do. The impact is the time of these
//! ops. Severity: warning from 10 % of the op time (JAX guide, overheads), critical from 50 %, or a note if the ops take less than
//! 10 % of the window. Confidence: high. Remedy: pass each part as a separate argument. The rule is skipped if the compiled
//! program is missing.

use super::draft::{Draft, equals};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, argument_name};
use super::{Needs, Rule, Verdict};
use base::{Ps, format};
use hlo::{Instruction, Module};
use metrics::Op;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule {
    id: "sliced_arguments",
    title: "Parts of arguments are copied",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

fn check(numbers: &Numbers<'_>) -> Verdict {
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let ops = &numbers.context.analysis.ops;
    let copies: Vec<(&Op, &Instruction)> =
        ops.rows.iter().filter_map(|op| Some((op, sliced_argument(numbers, op)?))).collect();
    let time: Ps = copies.iter().map(|(op, _)| op.self_time).sum();
    let share = numbers.op_percent(time);
    let largest = copies.iter().max_by_key(|(op, _)| op.self_time);
    let Some((op, argument)) = largest.filter(|_| share >= OVERHEAD_PERCENT.good) else {
        return Verdict::Fine;
    };
    let (mut severity, limit) = OVERHEAD_PERCENT.severity(share);
    if numbers.of_window(share) < OVERHEAD_PERCENT.good {
        severity = FindingSeverity::Note;
    }
    let mut arguments: Vec<String> = copies.iter().map(|(_, argument)| argument_name(argument)).collect();
    arguments.sort();
    arguments.dedup();
    let others = match arguments.len() - 1 {
        0 => String::new(),
        more => format!(
            " {} copied in the same way.",
            match more {
                1 => "One other argument is".to_owned(),
                more => format!("{} other arguments are", format::count(more as u64)),
            }
        ),
    };
    let shape = format!(" ({})", argument.shape.text(false));
    let message = format!(
        "{} {} parts of arguments and compute nothing: {} of the op time. The largest, {}, copies a part of the argument {}{shape}.{others} \
         The op that uses a part cannot read it inside the larger array.",
        format::counted(copies.len() as u64, "op"),
        if copies.len() == 1 { "copies" } else { "copy" },
        format::percent(share),
        numbers.op_with_source(op),
        argument_name(argument),
    );
    let title = format!("Copies of parts of arguments take {} of the op time", format::percent(share));
    Draft::new(severity, Confidence::High, &title, message)
        .remedy(
            "Pass each part as a separate argument, for example a list with the weights of each layer instead of one array with the \
             weights of all layers. Split the array once, before the first step.",
        )
        .passed("sliced_arguments_percent", share, limit)
        .count("sliced_arguments", arguments.len() as u64)
        .at_stake(numbers.of_window(share))
        .link(View::Ops, &equals("hlo_op_name", ops.text(numbers.trace, op.name)))
        .fires()
}

/// Returns the argument that an op copies a part of. `None` for other ops.
pub(super) fn sliced_argument<'a>(numbers: &Numbers<'a>, op: &Op) -> Option<&'a Instruction> {
    let (module, instruction) = numbers.instruction(op)?;
    if !instruction.is("fusion") {
        return instruction
            .is("slice")
            .then(|| module.operand(instruction, 0))
            .flatten()
            .and_then(|it| argument(module, it));
    }
    let fused = hlo::fused(module, instruction);
    let only_slices = fused.iter().all(|it| ["parameter", "slice", "bitcast", "reshape"].contains(&it.opcode.as_str()));
    let has_slice = fused.iter().any(|it| it.is("slice"));
    let [only] = instruction.operands.as_slice() else { return None };
    if only_slices && has_slice { argument(module, module.at(*only)?) } else { None }
}

/// Returns the argument of the program that a value is, possibly in another shape.
fn argument<'a>(module: &'a Module, mut value: &'a Instruction) -> Option<&'a Instruction> {
    while value.is("bitcast") || value.is("reshape") {
        value = module.operand(value, 0)?;
    }
    (value.is("parameter") && module.entry_index() == Some(value.computation)).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_steps};
    use crate::testing_programs::add_text_program;
    use crate::unfused_data_formatting;
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us of a program. `part` takes `time` and is the fusion of `ops` with an operand, and `dot` uses its result.
    fn steps(time: i64, ops: &'static str, operand: &'static str) -> Trace {
        let text = format!(
            "HloModule jit_f\n\npart_ops {{\n  p = f32[4,8,8] parameter(0)\n  {ops}\n}}\n\n\
             ENTRY main {{\n  w = f32[4,8,8] parameter(0), metadata={{op_name=\"params['w']\"}}\n  x = f32[8,8] parameter(1)\n  \
             more = f32[4,8,8] add(w, w)\n  part = f32[8,8] fusion({operand}), kind=kLoop, calls=part_ops\n  \
             ROOT dot = f32[8,8] dot(x, part), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n}}\n"
        );
        tpu_steps(12, |b, at| {
            if at == 0 {
                add_text_program(b, 7, &text);
            }
            for (name, category, start, duration) in
                [("part", "data formatting", at, time), ("dot", "convolution", at + time, 1000 - time)]
            {
                let line = b.line("/device:TPU:0", "XLA Ops");
                let op = b.event(line, name, start, duration).hlo_category(category).hlo_module("jit_f");
                op.args(|args| args.program_id = Some(7));
            }
        })
    }

    const SLICE: &str = "s = f32[1,8,8] slice(p), slice={[1:2], [0:8], [0:8]}\n  ROOT b = f32[8,8] bitcast(s)";

    #[test]
    fn fires_above_its_limit() {
        let found = finding(steps(500, SLICE, "w"), &RULE);
        let title = "Copies of parts of arguments take 50.0 % of the op time";
        assert_eq!((found.severity, found.title.as_str()), (Critical, title));
        assert!(found.message.contains("copies a part of the argument params['w'] (f32[4,8,8])."), "{}", found.message);
        assert_eq!(finding(steps(100, SLICE, "w"), &RULE).severity, Warning);
        fine(steps(99, SLICE, "w"), &RULE);
        // These ops do not change a layout.
        fine(steps(500, SLICE, "w"), &unfused_data_formatting::RULE);
    }

    #[test]
    fn other_ops_are_no_copies_of_arguments() {
        fine(steps(500, SLICE, "more"), &RULE);
        let computes = "s = f32[1,8,8] slice(p), slice={[1:2], [0:8], [0:8]}\n  n = f32[1,8,8] negate(s)\n  ROOT b = f32[8,8] bitcast(n)";
        fine(steps(500, computes, "w"), &RULE);
        let transposes = "s = f32[1,8,8] slice(p), slice={[1:2], [0:8], [0:8]}\n  b = f32[8,8] bitcast(s)\n  ROOT t = f32[8,8] transpose(b), dimensions={1,0}";
        fine(steps(500, transposes, "w"), &RULE);
        assert_eq!(finding(steps(500, transposes, "w"), &unfused_data_formatting::RULE).severity, Warning);
    }
}
