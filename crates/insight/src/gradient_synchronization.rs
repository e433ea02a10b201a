//! Gradients are reduced across devices while no computation runs.
//!
//! In a program that trains, exposed communication takes at least 10 % of the window, and at least half of all communication is
//! all-reduce and reduce-scatter. Inference sums no gradients, so the rule is reported only if the program trains. One of the
//! following must show that it trains: an op whose path belongs to a backward pass (JAX), a kernel or host call named after a
//! gradient or an optimizer, or `train` in the program's name. If the paths of ops are known, the program with the largest
//! reduction must be a training program, because the reductions of an evaluation program sum metrics. Reductions in the forward
//! pass and the many small reductions of `small_collectives` are excluded, because they sum activations and statistics.
//! Severity: warning, critical from 30 % (XProf, collective-bound). Confidence: medium, because model-parallel all-reduces look
//! the same. Remedy: overlap the reductions with the backward pass, use bfloat16 gradients, or use FSDP.

use super::draft::{Draft, lacks};
use super::limits::{BOTTLENECK_PERCENT, OVERHEAD_PERCENT};
use super::numbers::{Numbers, REPEATED, is_communication};
use super::{Needs, Rule, Verdict, reduced_in_loop, small_collectives};
use base::framework_path::training_pass;
use base::{Ps, format};
use facts::hlo_categories::{ALL_REDUCE, REDUCE_SCATTER};
use metrics::Op;
use report::{Confidence, FindingSeverity};
use trace::{Framework, Platform};

pub(super) static RULE: Rule = Rule {
    id: "gradient_synchronization",
    title: "Gradient synchronisation is not overlapped",
    needs: Needs::AllLines,
    explained_by: &[&[&reduced_in_loop::RULE]],
    ..Rule::checked_by(check)
};

/// Exposed communication is attributed to reductions if they make up at least this percentage of all communication.
const MOSTLY_PERCENT: f64 = 50.0;

/// Returns true for collectives that sum over devices. Data-parallel training sums gradients with such collectives.
fn is_reduction(category: &str) -> bool {
    is_communication(category) && ([ALL_REDUCE, REDUCE_SCATTER].iter().any(|kind| category.starts_with(kind)))
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    // Inference reduces activations, not gradients. So the rule fires only if the program is known to train.
    if !numbers.communicates() || numbers.trains() != Some(true) {
        return Verdict::Irrelevant;
    }
    // The reductions of a program that only evaluates sum metrics.
    if numbers.largest_op(&is_reduction).is_some_and(|op| numbers.trains_in(op) == Some(false)) {
        return Verdict::Irrelevant;
    }
    let (Some(window), Some(exposed)) = (numbers.window_of_parts(), numbers.exposed_communication_percent()) else {
        return lacks("too few device ops ran to measure the overlap of communication. Capture several steps.");
    };
    // Forward passes sum activations, and layers sum statistics in many small calls.
    let small = small_collectives::largest(numbers);
    let sums_gradients = |op: &Op| {
        let ops = &numbers.context.analysis.ops;
        let text = |text| ops.text(numbers.trace, text);
        is_reduction(numbers.category(op))
            && training_pass(text(op.framework_path)) != Some("forward")
            && !small.as_ref().is_some_and(|it| it.are_many_with(numbers, text(op.name)))
    };
    let reductions = numbers.context.analysis.ops.rows.iter().filter(|op| is_reduction(numbers.category(op)));
    let others: Ps = reductions.filter(|op| !sums_gradients(op)).map(|op| op.self_time).sum();
    let reduced = numbers.category_percent(&is_reduction) - numbers.op_percent(others);
    let all = numbers.category_percent(&is_communication);
    let mostly = if all > 0.0 { 100.0 * reduced / all } else { 0.0 };
    if exposed < OVERHEAD_PERCENT.good || mostly < MOSTLY_PERCENT {
        return Verdict::Fine;
    }
    let critical = exposed >= BOTTLENECK_PERCENT;
    let severity = if critical { FindingSeverity::Critical } else { FindingSeverity::Warning };
    let (view, filter) = numbers.link_to_communication(&is_reduction);
    let message = format!(
        "Exposed communication takes {} of {} ({}). All-reduces and reduce-scatters, which sum gradients over devices, make up \
         {} of all communication.{}",
        format::time_us(window.us(exposed)),
        window.words(),
        format::percent(exposed),
        format::percent(mostly),
        numbers.largest_collective(&sums_gradients)
    );
    let repeated = numbers.largest_op(&is_reduction).and_then(|op| numbers.runs_per_step(op));
    let once = match repeated.filter(|&runs| runs >= REPEATED) {
        Some(_) => {
            "If the step sums the same gradients several times, as in a loop over micro-batches, add them up on each device \
                    and reduce once after the loop. "
        }
        None => "",
    };
    let how = match (numbers.trace.framework, numbers.platform) {
        (Framework::PyTorch, _) => " (DistributedDataParallel does so, in buckets of bucket_cap_mb)",
        (_, Some(Platform::Gpu)) => " (XLA_FLAGS=--xla_gpu_enable_latency_hiding_scheduler=true)",
        (_, Some(Platform::Tpu)) => " (LIBTPU_INIT_ARGS=--xla_tpu_enable_data_parallel_all_reduce_opt=true)",
        (_, Some(Platform::Cpu) | None) => "",
    };
    let remedy = format!(
        "{once}Overlap the reduction of one layer's gradients with the backward pass of the next layer{how}, reduce \
         in bfloat16, accumulate gradients over several batches before reducing them, or shard optimizer state and \
         weights (FSDP) to replace all-reduce with reduce-scatter and all-gather."
    );
    // An all-reduce of a model-parallel layer looks the same.
    Draft::new(severity, Confidence::Medium, "Gradient synchronisation is not overlapped", message)
        .remedy(&remedy)
        .passed(
            "exposed_communication_percent",
            exposed,
            if critical { BOTTLENECK_PERCENT } else { OVERHEAD_PERCENT.good },
        )
        .passed("reduction_percent_of_communication", mostly, MOSTLY_PERCENT)
        .at_stake(exposed)
        .link(view, &filter)
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{communicating, communicating_beside, finding, fine, says, tpu_steps};
    use report::FindingSeverity::{Critical, Warning};

    #[test]
    fn fires_above_its_limit() {
        let reduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)";
        assert_eq!(finding(communicating(reduce, 310), &RULE).severity, Critical);
        assert_eq!(finding(communicating(reduce, 110), &RULE).severity, Warning);
        fine(communicating(reduce, 95), &RULE);
        fine(communicating("ncclDevKernel_AllGather_RING_LL(ncclDevComm*)", 310), &RULE);
        // Nothing shows that the program trains.
        assert_eq!(says(communicating_beside("gemm", reduce, 310), &RULE), Verdict::Irrelevant);
        // The paths of a program without a backward pass show that it sums no gradients.
        let with_path = |path: &'static str| {
            tpu_steps(12, move |b, at| {
                let path = b.trace_mut().strings.intern(path);
                let line = b.line("/device:TPU:0", "XLA Ops");
                b.event(line, "all-reduce.1", at, 400).hlo_category("all-reduce");
                b.event(line, "dot.1", at + 400, 600).hlo_category("convolution fusion").args(|args| args.tf_op = path);
            })
        };
        let trained = finding(with_path("jit(f)/transpose(jvp(mlp))/dot_general"), &RULE);
        assert_eq!(trained.severity, Critical);
        assert_eq!(says(with_path("jit(f)/mlp/dot_general"), &RULE), Verdict::Irrelevant);
    }
}
