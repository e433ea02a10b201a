//! Copies between host and device hold up the step.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use crate::format;
use crate::report::{Confidence, FindingSeverity, Transfer};

/// The rule.
pub(super) const RULE: Rule =
    Rule { id: "large_memory_transfers", title: "Copies between host and device take much of the time", check };

/// Share of the window in which copies between host and device run (ours; seed 004 names the pattern without a number).
const WARNING_PERCENT: f64 = 10.0;
/// From here they are most of what happens (ours).
const CRITICAL_PERCENT: f64 = 30.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.is_gpu() {
        // TPU captures do not record these copies as device ops; a CPU backend has none.
        return Verdict::Irrelevant;
    }
    let Some(window) = numbers.window() else { return lacks("too few device ops ran.") };
    let Some(memory) = &numbers.profile.memory_operations else { return lacks("no copy was recorded.") };
    let between = |it: &&Transfer| matches!(it.direction.as_str(), "h2d" | "d2h");
    let time: f64 = memory.transfers.iter().filter(between).map(|it| it.total_time_us).sum();
    let devices = &numbers.context.analysis.devices.used;
    let span: f64 = devices.iter().map(|device| device.span.length().as_us()).sum();
    let share = if span > 0.0 { 100.0 * time / span } else { 0.0 };
    if share < WARNING_PERCENT {
        return Verdict::Fine;
    }
    let critical = share >= CRITICAL_PERCENT;
    let severity = if critical { FindingSeverity::Critical } else { FindingSeverity::Warning };
    let parts: Vec<String> = memory
        .transfers
        .iter()
        .filter(between)
        .map(|it| {
            let rate =
                it.bandwidth_gb_per_sec.map_or(String::new(), |rate| format!(" at {}", format::si(rate * 1e9, "B/s")));
            format!(
                "{} copies {} in {}{rate}",
                format::count(it.count),
                it.direction,
                format::time_us(it.total_time_us)
            )
        })
        .collect();
    let message = format!(
        "Copies between host and device run for {} of {}: {}.",
        format::percent(share),
        if window.steps { "the time".to_owned() } else { window.words() },
        parts.join(", ")
    );
    Draft::new(severity, Confidence::Medium, "Copies between host and device take much of the time", message)
        .remedy(
            "Put data on the device once with jax.device_put and ahead of its use, keep intermediate results there, and \
             take no NumPy array or Python number of a result inside the loop.",
        )
        .passed("transfer_percent", share, if critical { CRITICAL_PERCENT } else { WARNING_PERCENT })
        .at_stake(share)
        .link("transfers", "")
        .fires()
}
