//! Copies between host and device delay the step.
//!
//! GPU only: the measure is the time of copies between host and device that neither computation nor communication overlaps, as
//! a share of the window. Severity: warning from 10 %, critical from 30 % (ours: the JAX guide describes the pattern but gives
//! no limit). Confidence: high. Remedy: call `jax.device_put` once and ahead of time, and do not convert to NumPy in the loop.

use super::draft::{Draft, lacks};
use super::limits::{BOTTLENECK_PERCENT, OVERHEAD_PERCENT};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use metrics::StepPart;
use report::{Confidence, FindingSeverity, Transfer, View};

pub(super) static RULE: Rule = Rule {
    id: "large_memory_transfers",
    title: "Copies between host and device take much of the time",
    ..Rule::checked_by(check)
};

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.is_gpu() {
        // TPU captures do not record these copies as device ops; a CPU backend has none.
        return Verdict::Irrelevant;
    }
    let (Some(window), Some(to), Some(from)) = (
        numbers.window_of_parts(),
        numbers.part_percent(StepPart::HostToDevice),
        numbers.part_percent(StepPart::DeviceToHost),
    ) else {
        return lacks("too few device ops ran to measure where their time goes. Capture several steps.");
    };
    let share = to + from;
    if share < OVERHEAD_PERCENT.good {
        return Verdict::Fine;
    }
    let critical = share >= BOTTLENECK_PERCENT;
    let severity = if critical { FindingSeverity::Critical } else { FindingSeverity::Warning };
    let between = |it: &&Transfer| matches!(it.direction.as_str(), "h2d" | "d2h");
    let transfers = numbers.profile.memory_operations.iter().flat_map(|memory| &memory.transfers).filter(between);
    let parts: Vec<String> = transfers
        .map(|it| {
            let rate = it.bandwidth_gb_per_sec;
            let rate = rate.map_or(String::new(), |rate| format!(" at {}", format::si(rate * 1e9, "B/s")));
            format!("{} {} in {}{rate}", format::count(it.count), it.direction, format::time_us(it.total_time_us))
        })
        .collect();
    let message = format!(
        "Exposed copies between host and device take {} of {} ({}). All copies in the window: {}.",
        format::time_us(window.us(share)),
        window.words(),
        format::percent(share),
        parts.join(", ")
    );
    Draft::new(severity, Confidence::High, "Copies between host and device take much of the time", message)
        .remedy(
            "Copy data to the device once and ahead of its use, keep intermediate results there, and do not convert results to \
             NumPy arrays or Python numbers inside the loop.",
        )
        .passed("exposed_transfer_percent", share, if critical { BOTTLENECK_PERCENT } else { OVERHEAD_PERCENT.good })
        .evidence("h2d_percent", to)
        .evidence("d2h_percent", from)
        .at_stake(share)
        .link(View::Transfers, "")
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, gpu_steps, kernel, op};
    use report::FindingSeverity::{Critical, Warning};

    #[test]
    fn fires_above_its_limit() {
        let trace = |length: i64| {
            gpu_steps(12, move |b, at| {
                op(b, ("/device:GPU:0", "Stream #8(MemcpyH2D)"), "MemcpyH2D", at + 1, at + 5, length);
                kernel(b, "gemm", at + 2, at + 5 + length, 900 - length);
            })
        };
        assert_eq!(finding(trace(310), &RULE).severity, Critical);
        assert_eq!(finding(trace(110), &RULE).severity, Warning);
        fine(trace(95), &RULE);
    }
}
