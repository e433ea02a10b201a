//! A pipeline in a loop processes few microbatches, so most of its work is discarded.
//!
//! ```text
//! iteration    0        1        2        3         4 stages, 1 microbatch
//! device 0   [work 0][        ][        ][        ]
//! device 1   [      ][work 0  ][        ][        ]  each device computes in each iteration, and the
//! device 2   [      ][        ][work 0  ][        ]  results of the empty ones are discarded
//! device 3   [      ][        ][        ][work 0  ]
//! ```
//!
//! In each iteration, the body of a `while` instruction computes an array with matrix products from the array that it received, and
//! passes it to the next device (`collective-permute`). With `p` devices in a chain or ring and `n` iterations, there are `n - p + 1`
//! microbatches, and `(p - 1) / n` of the work is discarded. Loops that pass on arrays that they do not compute (ring attention) or
//! only add to (products with collectives) are excluded. So are loops over layers that keep their state on the device, and loops with
//! more than `16 * p` iterations (ours: they are no pipelines, or lose little). The impact is this part of the time of the loops' ops. Severity: warning from 10 % of the op time
//! (JAX guide, overheads), critical from 50 %. Confidence: medium. Remedy: use more microbatches. The rule is skipped if the compiled
//! program is missing, or if `pipeline_bubbles` measures the pipeline.

use std::collections::{BTreeMap, BTreeSet};

use super::conversions::{Loops, executions, runs};
use super::draft::{Draft, equals};
use super::limits::OVERHEAD_PERCENT;
use super::loop_state::State;
use super::numbers::{Numbers, shown};
use super::products_in_loop::product;
use super::{Needs, Rule, Verdict};
use base::{Ps, format};
use hlo::{Instruction, InstructionIndex, Module};
use metrics::Op;
use report::{Confidence, View};

pub(super) static RULE: Rule = Rule {
    id: "few_microbatches",
    title: "A pipeline processes few microbatches",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// Maximum number of iterations per stage.
const MOST_ITERATIONS: u64 = 16;

/// A loop that is a pipeline.
struct Stages<'a> {
    permute: &'a Op,
    of_loop: &'a Instruction,
    stages: u64,
    iterations: u64,
    /// Self time of the ops in the loop.
    time: Ps,
}

impl Stages<'_> {
    /// Returns the part of the work whose results are discarded, from 0 to 1.
    fn discarded(&self) -> f64 {
        (self.stages - 1) as f64 / self.iterations as f64
    }
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.communicates() || numbers.profile.pipeline.is_some() {
        return Verdict::Irrelevant;
    }
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let found: Vec<Stages<'_>> = numbers.programs().flat_map(|(id, module)| pipelines(numbers, id, module)).collect();
    let lost: f64 = found.iter().map(|it| it.discarded() * numbers.op_percent(it.time)).sum();
    let largest = found.iter().max_by_key(|it| it.time).filter(|_| lost >= OVERHEAD_PERCENT.good);
    let Some(it) = largest else { return Verdict::Fine };
    let (severity, limit) = OVERHEAD_PERCENT.severity(lost);
    let (stages, iterations) = (format::count(it.stages), format::count(it.iterations));
    let microbatches = it.iterations - it.stages + 1;
    let batches = match microbatches {
        1 => "1 microbatch".to_owned(),
        more => format!("{} microbatches", format::count(more)),
    };
    let discarded = format::percent(100.0 * it.discarded());
    let message = format!(
        "In each of its {iterations} iterations, {} computes an array from the one that it received, and passes it to the next of {stages} \
         devices ({}). So the devices form a pipeline of {stages} stages for {batches} ({iterations} iterations = microbatches + stages - 1). Each \
         device computes in each iteration, and {discarded} of the results are discarded. The loops of the pipeline take {} of the op time.",
        shown(&it.of_loop.name),
        numbers.op_with_source(it.permute),
        format::percent(numbers.op_percent(found.iter().map(|it| it.time).sum())),
    );
    let more = 4 * it.stages;
    let title =
        format!("A pipeline of {stages} stages discards {discarded} of its work, because it processes only {batches}");
    Draft::new(severity, Confidence::Medium, &title, message)
        .remedy(&format!(
            "Split the batch into more microbatches. With {more} of them, {} of the work is discarded. If the batch is too small to be \
             split, use fewer stages, and divide the batch or the weights among the devices.",
            format::percent(100.0 * (it.stages - 1) as f64 / (more + it.stages - 1) as f64)
        ))
        .passed("discarded_percent", lost, limit)
        .count("stages", it.stages)
        .count("microbatches", microbatches)
        .at_stake(numbers.of_window(lost))
        .link(View::Ops, &equals("hlo_op_name", numbers.context.analysis.ops.text(numbers.trace, it.permute.name)))
        .fires()
}

