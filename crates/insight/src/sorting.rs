//! Sorts take much of the step.
//!
//! Sorts (the category `sort`, which includes kernels that find the largest k values) take at least 30 % of the op time. This
//! is the limit of `data_shuffle`, because XProf lists sorts under data shuffle. Severity: warning. Confidence: high. The
//! message names the largest op with its source line. Remedy: find the largest k values without a full sort, sort fewer keys,
//! or sort once instead of once per layer.

use super::draft::{Draft, lacks};
use super::limits::BOTTLENECK_PERCENT;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule shares the limit of `data_shuffle`, because XProf lists these ops under data shuffle.
pub(super) static RULE: Rule =
    Rule { id: "sorting", title: "Sorting takes much of the time", ..Rule::checked_by(check) };

fn check(numbers: &Numbers<'_>) -> Verdict {
    if numbers.platform.is_none() {
        return lacks("no device op ran. Capture while the program runs on the device.");
    }
    let wanted = |name: &str| name == "sort";
    let share = numbers.category_percent(&wanted);
    let Some(largest) = numbers.largest_op(&wanted).filter(|_| share >= BOTTLENECK_PERCENT) else {
        return Verdict::Fine;
    };
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
        .passed("sort_percent", share, BOTTLENECK_PERCENT)
        .at_stake(numbers.of_window(share))
        .link(view, &filter)
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, three_ops, tpu_steps};
    use report::FindingSeverity::Warning;

    #[test]
    fn fires_above_its_limit() {
        let found = finding(three_ops("sort", 300), &RULE);
        assert_eq!((found.severity, found.filter.as_deref()), (Warning, Some("category=\"sort\"")));
        assert!(
            found.message.ends_with("The largest is sort.1.") && found.remedy.contains("jax.lax.top_k"),
            "{found:?}"
        );
        fine(three_ops("sort", 299), &RULE);
        let trace = tpu_steps(12, |b, at| {
            let source = b.trace_mut().strings.intern("train.py:31");
            let line = b.line("/device:TPU:0", "XLA Ops");
            b.event(line, "sort.7", at, 900).hlo_category("sort").args(|args| args.source = source);
        });
        assert!(finding(trace, &RULE).message.ends_with("The largest is sort.7 (train.py:31)."));
    }
}
