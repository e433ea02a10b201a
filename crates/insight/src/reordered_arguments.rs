//! A program reorders the rows of arrays, and changes no value in them.
//!
//! ```text
//! beams = top_k(...)
//! keys, values = keys[beams] with the new token      each beam has its own rows
//! encoded = encoded[beams]                           all beams of a sample have the same rows
//! ```
//!
//! A program returns an argument after a gather of as many elements as the argument has, and nothing else. The next call gets the
//! array with its rows in this order. Each call reads and writes the whole array. The impact is the time of these gathers and of the
//! copies of their results. Severity: warning from 10 % of the op time (JAX guide, overheads), critical from 50 %. Confidence: medium,
//! because the rows may differ. Remedy: keep the array, and reorder small arrays only. The rule is skipped if the compiled program
//! is missing.

use std::collections::BTreeSet;

use super::draft::{Draft, equals};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, argument_name, shown};
use super::{Needs, Rule, Verdict};
use base::{Ps, format};
use hlo::{Instruction, Module};
use metrics::Op;
use report::{Confidence, View};

pub(super) static RULE: Rule = Rule {
    id: "reordered_arguments",
    title: "Arrays are only reordered",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// Arrays that a program only reorders.
struct Reordered<'a> {
    module: &'a Module,
    arguments: Vec<&'a Instruction>,
    /// The gathers, and the copies of their results.
    ops: Vec<&'a Op>,
}

impl Reordered<'_> {
    fn time(&self) -> Ps {
        self.ops.iter().map(|op| op.self_time).sum()
    }
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let found = numbers.programs().map(|(id, module)| reordered(numbers, id, module)).max_by_key(Reordered::time);
    let Some(found) = found else { return Verdict::Fine };
    let share = numbers.op_percent(found.time());
    let largest = found.ops.iter().max_by_key(|op| op.self_time).filter(|_| share >= OVERHEAD_PERCENT.good);
    let (Some(op), Some(first)) = (largest, found.arguments.first()) else { return Verdict::Fine };
    let (severity, limit) = OVERHEAD_PERCENT.severity(share);
    let count = found.arguments.len() as u64;
    let others = match count {
        1 => String::new(),
        2 => " and one other".to_owned(),
        more => format!(" and {} others", format::count(more - 1)),
    };
    let message = format!(
        "{} returns {} ({}{others}) with reordered rows, and changes no value in them. The gathers, and the copies of their results, take \
         {} of the op time. The largest is {}.",
        shown(found.module.name()),
        format::counted(count, "argument"),
        argument_name(first),
        format::percent(share),
        numbers.op_with_source(op),
    );
    let title = format!("Arrays that are only reordered take {} of the op time", format::percent(share));
    Draft::new(severity, Confidence::Medium, &title, message)
        .remedy(
            "Leave these arrays out of the reordering. If the rows that are exchanged are equal, as the encoder's keys and values for \
             all beams of a sample are, the order does not matter: store them once per sample. If they differ, return the new order as \
             an array of indices, and read the rows by it where they are used.",
        )
        .passed("reordered_percent", share, limit)
        .count("arguments", count)
        .at_stake(numbers.of_window(share))
        .link(View::Ops, &equals("hlo_op_name", numbers.context.analysis.ops.text(numbers.trace, op.name)))
        .fires()
}

fn reordered<'a>(numbers: &Numbers<'a>, id: i64, module: &'a Module) -> Reordered<'a> {
    let (mut arguments, mut names) = (Vec::new(), BTreeSet::new());
    let root = module.entry().and_then(|entry| module.root(entry)).filter(|it| it.is("tuple"));
    for mut value in root.into_iter().flat_map(|root| module.operands(root)) {
        let mut of_output = Vec::new();
        while value.is("copy") || value.is("bitcast") {
            of_output.push(value.name.as_str());
            let Some(operand) = module.operand(value, 0) else { break };
            value = operand;
        }
        if let Some(argument) = gathered(module, value) {
            arguments.push(argument);
            names.extend(of_output);
            names.insert(value.name.as_str());
        }
    }
    let ops = &numbers.context.analysis.ops;
    let is_named = |op: &&Op| op.program_id == Some(id) && names.contains(ops.text(numbers.trace, op.name));
    let ops = if names.is_empty() { Vec::new() } else { ops.rows.iter().filter(is_named).collect() };
    Reordered { module, arguments, ops }
}

/// Returns the argument whose rows a value gathers. `None` if the value has another number of elements, or is no gather.
fn gathered<'a>(module: &'a Module, value: &'a Instruction) -> Option<&'a Instruction> {
    let through_bitcasts = |mut it: &'a Instruction| {
        while it.is("bitcast") || it.is("reshape") {
            it = module.operand(it, 0)?;
        }
        Some(it)
    };
    let gather = match module.called(value, 0).filter(|_| value.is("fusion")) {
        Some(fused) => through_bitcasts(module.root(fused)?)?,
        None => value,
    };
    let array = through_bitcasts(module.operand(gather, 0).filter(|_| gather.is("gather"))?)?;
    let array = if value.is("fusion") { through_bitcasts(module.argument_of(array)?)? } else { array };
    let is_argument = array.is("parameter") && module.entry_index() == Some(array.computation);
    (is_argument && array.shape.elements() == gather.shape.elements()).then_some(array)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_steps};
    use crate::testing_programs::{add_text_program, op_of};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us of a program that gathers the rows of `keys` and returns `output`. The gather takes `time`.
    fn steps(time: i64, output: &'static str) -> Trace {
        let text = format!(
            "HloModule jit_f\n\nrows {{\n  a = f32[4,8] parameter(0)\n  i = s32[4,1] parameter(1)\n  \
             ROOT r = f32[4,8] gather(a, i), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, \
             index_vector_dim=1, slice_sizes={{1,8}}\n}}\n\nENTRY main {{\n  \
             keys = f32[4,8] parameter(0), metadata={{op_name=\"cache['keys']\"}}\n  beams = s32[4,1] parameter(1)\n  \
             gather.1 = f32[4,8] fusion(keys, beams), kind=kLoop, calls=rows\n  copy.1 = f32[4,8] copy(gather.1)\n  \
             changed = f32[4,8] add(gather.1, gather.1)\n  \
             tanh.1 = f32[4,8] tanh(gather.1)\n  ROOT t = (f32[4,8], f32[4,8]) tuple({output}, tanh.1)\n}}\n"
        );
        tpu_steps(12, |b, at| {
            if at == 0 {
                add_text_program(b, 7, &text);
            }
            op_of(b, 7, ("gather.1", "gather"), at, time / 2);
            op_of(b, 7, ("copy.1", "copy"), at + time / 2, time / 2);
            op_of(b, 7, ("tanh.1", "loop fusion"), at + time, 1000 - time);
        })
    }

    #[test]
    fn fires_above_its_limit() {
        let found = finding(steps(500, "copy.1"), &RULE);
        let title = "Arrays that are only reordered take 50.0 % of the op time";
        assert_eq!((found.severity, found.title.as_str()), (Critical, title));
        assert!(
            found.message.starts_with("jit_f returns 1 argument (cache['keys']) with reordered rows"),
            "{}",
            found.message
        );
        assert_eq!(finding(steps(100, "copy.1"), &RULE).severity, Warning);
        fine(steps(98, "copy.1"), &RULE);
    }

    #[test]
    fn an_array_that_changes_is_fine() {
        fine(steps(500, "changed"), &RULE);
    }
}
