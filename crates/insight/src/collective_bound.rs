//! Communication takes much of the step, overlapped or not.

use super::draft::{Draft, lacks};
use super::numbers::{Numbers, is_communication};
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule = Rule { id: "collective_bound", title: "Communication takes much of the time", check };

/// Share of the step from which the finding is a warning (XProf, collective-bound suggestion: 30 % of the step time).
const WARNING_PERCENT: f64 = 30.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.communicates() {
        return Verdict::Irrelevant;
    }
    let Some(window) = numbers.window() else { return lacks("too few device ops ran. Capture several steps.") };
    let of_ops = numbers.category_percent(&is_communication);
    let share = of_ops * window.busy_percent / 100.0;
    if share < WARNING_PERCENT {
        return Verdict::Fine;
    }
    let (view, filter) = numbers.link_to_communication(&is_communication);
    let message = format!(
        "Collectives, sends and receives take {} of the op time: {} of {}.",
        format::percent(of_ops),
        format::time_us(window.us(share)),
        window.words()
    );
    Draft::new(FindingSeverity::Warning, Confidence::High, "Communication takes much of the time", message)
        .remedy(
            "Send less: shard weights and batch in another way, use bfloat16 instead of float32, or larger batches per device. \
             Then overlap the remaining communication with computation.",
        )
        .passed("communication_percent", share, WARNING_PERCENT)
        .at_stake(share)
        .link(view, &filter)
        .fires()
}
