//! Kernels are short on average while the device is not busy.

use super::draft::{Draft, lacks};
use super::limits::{BUSY_PERCENT, SHORT_MEAN_KERNEL_US, are_short_kernels_costly, mean_kernel};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "short_mean_kernel", title: "Kernels are short on average", check };

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.is_gpu() {
        return Verdict::Irrelevant;
    }
    let Some(window) = numbers.window() else { return lacks("too few kernels ran to speak of a mean.") };
    let Some((mean, _)) = mean_kernel(numbers.profile) else { return lacks("no kernel ran.") };
    if mean >= SHORT_MEAN_KERNEL_US || !are_short_kernels_costly(numbers.profile) {
        return Verdict::Fine;
    }
    let message = format!(
        "A kernel takes {} on average and the devices are only {} busy: each launch costs the host a few microseconds, \
         which short kernels hide badly.",
        format::time_us(mean),
        format::percent(window.busy_percent)
    );
    Draft::new(FindingSeverity::Note, Confidence::Low, "Kernels are short on average", message)
        .remedy(&format!(
            "Give each kernel more to do: a larger batch, more of the program in one {}, fewer separate operations.",
            numbers.words().compiler
        ))
        .passed("mean_kernel_us", mean, SHORT_MEAN_KERNEL_US)
        .passed("busy_percent", window.busy_percent, BUSY_PERCENT.good)
        .link("kernels", "avg_duration_us<100")
        .fires()
}
