//! Loops spend time between the ops of their bodies.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "while_loop_overhead", title: "Loops cost more than their bodies", check };

/// Share of the device time that is self time of loops (ours: half of the JAX guide's line of overheads).
const NOTE_PERCENT: f64 = 5.0;
/// From this share on the overhead costs (JAX guide).
const WARNING_PERCENT: f64 = 10.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.is_tpu() {
        // On a GPU the host runs the loop; a CPU's loops are functions.
        return Verdict::Irrelevant;
    }
    if numbers.platform.is_none() {
        return lacks("no device op ran. Capture while the program runs on the device.");
    }
    let share = numbers.category_percent(&|name| name == "while");
    if share < NOTE_PERCENT {
        return Verdict::Fine;
    }
    let costs = share >= WARNING_PERCENT;
    let severity = if costs { FindingSeverity::Warning } else { FindingSeverity::Note };
    let message = format!(
        "{} of the device time is spent in while loops, but in no op of their bodies: conditions, counters and copies of \
         the loop's state.",
        format::percent(share)
    );
    Draft::new(severity, Confidence::Medium, "Loops cost time outside their bodies", message)
        .remedy(
            "Do more in each iteration: several steps of the loop unrolled into one (jax.lax.scan(..., unroll=4)), fewer and larger \
             iterations, less state carried from one to the next.",
        )
        .passed("while_self_percent", share, if costs { WARNING_PERCENT } else { NOTE_PERCENT })
        .at_stake(numbers.of_window(share))
        .link("ops", "category=while")
        .fires()
}
