//! Kernels are short on average, and the device is often idle.
//!
//! GPU only: kernels (excluding copies and fills) take less than 0.1 ms on average (rated bad by the JAX guide), and
//! devices are busy for less than 80 % of the time. Severity: note. Confidence: low. The JAX guide already warns below
//! 1 ms. This rule, the headlines and the checklist ignore the limit of 1 ms, because most kernels of healthy programs
//! are shorter. The rule is not reported for TPUs, because the host does not launch their ops.

use super::draft::{Draft, lacks};
use super::limits::{BUSY_PERCENT, SHORT_MEAN_KERNEL_US, are_short_kernels_costly, mean_kernel};
use super::numbers::Numbers;
use super::{Needs, Rule, Verdict, idle_time, low_device_utilization, many_small_kernels};
use base::format;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule {
    id: "short_mean_kernel",
    title: "Kernels are short on average",
    needs: Needs::AllLines,
    explained_by: &[&[&many_small_kernels::RULE, &low_device_utilization::RULE], &idle_time::PARTS_OF_STEP],
    ..Rule::checked_by(check)
};

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.is_gpu() {
        return Verdict::Irrelevant;
    }
    let Some(window) = numbers.window() else {
        return lacks("too few kernels ran to compute a mean. Capture several steps.");
    };
    let Some((mean, _)) = mean_kernel(numbers.profile) else { return lacks("no kernel ran.") };
    if mean >= SHORT_MEAN_KERNEL_US || !are_short_kernels_costly(numbers.profile) {
        return Verdict::Fine;
    }
    let message = format!(
        "Kernels take only {} on average, and devices are busy for only {} of the time. Each launch costs the host a few \
         microseconds, which short kernels do not hide.",
        format::time_us(mean),
        format::percent(window.busy_percent)
    );
    Draft::new(FindingSeverity::Note, Confidence::Low, "Kernels are short on average", message)
        .remedy(&format!(
            "Give each kernel more work: use a larger batch, compile more of the program with one {}, and use fewer separate \
             operations.",
            numbers.words().compiler
        ))
        .passed("mean_kernel_us", mean, SHORT_MEAN_KERNEL_US)
        .passed("busy_percent", window.busy_percent, BUSY_PERCENT.good)
        .link(View::Kernels, &format!("avg_duration_us<{SHORT_MEAN_KERNEL_US}"))
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, says, small_kernels, tpu_op, tpu_steps};
    use report::FindingSeverity::Note;

    #[test]
    fn fires_above_its_limit() {
        assert_eq!(finding(small_kernels(60, 99, 30), &RULE).severity, Note);
        fine(small_kernels(60, 100, 30), &RULE);
        fine(small_kernels(60, 99, 10), &RULE);
        let tpu = tpu_steps(12, |b, at| tpu_op(b, "loop fusion", at, 10));
        assert_eq!(says(tpu, &RULE), Verdict::Irrelevant);
    }
}
