//! Gathers and scatters take much of the step. Gathers read from, and scatters write to, computed positions.
//!
//! Gathers and scatters, fused or not, take at least 30 % of the op time (the limit of `data_shuffle`). Severity: warning.
//! Confidence: high. Remedy: access whole rows along the major axis, use sorted and unique positions, or use one-hot products
//! for small tables.

use super::draft::{Draft, lacks};
use super::limits::BOTTLENECK_PERCENT;
use super::numbers::Numbers;
use super::{Rule, Verdict, colliding_scatter, reordered_arguments};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule shares the limit of `data_shuffle`, because XProf lists these ops under data shuffle.
pub(super) static RULE: Rule = Rule {
    id: "gather_scatter",
    title: "Gathers and scatters take much of the time",
    explained_by: &[&[&colliding_scatter::RULE, &reordered_arguments::RULE]],
    ..Rule::checked_by(check)
};

fn check(numbers: &Numbers<'_>) -> Verdict {
    if numbers.platform.is_none() {
        return lacks("no device op ran. Capture while the program runs on the device.");
    }
    let wanted = |name: &str| matches!(name, "gather" | "gather fusion" | "scatter" | "scatter fusion");
    let share = numbers.category_percent(&wanted);
    let Some(largest) = numbers.largest_op(&wanted).filter(|_| share >= BOTTLENECK_PERCENT) else {
        return Verdict::Fine;
    };
    let (view, filter) = numbers.link_to(&wanted);
    let message = format!(
        "Gathers and scatters take {} of the op time. The largest is {}.",
        format::percent(share),
        numbers.op_with_source(largest)
    );
    Draft::new(FindingSeverity::Warning, Confidence::High, "Gathers and scatters take much of the time", message)
        .remedy(
            "Gather and scatter whole rows along the major axis rather than single elements. If positions are sorted \
             or unique, declare this (indices_are_sorted, unique_indices). Replace a lookup in a small table with a \
             product with one-hot rows.",
        )
        .passed("gather_scatter_percent", share, BOTTLENECK_PERCENT)
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
        assert_eq!(finding(three_ops("gather", 300), &RULE).severity, Warning);
        fine(three_ops("scatter fusion", 299), &RULE);
    }
}
