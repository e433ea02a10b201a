//! Devices are at the limit of their memory.

use super::draft::Draft;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "memory_bound", title: "Memory is the limit", check };

/// Use of the memory's bandwidth that is high (XProf, memory-bound suggestion).
const BANDWIDTH_PERCENT: f64 = 70.0;
/// Use of the arithmetic units that is low (XProf).
const FLOPS_PERCENT: f64 = 50.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let Some((bandwidth, flops)) = numbers.utilization() else {
        return numbers.lacks_utilization();
    };
    // Custom calls of unknown cost may compute at the peak all the time.
    let most_flops = flops + numbers.of_window(numbers.uncosted_calls_percent());
    if bandwidth <= BANDWIDTH_PERCENT || most_flops >= FLOPS_PERCENT {
        return Verdict::Fine;
    }
    let message = format!(
        "The ops move {} of what the memory could in that time, and compute {} of what the arithmetic units could: memory is the \
         limit.{}",
        format::percent(bandwidth),
        format::percent(flops),
        numbers.left_out()
    );
    Draft::new(FindingSeverity::Note, Confidence::Medium, "The run is bound by memory", message)
        .remedy(
            "Move fewer bytes: bfloat16 or 8-bit weights and activations, larger batches so that weights are read for more \
             samples, fused attention, ops fused so that intermediate results stay on the chip.",
        )
        .passed("memory_bandwidth_percent", bandwidth, BANDWIDTH_PERCENT)
        .passed("flops_percent", flops, FLOPS_PERCENT)
        .link("roofline", "")
        .fires()
}
