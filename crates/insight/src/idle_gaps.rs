//! Devices are idle between ops, also outside of the steps.

use super::draft::{Draft, lacks};
use super::gap;
use super::limits::{IDLE_NOTED_PERCENT, IDLE_PERCENT};
use super::numbers::{Numbers, shown};
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "idle_gaps", title: "Long gaps between device ops", check };

fn check(numbers: &Numbers<'_>) -> Verdict {
    let gaps = numbers.profile.timeline_analysis.as_ref();
    let (Some(timeline), Some(window)) = (gaps, numbers.window()) else {
        return lacks("too few device ops ran to have gaps between them. Capture several steps.");
    };
    let gaps = &timeline.gaps;
    let idle = gaps.gap_time_percent;
    if idle < IDLE_NOTED_PERCENT {
        return Verdict::Fine;
    }
    let lost = idle >= IDLE_PERCENT.good;
    let severity = if lost { FindingSeverity::Warning } else { FindingSeverity::Note };
    let mut message = format!(
        "Of {}, the devices are idle for {}. The window holds {} gaps.",
        window.words(),
        format::percent(idle),
        format::count(gaps.total_gaps)
    );
    message.push_str(&gap::sentence(numbers));
    message.push_str(&numbers.host_meanwhile());
    if let Some(gap) = timeline.longest_gaps.first().filter(|_| gap::dominant(numbers).is_none()) {
        message.push_str(&format!(
            " The longest, {}, {} on {}.",
            format::time_us(gap.duration_us),
            gap::place(gap),
            shown(&gap.device_name)
        ));
    }
    Draft::new(severity, Confidence::High, &format!("Gaps take {} of the time", format::percent(idle)), message)
        .remedy(&format!(
            "Look at the host's threads during the longest gaps. Usual reasons: results that the loop reads ({}), a batch that is not yet \
             there, compilation, checkpoints and evaluation between the steps.",
            numbers.words().reads
        ))
        .passed("gap_time_percent", idle, if lost { IDLE_PERCENT.good } else { IDLE_NOTED_PERCENT })
        .at_stake(idle)
        .link_to_idle(numbers)
        .fires()
}
