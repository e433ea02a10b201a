//! Loops spend time outside the ops of their bodies.
//!
//! TPU only: the measure is the self time of `while` ops, during which no op of the loop body runs. Severity: note from
//! 5 % of the op time, warning from 10 % (the JAX guide's limit for overheads; the limit for the note is half of it).
//! Confidence: medium.

use super::draft::{Draft, lacks};
use super::limits::{OVERHEAD_NOTED_PERCENT, OVERHEAD_PERCENT};
use super::numbers::Numbers;
use super::{Rule, Verdict, small_micro_batches};
use base::format;
use facts::hlo_categories;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule {
    id: "while_loop_overhead",
    title: "Loops spend time outside their bodies",
    explained_by: &[&[&small_micro_batches::RULE]],
    ..Rule::checked_by(check)
};

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.is_tpu() {
        // On a GPU, the host runs the loop. On a CPU, loops are functions.
        return Verdict::Irrelevant;
    }
    if numbers.platform.is_none() {
        return lacks("no device op ran. Capture while the program runs on the device.");
    }
    let share = numbers.category_percent(&|name| name == hlo_categories::WHILE);
    if share < OVERHEAD_NOTED_PERCENT {
        return Verdict::Fine;
    }
    let costs = share >= OVERHEAD_PERCENT.good;
    let severity = if costs { FindingSeverity::Warning } else { FindingSeverity::Note };
    let message = format!(
        "While loops take {} of the op time outside the ops of their bodies, for conditions, counters and copies of the loop's \
         state.",
        format::percent(share)
    );
    Draft::new(severity, Confidence::Medium, "Loops spend time outside their bodies", message)
        .remedy(
            "Do more work in each iteration: unroll several iterations into one (jax.lax.scan(..., unroll=4)), use fewer and \
             larger iterations, and carry less state between them.",
        )
        .passed("while_self_percent", share, if costs { OVERHEAD_PERCENT.good } else { OVERHEAD_NOTED_PERCENT })
        .at_stake(numbers.of_window(share))
        .link(View::Ops, "category=while")
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_op, tpu_steps};
    use report::FindingSeverity::{Note, Warning};

    #[test]
    fn fires_above_its_limit() {
        let trace = |own: i64| {
            tpu_steps(12, move |b, at| {
                tpu_op(b, "while", at, 1000);
                tpu_op(b, "loop fusion", at, 1000 - own);
            })
        };
        assert_eq!(finding(trace(100), &RULE).severity, Warning);
        assert_eq!(finding(trace(50), &RULE).severity, Note);
        fine(trace(49), &RULE);
    }
}
