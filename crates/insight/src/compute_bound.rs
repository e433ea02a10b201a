//! Devices are at the limit of their arithmetic units.

use super::draft::Draft;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "compute_bound", title: "Arithmetic is the limit", check };

/// Use of the arithmetic units that is high (XProf, compute-bound suggestion).
const FLOPS_PERCENT: f64 = 70.0;
/// Use of the memory's bandwidth that is low (XProf).
const BANDWIDTH_PERCENT: f64 = 50.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let Some((bandwidth, flops)) = numbers.utilization() else {
        return numbers.lacks_utilization();
    };
    // Custom calls of unknown cost may use the memory all the time.
    let most_bandwidth = bandwidth + numbers.of_window(numbers.uncosted_calls_percent());
    if flops <= FLOPS_PERCENT || most_bandwidth >= BANDWIDTH_PERCENT {
        return Verdict::Fine;
    }
    let message = format!(
        "The ops compute {} of what the arithmetic units could in that time, and move {} of what the memory could: the devices are \
         near their limit.{}",
        format::percent(flops),
        format::percent(bandwidth),
        numbers.left_out()
    );
    Draft::new(FindingSeverity::Note, Confidence::Medium, "The run is bound by arithmetic", message)
        .remedy(
            "What remains is to compute less or cheaper: 8-bit products where the model allows it, no recomputation where memory \
             is to spare, a better algorithm, more devices.",
        )
        .passed("flops_percent", flops, FLOPS_PERCENT)
        .passed("memory_bandwidth_percent", bandwidth, BANDWIDTH_PERCENT)
        .link("roofline", "")
        .fires()
}
