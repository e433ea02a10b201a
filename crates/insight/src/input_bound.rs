//! TPU cores wait for input in infeed ops.
//!
//! The measure is the self time of the `infeed` category as a share of the window. Severity: warning from 10 % (XProf),
//! critical from 40 % (ours). Confidence: high. The rule covers TPUs only.

use super::draft::{Draft, lacks};
use super::limits::INPUT_BOUND_PERCENT;
use super::numbers::Numbers;
use super::{Needs, Rule, Verdict};
use base::format;
use facts::hlo_categories;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule =
    Rule { id: "input_bound", title: "Cores wait in infeed", needs: Needs::AllLines, ..Rule::checked_by(check) };

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.is_tpu() {
        return Verdict::Irrelevant;
    }
    let Some(window) = numbers.window() else { return lacks("too few device ops ran. Capture several steps.") };
    let share = numbers.category_percent(&|name| name == hlo_categories::INFEED) * window.busy_percent / 100.0;
    if share < INPUT_BOUND_PERCENT.good {
        return Verdict::Fine;
    }
    let critical = share >= INPUT_BOUND_PERCENT.bad;
    let severity = if critical { FindingSeverity::Critical } else { FindingSeverity::Warning };
    let message = format!(
        "Cores wait in infeed ops for {} of {} ({}): they have run out of input and wait for the host.{}",
        format::time_us(window.us(share)),
        window.words(),
        format::percent(share),
        numbers.host_meanwhile()
    );
    Draft::new(
        severity,
        Confidence::High,
        &format!("Cores wait in infeed for {} of the time", format::percent(share)),
        message,
    )
    .remedy(&format!(
        "Speed up the input pipeline: prepare batches in parallel and ahead of time ({}), cache decoded data, read larger files \
         in parallel, and do less work per sample on the host.",
        numbers.words().loader
    ))
    .passed("infeed_percent", share, if critical { INPUT_BOUND_PERCENT.bad } else { INPUT_BOUND_PERCENT.good })
    .at_stake(share)
    .link(View::Ops, "category=infeed")
    .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_op, tpu_steps};
    use report::FindingSeverity::{Critical, Warning};

    #[test]
    fn fires_above_its_limit() {
        let trace = |infeed: i64| {
            tpu_steps(12, move |b, at| {
                tpu_op(b, "infeed", at, infeed);
                tpu_op(b, "loop fusion", at + infeed, 1000 - infeed);
            })
        };
        assert_eq!(finding(trace(100), &RULE).severity, Warning);
        assert_eq!(finding(trace(400), &RULE).severity, Critical);
        fine(trace(99), &RULE);
    }
}
