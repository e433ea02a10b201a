//! The statistics rest on one step.

use super::draft::Draft;
use super::numbers::{Numbers, plural};
use super::{Rule, Verdict};
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "single_step", title: "Only one step was captured", check };

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
        "The capture holds {}, of which {} counts: nothing says whether that step is a usual one.",
        plural(timing.num_steps, "step"),
        counted
    );
    // With a next step, the step time is the time between the two.
    let is_last = numbers.profile.steps.last().is_some_and(|step| step.counted && !step.partial);
    if is_last && timing.host_step_time_us.is_none() {
        message.push_str(
            " No next step ends it: its time is taken until its annotation or its last op ends, whichever is later.",
        );
    }
    Draft::new(FindingSeverity::Note, Confidence::High, "All numbers are of one step", message)
        .remedy("Capture 5 to 10 steps of the steady state: enough to see the spread, short enough to stay small.")
        .passed("num_steps_counted", counted as f64, 2.0)
        .link("steps", "")
        .fires()
}
