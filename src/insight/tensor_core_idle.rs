//! TensorCores of a TPU run nothing for part of the step.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use crate::format;
use crate::report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "tensor_core_idle", title: "TensorCores are idle", check };

/// Idle share of the step (XProf, TensorCore-idle suggestion: 10 %).
const WARNING_PERCENT: f64 = 10.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.is_tpu() {
        return Verdict::Irrelevant;
    }
    let Some(window) = numbers.window().filter(|window| window.steps) else {
        return lacks("the steps are unknown. Mark them with jax.profiler.StepTraceAnnotation.");
    };
    let idle = window.idle_percent();
    if idle < WARNING_PERCENT {
        return Verdict::Fine;
    }
    let message = format!(
        "The TensorCores run no op for {} of {} ({}).",
        format::time_us(window.us(idle)),
        window.words(),
        format::percent(idle)
    );
    Draft::new(
        FindingSeverity::Warning,
        Confidence::High,
        &format!("TensorCores are idle {} of the time", format::percent(idle)),
        message,
    )
    .remedy(
        "See what the host does meanwhile on the timeline; run several steps in one program with jax.lax.scan or \
             jax.lax.fori_loop, and dispatch the next step before this one's results are read.",
    )
    .passed("idle_percent", idle, WARNING_PERCENT)
    .at_stake(idle)
    .link("steps", "")
    .fires()
}
