//! Gradients are reduced across devices while no computation runs.

use super::draft::{Draft, lacks};
use super::numbers::{Numbers, REPEATED, is_communication};
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};
use trace::{Framework, Platform};

pub(super) const RULE: Rule =
    Rule { id: "gradient_synchronization", title: "Gradient synchronisation is not overlapped", check };

/// Exposed share of the step from which the finding is a warning (the checklist names "large AllReduce = gradient sync overhead"
/// without a number; the JAX guide's limit for overheads is 10 %).
const WARNING_PERCENT: f64 = 10.0;
/// Exposed share from which synchronisation is the bottleneck (XProf, collective-bound suggestion: 30 % of the step).
const CRITICAL_PERCENT: f64 = 30.0;
/// Share of reductions in all communication from which the exposed time is attributed to them (ours).
const MOSTLY_PERCENT: f64 = 50.0;

/// Returns true for collectives that sum over devices, as data-parallel training does with gradients.
fn is_reduction(category: &str) -> bool {
    is_communication(category) && (category.starts_with("all-reduce") || category.starts_with("reduce-scatter"))
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    // Inference reduces activations, not gradients. So the rule fires only if the program is known to train.
    if !numbers.communicates() || numbers.trains() != Some(true) {
        return Verdict::Irrelevant;
    }
    let (Some(window), Some(exposed)) = (numbers.window_of_parts(), numbers.exposed_communication_percent()) else {
        return lacks("too few device ops ran to measure the overlap of communication. Capture several steps.");
    };
    let reductions = numbers.category_percent(&is_reduction);
    let all = numbers.category_percent(&is_communication);
    let mostly = if all > 0.0 { 100.0 * reductions / all } else { 0.0 };
    if exposed < WARNING_PERCENT || mostly < MOSTLY_PERCENT {
        return Verdict::Fine;
    }
    let critical = exposed >= CRITICAL_PERCENT;
    let severity = if critical { FindingSeverity::Critical } else { FindingSeverity::Warning };
    let (view, filter) = numbers.link_to_communication(&is_reduction);
    let message = format!(
        "Exposed communication takes {} of {} ({}). All-reduces and reduce-scatters, which sum gradients over devices, make up \
         {} of all communication.{}",
        format::time_us(window.us(exposed)),
        window.words(),
        format::percent(exposed),
        format::percent(mostly),
        numbers.largest_collective(&is_reduction)
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
        "{once}Overlap the reduction of one layer's gradients with the backward pass of the next layer{how}, reduce in bfloat16, \
         accumulate gradients over several batches before reducing them, or shard optimizer state and weights (FSDP) to replace \
         all-reduce by reduce-scatter and all-gather."
    );
    // An all-reduce of a model-parallel layer looks the same.
    Draft::new(severity, Confidence::Medium, "Gradient synchronisation is not overlapped", message)
        .remedy(&remedy)
        .passed("exposed_communication_percent", exposed, if critical { CRITICAL_PERCENT } else { WARNING_PERCENT })
        .passed("reduction_percent_of_communication", mostly, MOSTLY_PERCENT)
        .at_stake(exposed)
        .link(view, &filter)
        .fires()
}
