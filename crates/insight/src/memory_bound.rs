//! The memory bandwidth limits the run.
//!
//! In the devices' windows, all ops together (including recomputed ones) use more than 70 % of the main memory's
//! bandwidth but less than 50 % of the peak FLOP rate (XProf). Severity: note. Confidence: medium. Remedy: move fewer
//! bytes. The rule is skipped if peaks or costs are unknown.

use super::draft::Draft;
use super::limits::{UNDERUTILIZED_PERCENT, UTILIZED_PERCENT};
use super::numbers::Numbers;
use super::{Needs, Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule =
    Rule { id: "memory_bound", title: "The run is memory-bound", needs: Needs::AllOps, ..Rule::checked_by(check) };

fn check(numbers: &Numbers<'_>) -> Verdict {
    let Some((bandwidth, flops)) = numbers.utilization() else {
        return numbers.lacks_utilization();
    };
    // Custom calls of unknown cost may compute at the peak rate.
    let most_flops = flops + numbers.of_window(numbers.uncosted_calls_percent());
    if bandwidth <= UTILIZED_PERCENT || most_flops >= UNDERUTILIZED_PERCENT {
        return Verdict::Fine;
    }
    let message = format!(
        "Memory bandwidth limits the devices: the ops use {} of the bandwidth and reach {} of the peak FLOP rate.{}",
        format::percent(bandwidth),
        format::percent(flops),
        numbers.left_out()
    );
    Draft::new(FindingSeverity::Note, Confidence::Medium, "The run is memory-bound", message)
        .remedy(
            "Move fewer bytes: use bfloat16 or 8-bit weights and activations, larger batches (each read of the weights serves \
             more samples), fused attention, and fused ops that keep intermediate results on the chip.",
        )
        .passed("memory_bandwidth_percent", bandwidth, UTILIZED_PERCENT)
        .passed("flops_percent", flops, UNDERUTILIZED_PERCENT)
        .link(View::Roofline, "")
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, with_costs};
    use report::FindingSeverity::Note;

    #[test]
    fn fires_above_its_limit() {
        // In 1000 us, the device can move 100 MB and compute 1 GFLOP.
        assert_eq!(finding(with_costs(900, 71_000_000, 1_000), &RULE).severity, Note);
        fine(with_costs(900, 69_000_000, 1_000), &RULE);
        fine(with_costs(900, 71_000_000, 510_000_000), &RULE);
    }
}
