//! Devices are idle for much of the step.

use super::draft::{Draft, lacks};
use super::gap;
use super::host_side::HostSide;
use super::limits::BUSY_PERCENT;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule =
    Rule { id: "low_device_utilization", title: "Devices are idle for much of the step", check };

fn check(numbers: &Numbers<'_>) -> Verdict {
    if numbers.platform.is_none() {
        return lacks("no device op ran. Capture while the program runs on the device.");
    }
    let Some(window) = numbers.window() else {
        return lacks("too few ops ran to measure how busy the devices are. Capture several steps.");
    };
    let busy = window.busy_percent;
    if busy >= BUSY_PERCENT.good {
        return Verdict::Fine;
    }
    let (severity, limit) = if busy < BUSY_PERCENT.bad {
        (FindingSeverity::Critical, BUSY_PERCENT.bad)
    } else {
        (FindingSeverity::Warning, BUSY_PERCENT.good)
    };
    let idle = window.idle_percent();
    let mut message = format!(
        "Devices are idle for {} of {}, and busy for {} ({}).",
        format::time_us(window.us(idle)),
        window.words(),
        format::time_us(window.us(busy)),
        format::percent(busy)
    );
    if !numbers.context.analysis.step_breakdown.has_steps {
        message.push_str(" Steps are unknown, so the time between steps counts as idle.");
    }
    let causes = numbers.idle_causes();
    if !causes.is_empty() {
        let parts = numbers.window_of_parts().filter(|parts| parts.kind != window.kind);
        let of_what = parts.map_or(String::new(), |parts| format!(" in {}", parts.words()));
        message.push_str(&format!(" Idle by cause{of_what}: {causes}."));
    }
    message.push_str(&gap::sentence(numbers));
    message.push_str(&numbers.host_meanwhile());
    let longest = numbers.profile.timeline_analysis.as_ref().and_then(|it| it.longest_gaps.first());
    if let Some(gap) = longest.filter(|_| gap::dominant(numbers).is_none()) {
        let end = match gap.before.as_str() {
            "" => "the end of the window".to_owned(),
            op => format::printable(&format::shorten(op, 60)),
        };
        message.push_str(&format!(" The longest gap takes {}, until {end}.", format::time_us(gap.duration_us)));
    }
    let confidence = if window.steps { Confidence::High } else { Confidence::Medium };
    let both = numbers.both_wait();
    let title = match both {
        Some(both) => {
            let for_what = both.for_what().map_or(String::new(), |what| format!(" for {what}"));
            format!("Devices are idle for {} of the time while the host waits too{for_what}", format::percent(idle))
        }
        None => {
            let activity = numbers.host_side().and_then(HostSide::activity);
            let activity = activity.map_or(String::new(), |activity| format!(", mostly while {activity}"));
            format!("Devices are idle for {} of the time{activity}", format::percent(idle))
        }
    };
    let of_activity = || numbers.host_side().and_then(HostSide::remedy);
    let remedy = both.map(|both| both.remedy(numbers)).or_else(of_activity).unwrap_or_else(|| {
        format!(
            "Look at the host's threads during the gaps on the timeline. Read results only when they are needed, compile the \
             step with one {}, and prepare the next batch while the step runs.",
            numbers.words().compiler
        )
    });
    Draft::new(severity, confidence, &title, message)
        .remedy(&remedy)
        .passed("busy_percent", busy, limit)
        .evidence("idle_us", window.us(idle))
        .at_stake(idle)
        .link_to_idle(numbers)
        .fires()
}
