//! Ops that only rearrange data take much of the step.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "data_shuffle", title: "Rearranging data takes much of the time", check };

/// Share of the device time (XProf, data-shuffle suggestion: 30 % of the step time; see docs/findings.md for the base).
const WARNING_PERCENT: f64 = 30.0;

/// What rearranges data and computes nothing (XProf's list, with all-to-all and copies, without broadcast and select,
/// which XLA counts as arithmetic).
const CATEGORIES: [&str; 14] = [
    "data formatting",
    "concatenate",
    "dynamic-slice",
    "dynamic-update-slice",
    "gather",
    "gather fusion",
    "pad",
    "reverse",
    "scatter",
    "scatter fusion",
    "slice",
    "sort",
    "all-to-all",
    "copy",
];

fn check(numbers: &Numbers<'_>) -> Verdict {
    if numbers.platform.is_none() {
        return lacks("no device op ran. Capture while the jitted function runs.");
    }
    let is_shuffle = |name: &str| CATEGORIES.contains(&name);
    let share = numbers.category_percent(&is_shuffle);
    if share < WARNING_PERCENT {
        return Verdict::Fine;
    }
    let largest = numbers.largest_category(&is_shuffle).unwrap_or("data formatting");
    let (view, filter) = numbers.link_to(&is_shuffle);
    let message = format!(
        "{} of the time of all device ops goes to ops that only rearrange data, most of it {}.",
        format::percent(share),
        format::printable(largest)
    );
    Draft::new(FindingSeverity::Warning, Confidence::High, "Rearranging data takes much of the time", message)
        .remedy(
            "Keep one layout from op to op: choose axis orders that the next op reads as they are, gather and scatter along \
             the major axis, replace sorts by top-k, and shard so that no all-to-all is needed.",
        )
        .passed("data_shuffle_percent", share, WARNING_PERCENT)
        .at_stake(numbers.of_window(share))
        .link(view, &filter)
        .fires()
}
