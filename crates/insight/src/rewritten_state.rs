//! A loop copies whole slices of its state to change a small part of each.
//!
//! A loop over layers reads a slice of a stacked array, changes a small part of it, and writes the whole slice to a
//! stacked array. An example is a decoder's cache that passes through `jax.lax.scan` as `xs` and is returned as `ys`:
//! each token moves the whole cache several times, although it adds one position.
//!
//! ```text
//! dynamic-slice of old [L, ...] -> dynamic-update-slice of a small part -> dynamic-update-slice of new [L, ...]
//! ```
//!
//! The rule looks for elements of a loop's state that each iteration writes with a `dynamic-update-slice`. The written
//! slice must come from a `dynamic-slice` of an array of the state with the same shape. A `dynamic-update-slice` or a
//! `scatter` must have changed at most a quarter of the slice's elements (ours). The cost is the time of the ops of the
//! loop that read or write these slices. If the new array and the old array are different elements of the state, the
//! cost also includes the ops that fill the new array before the loop, and the ops that copy it after the loop (to the
//! memory of a donated argument). Severity: warning from 10 % of the op time (JAX guide, overheads), critical from 50
//! %, or a note if the cost is less than 10 % of the window. Confidence: high. Remedy: keep the state of each layer in
//! its own array, or carry the stacked array and change only the small part. The rule is skipped if the compiled
//! program is missing.

use std::collections::BTreeSet;

use super::conversions::element_index;
use super::draft::{Draft, equals};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, shown};
use super::{Needs, Rule, Verdict};
use base::{Ps, format};
use hlo::{Computation, Instruction, InstructionIndex, Module, Shape};
use metrics::Op;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule {
    id: "rewritten_state",
    title: "A loop copies its state to change a small part of it",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// Maximum share of a slice that an iteration changes. Beyond this share, little can be saved.
const CHANGED_SHARE: f64 = 0.25;
/// Maximum number of instructions and call levels that are read for one value. Longer paths are not worth a search.
const MOST_STEPS: usize = 64;

/// A stacked array that a loop rewrites.
struct Rewritten<'a> {
    shape: String,
    /// Number of elements of a slice, and number of elements that an iteration changes.
    elements: (f64, f64),
    /// True if the loop reads one stacked array and writes another.
    is_new: bool,
    around: &'a Instruction,
    /// Instructions that read or write the slices, or the array before and after the loop.
    moves: BTreeSet<InstructionIndex>,
}

/// The ops that move the rewritten arrays of a program.
struct Cost<'a> {
    arrays: Vec<Rewritten<'a>>,
    time: Ps,
    /// Time of the ops outside of the loop.
    outside: Ps,
    largest: &'a Op,
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let found = numbers.programs().filter_map(|(id, module)| cost(numbers, id, module)).max_by_key(|it| it.time);
    let Some(found) = found else { return Verdict::Fine };
    let share = numbers.op_percent(found.time);
    let Some(array) = found.arrays.first().filter(|_| share >= OVERHEAD_PERCENT.good) else { return Verdict::Fine };
    let (mut severity, limit) = OVERHEAD_PERCENT.severity(share);
    if numbers.of_window(share) < OVERHEAD_PERCENT.good {
        severity = FindingSeverity::Note;
    }
    let (elements, changed) = array.elements;
    let target = if array.is_new { "a new array that the loop fills" } else { "the same array" };
    let outside = match numbers.op_percent(found.outside) {
        share if share > 0.0 => format!(
            ", {} of it in ops that fill the new arrays before the loop or copy them after it",
            format::percent(share)
        ),
        _ => String::new(),
    };
    let message = format!(
        "Each iteration of {} reads a slice of {} ({}), changes {} of its {} elements, and writes the whole slice to {target}. \
         Moving these slices takes {} of the op time{outside}. The largest op is {}.",
        shown(&array.around.name),
        format::counted(found.arrays.len() as u64, "stacked array"),
        shown(&array.shape),
        format::count(changed.round() as u64),
        format::count(elements.round() as u64),
        format::percent(share),
        numbers.op_with_source(found.largest),
    );
    let title =
        format!("Copying a loop's state to change a small part takes {} of the op time", format::percent(share));
    Draft::new(severity, Confidence::High, &title, message)
        .remedy(
            "Give the state of each layer its own array, donate these arrays (jax.jit(f, donate_argnums=...)), and write the \
             loop over the layers in Python, or unroll it. Each update then happens in place. If you need jax.lax.scan, do not pass \
             the state as xs and return it as ys: carry the stacked array, and change only the part (state.at[layer, ..., \
             position].set(value)).",
        )
        .passed("rewritten_state_percent", share, limit)
        .count("rewritten_arrays", found.arrays.len() as u64)
        .evidence("slice_elements", elements)
        .evidence("changed_elements", changed)
        .at_stake(numbers.of_window(share))
        .link(View::Ops, &equals("hlo_op_name", ops.text(numbers.trace, found.largest.name)))
        .fires()
}