/// Returns the loops of a program that are pipelines, each once.
fn pipelines<'a>(numbers: &Numbers<'a>, id: i64, module: &'a Module) -> Vec<Stages<'a>> {
    let ops = &numbers.context.analysis.ops;
    let own = || ops.rows.iter().filter(|op| op.program_id == Some(id));
    let instruction = |op: &Op| module.instruction(ops.text(numbers.trace, op.name));
    let (loops, runs) = (Loops::new(module), runs(numbers, id, module));
    let is_permute = |it: &Instruction| matches!(it.opcode.as_str(), "collective-permute" | "collective-permute-start");
    let mut seen = BTreeSet::new();
    let pipeline = |op: &'a Op| {
        let permute = instruction(op).filter(|it| is_permute(it))?;
        let of_loop = loops.around(permute)?;
        let stages = stages(&hlo::collective(module, permute)?.pairs)?;
        let iterations = executions(op).checked_div(runs)?;
        let state = State::of(module, of_loop)?;
        let is_pipeline =
            (stages..=MOST_ITERATIONS * stages).contains(&iterations) && has_stage(module, &state, permute);
        if !is_pipeline || !seen.insert(module.index_of(of_loop)?) {
            return None;
        }
        let is_inside = |other: &&Op| {
            let around = instruction(other).and_then(|it| loops.around(it));
            around.is_some_and(|around| std::ptr::eq(around, of_loop))
        };
        let time = own().filter(is_inside).map(|op| op.self_time).sum();
        Some(Stages { permute: op, of_loop, stages, iterations, time })
    };
    own().filter_map(pipeline).collect()
}

/// Returns true if the permute is all that leads from one stage to the next, and the stage multiplies matrices.
///
/// ```text
/// forward pass    h --> stage --> permute --> next h         the state is what was received
/// backward pass   h --> permute --> stage --> next h         the state is what will be sent
/// ```
///
/// A loop over layers whose layers exchange arrays (sequence parallelism) keeps its state on the device instead.
fn has_stage(module: &Module, state: &State<'_>, permute: &Instruction) -> bool {
    let Some((index, sent)) = module.index_of(permute).zip(state.reached(permute)) else { return false };
    let is_product = |at: &InstructionIndex| module.at(*at).filter(|value| product(module, value).is_some());
    let is_received = |at: usize| {
        let next = module.operand(state.root, at).and_then(|next| unchanged(module, next));
        next.is_some_and(|next| std::ptr::eq(next, permute))
    };
    let from_state = module.operand(permute, 0).and_then(|operand| unchanged(module, operand));
    state.reads.iter().any(|(element, read)| {
        let Some(reached) = state.reached(read).filter(|it| it.values.contains(&index)) else { return false };
        let computes_before = || {
            let mut products = reached.values.iter().filter_map(is_product);
            products.any(|it| state.reached(it).is_some_and(|after| after.values.contains(&index)))
        };
        let computes_after = || {
            let mut products = sent.values.iter().filter_map(is_product);
            products.any(|it| state.reached(it).is_some_and(|after| after.elements.contains(element)))
        };
        let is_read = |value: &Instruction| unchanged(module, value).is_some_and(|it| std::ptr::eq(it, *read));
        let is_only_sent = from_state.is_some_and(|it| std::ptr::eq(it, *read))
            && reached
                .values
                .iter()
                .filter_map(|&at| module.at(at))
                .all(|it| is_read(it) || std::ptr::eq(it, permute) || !module.operands(it).any(is_read));
        (is_received(*element) && computes_before()) || (is_only_sent && computes_after())
    })
}

/// Returns the value that an instruction copies, or the start of a permute that it ends. Returns other instructions themselves.
fn unchanged<'a>(module: &'a Module, mut value: &'a Instruction) -> Option<&'a Instruction> {
    while matches!(value.opcode.as_str(), "copy" | "bitcast" | "collective-permute-done") {
        value = module.operand(value, 0)?;
    }
    Some(value)
}

