//! A program computes a large array but reads only a small part of it.
//!
//! The program reads an op's result only through slices and gathers, which together select at most a quarter of the
//! result (our limit: a smaller saving is not worth a change). Between the op and the selection, there are only
//! elementwise ops, broadcasts, reshapes, transposes, and reductions along other dimensions. For example, a language
//! model computes logits for all positions of a prompt, but reads only the logits of the last position. The op must
//! compute each element independently. Elementwise ops, reductions, matrix products and convolutions meet this
//! condition, but sorts and loops do not. The impact is the time that such ops spend on elements that are never read.
//! Severity: warning from 10 % of the window (JAX guide, overheads), critical from 50 %. Confidence: high. Remedy:
//! select first, then compute. Slices that divide an array among devices are excluded. The rule is skipped if the
//! compiled program is missing.

use std::collections::BTreeMap;

use super::array_reads::{Slices, selections};
use super::draft::{Draft, equals};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, code_line, shown};
use super::{Needs, Rule, Verdict};
use base::format;
use hlo::{Instruction, Module, Shape, is_elementwise};
use metrics::Op;
use report::{Confidence, View};

pub(super) static RULE: Rule = Rule {
    id: "mostly_unused_result",
    title: "Most of a computed array is not read",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// Maximum part of the result that is read.
const MOST_USED: f64 = 0.25;
/// Minimum share of the op time for an op to be examined, percent. We chose this limit because changing a smaller op
/// saves too little.
const EXAMINED_PERCENT: f64 = 1.0;
/// Ops that are not elementwise, and whose results can be computed in parts.
const IN_PARTS: [&str; 12] = [
    "bitcast",
    "broadcast",
    "constant",
    "convolution",
    "dot",
    "gather",
    "iota",
    "parameter",
    "reduce",
    "reshape",
    "slice",
    "transpose",
];
/// Parts of the names of library calls that compute products.
const PRODUCTS: [&str; 4] = ["gemm", "matmul", "dot", "conv"];

/// An op whose result is mostly not read.
struct Unused<'a> {
    op: &'a Op,
    module: &'a Module,
    producer: &'a Instruction,
    selection: &'a Instruction,
    used: f64,
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let large = ops.rows.iter().filter(|op| numbers.op_percent(op.self_time) >= EXAMINED_PERCENT);
    let mut by_place: BTreeMap<(i64, String), Vec<Unused<'_>>> = BTreeMap::new();
    for it in large.filter_map(|op| unused(numbers, op)) {
        let place = it.module.source_of(it.selection).unwrap_or_else(|| it.selection.name.clone());
        by_place.entry((it.op.program_id.unwrap_or_default(), place)).or_default().push(it);
    }
    let share = |it: &Unused<'_>| numbers.of_window(numbers.op_percent(it.op.self_time));
    let lost = |of: &[Unused<'_>]| of.iter().map(|it| share(it) * (1.0 - it.used)).sum::<f64>();
    let largest = by_place.into_iter().max_by(|a, b| lost(&a.1).total_cmp(&lost(&b.1)));
    let Some(((_, place), found)) = largest.filter(|(_, found)| lost(found) >= OVERHEAD_PERCENT.good) else {
        return Verdict::Fine;
    };
    let (lost, taken) = (lost(&found), found.iter().map(share).sum::<f64>());
    let Some(it) = found.iter().max_by_key(|it| it.op.self_time) else { return Verdict::Fine };
    let (severity, limit) = OVERHEAD_PERCENT.severity(lost);
    let text = |text| ops.text(numbers.trace, text);
    let source = text(it.op.source);
    let at = if source.is_empty() { String::new() } else { format!(" at {}", code_line(source)) };
    let shape =
        it.producer.shape.array().map_or_else(String::new, |array| Shape::Array(array.clone()).text(false).to_owned());
    let used = format::percent(100.0 * it.used);
    let selection = shown(&it.selection.opcode);
    let others = match found.len() {
        1 => "The op takes".to_owned(),
        2 => format!("Together with one other op that feeds the same {selection}, the op takes"),
        count => {
            let others = format::count(count as u64 - 1);
            format!("Together with {others} other ops that feed the same {selection}, the op takes")
        }
    };
    let message = format!(
        "{} computes {}, and the program reads only {used} of it: the part that {} selects with a {selection}. {others} {} of the time.",
        numbers.op_with_source(it.op),
        shown(&shape),
        code_line(&place),
        format::percent(taken),
    );
    let title = format!(
        "Only {used} of {}{at} is read, and computing the whole array takes {} of the time",
        shown(&shape),
        format::percent(taken)
    );
    Draft::new(severity, Confidence::High, &title, message)
        .remedy(&format!(
            "Select first, then compute: apply the selection at {} to the input of the computation{at}. For example, take the hidden \
             state of the last position, and then multiply it by the output weights. The same values are then computed with {used} of \
             the work.",
            code_line(&place),
        ))
        .passed("unused_result_percent", lost, limit)
        .passed("read_percent", 100.0 * it.used, 100.0 * MOST_USED)
        .at_stake(lost)
        .link(View::Ops, &equals("hlo_op_name", text(it.op.name)))
        .fires()
}

/// Examines the reads of an op's result. Returns `None` if more than [`MOST_USED`] of the result is read.
fn unused<'a>(numbers: &Numbers<'a>, op: &'a Op) -> Option<Unused<'a>> {
    let (module, producer) = numbers.instruction(op)?;
    if !computes_in_parts(module, producer) {
        return None;
    }
    let selected = selections(module, producer, Slices::OfOneDevice)?;
    let (selection, _) = selected.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let used: f64 = selected.iter().map(|(_, part)| part).sum();
    (used <= MOST_USED).then_some(Unused { op, module, producer, selection, used })
}

/// Returns true if each part of the result can be computed from a part of the operands.
fn computes_in_parts(module: &Module, instruction: &Instruction) -> bool {
    let is_simple = |it: &Instruction| is_elementwise(module, it) || IN_PARTS.contains(&it.opcode.as_str());
    let is_product = |it: &Instruction| {
        let target = it.custom_call_target().map(str::to_ascii_lowercase);
        target.is_some_and(|target| PRODUCTS.iter().any(|part| target.contains(part)))
    };
    match instruction.opcode.as_str() {
        "fusion" => hlo::fused(module, instruction).iter().all(is_simple),
        "custom-call" => is_product(instruction),
        _ => is_simple(instruction),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, says, tpu_steps};
    use crate::testing_programs::{Instruction, add_program, instruction, op_of};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us: a product computes f32[4,96,320] in `time` us, and `reader` reads it.
    fn steps(time: i64, producer: &'static str, reader: fn() -> Vec<Instruction>) -> Trace {
        tpu_steps(12, move |b, at| {
            if at == 0 {
                let mut main = vec![
                    instruction("x.1", "parameter", "f32[4,96,8]"),
                    instruction("w.1", "parameter", "f32[8,320]"),
                    instruction("zero.1", "constant", "f32[]"),
                    instruction("logits.1", producer, "f32[4,96,320]").of(&["x.1", "w.1"]),
                ];
                main.extend(reader());
                add_program(b, 7, vec![("main", main)]);
            }
            op_of(b, 7, ("logits.1", "convolution"), at, time);
            op_of(b, 7, ("other.1", "loop fusion"), at + time, 1000 - time);
        })
    }

    /// Builds instructions that reduce an array along its last dimension and then read one of `positions` in each row.
    fn last(positions: &'static str) -> Vec<Instruction> {
        vec![
            instruction("max.1", "reduce", "f32[4,96]").of(&["logits.1", "zero.1"]).int(14, 2),
            instruction("all.1", "broadcast", "f32[4,96,320]").of(&["max.1"]).int(14, 0).int(14, 1),
            instruction("scores.1", "subtract", "f32[4,96,320]").of(&["logits.1", "all.1"]),
            instruction("last.1", "slice", positions).of(&["scores.1"]),
        ]
    }

    #[test]
    fn fires_above_its_limits() {
        let found = finding(steps(600, "dot", || last("f32[4,1,320]")), &RULE);
        let title = "Only 1.0 % of f32[4,96,320] is read, and computing the whole array takes 60.0 % of the time";
        assert_eq!((found.severity, found.title.as_str()), (Critical, title));
        assert!(found.message.starts_with("logits.1 computes f32[4,96,320]"), "{}", found.message);
        assert_eq!(finding(steps(134, "dot", || last("f32[4,24,320]")), &RULE).severity, Warning);
        fine(steps(133, "dot", || last("f32[4,24,320]")), &RULE);
        fine(steps(600, "dot", || last("f32[4,25,320]")), &RULE);
    }

    #[test]
    fn a_result_that_is_also_read_as_a_whole_is_fine() {
        fine(
            steps(600, "dot", || {
                let mut read = last("f32[4,1,320]");
                read.push(instruction("sum.1", "reduce", "f32[4,320]").of(&["scores.1", "zero.1"]).int(14, 1));
                read
            }),
            &RULE,
        );
        // The selected dimension does not belong to the result, because a broadcast added it.
        fine(
            steps(600, "dot", || {
                vec![
                    instruction("many.1", "broadcast", "f32[4,96,320,9]")
                        .of(&["logits.1"])
                        .int(14, 0)
                        .int(14, 1)
                        .int(14, 2),
                    instruction("one.1", "slice", "f32[4,96,320,1]").of(&["many.1"]),
                ]
            }),
            &RULE,
        );
        fine(steps(600, "sort", || last("f32[4,1,320]")), &RULE);
        let bare = tpu_steps(12, |b, at| op_of(b, 7, ("dot.1", "convolution"), at, 900));
        assert!(matches!(says(bare, &RULE), Verdict::NotChecked(_)));
    }
}