/// Sums the time of the ops that move the arrays rewritten by the loops of a program.
fn cost<'a>(numbers: &Numbers<'a>, id: i64, module: &'a Module) -> Option<Cost<'a>> {
    let loops = module.instructions().iter().filter(|it| it.is("while"));
    let arrays: Vec<Rewritten<'a>> = loops.flat_map(|it| rewritten(module, it)).collect();
    let moves = |index| arrays.iter().any(|array| array.moves.contains(&index));
    let all = &numbers.context.analysis.ops;
    let instruction = |op: &Op| module.instruction(all.text(numbers.trace, op.name));
    let of_program = all.rows.iter().filter(|op| op.program_id == Some(id));
    let found: Vec<&'a Op> =
        of_program.filter(|op| instruction(op).and_then(|it| module.index_of(it)).is_some_and(moves)).collect();
    let is_outside = |op: &Op| {
        let place = instruction(op).map(|it| it.computation);
        arrays.iter().all(|array| array.around.called.first().copied() != place)
    };
    let largest = found.iter().copied().max_by_key(|op| op.self_time)?;
    let outside = found.iter().filter(|op| is_outside(op)).map(|op| op.self_time).sum();
    let time = found.iter().map(|op| op.self_time).sum();
    Some(Cost { arrays, time, outside, largest })
}

/// Returns the stacked arrays that a loop rewrites.
fn rewritten<'a>(module: &'a Module, around: &'a Instruction) -> Vec<Rewritten<'a>> {
    let Some(body) = module.called(around, 0) else { return Vec::new() };
    let Some(root) = module.root(body).filter(|it| it.is("tuple")) else { return Vec::new() };
    let new = root.operands.iter().enumerate();
    new.filter_map(|(element, &value)| rewritten_element(module, (around, body), element, value)).collect()
}

/// Returns the array of one element of a loop's state if the loop rewrites it. `value` is the value of the element
/// after an iteration.
fn rewritten_element<'a>(
    module: &'a Module,
    (around, body): (&'a Instruction, &Computation),
    element: usize,
    value: InstructionIndex,
) -> Option<Rewritten<'a>> {
    let mut path = Path { module, body, moves: BTreeSet::new() };
    let (write, at) = path.source(value, Vec::new())?;
    let (target, slice) = (*write.operands.first()?, *write.operands.get(1)?);
    if !write.is("dynamic-update-slice") || path.element(target, at.clone())? != element {
        return None;
    }
    let (update, at) = path.source(slice, at)?;
    let changed = match update.opcode.as_str() {
        "dynamic-update-slice" => module.operand(update, 1)?,
        "scatter" => module.operand(update, 2)?,
        _ => return None,
    };
    let (read, at) = path.source(*update.operands.first()?, at)?;
    let stacked = write.shape.first_array()?;
    let old = module.operand(read, 0).filter(|_| read.is("dynamic-slice"))?;
    let is_same = old.shape.first_array()?.dimensions == stacked.dimensions;
    let (elements, changed) = (read.shape.elements(), changed.shape.elements());
    if !is_same || changed > CHANGED_SHARE * elements || 2.0 * elements > stacked.elements() {
        return None;
    }
    let old = path.element(*read.operands.first()?, at)?;
    let is_new = old != element;
    let mut moves = path.moves;
    if is_new {
        moves.extend(outside(module, around, element));
    }
    let shape = Shape::Array(stacked.clone()).text(false);
    Some(Rewritten { shape, elements: (elements, changed), is_new, around, moves })
}

/// Returns the instructions that fill an element of a loop's state before the loop, or copy it after the loop.
fn outside(module: &Module, around: &Instruction, element: usize) -> Vec<InstructionIndex> {
    let mut found = Vec::new();
    let start = module.operand(around, 0).filter(|it| it.is("tuple")).and_then(|it| it.operands.get(element)).copied();
    let filled = start.and_then(|index| match module.at(index) {
        Some(it) if it.is("get-tuple-element") => it.operands.first().copied(),
        _ => Some(index),
    });
    let fills = |it: &&Instruction| matches!(it.opcode.as_str(), "broadcast" | "copy" | "fusion");
    found.extend(filled.filter(|&index| module.at(index).as_ref().is_some_and(fills)));
    let of_loop = module.index_of(around);
    let is_element = |it: &Instruction| element_index(it) == Some(element) && it.operands.first().copied() == of_loop;
    for (index, it) in (0..).zip(module.instructions()) {
        // Other readers, such as an output layer, use the values.
        let copies = it.is("copy") || it.is("copy-start");
        if copies && module.operand(it, 0).is_some_and(is_element) {
            found.push(index);
        }
    }
    found
}

