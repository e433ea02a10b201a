//! Communication is exposed: no computation overlaps it.
//!
//! Communication is *exposed* if no computation runs at the same time. Severity: note from 5 %, warning from 10 %,
//! critical from 30 % of the window (the last limit is XProf's, the others follow the JAX guide's limit for overheads).
//! Confidence: high. Remedy: change the sharding, or use the latency-hiding scheduler.

use super::avoidable_collectives::AVOIDABLE_COLLECTIVES;
use super::draft::{Draft, lacks};
use super::limits::{BOTTLENECK_PERCENT, OVERHEAD_NOTED_PERCENT, OVERHEAD_PERCENT};
use super::numbers::{Numbers, is_communication};
use super::{Needs, Rule, Verdict, gradient_synchronization, small_collectives, straggler_device};
use base::format;
use report::{Confidence, FindingSeverity};
use trace::Framework;

pub(super) static RULE: Rule = Rule {
    id: "unhidden_collectives",
    title: "Communication is not overlapped",
    needs: Needs::AllLines,
    // Devices wait for a slow device inside collectives.
    explained_by: &[
        &AVOIDABLE_COLLECTIVES,
        &[&small_collectives::RULE, &gradient_synchronization::RULE, &straggler_device::RULE],
    ],
    parts: &[&gradient_synchronization::RULE],
    ..Rule::checked_by(check)
};

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.communicates() {
        return Verdict::Irrelevant;
    }
    let (Some(window), Some(share)) = (numbers.window_of_parts(), numbers.exposed_communication_percent()) else {
        return lacks("too few device ops ran to measure the overlap of communication. Capture several steps.");
    };
    if share < OVERHEAD_NOTED_PERCENT {
        return Verdict::Fine;
    }
    let (severity, limit) = match share {
        share if share >= BOTTLENECK_PERCENT => (FindingSeverity::Critical, BOTTLENECK_PERCENT),
        share if share >= OVERHEAD_PERCENT.good => (FindingSeverity::Warning, OVERHEAD_PERCENT.good),
        _ => (FindingSeverity::Note, OVERHEAD_NOTED_PERCENT),
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
        numbers.largest_collective(&|op| is_communication(numbers.category(op)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{communicating, finding, fine, gpu_steps, host_bound, kernel, op, says};
    use report::FindingSeverity::{Critical, Note, Warning};

    #[test]
    fn fires_above_its_limit() {
        let gather = "ncclDevKernel_AllGather_RING_LL(ncclDevComm*)";
        assert_eq!(finding(communicating(gather, 310), &RULE).severity, Critical);
        assert_eq!(finding(communicating(gather, 110), &RULE).severity, Warning);
        assert_eq!(finding(communicating(gather, 60), &RULE).severity, Note);
        fine(communicating(gather, 45), &RULE);
        assert_eq!(says(host_bound(900), &RULE), Verdict::Irrelevant);
        let hidden = gpu_steps(12, |b, at| {
            kernel(b, "gemm", at + 1, at + 5, 900);
            op(b, ("/device:GPU:0", "Stream #9(Compute)"), gather, at + 2, at + 100, 600);
        });
        fine(hidden, &RULE);
    }
}
