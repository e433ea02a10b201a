//! Copies between host and device delay the step.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use metrics::StepPart;
use report::{Confidence, FindingSeverity, Transfer};

pub(super) const RULE: Rule =
    Rule { id: "large_memory_transfers", title: "Copies between host and device take much of the time", check };

/// Share of the window with exposed copies from which the finding is a warning (ours; the JAX guide names the pattern without a
/// number).
const WARNING_PERCENT: f64 = 10.0;
/// Share of the window from which the finding is critical (ours).
const CRITICAL_PERCENT: f64 = 30.0;

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
    if share < WARNING_PERCENT {
        return Verdict::Fine;
    }
    let critical = share >= CRITICAL_PERCENT;
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
        .passed("exposed_transfer_percent", share, if critical { CRITICAL_PERCENT } else { WARNING_PERCENT })
        .evidence("h2d_percent", to)
        .evidence("d2h_percent", from)
        .at_stake(share)
        .link("transfers", "")
        .fires()
}