/// Returns the number of devices in each chain or ring of pairs. `None` if they differ.
fn stages(pairs: &[(u32, u32)]) -> Option<u64> {
    let next: BTreeMap<u32, u32> = pairs.iter().copied().collect();
    let targets: BTreeSet<u32> = next.values().copied().collect();
    let mut seen = BTreeSet::new();
    let mut lengths = BTreeSet::new();
    // Open chains come first. The remaining pairs form rings.
    let starts = next.keys().filter(|device| !targets.contains(device)).chain(next.keys());
    for &start in starts {
        let before = seen.len();
        let mut device = Some(start);
        while let Some(at) = device.filter(|at| seen.insert(*at)) {
            device = next.get(&at).copied();
        }
        if seen.len() > before {
            lengths.insert(seen.len() - before);
        }
    }
    let length = lengths.pop_first().filter(|&length| length > 1 && lengths.is_empty())?;
    u64::try_from(length).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, says, tpu_steps};
    use crate::testing_programs::{add_text_program, op_of};
    use crate::unhidden_collectives;
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us. A loop of `iterations` on 4 devices computes `stage.1` from `input` for `time` in total, and passes
    /// `sent` on. `kept` is the next `h`.
    fn program(iterations: i64, time: i64, [input, sent, kept]: [&'static str; 3]) -> Trace {
        let state = "(s32[], f32[8,8], f32[8,8], f32[8,8])";
        // In a backward pass, only the permute reads `h`.
        let before = if input == "h" { "h" } else { "w" };
        let own = if kept == "own" { "h" } else { "w" };
        let text = format!(
            "HloModule jit_f, num_partitions=4\n\nbody {{\n  p = {state} parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n  \
             h = f32[8,8] get-tuple-element(p), index=1\n  w = f32[8,8] get-tuple-element(p), index=2\n  \
             y = f32[8,8] get-tuple-element(p), index=3\n  \
             stage.1 = f32[8,8] dot({input}, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n  \
             other = f32[8,8] dot(w, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n  \
             sum = f32[8,8] add({before}, other)\n  more = f32[8,8] add(y, stage.1)\n  \
             own = f32[8,8] add({own}, stage.1)\n  \
             permute.1 = f32[8,8] collective-permute({sent}), source_target_pairs={{{{0,1}},{{1,2}},{{2,3}},{{3,0}}}}\n  \
             one = s32[] constant(1)\n  next = s32[] add(i, one)\n  ROOT t = {state} tuple(next, {kept}, w, more)\n}}\n\n\
             condition {{\n  q = {state} parameter(0)\n  j = s32[] get-tuple-element(q), index=0\n  n = s32[] constant(4)\n  \
             ROOT lt = pred[] compare(j, n), direction=LT\n}}\n\n\
             ENTRY main {{\n  x = {state} parameter(0)\n  while.1 = {state} while(x), condition=condition, body=body\n  \
             g = f32[8,8] get-tuple-element(while.1), index=3\n  ROOT tanh.1 = f32[8,8] tanh(g)\n}}\n"
        );
        tpu_steps(12, |b, at| {
            if at == 0 {
                add_text_program(b, 7, &text);
            }
            let each = time / iterations;
            for iteration in 0..iterations {
                op_of(b, 7, ("stage.1", "convolution fusion"), at + iteration * each, each - 1);
                op_of(b, 7, ("permute.1", "collective-permute"), at + (iteration + 1) * each - 1, 1);
            }
            op_of(b, 7, ("tanh.1", "loop fusion"), at + time, 1000 - time);
        })
    }

    /// Builds steps with a loop that computes `stage.1`, and then passes `sent` on.
    fn steps(iterations: i64, time: i64, sent: &'static str) -> Trace {
        program(iterations, time, ["h", sent, "permute.1"])
    }

    #[test]
    fn fires_above_its_limit() {
        let found = finding(steps(4, 800, "stage.1"), &RULE);
        let title = "A pipeline of 4 stages discards 75.0 % of its work, because it processes only 1 microbatch";
        assert_eq!((found.severity, found.title.as_str()), (Critical, title));
        assert!((found.time_at_stake_percent.unwrap() - 60.0).abs() < 0.1, "{found:?}");
        assert!(found.remedy.contains("With 16 of them, 15.8 %"), "{}", found.remedy);
        // 3 of 12 iterations are empty.
        assert_eq!(finding(steps(12, 480, "stage.1"), &RULE).severity, Warning);
        fine(steps(12, 360, "stage.1"), &RULE);
    }

    #[test]
    fn other_loops_that_pass_arrays_on_are_fine() {
        // Ring attention passes on what it received. A product with a collective adds to it.
        for sent in ["h", "sum"] {
            fine(steps(4, 800, sent), &RULE);
        }
        // There are fewer iterations than stages.
        fine(steps(3, 800, "stage.1"), &RULE);
        // A layer sends its result, and the next layer reads another array.
        fine(program(4, 800, ["h", "stage.1", "sum"]), &RULE);
    }

    #[test]
    fn the_backward_pass_of_a_pipeline_receives_first() {
        let found = finding(program(4, 800, ["permute.1", "h", "stage.1"]), &RULE);
        assert!(found.title.starts_with("A pipeline of 4 stages discards 75.0 %"), "{}", found.title);
    }

    #[test]
    fn layers_that_also_read_their_own_part_are_no_pipeline() {
        let own = program(4, 800, ["permute.1", "h", "own"]);
        fine(own, &RULE);
    }

    #[test]
    fn it_explains_the_exposed_permutes() {
        assert!(unhidden_collectives::RULE.causes().any(|rule| *rule == RULE));
        assert!(matches!(says(steps(4, 800, "stage.1"), &RULE), Verdict::Fires(_)));
    }

    #[test]
    fn stages_are_the_devices_of_a_chain_or_ring() {
        assert_eq!(stages(&[(0, 1), (1, 2), (2, 3)]), Some(4));
        assert_eq!(stages(&[(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]), Some(3));
        assert_eq!(stages(&[(0, 1), (2, 3), (3, 4)]), None);
        assert_eq!(stages(&[]), None);
    }
}
