//! A program computes a large array but reads only a small part of it.
//!
//! The program reads an op's result only through slices and gathers, which together select at most a quarter of it (our
//! limit: a smaller saving is not worth a change). Between the op and the selection, there are only elementwise ops,
//! broadcasts, reshapes, transposes, and reductions along other dimensions. For example, a language model computes
//! logits for all positions of a prompt, but reads only those of the last position. The op must compute each element
//! independently. Elementwise ops, reductions, matrix products and convolutions do so; sorts and loops do not. The
//! impact is the time that such ops spend on elements that are never read. Severity: warning from 10 % of the window
//! (JAX guide, overheads), critical from 50 %. Confidence: high. Remedy: select first, then compute. Slices that divide
//! an array among devices are excluded. The rule is skipped if the compiled program is missing.

use std::collections::{BTreeMap, BTreeSet};

use super::draft::{Draft, equals};
use super::gathered_batch::users;
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, shown};
use super::{Needs, Rule, Verdict};
use base::format;
use hlo::{Instruction, InstructionIndex, Module, Shape, is_elementwise};
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
/// Minimum share of the op time for an op to be examined, percent. We chose this limit because smaller ops change
/// nothing.
const EXAMINED_PERCENT: f64 = 1.0;
/// Maximum number of instructions between an op and the selection. We chose this limit because a user cannot change a
/// longer path in one place.
const MOST_BETWEEN: usize = 100;
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
    let file_and_line = |line: &str| shown(line.rsplit('/').next().unwrap_or(line));
    let source = text(it.op.source);
    let at = if source.is_empty() { String::new() } else { format!(" at {}", file_and_line(source)) };
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
        file_and_line(&place),
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
            file_and_line(&place),
        ))
        .passed("unused_result_percent", lost, limit)
        .passed("read_percent", 100.0 * it.used, 100.0 * MOST_USED)
        .at_stake(lost)
        .link(View::Ops, &equals("hlo_op_name", text(it.op.name)))
        .fires()
}

/// Examines the reads of an op's result. Returns `None` if more than [`MOST_USED`] of it is read.
fn unused<'a>(numbers: &Numbers<'a>, op: &'a Op) -> Option<Unused<'a>> {
    let (module, producer) = numbers.instruction(op)?;
    if !computes_in_parts(module, producer) {
        return None;
    }
    let rank = producer.shape.array()?.dimensions.len();
    let mut reads = Reads { module, seen: BTreeSet::new(), selected: BTreeMap::new() };
    reads.follow(producer, (0..rank).map(Some).collect())?;
    let used: f64 = reads.selected.values().sum();
    let (selection, _) = reads.selected.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
    let selection = module.at(*selection)?;
    (used <= MOST_USED).then_some(Unused { op, module, producer, selection, used })
}

/// Returns true if a part of the result can be computed from parts of the operands.
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

/// Dimension of the examined array for each dimension of an array that was computed from it. `None` for a dimension that a
/// broadcast added.
type Dimensions = Vec<Option<usize>>;

/// The reads of an array, down to the instructions that select a part of it.
struct Reads<'a> {
    module: &'a Module,
    seen: BTreeSet<(InstructionIndex, Dimensions)>,
    /// Part of the array that each instruction selects.
    selected: BTreeMap<InstructionIndex, f64>,
}

impl<'a> Reads<'a> {
    /// Follows a value to all its readers. Returns `None` if one of them may read all of it.
    fn follow(&mut self, value: &'a Instruction, dimensions: Dimensions) -> Option<()> {
        let module = self.module;
        let index = module.index_of(value)?;
        if !self.seen.insert((index, dimensions.clone())) {
            return Some(());
        }
        if self.seen.len() > MOST_BETWEEN {
            return None;
        }
        let computation = module.computation(value.computation)?;
        if computation.root == Some(index) {
            // The result of a fused computation is read by the users of the fusion. Other results leave the program, or return
            // to the start of a loop.
            let fusion = module
                .instructions()
                .iter()
                .find(|it| it.is("fusion") && it.called.first() == Some(&value.computation))?;
            self.follow(fusion, dimensions.clone())?;
        }
        for user in users(module, value) {
            let positions = user.operands.iter().enumerate().filter(|(_, operand)| **operand == index);
            for (position, _) in positions {
                self.read(user, position, value, &dimensions)?;
            }
        }
        Some(())
    }

