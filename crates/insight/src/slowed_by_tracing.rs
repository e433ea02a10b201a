//! A step takes longer while it is traced than without.

use super::draft::Draft;
use super::limits::SLOWED_PERCENT;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "slowed_by_tracing", title: "Tracing slows the steps down", check };

fn check(numbers: &Numbers<'_>) -> Verdict {
    // Only the capture kit measures it: of another capture nobody misses it.
    let Some(measured) = &numbers.profile.tracing else { return Verdict::Irrelevant };
    if measured.slowed_percent() < SLOWED_PERCENT.good {
        return Verdict::Fine;
    }
    let severity =
        if measured.slowed_percent() < SLOWED_PERCENT.bad { FindingSeverity::Note } else { FindingSeverity::Warning };
    let message = format!(
        "A step took {} while it was traced and {} before, without tracing: {} times as long. Idle time and launches of this capture \
         are longer than those of the program alone; times of device ops hardly are.",
        format::time_us(measured.traced_step_time_us),
        format::time_us(measured.untraced_step_time_us),
        format::number(measured.slowdown),
    );
    Draft::new(severity, Confidence::High, "Steps take longer while they are traced", message)
        .remedy(
            "Read shares of device time rather than step times. To trace less: crossprof.capture(..., options={\"host_tracer_level\": 1}), \
             and fewer chips with advanced={\"tpu_num_chips_to_profile_per_task\": 1} or gpu_num_chips_to_profile_per_task.",
        )
        .passed("slowdown", measured.slowdown, 1.0 + SLOWED_PERCENT.good / 100.0)
        .evidence("traced_step_time_us", measured.traced_step_time_us)
        .evidence("untraced_step_time_us", measured.untraced_step_time_us)
        .link("steps", "")
        .fires()
}
