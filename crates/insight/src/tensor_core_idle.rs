//! The TensorCores of a TPU are idle for part of the step.
//!
//! TPU only: the measure is the idle share of the step. Severity: note from 10 % (XProf, TensorCore-idle), warning
//! above 20 % (the JAX guide calls devices well used if they are busy for more than 80 %). Confidence: high. The rule
//! is skipped if steps are unknown.

use super::draft::Draft;
use super::gap;
use super::limits::{IDLE_NOTED_PERCENT, IDLE_PERCENT};
use super::numbers::Numbers;
use super::{Needs, Rule, Verdict, idle_time, low_device_utilization};
use base::format;
use report::{Confidence, FindingSeverity};
use trace::Framework;

pub(super) static RULE: Rule = Rule {
    id: "tensor_core_idle",
    title: "TensorCores are idle",
    needs: Needs::AllLines,
    // Findings about a cause are more specific than a finding about the amount.
    explained_by: &[&[&low_device_utilization::RULE], &idle_time::PARTS_OF_STEP],
    ..Rule::checked_by(check)
};

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.is_tpu() {
        return Verdict::Irrelevant;
    }
    let Some(window) = numbers.window().filter(|window| window.steps) else {
        return numbers.lacks_steps("the steps are unknown.");
    };
    let idle = window.idle_percent();
    if idle < IDLE_NOTED_PERCENT {
        return Verdict::Fine;
    }
    let costs = idle > IDLE_PERCENT.good;
    let (severity, limit) =
        if costs { (FindingSeverity::Warning, IDLE_PERCENT.good) } else { (FindingSeverity::Note, IDLE_NOTED_PERCENT) };
    let message = format!(
        "TensorCores are idle for {} of {} ({}).{}{}",
        format::time_us(window.us(idle)),
        window.words(),
        format::percent(idle),
        gap::sentence(numbers),
        numbers.host_meanwhile()
    );
    Draft::new(
        severity,
        Confidence::High,
        &format!("TensorCores are idle for {} of the time", format::percent(idle)),
        message,
    )
    .remedy(&format!(
        "Look at the host's activity during the idle time on the timeline. Run several steps in one program{}, and \
         dispatch the next step before you read the results of the current one.",
        match numbers.trace.framework {
            Framework::Jax | Framework::Unknown => " with jax.lax.scan or jax.lax.fori_loop",
            Framework::TensorFlow => " with steps_per_execution of Model.compile",
            Framework::PyTorch => "",
        }
    ))
    .passed("idle_percent", idle, limit)
    .at_stake(idle)
    .link_to_idle(numbers)
    .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_op, tpu_steps};
    use report::FindingSeverity::{Note, Warning};

    #[test]
    fn fires_above_its_limit() {
        let trace = |busy: i64| tpu_steps(12, move |b, at| tpu_op(b, "loop fusion", at, busy));
        // The page rates a device as good up to 20 % idle.
        assert_eq!(finding(trace(890), &RULE).severity, Note);
        assert_eq!(finding(trace(790), &RULE).severity, Warning);
        fine(trace(910), &RULE);
    }
}
