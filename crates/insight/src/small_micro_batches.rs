//! Gradients are accumulated over micro-batches, although larger micro-batches would fit into memory.
//!
//! The body of a `while` instruction runs the forward and the backward pass (according to the paths of its ops), leaves the
//! weights unchanged, and adds gradients to accumulators. An accumulator is an element of the loop's state that has the same
//! shape as a weight and is read by a single addition. Together, the accumulators have at least 1 MiB. Each iteration adds to
//! the accumulators and may convert the weights, at the same cost for few examples as for many. The rule sums the time of
//! instructions that only add to accumulators and of repeated conversions ([converted_in_loop](#converted_in_loop)). The impact
//! is the part of this time that fewer iterations would save.
//!
//! The rule fires if `k` times as many examples per iteration would fit into memory. The estimated peak is the measured
//! peak plus `k - 1` times the temporary memory. The estimate must not exceed half of the device's memory (ours: the
//! other half is reserved for fragmentation and other programs). `k` is the largest divisor of the number of iterations
//! that meets this condition. The estimate is an upper bound, because weights and accumulators do not grow. Severity:
//! note from 5 % of the op time (ours: half of the limit for a warning), warning from 10 % (JAX guide, overheads).
//! Confidence: medium, because the time of matrix products also falls with larger batches, and the batch may be a
//! choice of the model. Remedy: use fewer and larger micro-batches. The rule is skipped if the compiled program or its
//! buffers are missing, or if the size of the memory is unknown.

use std::collections::{BTreeMap, BTreeSet};

use super::batched_loop::each_inside;
use super::conversions::{element_index, executions, is_unchanged, runs};
use super::converted_in_loop::{self, repeated};
use super::draft::{Draft, equals, lacks};
use super::gathered_batch::users;
use super::limits::{OVERHEAD_NOTED_PERCENT, OVERHEAD_PERCENT};
use super::memory::LEAST_BYTES;
use super::numbers::{Numbers, code_line, shown};
use super::{Needs, Rule, Verdict};
use base::framework_path::training_pass;
use base::{Ps, format};
use hlo::{Computation, Instruction, InstructionIndex, Module};
use metrics::Op;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule {
    id: "small_micro_batches",
    title: "Micro-batches are smaller than the memory requires",
    needs: Needs::AllOps,
    parts: &[&converted_in_loop::RULE],
    ..Rule::checked_by(check)
};

/// Maximum share of the device's memory that the larger batch may take. The other half is reserved for fragmentation
/// and other programs.
const MOST_OF_CAPACITY: f64 = 0.5;

/// A loop that accumulates gradients.
struct Accumulation<'a> {
    program: i64,
    of_loop: &'a Instruction,
    source: Option<String>,
    iterations: u64,
    accumulator_bytes: f64,
    /// Self time of the loop with its body.
    time: Ps,
    /// Self time of the additions to accumulators, and of the repeated conversions.
    additions: Ps,
    conversions: Ps,
}

