//! Gathers and scatters, which read and write at computed positions, take much of the step.

use super::data_shuffle::WARNING_PERCENT;
use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule shares the limit of `data_shuffle`, because XProf lists these ops under data shuffle.
pub(super) const RULE: Rule = Rule { id: "gather_scatter", title: "Gathers and scatters take much of the time", check };

fn check(numbers: &Numbers<'_>) -> Verdict {
    if numbers.platform.is_none() {
        return lacks("no device op ran. Capture while the program runs on the device.");
    }
    let wanted = |name: &str| matches!(name, "gather" | "gather fusion" | "scatter" | "scatter fusion");
    let share = numbers.category_percent(&wanted);
    let Some(largest) = numbers.largest_op(&wanted).filter(|_| share >= WARNING_PERCENT) else { return Verdict::Fine };
    let (view, filter) = numbers.link_to(&wanted);
    let message = format!(
        "Gathers and scatters take {} of the op time. The largest is {}.",
        format::percent(share),
        numbers.op_with_source(largest)
    );
    Draft::new(FindingSeverity::Warning, Confidence::High, "Gathers and scatters take much of the time", message)
        .remedy(
            "Gather and scatter whole rows along the major axis rather than single elements. If positions are sorted or unique, \
             declare it (indices_are_sorted, unique_indices). Replace a lookup in a small table by a product with one-hot rows.",
        )
        .passed("gather_scatter_percent", share, WARNING_PERCENT)
        .at_stake(numbers.of_window(share))
        .link(view, &filter)
        .fires()
}