/// Finds the instructions that make values in the body of a loop.
struct Path<'a, 'b> {
    module: &'a Module,
    body: &'b Computation,
    /// Instructions of the body that make the values on the path.
    moves: BTreeSet<InstructionIndex>,
}

/// The calls that contain a value, outermost first.
type Calls = Vec<InstructionIndex>;

impl<'a> Path<'a, '_> {
    /// Returns the instruction that computes a value, and the calls that contain it. Looks through changes of shape and
    /// the boundaries of fusions.
    fn source(&mut self, value: InstructionIndex, calls: Calls) -> Option<(&'a Instruction, Calls)> {
        let (mut value, mut calls) = (value, calls);
        // Elements of results to take, innermost last.
        let mut elements: Vec<usize> = Vec::new();
        for _ in 0..MOST_STEPS {
            let it = self.module.at(value)?;
            match it.opcode.as_str() {
                "bitcast" | "reshape" | "transpose" | "copy" | "convert" | "fusion-done" | "async-done" => {
                    self.passes(value, it, &calls);
                    value = *it.operands.first()?;
                }
                "get-tuple-element" => {
                    if self.is_state(it) {
                        return Some((it, calls));
                    }
                    elements.push(element_index(it)?);
                    value = *it.operands.first()?;
                }
                "tuple" => value = *it.operands.get(elements.pop()?)?,
                "parameter" => {
                    let Some(call) = calls.pop() else { return Some((it, calls)) };
                    let number = usize::try_from(it.attributes().parameter_number?).ok()?;
                    value = *self.module.at(call)?.operands.get(number)?;
                }
                "fusion" | "call" | "fusion-start" | "async-start" => {
                    self.passes(value, it, &calls);
                    calls.push(value);
                    value = self.module.called(it, 0)?.root?;
                }
                _ => {
                    self.passes(value, it, &calls);
                    return Some((it, calls));
                }
            }
        }
        None
    }

    /// If a value is an element of the loop's state, possibly with other dimensions, returns the element's number.
    fn element(&mut self, value: InstructionIndex, calls: Calls) -> Option<usize> {
        let (source, _) = self.source(value, calls)?;
        element_index(source).filter(|_| self.is_state(source))
    }

    fn is_state(&self, it: &Instruction) -> bool {
        let state = self.module.operand(it, 0);
        state.is_some_and(|state| {
            state.is("parameter")
                && self.module.index_of(state).is_some_and(|index| self.body.instructions.contains(&index))
        })
    }

    /// Adds an instruction of the body to the path. A change of shape that needs no copy takes no time.
    fn passes(&mut self, index: InstructionIndex, it: &Instruction, calls: &Calls) {
        if calls.is_empty() && !it.is("bitcast") {
            self.moves.insert(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_steps};
    use crate::testing_programs::{Computation, add_program, instruction, op_of};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    const STACKED: &str = "bf16[16,8,4096]";
    const SLICE: &str = "bf16[1,8,4096]";

    /// Builds a loop over 16 slices. The loop reads each slice from the state's element `old`, changes `part` of it,
    /// and writes it to the element `new`.
    fn program(part: &'static str, old: &'static str, new: &'static str, stacked: &'static str) -> Vec<Computation> {
        let results = if new == "new.2" { ["old.2", "write.2"] } else { ["write.2", "new.2"] };
        let reading = vec![
            instruction("read.p0", "parameter", stacked),
            instruction("read.p1", "parameter", "s32[]").int(9, 1),
            instruction("read.p2", "parameter", part).int(9, 2),
            instruction("read.slice", "dynamic-slice", SLICE).of(&["read.p0", "read.p1"]),
            instruction("read.update", "dynamic-update-slice", SLICE).of(&["read.slice", "read.p2", "read.p1"]),
        ];
        let writing = vec![
            instruction("write.p0", "parameter", STACKED),
            instruction("write.p1", "parameter", SLICE).int(9, 1),
            instruction("write.p2", "parameter", "s32[]").int(9, 2),
            instruction("write.cast", "bitcast", SLICE).of(&["write.p1"]),
            instruction("write.update", "dynamic-update-slice", STACKED).of(&["write.p0", "write.cast", "write.p2"]),
        ];
        let body = vec![
            instruction("state.2", "parameter", ""),
            instruction("i.2", "get-tuple-element", "s32[]").of(&["state.2"]),
            instruction("old.2", "get-tuple-element", stacked).of(&["state.2"]).int(13, 1),
            instruction("new.2", "get-tuple-element", STACKED).of(&["state.2"]).int(13, 2),
            instruction("part.2", "get-tuple-element", part).of(&["state.2"]).int(13, 3),
            instruction("read.2", "fusion", SLICE).of(&[old, "i.2", "part.2"]).calls(&["reading"]),
            instruction("write.2", "fusion", STACKED).of(&[new, "read.2", "i.2"]).calls(&["writing"]),
            instruction("next.2", "tuple", "").of(&["i.2", results[0], results[1], "part.2"]),
        ];
        let main = vec![
            instruction("old.1", "parameter", stacked),
            instruction("part.1", "parameter", part).int(9, 1),
            instruction("zero.1", "constant", "bf16[]"),
            instruction("i.1", "constant", "s32[]"),
            instruction("zeros.1", "broadcast", STACKED).of(&["zero.1"]),
            instruction("start.1", "tuple", "").of(&["i.1", "old.1", "zeros.1", "part.1"]),
            instruction("while.1", "while", "").of(&["start.1"]).calls(&["body", "condition"]),
            instruction("element.1", "get-tuple-element", STACKED).of(&["while.1"]).int(13, 2),
            instruction("copy.1", "copy", STACKED).of(&["element.1"]),
            instruction("tanh.1", "tanh", STACKED).of(&["copy.1"]),
        ];
        let condition = vec![instruction("state.3", "parameter", "")];
        vec![("condition", condition), ("reading", reading), ("writing", writing), ("body", body), ("main", main)]
    }

    /// Builds steps of 1000 us in which filling with zeros, reading, writing and copying take `time` us each.
    fn steps(time: i64, program: impl Fn() -> Vec<Computation>) -> Trace {
        tpu_steps(12, move |b, at| {
            if at == 0 {
                add_program(b, 7, program());
            }
            for (place, name) in (0..).zip(["zeros.1", "read.2", "write.2", "copy.1"]) {
                op_of(b, 7, (name, "loop fusion"), at + place * time, time);
            }
            op_of(b, 7, ("tanh.1", "loop fusion"), at + 4 * time, 1000 - 4 * time);
        })
    }

    #[test]
    fn fires_above_its_limits() {
        let rewritten = |time| steps(time, || program("bf16[1,8,1]", "old.2", "new.2", STACKED));
        let found = finding(rewritten(100), &RULE);
        let title = "Copying a loop's state to change a small part takes 40.0 % of the op time";
        assert_eq!((found.severity, found.title.as_str()), (Warning, title));
        let start = "Each iteration of while.1 reads a slice of 1 stacked array (bf16[16,8,4096]), changes 8 of its 32\u{202f}768 \
                     elements, and writes the whole slice to a new array";
        assert!(found.message.starts_with(start), "{}", found.message);
        assert!(found.message.contains("40.0 % of the op time, 20.0 % of it in ops that fill"), "{}", found.message);
        assert_eq!(finding(rewritten(200), &RULE).severity, Critical);
        fine(rewritten(24), &RULE);
        // The array is updated in place, but by whole slices.
        let found = finding(steps(100, || program("bf16[1,8,1]", "old.2", "old.2", STACKED)), &RULE);
        assert!(found.title.contains("takes 20.0 %") && found.message.contains("to the same array"), "{found:?}");
    }

    #[test]
    fn slices_that_are_new_are_fine() {
        // An iteration changes half of the slice.
        fine(steps(100, || program("bf16[1,8,2048]", "old.2", "new.2", STACKED)), &RULE);
        // The slice comes from another array, as the outputs of a scan over inputs usually are.
        fine(steps(100, || program("bf16[1,8,1]", "old.2", "new.2", "bf16[32,8,4096]")), &RULE);
        // Only the part is written.
        let in_place = || {
            let mut all = program("bf16[1,8,1]", "old.2", "new.2", STACKED);
            let body = vec![
                instruction("state.2", "parameter", ""),
                instruction("i.2", "get-tuple-element", "s32[]").of(&["state.2"]),
                instruction("old.2", "get-tuple-element", STACKED).of(&["state.2"]).int(13, 1),
                instruction("new.2", "get-tuple-element", STACKED).of(&["state.2"]).int(13, 2),
                instruction("part.2", "get-tuple-element", "bf16[1,8,1]").of(&["state.2"]).int(13, 3),
                instruction("read.2", "dynamic-slice", SLICE).of(&["old.2", "i.2"]),
                instruction("write.2", "dynamic-update-slice", STACKED).of(&["old.2", "part.2", "i.2"]),
                instruction("next.2", "tuple", "").of(&["i.2", "write.2", "new.2", "part.2"]),
            ];
            if let Some(place) = all.iter().position(|(name, _)| *name == "body") {
                all[place] = ("body", body);
            }
            all
        };
        fine(steps(100, in_place), &RULE);
    }
}
