//! Devices are idle for much of the step.
//!
//! `busy_percent` of the window is below 80 % (warning) or below 50 % (critical). Both limits come from the JAX guide.
//! Confidence: high, or medium if steps are unknown, because idle time then also includes the time between steps. If
//! the host spends more than half of the idle time in one of the user's ranges or functions, the title names this range
//! or function, together with the call inside it that takes at least half of its time
//! (`host_meanwhile.ranges[].calls`). If that call waits for a lock, the message names the functions that another
//! thread runs during the wait, because that other thread may hold the lock. Remedy: look at the host's activity in the
//! gaps. The rule is skipped if no device ran at least 10 ops (ours: a capture of one launch has no gaps).

use super::draft::{Draft, lacks};
use super::gap;
use super::host_side::HostSide;
use super::limits::BUSY_PERCENT;
use super::numbers::Numbers;
use super::{Needs, Rule, Verdict, idle_time, many_small_kernels};
use base::format;
use report::{Confidence, FindingSeverity};

pub(super) static RULE: Rule = Rule {
    id: "low_device_utilization",
    title: "Devices are idle for much of the step",
    needs: Needs::AllLines,
    explained_by: &[&idle_time::PARTS_OF_STEP, &idle_time::OTHER_CAUSES],
    parts: &[&many_small_kernels::RULE],
    ..Rule::checked_by(check)
};

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
        message.push_str(" Steps are unknown, so the time between steps is treated as idle.");
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
            format!("Devices are idle for {} of the time, and the host waits too{for_what}", format::percent(idle))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, gpu_steps, host_bound};
    use report::FindingSeverity::{Critical, Warning};

    #[test]
    fn fires_above_its_limit() {
        assert_eq!(finding(host_bound(490), &RULE).severity, Critical);
        assert_eq!(finding(host_bound(790), &RULE).severity, Warning);
        fine(host_bound(800), &RULE);
    }

    /// Launch times are absent, so the cause of the idle time is unknown, but the host's activity during that time is
    /// known.
    #[test]
    fn idle_devices_name_the_hosts_activity() {
        let evaluated = |duration: i64| {
            let trace = gpu_steps(12, |b, at| {
                let device = b.line("/device:GPU:0", "Stream #7(Compute)");
                b.event(device, "gemm", at + 5, 300);
                let python = b.line("/host:CPU", "python");
                b.event(python, "evaluate", at + 310, duration);
            });
            finding(trace, &RULE)
        };
        let (most, some) = (evaluated(500), evaluated(300));
        assert_eq!(most.title, "Devices are idle for 70.0 % of the time, mostly while the host is in evaluate");
        assert_eq!(some.title, "Devices are idle for 70.0 % of the time");
        assert!(!most.message.contains("other") && some.message.contains("in evaluate for 42.9 %"), "{}", some.message);
    }
}
