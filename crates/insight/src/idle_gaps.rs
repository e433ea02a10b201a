//! Devices are idle between ops, also outside of the steps.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
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
    if let Some(gap) = timeline.longest_gaps.first() {
        let name = |name: &str| format::printable(&format::shorten(name, 60));
        // A gap at an edge of the window has an op on one side, or none.
        let place = match (gap.after.as_str(), gap.before.as_str()) {
            ("", "") => "is".to_owned(),
            ("", before) => format!("comes before {}", name(before)),
            (after, "") => format!("comes after {}", name(after)),
            (after, before) => format!("lies between {} and {}", name(after), name(before)),
        };
        message.push_str(&format!(
            " The longest, {}, {place} on {}.",
            format::time_us(gap.duration_us),
            name(&gap.device_name)
        ));
    }
    Draft::new(severity, Confidence::High, &format!("Gaps take {} of the time", format::percent(idle)), message)
        .remedy(
            "Look at the host's threads during the longest gaps. Usual reasons: block_until_ready or np.asarray in the \
             loop, a batch that is not yet there, compilation, checkpoints and evaluation between the steps.",
        )
        .passed("gap_time_percent", idle, if lost { WARNING_PERCENT } else { NOTE_PERCENT })
        .evidence("longest_gap_us", gaps.max_gap_us.unwrap_or(0.0))
        .at_stake(idle)
        .link("steps", "")
        .fires()
}
