//! Steps take longer with tracing than without.

use super::draft::Draft;
use super::limits::SLOWED_PERCENT;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule = Rule { id: "slowed_by_tracing", title: "Tracing slows the steps down", check };

fn check(numbers: &Numbers<'_>) -> Verdict {
    // Only the capture kit measures the slowdown, so other captures do not report the rule as not checked.
    let Some(measured) = &numbers.profile.tracing else { return Verdict::Irrelevant };
    if measured.slowed_percent() < SLOWED_PERCENT.good {
        return Verdict::Fine;
    }
    let severity =
        if measured.slowed_percent() < SLOWED_PERCENT.bad { FindingSeverity::Note } else { FindingSeverity::Warning };
    let message = format!(
        "A step takes {} with tracing and {} without: {} times as long. Tracing increases the idle time and launch times in this \
         capture, but hardly the times of device ops.",
        format::time_us(measured.traced_step_time_us),
        format::time_us(measured.untraced_step_time_us),
        format::number(measured.slowdown),
    );
    Draft::new(severity, Confidence::High, "Tracing slows the steps down", message)
        .remedy(
            "Use shares of device time rather than step times. To trace less, set crossprof.capture(..., \
             options={\"host_tracer_level\": 1}), and profile fewer chips with advanced={\"tpu_num_chips_to_profile_per_task\": \
             1} or gpu_num_chips_to_profile_per_task.",
        )
        .passed("slowdown", measured.slowdown, 1.0 + SLOWED_PERCENT.good / 100.0)
        .evidence("traced_step_time_us", measured.traced_step_time_us)
        .evidence("untraced_step_time_us", measured.untraced_step_time_us)
        .link("steps", "")
        .fires()
}
