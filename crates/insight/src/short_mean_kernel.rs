//! Kernels are short on average while the device is not busy.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "short_mean_kernel", title: "Kernels are short on average", check };

/// Mean duration below which kernels are short (JAX guide, key performance indicators: bad below 0.1 ms). Its warning
/// below 1 ms is left out: most kernels of healthy programs are shorter than that.
const SHORT_US: f64 = 100.0;
/// A device this busy is not held up by short kernels (JAX guide).
const BUSY_PERCENT: f64 = 80.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.is_gpu() {
        return Verdict::Irrelevant;
    }
    let Some(window) = numbers.window() else { return lacks("too few kernels ran to speak of a mean.") };
    let categories = numbers.profile.kernels.kernels_by_category.values();
    let (time, count) = categories.fold((0.0, 0_u64), |(time, count), it| (time + it.time_us, count + it.count));
    if count == 0 {
        return lacks("no kernel ran.");
    }
    let mean = time / count as f64;
    if mean >= SHORT_US || window.busy_percent >= BUSY_PERCENT {
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
        .passed("mean_kernel_us", mean, SHORT_US)
        .passed("busy_percent", window.busy_percent, BUSY_PERCENT)
        .link("kernels", "avg_duration_us<100")
        .fires()
}
