//! Steps take longer with tracing than without.
//!
//! A traced step takes at least 1.1 times as long as the untraced steps just before (ours). Severity: note, or a warning if it
//! takes at least 1.5 times as long. Confidence: high, because the capture kit of the Python package measures steps with and
//! without tracing (`tracing` in the profile). The rule is not reported for captures without the kit. Remedy: rely on shares
//! rather than on step times, and trace less.

use super::draft::Draft;
use super::limits::SLOWED_PERCENT;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule =
    Rule { id: "slowed_by_tracing", title: "Tracing slows the steps down", ..Rule::checked_by(check) };

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
        .link(View::Steps, "")
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::host_bound;
    use crate::{examine, verdict};
    use report::FindingSeverity::{Note, Warning};
    use report::Tracing;
    use run::{Run, Settings};

    #[test]
    fn fires_above_its_limit() {
        let says = |slowdown: Option<f64>| {
            let tracing = slowdown.map(|slowdown| Tracing { slowdown, ..Tracing::default() });
            let run = Run { trace: host_bound(900), tracing, ..Run::default() };
            let examined = examine(&run, &Settings::default());
            verdict(&examined.context(&run), RULE.id).unwrap()
        };
        let severity = |slowdown| match says(Some(slowdown)) {
            Verdict::Fires(finding) => finding.severity,
            other => panic!("{other:?}"),
        };
        assert_eq!((severity(1.1), severity(1.5)), (Note, Warning));
        assert_eq!((says(Some(1.09)), says(Some(0.9))), (Verdict::Fine, Verdict::Fine));
        // Captures made without the capture kit lack nothing.
        assert_eq!(says(None), Verdict::Irrelevant);
    }
}
