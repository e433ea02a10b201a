//! Ops that only move data take much of the step.
//!
//! Ops that only move data within the memory of a device (formatting, copies, slices, concatenation, padding; all in
//! the `data_movement` family) take at least 30 % of the op time. Severity: warning. Confidence: high. XProf applies
//! this limit to the ops' share of the step. We apply the limit to the ops' share of the op time, so that idle time
//! does not hide the lost time. XProf also includes `broadcast`, `select`, sorts, gathers and scatters, although these
//! compute, and all-to-all, although it is communication. The message names the largest op with its source line.

use super::draft::{Draft, lacks};
use super::limits::BOTTLENECK_PERCENT;
use super::numbers::Numbers;
use super::{Rule, Verdict, copied_arguments, unfused_data_formatting};
use base::format;
use report::{Confidence, FindingSeverity};

pub(super) static RULE: Rule = Rule {
    id: "data_shuffle",
    title: "Rearranging data takes much of the time",
    explained_by: &[&[&unfused_data_formatting::RULE, &copied_arguments::RULE]],
    ..Rule::checked_by(check)
};

/// Categories from XProf's list that belong to the `data_movement` family: they move data within a device and compute nothing.
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
    if share < BOTTLENECK_PERCENT {
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
        .passed("data_shuffle_percent", share, BOTTLENECK_PERCENT)
        .at_stake(numbers.of_window(share))
        .link(view, &filter)
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, three_ops};
    use report::FindingSeverity::Warning;

    #[test]
    fn fires_above_its_limit() {
        assert_eq!(finding(three_ops("slice", 300), &RULE).severity, Warning);
        fine(three_ops("slice", 299), &RULE);
        // Ops that compute positions have their own rule.
        fine(three_ops("gather", 300), &RULE);
        fine(three_ops("sort", 300), &RULE);
    }
}