impl Accumulation<'_> {
    /// Returns the part of the time that does not depend on the number of examples, summed over all iterations.
    fn fixed(&self) -> Ps {
        self.additions + self.conversions
    }

    /// Returns the part of [`Accumulation::fixed`] that is saved if micro-batches are `times` as large.
    fn saved(&self, times: u64) -> Ps {
        let times = i64::try_from(times).unwrap_or(i64::MAX).max(1);
        Ps::new(self.fixed().as_ps() - self.fixed().as_ps() / times)
    }
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let modules = numbers.programs();
    let found = modules.flat_map(|(id, module)| accumulations(numbers, id, module)).max_by_key(Accumulation::fixed);
    let worth = |it: &Accumulation<'_>| numbers.op_percent(it.saved(it.iterations)) >= OVERHEAD_NOTED_PERCENT;
    let Some(found) = found.filter(worth) else { return Verdict::Fine };
    let memory = &numbers.context.analysis.memory;
    let Some(program) = memory.programs.iter().find(|it| it.program_id == found.program) else {
        return lacks("the file does not contain the buffers of the program that accumulates gradients.");
    };
    let devices = || memory.devices.iter();
    let Some(capacity) = devices().filter_map(|it| it.capacity_bytes).min() else {
        return lacks(
            "the size of the device's memory is unknown. Choose the device on the Model page, or with --device.",
        );
    };
    let Some(temporary) = program.figures.temporary_bytes else {
        return lacks("the file does not contain the buffers of the program that accumulates gradients.");
    };
    let peak = devices().filter_map(|it| it.peak_bytes).fold(program.figures.peak_heap_bytes, u64::max);
    let times = larger(found.iterations, peak, temporary, capacity);
    let share = numbers.op_percent(found.saved(times));
    if share < OVERHEAD_NOTED_PERCENT {
        return Verdict::Fine;
    }
    let is_warning = share >= OVERHEAD_PERCENT.good;
    let limit = if is_warning { OVERHEAD_PERCENT.good } else { OVERHEAD_NOTED_PERCENT };
    let source = found.source.as_ref().map_or(String::new(), |source| format!(" ({})", code_line(source)));
    let conversions = match numbers.op_percent(found.conversions) {
        share if share > 0.0 => format!(", and converting weights {}", format::percent(share)),
        _ => String::new(),
    };
    let message = format!(
        "{}{source} accumulates gradients in {} iterations per run. Including its body, it takes {} of the op time. \
         Adding to the accumulators ({}) takes {}{conversions}, however few examples an iteration has. The memory has \
         room for more: the peak is {} of {}, and with {} in an iteration it would be at most {}.",
        shown(&found.of_loop.name),
        format::count(found.iterations),
        format::percent(numbers.op_percent(found.time)),
        format::bytes(found.accumulator_bytes as u64),
        format::percent(numbers.op_percent(found.additions)),
        format::bytes(peak),
        format::bytes(capacity),
        match times == found.iterations {
            true => "all examples".to_owned(),
            false => format!("{} times as many examples", format::count(times)),
        },
        format::bytes(needed(times, peak, temporary))
    );
    let advice = match times == found.iterations {
        true => "Compute the gradients of the whole batch at once, without a loop".to_owned(),
        false => {
            format!("Use {} times larger micro-batches, and correspondingly fewer iterations", format::count(times))
        }
    };
    let title = format!(
        "{} micro-batches per step are more than the memory requires, and cost at least {} of the op time",
        format::count(found.iterations),
        format::percent(share)
    );
    Draft::new(
        if is_warning { FindingSeverity::Warning } else { FindingSeverity::Note },
        Confidence::Medium,
        &title,
        message,
    )
    .remedy(&format!(
        "{advice}. This also makes the matrix products larger. If memory becomes short, recompute activations \
             (jax.checkpoint) or use two or more iterations."
    ))
    .passed("fixed_micro_batch_percent", share, limit)
    .evidence("loop_percent", numbers.op_percent(found.time))
    .count("iterations", found.iterations)
    .evidence("peak_bytes", peak as f64)
    .evidence("capacity_bytes", capacity as f64)
    .at_stake(numbers.of_window(share))
    .link(View::Ops, &equals("program_id", &(found.program.cast_unsigned()).to_string()))
    .fires()
}

/// Returns the largest divisor of the iterations by which the micro-batches can grow. Returns 1 if the memory is too
/// small for micro-batches of twice the size.
fn larger(iterations: u64, peak: u64, temporary: u64, capacity: u64) -> u64 {
    let fits = |times: &u64| needed(*times, peak, temporary) as f64 <= MOST_OF_CAPACITY * capacity as f64;
    let factors = (2..=iterations).rev().filter(|times| iterations.is_multiple_of(*times));
    factors.into_iter().find(fits).unwrap_or(1)
}

/// Returns the memory with micro-batches that are `times` as large.
fn needed(times: u64, peak: u64, temporary: u64) -> u64 {
    peak.saturating_add(temporary.saturating_mul(times.saturating_sub(1)))
}

/// Returns the loops of a program that accumulate gradients.
fn accumulations<'a>(numbers: &Numbers<'a>, id: i64, module: &'a Module) -> Vec<Accumulation<'a>> {
    let whiles = module.instructions().iter().filter(|it| it.is("while"));
    // A loop inside the backward pass iterates over layers, not over micro-batches.
    let outside = whiles.filter(|it| training_pass(&it.metadata.op_name).is_none());
    outside.filter_map(|it| accumulation(numbers, id, (module, it, module.called(it, 0)?))).collect()
}

