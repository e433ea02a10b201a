//! Loops spend time outside the ops of their bodies.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule = Rule { id: "while_loop_overhead", title: "Loops cost time outside their bodies", check };

/// Share of the op time that is self time of loops, from which the finding is a note (ours: half of the JAX guide's limit for
/// overheads).
const NOTE_PERCENT: f64 = 5.0;
/// Share of the op time from which the finding is a warning (JAX guide).
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
        "While loops take {} of the op time outside the ops of their bodies, for conditions, counters and copies of the loop's \
         state.",
        format::percent(share)
    );
    Draft::new(severity, Confidence::Medium, "Loops cost time outside their bodies", message)
        .remedy(
            "Do more work in each iteration: unroll several iterations into one (jax.lax.scan(..., unroll=4)), use fewer and \
             larger iterations, and carry less state between them.",
        )
        .passed("while_self_percent", share, if costs { WARNING_PERCENT } else { NOTE_PERCENT })
        .at_stake(numbers.of_window(share))
        .link("ops", "category=while")
        .fires()
}
