//! Devices wait for the host to launch the next op.

use super::draft::{Draft, lacks};
use super::gap;
use super::host_side::BothWait;
use super::limits::HOST_BOUND_PERCENT;
use super::numbers::Numbers;
use super::waiting::idle_share;
use super::{Rule, Verdict};
use base::format;
use metrics::StepPart;
use report::{Confidence, FindingSeverity};
use trace::Platform;

pub(super) const RULE: Rule = Rule { id: "host_overhead", title: "Devices wait for the host", check };

/// Share from which the evidence names this limit (JAX guide: bad above 20 %). It does not change the severity.
const BAD_PERCENT: f64 = 20.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let (window, share) =
        match idle_share(numbers, StepPart::HostBound, HOST_BOUND_PERCENT.good, lacks_launches(numbers)) {
            Ok(found) => found,
            Err(verdict) => return verdict,
        };
    if share < HOST_BOUND_PERCENT.good {
        return Verdict::Fine;
    }
    let (severity, limit) = match share {
        share if share >= HOST_BOUND_PERCENT.bad => (FindingSeverity::Critical, HOST_BOUND_PERCENT.bad),
        share if share >= BAD_PERCENT => (FindingSeverity::Warning, BAD_PERCENT),
        _ => (FindingSeverity::Warning, HOST_BOUND_PERCENT.good),
    };
    let message = format!(
        "Devices wait for the host for {} of {} ({}): it launches the next op only after the previous one has ended.{}{}",
        format::time_us(window.us(share)),
        window.words(),
        format::percent(share),
        gap::sentence(numbers),
        numbers.host_meanwhile()
    );
    let both = numbers.both_wait();
    let title = match both.map(BothWait::for_what) {
        Some(Some(what)) => format!("Devices and host wait for {what} for {} of the time", format::percent(share)),
        Some(None) => format!("Devices and host both wait for {} of the time", format::percent(share)),
        None => format!("Devices wait for the host for {} of the time", format::percent(share)),
    };
    let remedy = both.map_or_else(
        || {
            format!(
                "Let the host run ahead of the devices: do not read results in every step ({}), compile the whole step with one \
                 {}, and prepare input in another thread. The timeline shows the host's activity in the gaps.",
                numbers.words().reads,
                numbers.words().compiler
            )
        },
        |both| both.remedy(numbers),
    );
    Draft::new(severity, Confidence::High, &title, message)
        .remedy(&remedy)
        .passed("host_bound_percent", share, limit)
        .evidence("host_bound_us", window.us(share))
        .evidence("idle_percent", window.idle_percent())
        .at_stake(share)
        .link_to_idle(numbers)
        .fires()
}

/// Returns the verdict for a capture without launches. XLA's CPU backend has none.
fn lacks_launches(numbers: &Numbers<'_>) -> Verdict {
    if numbers.platform == Some(Platform::Cpu) {
        return Verdict::Irrelevant;
    }
    lacks(&format!(
        "the capture does not contain the launches of the ops that follow idle time. Capture with {}.",
        numbers.words().host_events
    ))
}