fn accumulation<'a>(
    numbers: &Numbers<'a>,
    id: i64,
    (module, of_loop, body): (&'a Module, &'a Instruction, &'a Computation),
) -> Option<Accumulation<'a>> {
    let adders = adders(module, of_loop, body);
    let accumulator_bytes: f64 = adders.iter().map(|it| it.bytes).sum();
    if accumulator_bytes < LEAST_BYTES as f64 {
        return None;
    }
    let ops = &numbers.context.analysis.ops;
    let name = |op: &Op| ops.text(numbers.trace, op.name);
    let mut inside: BTreeSet<&str> = BTreeSet::from([of_loop.name.as_str()]);
    let mut passes: BTreeSet<&str> = BTreeSet::new();
    each_inside(module, Some(body), 0, &mut |it| {
        inside.insert(&it.name);
        passes.extend(training_pass(&it.metadata.op_name));
    });
    if !passes.contains("forward") || !passes.contains("backward") {
        return None;
    }
    let rows = || ops.rows.iter().filter(|op| op.program_id == Some(id));
    let direct: BTreeSet<&str> = module.instructions_of(body).iter().map(|it| it.name.as_str()).collect();
    // Ops of inner loops are excluded: they run more often, and are not in this computation.
    let of_body = rows().filter(|op| direct.contains(name(op))).map(executions).max()?;
    let iterations = of_body.checked_div(runs(numbers, id, module))?;
    let only_add: BTreeSet<&str> = adders.iter().filter(|it| it.only_adds).map(|it| it.name).collect();
    let conversions = repeated(numbers, id, module).into_iter().filter(|it| it.of_loop == of_loop.name);
    (iterations > 1).then(|| Accumulation {
        program: id,
        of_loop,
        source: module.source_of(of_loop),
        iterations,
        accumulator_bytes,
        time: rows().filter(|op| inside.contains(name(op))).map(|op| op.self_time).sum(),
        additions: rows().filter(|op| only_add.contains(name(op))).map(|op| op.self_time).sum(),
        conversions: conversions.map(|it| it.conversion.avoidable).sum(),
    })
}

/// An instruction that adds to an accumulator.
struct Adder<'a> {
    name: &'a str,
    bytes: f64,
    /// True if the work of the instruction does not depend on the number of examples.
    only_adds: bool,
}

/// Returns the instructions of a body that add to accumulators.
fn adders<'a>(module: &'a Module, of_loop: &Instruction, body: &'a Computation) -> Vec<Adder<'a>> {
    let Some(root) = module.root(body).filter(|it| it.is("tuple")) else { return Vec::new() };
    let is_of_state = |it: &Instruction| {
        module.operand(it, 0).is_some_and(|state| state.is("parameter")) && element_index(it).is_some()
    };
    let elements: Vec<(usize, &Instruction)> = module
        .instructions_of(body)
        .iter()
        .filter(|it| is_of_state(it))
        .filter_map(|it| Some((element_index(it)?, it)))
        .collect();
    let unchanged: BTreeSet<&[u64]> = elements
        .iter()
        .filter(|(index, _)| is_unchanged(module, of_loop, *index))
        .filter_map(|(_, it)| Some(it.shape.array()?.dimensions.as_slice()))
        .collect();
    let readers = readers(module, body);
    let adder = |&(index, element): &(usize, &'a Instruction)| {
        let shape = element.shape.array()?;
        let adder = readers.get(&module.index_of(element)?).copied().flatten()?;
        let result = module.operand(root, index)?;
        let is_result = std::ptr::eq(result, adder)
            || (element_index(result).is_some() && module.operand(result, 0).is_some_and(|it| std::ptr::eq(it, adder)));
        let is_gradient = unchanged.contains(shape.dimensions.as_slice());
        (is_result && is_gradient && adds_to(module, adder, element)).then(|| Adder {
            name: adder.name.as_str(),
            bytes: shape.bytes(),
            only_adds: adder.is("add") || module.called(adder, 0).is_some_and(|fused| fused.elementwise),
        })
    };
    elements.iter().filter_map(adder).collect()
}

/// For each value of a computation, returns the instruction that reads it, or `None` if several instructions do.
fn readers<'a>(
    module: &'a Module,
    computation: &'a Computation,
) -> BTreeMap<InstructionIndex, Option<&'a Instruction>> {
    let mut found = BTreeMap::new();
    for reader in module.instructions_of(computation) {
        let mut operands = reader.operands.clone();
        operands.sort_unstable();
        operands.dedup();
        for operand in operands {
            found.entry(operand).and_modify(|only| *only = None).or_insert(Some(reader));
        }
    }
    found
}

