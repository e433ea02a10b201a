//! The arithmetic units limit the run.
//!
//! In the devices' windows, all ops together (including recomputed ones) reach more than 70 % of the peak FLOP rate but
//! use less than 50 % of the main memory's bandwidth (XProf). Devices that reach this rate work near their limit.
//! Severity: note. Confidence: medium. The rule is skipped if peaks or costs are unknown.

use super::draft::Draft;
use super::limits::{UNDERUTILIZED_PERCENT, UTILIZED_PERCENT};
use super::numbers::Numbers;
use super::{Needs, Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule =
    Rule { id: "compute_bound", title: "The run is compute-bound", needs: Needs::AllOps, ..Rule::checked_by(check) };

fn check(numbers: &Numbers<'_>) -> Verdict {
    let Some((bandwidth, flops)) = numbers.utilization() else {
        return numbers.lacks_utilization();
    };
    // Custom calls of unknown cost may use the full memory bandwidth.
    let most_bandwidth = bandwidth + numbers.of_window(numbers.uncosted_calls_percent());
    if flops <= UTILIZED_PERCENT || most_bandwidth >= UNDERUTILIZED_PERCENT {
        return Verdict::Fine;
    }
    let message = format!(
        "Arithmetic limits the devices: the ops reach {} of the peak FLOP rate and use {} of the memory bandwidth.{}",
        format::percent(flops),
        format::percent(bandwidth),
        numbers.left_out()
    );
    Draft::new(FindingSeverity::Note, Confidence::Medium, "The run is compute-bound", message)
        .remedy(
            "Compute less, or in a cheaper type: use 8-bit products if the model allows it, avoid recomputation if \
             memory is free, or use a better algorithm or more devices.",
        )
        .passed("flops_percent", flops, UTILIZED_PERCENT)
        .passed("memory_bandwidth_percent", bandwidth, UNDERUTILIZED_PERCENT)
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
        assert_eq!(finding(with_costs(900, 1_000, 710_000_000), &RULE).severity, Note);
        fine(with_costs(900, 1_000, 690_000_000), &RULE);
        fine(with_costs(900, 51_000_000, 710_000_000), &RULE);
    }
}
