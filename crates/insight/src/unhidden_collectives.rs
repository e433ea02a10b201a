//! Exposed communication: no computation overlaps it.

use super::draft::{Draft, lacks};
use super::numbers::{Numbers, is_communication};
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};
use trace::Framework;

pub(super) const RULE: Rule = Rule { id: "unhidden_collectives", title: "Communication is not overlapped", check };

/// Exposed share of the step from which the finding is a note (ours: half of the limit for a warning).
const NOTE_PERCENT: f64 = 5.0;
/// Exposed share from which the finding is a warning (the JAX guide's limit for overheads is 10 %).
const WARNING_PERCENT: f64 = 10.0;
/// Exposed share from which collectives are the bottleneck (XProf, collective-bound suggestion: 30 % of the step).
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
        "Exposed communication (mostly {}) takes {} of {}{} ({}).{}{}",
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
        },
        numbers.largest_collective(&is_communication)
    );
    let remedy = if numbers.trace.framework == Framework::PyTorch {
        "Overlap communication with computation: run asynchronous collectives on a separate stream and wait for them late, and \
         use larger buckets (bucket_cap_mb of DistributedDataParallel). Then look at the sharding: another split of the batch or \
         the weights may send less."
    } else if numbers.is_gpu() {
        "Let XLA overlap communication with computation: XLA_FLAGS=--xla_gpu_enable_latency_hiding_scheduler=true, and larger \
         combined collectives (--xla_gpu_all_reduce_combine_threshold_bytes, --xla_gpu_all_gather_combine_threshold_bytes). Then \
         look at the sharding: splitting the batch or the weights along another axis may send less."
    } else if !numbers.is_tpu() {
        "Look at the sharding: splitting the batch or the weights along another axis of the mesh may send less. Then look at the \
         devices: if one of them has more work, the others wait for it inside collectives."
    } else {
        match numbers.largest_category(&is_communication) {
            Some(kind) if kind.starts_with("all-gather") => {
                "Look at the sharding first: splitting the batch or the weights along another axis of the mesh may send less. \
                 Then overlap the rest: LIBTPU_INIT_ARGS=--xla_tpu_enable_async_collective_fusion=true \
                 --xla_tpu_enable_async_collective_fusion_fuse_all_gather=true --xla_enable_async_all_gather=true."
            }
            Some(kind) if kind.starts_with("all-reduce") || kind.starts_with("reduce-scatter") => {
                match numbers.trains() {
                    Some(false) => {
                        "Look at the sharding: splitting the weights along another axis of the mesh, or over fewer devices, may \
                         reduce less data. Then let XLA overlap computation: \
                         LIBTPU_INIT_ARGS=--xla_tpu_overlap_compute_collective_tc=true."
                    }
                    _ => {
                        "Look at the sharding first: splitting the weights along another axis of the mesh may reduce less data. \
                         Then overlap the sums of gradients with the backward pass: \
                         LIBTPU_INIT_ARGS=--xla_tpu_enable_data_parallel_all_reduce_opt=true \
                         --xla_tpu_data_parallel_opt_different_sized_ops=true."
                    }
                }
            }
            _ => {
                "Look at the sharding: splitting the batch or the weights along another axis of the mesh may send less. Then let \
                 XLA overlap computation: LIBTPU_INIT_ARGS=--xla_tpu_overlap_compute_collective_tc=true."
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
