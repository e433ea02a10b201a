//! The arithmetic units limit the run.

use super::draft::Draft;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule = Rule { id: "compute_bound", title: "The run is compute-bound", check };

/// Utilisation of the arithmetic units above which it is high (XProf, compute-bound suggestion).
const FLOPS_PERCENT: f64 = 70.0;
/// Utilisation of the memory bandwidth below which it is low (XProf).
const BANDWIDTH_PERCENT: f64 = 50.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let Some((bandwidth, flops)) = numbers.utilization() else {
        return numbers.lacks_utilization();
    };
    // Custom calls of unknown cost may use the full memory bandwidth.
    let most_bandwidth = bandwidth + numbers.of_window(numbers.uncosted_calls_percent());
    if flops <= FLOPS_PERCENT || most_bandwidth >= BANDWIDTH_PERCENT {
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
            "Compute less, or in a cheaper type: use 8-bit products if the model allows it, avoid recomputation if memory is \
             free, use a better algorithm, or more devices.",
        )
        .passed("flops_percent", flops, FLOPS_PERCENT)
        .passed("memory_bandwidth_percent", bandwidth, BANDWIDTH_PERCENT)
        .link("roofline", "")
        .fires()
}
