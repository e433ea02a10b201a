//! Kernels are short on average, and the device is often idle.

use super::draft::{Draft, lacks};
use super::limits::{BUSY_PERCENT, SHORT_MEAN_KERNEL_US, are_short_kernels_costly, mean_kernel};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule = Rule { id: "short_mean_kernel", title: "Kernels are short on average", check };

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
        .link("kernels", "avg_duration_us<100")
        .fires()
}