/// Returns true if the instruction `adder` adds something to `operand`.
fn adds_to(module: &Module, adder: &Instruction, operand: &Instruction) -> bool {
    if adder.is("add") {
        return true;
    }
    let index = module.index_of(operand);
    let position = adder.operands.iter().position(|&it| Some(it) == index);
    let Some((position, fused)) = position.zip(module.called(adder, 0)).filter(|_| adder.is("fusion")) else {
        return false;
    };
    let is_operand =
        |it: &&Instruction| it.is("parameter") && it.attributes().parameter_number == i64::try_from(position).ok();
    let mut value = module.instructions_of(fused).iter().find(is_operand);
    while let Some(it) = value {
        let mut readers = users(module, it);
        value = match readers.next().filter(|_| readers.next().is_none()) {
            Some(reader) if reader.is("add") => return true,
            Some(reader) if matches!(reader.opcode.as_str(), "bitcast" | "copy" | "convert" | "reshape") => {
                Some(reader)
            }
            Some(reader) if reader.is("fusion") => return adds_to(module, reader, it),
            _ => None,
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fine, says, tpu_steps};
    use crate::testing_programs::{add_program, instruction, op_of};
    use trace::Trace;

    /// Builds steps of 1000 us with a loop of `iterations` that takes 500 us. Each iteration adds gradients of this
    /// shape in `time` us.
    fn steps(iterations: i64, time: i64, shape: &'static str, adds: &'static str, pass: &'static str) -> Trace {
        tpu_steps(12, move |b, at| {
            if at == 0 {
                let body = vec![
                    instruction("state.2", "parameter", ""),
                    instruction("w.2", "get-tuple-element", shape).of(&["state.2"]),
                    instruction("sum.2", "get-tuple-element", shape).of(&["state.2"]).int(13, 1),
                    instruction("tanh.2", "tanh", shape).of(&["w.2"]).path("jit(f)/while/body/jvp(mlp)/tanh"),
                    instruction("mul.2", "multiply", shape).of(&["tanh.2", "w.2"]).path(pass),
                    instruction("add.2", adds, shape).of(&["sum.2", "mul.2"]),
                    instruction("next.2", "tuple", "").of(&["w.2", "add.2"]),
                ];
                let condition = vec![instruction("state.3", "parameter", "")];
                let main = vec![
                    instruction("w.1", "parameter", shape),
                    instruction("zeros.1", "parameter", shape).int(9, 1),
                    instruction("start.1", "tuple", "").of(&["w.1", "zeros.1"]),
                    instruction("while.1", "while", "").of(&["start.1"]).calls(&["body", "condition"]),
                    instruction("update.1", "tanh", shape).of(&["w.1"]),
                ];
                add_program(b, 7, vec![("condition", condition), ("body", body), ("main", main)]);
            }
            let each = 500 / iterations;
            for iteration in 0..iterations {
                op_of(b, 7, ("mul.2", "loop fusion"), at + iteration * each, each - time);
                op_of(b, 7, ("add.2", "loop fusion"), at + iteration * each + each - time, time);
            }
            op_of(b, 7, ("update.1", "loop fusion"), at + 500, 500);
        })
    }

    const BACKWARD: &str = "jit(f)/while/body/transpose(jvp(mlp))/mul";

    #[test]
    fn loops_that_accumulate_gradients_need_their_memory() {
        // The test's program has no buffers. So if the loop costs enough, the rule is skipped.
        let is_found =
            |trace| matches!(says(trace, &RULE), Verdict::NotChecked(text) if text.contains("accumulates gradients"));
        assert!(is_found(steps(10, 6, "f32[1024,256]", "add", BACKWARD)));
        fine(steps(10, 5, "f32[1024,256]", "add", BACKWARD), &RULE);
        fine(steps(1, 400, "f32[1024,256]", "add", BACKWARD), &RULE);
        fine(steps(10, 20, "f32[1024,255]", "add", BACKWARD), &RULE);
        // A state that is multiplied instead of added to, and a loop without a backward pass.
        fine(steps(10, 20, "f32[1024,256]", "multiply", BACKWARD), &RULE);
        fine(steps(10, 20, "f32[1024,256]", "add", "jit(f)/while/body/mul"), &RULE);
    }

    #[test]
    fn micro_batches_grow_by_a_divisor_that_fits() {
        // Each of the 10 micro-batches needs 4 of temporary memory, so all at once need 10 + 9 * 4 = 46 of 100.
        assert_eq!(larger(10, 10, 4, 100), 10);
        assert_eq!(larger(10, 10, 4, 92), 10);
        assert_eq!(larger(10, 10, 4, 91), 5);
        assert_eq!(larger(10, 10, 4, 28), 2);
        assert_eq!(larger(10, 10, 4, 27), 1);
        assert_eq!((larger(1, 10, 4, 100), larger(7, 10, 10, 100)), (1, 1));
    }
}
