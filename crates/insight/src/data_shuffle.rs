//! Ops that only move data take much of the step.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "data_shuffle", title: "Rearranging data takes much of the time", check };

/// Share of the device time (XProf, data-shuffle suggestion: 30 % of the step time; see docs/findings.md for the base).
pub(super) const WARNING_PERCENT: f64 = 30.0;

/// What moves data within the memory of a device and computes nothing: of XProf's list those of the family `data_movement`. Sorts,
/// gathers and scatters compute positions and have separate rules; all-to-all is communication.
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
        .map_or(String::new(), |op| format!("; the largest of them is {}", numbers.op_with_source(op)));
    let (view, filter) = numbers.link_to(&is_shuffle);
    let message = format!(
        "{} of the time of all device ops goes to ops that only rearrange data, most of it {}{largest}.",
        format::percent(share),
        format::printable(numbers.largest_category(&is_shuffle).unwrap_or("data formatting"))
    );
    Draft::new(FindingSeverity::Warning, Confidence::High, "Rearranging data takes much of the time", message)
        .remedy(
            "Keep one layout from op to op: choose axis orders that the next op reads as they are, slice and concatenate along the \
             major axis, and write into a part of an array rather than join copies of its parts.",
        )
        .passed("data_shuffle_percent", share, WARNING_PERCENT)
        .at_stake(numbers.of_window(share))
        .link(view, &filter)
        .fires()
}
