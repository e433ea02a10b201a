//! Sorts take much of the step.
//!
//! Sorts (the `sort` category) take at least 20 % of the op time (ours: sorting is rarely the purpose of a model). The
//! category includes kernels that find the largest k values. Severity: warning. Confidence: high. The message names the
//! largest op with its source line. Remedy: find the largest k values without a full sort, sort fewer keys, or sort
//! once instead of once per layer.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict, random_numbers, sampling_over_all_classes};
use base::format;
use metrics::Op;
use report::{Confidence, FindingSeverity};

pub(super) static RULE: Rule = Rule {
    id: "sorting",
    title: "Sorting takes much of the time",
    explained_by: &[&[&random_numbers::RULE, &sampling_over_all_classes::RULE]],
    ..Rule::checked_by(check)
};

/// Minimum share of the op time that sorts take.
const LEAST_PERCENT: f64 = 20.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    if numbers.platform.is_none() {
        return lacks("no device op ran. Capture while the program runs on the device.");
    }
    let wanted = |name: &str| name == "sort";
    let share = numbers.category_percent(&wanted);
    let Some(largest) = largest(numbers).filter(|_| share >= LEAST_PERCENT) else { return Verdict::Fine };
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
        .passed("sort_percent", share, LEAST_PERCENT)
        .at_stake(numbers.of_window(share))
        .link(view, &filter)
        .fires()
}

/// Returns the sort with the most time: an op of the category `sort`, or a call of a library's sort.
fn largest<'a>(numbers: &Numbers<'a>) -> Option<&'a Op> {
    numbers.context.analysis.ops.rows.iter().filter(|op| numbers.is_sort(op)).max_by_key(|op| op.self_time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, three_ops, tpu_steps};
    use report::FindingSeverity::Warning;

    #[test]
    fn fires_above_its_limit() {
        let found = finding(three_ops("sort", 200), &RULE);
        assert_eq!((found.severity, found.filter.as_deref()), (Warning, Some("category=\"sort\"")));
        assert!(
            found.message.ends_with("The largest is sort.1.") && found.remedy.contains("jax.lax.top_k"),
            "{found:?}"
        );
        fine(three_ops("sort", 199), &RULE);
        let trace = tpu_steps(12, |b, at| {
            let source = b.trace_mut().strings.intern("train.py:31");
            let line = b.line("/device:TPU:0", "XLA Ops");
            b.event(line, "sort.7", at, 900).hlo_category("sort").args(|args| args.source = source);
        });
        assert!(finding(trace, &RULE).message.ends_with("The largest is sort.7 (train.py:31)."));
    }
}
