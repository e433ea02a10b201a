//! Devices are idle between ops, inside or outside steps.
//!
//! The measure is the window's `gap_time_percent`. Severity: note from 10 % (JAX guide: device idle time), warning from 20 %.
//! Confidence: high. The message names the longest gap and the ops around it.

use super::draft::{Draft, lacks};
use super::gap;
use super::limits::{IDLE_NOTED_PERCENT, IDLE_PERCENT};
use super::numbers::{Numbers, shown};
use super::{Needs, Rule, Verdict, idle_time, low_device_utilization, tensor_core_idle};
use base::format;
use report::{Confidence, FindingSeverity};

pub(super) static RULE: Rule = Rule {
    id: "idle_gaps",
    title: "Long gaps between device ops",
    needs: Needs::AllLines,
    // A cause is more specific than an amount, and a share of the steps is more specific than a share of the capture.
    explained_by: &[
        &[&low_device_utilization::RULE, &tensor_core_idle::RULE],
        &idle_time::PARTS_OF_STEP,
        &idle_time::OTHER_CAUSES,
    ],
    ..Rule::checked_by(check)
};

fn check(numbers: &Numbers<'_>) -> Verdict {
    let gaps = numbers.profile.timeline_analysis.as_ref();
    let (Some(timeline), Some(window)) = (gaps, numbers.window()) else {
        return lacks("too few device ops ran to measure the gaps between them. Capture several steps.");
    };
    let gaps = &timeline.gaps;
    let idle = gaps.gap_time_percent;
    if idle < IDLE_NOTED_PERCENT {
        return Verdict::Fine;
    }
    let lost = idle >= IDLE_PERCENT.good;
    let severity = if lost { FindingSeverity::Warning } else { FindingSeverity::Note };
    let mut message = format!(
        "Devices are idle for {} of {}. The window contains {} gaps.",
        format::percent(idle),
        window.words(),
        format::count(gaps.total_gaps)
    );
    message.push_str(&gap::sentence(numbers));
    message.push_str(&numbers.host_meanwhile());
    if let Some(gap) = timeline.longest_gaps.first().filter(|_| gap::dominant(numbers).is_none()) {
        message.push_str(&format!(
            " The longest gap takes {} on {}, {}.",
            format::time_us(gap.duration_us),
            shown(&gap.device_name),
            gap::place(gap)
        ));
    }
    Draft::new(severity, Confidence::High, &format!("Gaps take {} of the time", format::percent(idle)), message)
        .remedy(&format!(
            "Look at the host's threads during the longest gaps. Usual causes: reading results in the loop ({}), a \
             late batch, compilation, and checkpoints or evaluation between steps.",
            numbers.words().reads
        ))
        .passed("gap_time_percent", idle, if lost { IDLE_PERCENT.good } else { IDLE_NOTED_PERCENT })
        .at_stake(idle)
        .link_to_idle(numbers)
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, host_bound};
    use report::FindingSeverity::{Note, Warning};

    #[test]
    fn fires_above_its_limit() {
        assert_eq!(finding(host_bound(700), &RULE).severity, Warning);
        assert_eq!(finding(host_bound(850), &RULE).severity, Note);
        fine(host_bound(950), &RULE);
    }
}
