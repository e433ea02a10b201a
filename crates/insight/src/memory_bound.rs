//! The memory bandwidth limits the run.

use super::draft::Draft;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule = Rule { id: "memory_bound", title: "The run is memory-bound", check };

/// Utilisation of the memory bandwidth above which it is high (XProf, memory-bound suggestion).
const BANDWIDTH_PERCENT: f64 = 70.0;
/// Utilisation of the arithmetic units below which it is low (XProf).
const FLOPS_PERCENT: f64 = 50.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let Some((bandwidth, flops)) = numbers.utilization() else {
        return numbers.lacks_utilization();
    };
    // Custom calls of unknown cost may compute at the peak rate.
    let most_flops = flops + numbers.of_window(numbers.uncosted_calls_percent());
    if bandwidth <= BANDWIDTH_PERCENT || most_flops >= FLOPS_PERCENT {
        return Verdict::Fine;
    }
    let message = format!(
        "Memory bandwidth limits the devices: the ops use {} of it and reach {} of the peak FLOP rate.{}",
        format::percent(bandwidth),
        format::percent(flops),
        numbers.left_out()
    );
    Draft::new(FindingSeverity::Note, Confidence::Medium, "The run is memory-bound", message)
        .remedy(
            "Move fewer bytes: use bfloat16 or 8-bit weights and activations, larger batches (each read of the weights serves \
             more samples), fused attention, and fused ops that keep intermediate results on the chip.",
        )
        .passed("memory_bandwidth_percent", bandwidth, BANDWIDTH_PERCENT)
        .passed("flops_percent", flops, FLOPS_PERCENT)
        .link("roofline", "")
        .fires()
}
