//! The step count from the user implies steps that are shorter than one of their ops.
//!
//! Three facts contradict each other: the user specifies the number of steps (`--num-steps`), the trace does not
//! confirm this number, and the mean step is shorter than the longest self time of one op. Severity: critical.
//! Confidence: medium, because the longest op may have run outside the steps. Remedy: count only the steps that were
//! captured.

use super::draft::Draft;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule =
    Rule { id: "impossible_step_count", title: "The given number of steps cannot be right", ..Rule::checked_by(check) };

fn check(numbers: &Numbers<'_>) -> Verdict {
    let timing = &numbers.profile.step_timing;
    // Steps that the trace marks are certain.
    let is_given = timing.step_count_source == "user" && timing.max_step_time_us.is_none();
    let Some(step_us) = timing.avg_step_time_us.filter(|_| is_given) else {
        return Verdict::Irrelevant;
    };
    // Uses self times, because a loop over all steps is one op with a longer duration than a step.
    let kernels = numbers.profile.kernels.top_kernels.iter().filter_map(|kernel| Some((kernel, kernel.max_us?)));
    let Some((longest, longest_us)) = kernels.max_by(|a, b| a.1.total_cmp(&b.1)) else { return Verdict::Irrelevant };
    if longest_us <= step_us {
        return Verdict::Fine;
    }
    let message = format!(
        "{} in {} would take {} each, but a single run of {} takes {}.",
        super::numbers::plural(timing.num_steps, "step"),
        format::time_us(timing.total_time_us),
        format::time_us(step_us),
        format::printable(&format::shorten(&longest.name, 60)),
        format::time_us(longest_us),
    );
    // The op may have run outside all steps.
    Draft::new(FindingSeverity::Critical, Confidence::Medium, "Steps would be shorter than one op", message)
        .remedy(
            "Check the number of steps: count the steps in the captured time, not in the whole run, and count a step that \
             several devices run together once.",
        )
        .passed("longest_op_us", longest_us, step_us)
        .evidence("num_steps", timing.num_steps as f64)
        .link(View::Overview, "")
        .fires()
}
