//! Ops that only move data take much of the step.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule = Rule { id: "data_shuffle", title: "Rearranging data takes much of the time", check };

/// Share of the op time from which the finding is a warning (XProf, data-shuffle suggestion: 30 % of the step time;
/// docs/findings.md explains the different base).
pub(super) const WARNING_PERCENT: f64 = 30.0;

/// Categories from XProf's list that belong to the family `data_movement`: they move data within a device and compute nothing.
/// Sorts, gathers and scatters compute positions and have separate rules; all-to-all is communication.
const CATEGORIES: [&str; 10] = [
    "data formatting",
    "transpose",
    "reshape",
    "copy",
    "concatenate",
    "dynamic-slice",
    "dynamic-update-slice",
    "pad",
    "reverse",
    "slice",
];

fn check(numbers: &Numbers<'_>) -> Verdict {
    if numbers.platform.is_none() {
        return lacks("no device op ran. Capture while the program runs on the device.");
    }
    let is_shuffle = |name: &str| CATEGORIES.contains(&name);
    let share = numbers.category_percent(&is_shuffle);
    if share < WARNING_PERCENT {
        return Verdict::Fine;
    }
    let largest = numbers
        .largest_op(&is_shuffle)
        .map_or(String::new(), |op| format!(" The largest op is {}.", numbers.op_with_source(op)));
    let (view, filter) = numbers.link_to(&is_shuffle);
    let message = format!(
        "Ops that only rearrange data take {} of the op time, mostly {}.{largest}",
        format::percent(share),
        format::printable(numbers.largest_category(&is_shuffle).unwrap_or("data formatting"))
    );
    Draft::new(FindingSeverity::Warning, Confidence::High, "Rearranging data takes much of the time", message)
        .remedy(
            "Keep one layout from op to op: choose axis orders that the next op can read directly, slice and concatenate along \
             the major axis, and update an array in place instead of concatenating its parts.",
        )
        .passed("data_shuffle_percent", share, WARNING_PERCENT)
        .at_stake(numbers.of_window(share))
        .link(view, &filter)
        .fires()
}
