//! The SparseCores of a TPU could run collectives concurrently with the TensorCore.
//!
//! On a TPU with SparseCores, the TensorCore waits for at least 10 % of the window in the done ops of asynchronous
//! collectives (XProf). Severity: note. Confidence: low, because XProf also requires that less than 50 % of the memory
//! is in use, and a trace seldom shows how much memory is in use.

use super::draft::{Draft, lacks};
use super::limits::ASYNC_DONE_PERCENT;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity, View};
use trace::PlaneKind;

pub(super) static RULE: Rule =
    Rule { id: "sparse_core_offload", title: "SparseCores could run collectives", ..Rule::checked_by(check) };

/// Categories of ops during which the TensorCore waits for an asynchronous collective.
const WAITS: [&str; 3] = ["all-reduce-done", "all-gather-done", "async-done"];

fn check(numbers: &Numbers<'_>) -> Verdict {
    let sparse_cores = numbers.trace.planes.iter().any(|plane| matches!(plane.kind, PlaneKind::SparseCore { .. }));
    if !numbers.is_tpu() || !sparse_cores {
        return Verdict::Irrelevant;
    }
    let Some(window) = numbers.window() else { return lacks("too few device ops ran. Capture several steps.") };
    let share = numbers.category_percent(&|name| WAITS.contains(&name)) * window.busy_percent / 100.0;
    if share < ASYNC_DONE_PERCENT {
        return Verdict::Fine;
    }
    let message = format!(
        "TensorCores wait for asynchronous collectives for {} of {} ({}). The SparseCores of these chips could run them.",
        format::time_us(window.us(share)),
        window.words(),
        format::percent(share)
    );
    // XProf also requires that less than half of the memory is in use, and a trace seldom shows how much memory is in use.
    Draft::new(FindingSeverity::Note, Confidence::Low, "SparseCores could run collectives", message)
        .remedy(
            "If memory is not scarce, try LIBTPU_INIT_ARGS with --xla_tpu_sparse_core_all_gather_latency_multiplier and \
             --xla_tpu_sparse_core_all_reduce_latency_multiplier above 1.",
        )
        .passed("async_done_percent", share, ASYNC_DONE_PERCENT)
        .at_stake(share)
        .link(View::Ops, "done")
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, with_sparse_cores};
    use report::FindingSeverity::Note;

    #[test]
    fn fires_above_its_limit() {
        assert_eq!(finding(with_sparse_cores(10, 100), &RULE).severity, Note);
        fine(with_sparse_cores(10, 99), &RULE);
    }
}
