//! Devices are idle between ops, also outside of the steps.

use super::draft::{Draft, lacks};
use super::gap;
use super::numbers::{Numbers, shown};
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "idle_gaps", title: "Long gaps between device ops", check };

/// Idle share of the window that is worth a look (JAX guide, overview page: device idle time should be below 10 %).
const NOTE_PERCENT: f64 = 10.0;
/// From this share on idle time is a loss (the complement of the JAX guide's 80 % busy).
const WARNING_PERCENT: f64 = 20.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let gaps = numbers.profile.timeline_analysis.as_ref();
    let (Some(timeline), Some(window)) = (gaps, numbers.window()) else {
        return lacks("too few device ops ran to have gaps between them. Capture several steps.");
    };
    let gaps = &timeline.gaps;
    let idle = gaps.gap_time_percent;
    if idle < NOTE_PERCENT {
        return Verdict::Fine;
    }
    let lost = idle >= WARNING_PERCENT;
    let severity = if lost { FindingSeverity::Warning } else { FindingSeverity::Note };
    let mut message = format!(
        "Of {}, the devices are idle for {}. The window holds {} gaps.",
        window.words(),
        format::percent(idle),
        format::count(gaps.total_gaps)
    );
    message.push_str(&gap::sentence(numbers));
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
        .passed("gap_time_percent", idle, if lost { WARNING_PERCENT } else { NOTE_PERCENT })
        .at_stake(idle)
        .link_to_idle(numbers)
        .fires()
}
