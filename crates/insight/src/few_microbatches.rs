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
//! only add to (products with collectives) are excluded, and loops with more than `16 * p` iterations (ours: they are no
//! pipelines, or lose little). The impact is this part of the time of the loops' ops. Severity: warning from 10 % of the op time
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
         devices ({}). So the devices form a pipeline of {stages} stages for {} ({iterations} iterations = microbatches + stages - 1). Each \
         device computes in each iteration, and {discarded} of the results are discarded. The loops of the pipeline take {} of the op time.",
        shown(&it.of_loop.name),
        numbers.op_with_source(it.permute),
        batches,
        format::percent(numbers.op_percent(found.iter().map(|it| it.time).sum())),
    );
    let more = 4 * it.stages;
    let title = format!(
        "A pipeline of {stages} stages discards {discarded} of its work, because it processes only {}",
        batches,
    );
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
    let loops = Loops::new(module);
    let is_permute = |it: &Instruction| matches!(it.opcode.as_str(), "collective-permute" | "collective-permute-start");
    let mut seen = BTreeSet::new();
    let pipeline = |op: &'a Op| {
        let permute = instruction(op).filter(|it| is_permute(it))?;
        let of_loop = loops.around(permute)?;
        let stages = stages(&hlo::collective(module, permute)?.pairs)?;
        let iterations = executions(op).checked_div(runs(numbers, id, module))?;
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

/// Returns true if each iteration computes the array that it passes on with matrix products from the array that it received: the
/// way from the permute through the state back to the permute contains a product.
fn has_stage(module: &Module, state: &State<'_>, permute: &Instruction) -> bool {
    let Some((index, sent)) = module.index_of(permute).zip(state.reached(permute)) else { return false };
    let reached = state.reads.iter().filter_map(|(element, read)| Some((*element, state.reached(read)?)));
    let before: BTreeMap<usize, _> = reached.filter(|(_, it)| it.values.contains(&index)).collect();
    let product_at = |at: &InstructionIndex| module.at(*at).filter(|value| product(module, value).is_some());
    // Forward pass: the stage computes, and then sends.
    let mut received = before.iter().filter(|(element, _)| sent.elements.contains(element));
    let computes_first = received.any(|(_, reached)| {
        let mut products = reached.values.iter().filter_map(product_at);
        products.any(|it| state.reached(it).is_some_and(|after| after.values.contains(&index)))
    });
    // Backward pass: the stage receives, and then computes what the next iteration sends.
    let mut products = sent.values.iter().filter_map(product_at);
    computes_first
        || products.any(|it| {
            let after = state.reached(it);
            after.is_some_and(|after| after.elements.iter().any(|element| before.contains_key(element)))
        })
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
    use crate::testing_programs::op_of;
    use crate::unhidden_collectives;
    use report::FindingSeverity::{Critical, Warning};
    use trace::{HloProto, Trace};

    /// Builds steps of 1000 us. A loop of `iterations` on 4 devices computes `stage.1` for `time` in total, and passes `sent` on.
    fn steps(iterations: i64, time: i64, sent: &'static str) -> Trace {
        let state = "(s32[], f32[8,8], f32[8,8], f32[8,8])";
        let text = format!(
            "HloModule jit_f, num_partitions=4\n\nbody {{\n  p = {state} parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n  \
             h = f32[8,8] get-tuple-element(p), index=1\n  w = f32[8,8] get-tuple-element(p), index=2\n  \
             y = f32[8,8] get-tuple-element(p), index=3\n  \
             stage.1 = f32[8,8] dot(h, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n  \
             other = f32[8,8] dot(w, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n  \
             sum = f32[8,8] add(h, other)\n  more = f32[8,8] add(y, stage.1)\n  \
             permute.1 = f32[8,8] collective-permute({sent}), source_target_pairs={{{{0,1}},{{1,2}},{{2,3}},{{3,0}}}}\n  \
             one = s32[] constant(1)\n  next = s32[] add(i, one)\n  ROOT t = {state} tuple(next, permute.1, w, more)\n}}\n\n\
             condition {{\n  q = {state} parameter(0)\n  j = s32[] get-tuple-element(q), index=0\n  n = s32[] constant(4)\n  \
             ROOT lt = pred[] compare(j, n), direction=LT\n}}\n\n\
             ENTRY main {{\n  x = {state} parameter(0)\n  while.1 = {state} while(x), condition=condition, body=body\n  \
             g = f32[8,8] get-tuple-element(while.1), index=3\n  ROOT tanh.1 = f32[8,8] tanh(g)\n}}\n"
        );
        tpu_steps(12, |b, at| {
            if at == 0 {
                let name = b.trace_mut().strings.intern("jit_f(7)");
                let bytes = text.clone().into_bytes().into();
                b.trace_mut().hlo.push(HloProto { program_id: 7, name, host: 0, bytes });
            }
            let each = time / iterations;
            for iteration in 0..iterations {
                op_of(b, 7, ("stage.1", "convolution fusion"), at + iteration * each, each - 1);
                op_of(b, 7, ("permute.1", "collective-permute"), at + (iteration + 1) * each - 1, 1);
            }
            op_of(b, 7, ("tanh.1", "loop fusion"), at + time, 1000 - time);
        })
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
        // An iteration for each of several layers.
        fine(steps(3, 800, "stage.1"), &RULE);
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