    /// Follows one read of a value.
    fn read(
        &mut self,
        user: &'a Instruction,
        position: usize,
        value: &Instruction,
        dimensions: &Dimensions,
    ) -> Option<()> {
        let from = &value.shape.array()?.dimensions;
        let attributes = user.attributes();
        let along = |dimension: usize| attributes.dimensions.iter().any(|&it| usize::try_from(it) == Ok(dimension));
        if user.is("fusion") {
            let is_parameter = |it: &&Instruction| {
                it.is("parameter")
                    && it.attributes().parameter_number.and_then(|it| usize::try_from(it).ok()) == Some(position)
            };
            let parameter = hlo::fused(self.module, user).iter().find(is_parameter)?;
            return self.follow(parameter, dimensions.clone());
        }
        let to = &user.shape.array()?.dimensions;
        let mapped: Dimensions = match user.opcode.as_str() {
            _ if is_elementwise(self.module, user) && from == to => dimensions.clone(),
            "broadcast" => (0..to.len())
                .map(|dimension| {
                    let source = attributes.dimensions.iter().position(|&it| usize::try_from(it) == Ok(dimension));
                    source.and_then(|source| *dimensions.get(source)?)
                })
                .collect(),
            "transpose" => {
                let source = |&it: &i64| usize::try_from(it).ok().and_then(|it| *dimensions.get(it)?);
                attributes.dimensions.iter().map(source).collect()
            }
            "reduce" if position < user.operands.len() / 2 => {
                let kept = dimensions.iter().enumerate().filter(|(dimension, _)| !along(*dimension));
                kept.map(|(_, source)| *source).collect()
            }
            "bitcast" | "reshape" => reshaped(from, to, dimensions)?,
            "slice" | "dynamic-slice" | "gather" if position == 0 => return self.select(user, from, dimensions),
            _ => return None,
        };
        self.follow(user, mapped)
    }

    /// Adds the part that a slice or gather selects. Returns `None` if it selects along a dimension that the array lacks, or if
    /// it selects everything.
    fn select(&mut self, user: &'a Instruction, from: &[u64], dimensions: &Dimensions) -> Option<()> {
        let attributes = user.attributes();
        let mut sizes: Vec<u64> = match user.opcode.as_str() {
            "slice" => user.shape.array()?.dimensions.clone(),
            // Each device uses its own id to select its part of an array.
            "dynamic-slice"
                if self.module.devices().is_some_and(|(replicas, partitions)| replicas * partitions > 1) =>
            {
                return None;
            }
            "dynamic-slice" => {
                attributes.dynamic_slice_sizes.iter().map(|&it| u64::try_from(it).ok()).collect::<Option<_>>()?
            }
            _ => attributes.gather_slice_sizes.iter().map(|&it| u64::try_from(it).ok()).collect::<Option<_>>()?,
        };
        sizes.truncate(from.len());
        let selects = |(index, (size, whole)): (usize, (&u64, &u64))| (size < whole).then_some(index);
        let selecting: Vec<usize> = sizes.iter().zip(from).enumerate().filter_map(selects).collect();
        if selecting.is_empty() || selecting.iter().any(|&it| dimensions.get(it).copied().flatten().is_none()) {
            return None;
        }
        // A gather selects once for each index vector.
        let picks = match user.opcode.as_str() {
            "gather" => {
                let slice: f64 = sizes.iter().map(|&size| size as f64).product();
                user.shape.elements() / slice.max(1.0)
            }
            _ => 1.0,
        };
        let part = |index: &usize| Some(*sizes.get(*index)? as f64 / (*from.get(*index)? as f64).max(1.0));
        let part: f64 = picks * selecting.iter().filter_map(part).product::<f64>();
        let selected = self.selected.entry(self.module.index_of(user)?).or_default();
        *selected = selected.max(part.min(1.0));
        Some(())
    }
}

/// Maps dimensions through a change of shape. Returns `None` if a dimension of the examined array is split or joined.
fn reshaped(from: &[u64], to: &[u64], dimensions: &Dimensions) -> Option<Dimensions> {
    let before = |sizes: &[u64], index: usize| sizes.iter().take(index).product::<u64>();
    let mut mapped: Dimensions = vec![None; to.len()];
    for (index, size) in from.iter().enumerate().filter(|(_, size)| **size > 1) {
        let Some(Some(source)) = dimensions.get(index) else { continue };
        let same = |&it: &usize| to.get(it) == Some(size) && before(to, it) == before(from, index);
        *mapped.get_mut((0..to.len()).find(same)?)? = Some(*source);
    }
    Some(mapped)
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

    /// Reads one of `positions` in each row, after a reduction along the last dimension.
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

    #[test]
    fn shapes_change_along_whole_dimensions() {
        let all: Dimensions = vec![Some(0), Some(1), Some(2)];
        assert_eq!(reshaped(&[4, 96, 8], &[4, 1, 96, 8], &all), Some(vec![Some(0), None, Some(1), Some(2)]));
        assert_eq!(reshaped(&[4, 96, 8], &[384, 8], &all), None);
    }
}
