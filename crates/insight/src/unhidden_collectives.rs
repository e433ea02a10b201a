//! Communication that no computation hides.

use super::draft::{Draft, lacks};
use super::numbers::{Numbers, is_communication};
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};
use trace::Framework;

/// The rule.
pub(super) const RULE: Rule = Rule { id: "unhidden_collectives", title: "Communication is not overlapped", check };

/// Exposed share of the step that is worth knowing (ours: half of the next).
const NOTE_PERCENT: f64 = 5.0;
/// From this share on unhidden collectives cost (the JAX guide draws the line of overheads at 10 %).
const WARNING_PERCENT: f64 = 10.0;
/// From this share on collectives are the bottleneck (XProf, collective-bound suggestion: 30 % of the step).
const CRITICAL_PERCENT: f64 = 30.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.communicates() {
        return Verdict::Irrelevant;
    }
    let (Some(window), Some(share)) = (numbers.window_of_parts(), numbers.exposed_communication_percent()) else {
        return lacks("too few device ops ran to measure the overlap of communication. Capture several steps.");
    };
    if share < NOTE_PERCENT {
        return Verdict::Fine;
    }
    let (severity, limit) = match share {
        share if share >= CRITICAL_PERCENT => (FindingSeverity::Critical, CRITICAL_PERCENT),
        share if share >= WARNING_PERCENT => (FindingSeverity::Warning, WARNING_PERCENT),
        _ => (FindingSeverity::Note, NOTE_PERCENT),
    };
    let kind = numbers.largest_category(&is_communication).unwrap_or("communication");
    let hidden = numbers.communication_overlap_percent();
    let (view, filter) = numbers.link_to_communication(&is_communication);
    let message = format!(
        "Exposed communication (mostly {}) takes {} of {}{} ({}).{}",
        format::printable(kind),
        format::time_us(window.us(share)),
        window.words(),
        match numbers.context.analysis.devices.used.len() {
            0 | 1 => String::new(),
            devices => format!(", mean over {} devices", format::count(devices as u64)),
        },
        format::percent(share),
        match hidden {
            Some(hidden) if hidden > 0.0 => {
                format!(" {} of the communication in flight is overlapped.", format::percent(hidden))
            }
            _ => " No communication is overlapped.".to_owned(),
        }
    );
    let remedy = if numbers.trace.framework == Framework::PyTorch {
        "Let communication run beside computation: asynchronous collectives on a separate stream, awaited late, \
         and larger buckets (bucket_cap_mb of DistributedDataParallel). Then look at the sharding: less is sent where the \
         batch or the weights are split in another way."
    } else if numbers.is_gpu() {
        "Let XLA schedule communication beside computation: XLA_FLAGS=--xla_gpu_enable_latency_hiding_scheduler=true, and \
         larger combined collectives (--xla_gpu_all_reduce_combine_threshold_bytes, --xla_gpu_all_gather_combine_threshold_bytes). \
         Then look at the sharding: less is sent where the batch or the weights are split along another axis."
    } else {
        match numbers.largest_category(&is_communication) {
            Some(kind) if kind.starts_with("all-gather") => {
                "Look at the sharding first: less is sent where the batch or the weights are split along another axis of the mesh. \
                 Then overlap it: LIBTPU_INIT_ARGS=--xla_tpu_enable_async_collective_fusion=true \
                 --xla_tpu_enable_async_collective_fusion_fuse_all_gather=true --xla_enable_async_all_gather=true."
            }
            Some(kind) if kind.starts_with("all-reduce") || kind.starts_with("reduce-scatter") => {
                match numbers.trains() {
                    Some(false) => {
                        "Look at the sharding: less is reduced where the weights are split along another axis of the mesh, or over fewer \
                         devices. Then let XLA run computation beside it: LIBTPU_INIT_ARGS=--xla_tpu_overlap_compute_collective_tc=true."
                    }
                    _ => {
                        "Look at the sharding first: less is reduced where the weights are split along another axis of the mesh. Sums of \
                         gradients can run beside the backward pass: \
                         LIBTPU_INIT_ARGS=--xla_tpu_enable_data_parallel_all_reduce_opt=true \
                         --xla_tpu_data_parallel_opt_different_sized_ops=true."
                    }
                }
            }
            _ => {
                "Look at the sharding: less is sent where the batch or the weights are split along another axis of the mesh. Then let \
                 XLA run computation beside it: LIBTPU_INIT_ARGS=--xla_tpu_overlap_compute_collective_tc=true."
            }
        }
    };
    let draft = Draft::new(
        severity,
        Confidence::High,
        &format!("Communication is exposed for {} of the time", format::percent(share)),
        message,
    )
    .remedy(remedy)
    .passed("exposed_communication_percent", share, limit)
    .evidence("exposed_communication_us", window.us(share));
    let draft = match hidden {
        Some(hidden) => draft.evidence("communication_overlap_percent", hidden),
        None => draft,
    };
    draft.at_stake(share).link(view, &filter).fires()
}
