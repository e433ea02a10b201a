//! Sorts take much of the step.

use super::data_shuffle::WARNING_PERCENT;
use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule shares the limit of `data_shuffle`, because XProf lists these ops under data shuffle.
pub(super) const RULE: Rule = Rule { id: "sorting", title: "Sorting takes much of the time", check };

fn check(numbers: &Numbers<'_>) -> Verdict {
    if numbers.platform.is_none() {
        return lacks("no device op ran. Capture while the program runs on the device.");
    }
    let wanted = |name: &str| name == "sort";
    let share = numbers.category_percent(&wanted);
    let Some(largest) = numbers.largest_op(&wanted).filter(|_| share >= WARNING_PERCENT) else { return Verdict::Fine };
    let (view, filter) = numbers.link_to(&wanted);
    let message = format!(
        "Sorts take {} of the op time. The largest is {}.",
        format::percent(share),
        numbers.op_with_source(largest)
    );
    Draft::new(FindingSeverity::Warning, Confidence::High, "Sorting takes much of the time", message)
        .remedy(&format!(
            "If you need only the largest values, avoid a full sort: use {}. Sort fewer keys, carry fewer arrays along \
             (sort the keys with their positions, then gather), and sort once instead of in every layer.",
            numbers.words().top_k
        ))
        .passed("sort_percent", share, WARNING_PERCENT)
        .at_stake(numbers.of_window(share))
        .link(view, &filter)
        .fires()
}
