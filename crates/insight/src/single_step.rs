//! The statistics cover a single step.
//!
//! The rule fires if only one step is counted. Severity: note. Confidence: high. The rule is skipped if steps are
//! unknown.

use super::draft::Draft;
use super::numbers::{Numbers, plural};
use super::{Needs, Rule, Verdict};
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule =
    Rule { id: "single_step", title: "Only one step was captured", needs: Needs::Whole, ..Rule::checked_by(check) };

fn check(numbers: &Numbers<'_>) -> Verdict {
    let timing = &numbers.profile.step_timing;
    let Some(counted) = timing.num_steps_counted else {
        return numbers.lacks_steps("the steps are unknown.");
    };
    let is_chosen = numbers.profile.window.as_ref().is_some_and(|window| window.chosen.is_some());
    if counted > 1 || is_chosen {
        return Verdict::Fine;
    }
    let mut message = format!(
        "Only {} of {} in the capture is counted, so crossprof cannot tell whether it is a typical step.",
        counted,
        plural(timing.num_steps, "step")
    );
    // If another step follows, the step time is the time between the two starts.
    let is_last = numbers.profile.steps.last().is_some_and(|step| step.counted && !step.partial);
    if is_last && timing.host_step_time_us.is_none() {
        message
            .push_str(" No step follows it, so its time ends with its annotation or its last op, whichever is later.");
    }
    Draft::new(FindingSeverity::Note, Confidence::High, "All numbers come from one step", message)
        .remedy(
            "Capture 5 to 10 steps of the steady state: enough to show the variation, but few enough for a small file.",
        )
        .passed("num_steps_counted", counted as f64, 2.0)
        .link(View::Steps, "")
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, gpu_steps, kernel};
    use report::FindingSeverity::Note;

    #[test]
    fn fires_above_its_limit() {
        assert_eq!(finding(gpu_steps(1, |b, at| kernel(b, "gemm", at, at + 5, 900)), &RULE).severity, Note);
        fine(gpu_steps(3, |b, at| kernel(b, "gemm", at, at + 5, 900)), &RULE);
    }
}
