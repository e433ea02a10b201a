//! Devices wait for the input pipeline.

use super::draft::{Draft, lacks};
use super::gap;
use super::numbers::Numbers;
use super::waiting::idle_share;
use super::{Rule, Verdict};
use base::format;
use metrics::StepPart;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "data_loading", title: "Devices wait for input", check };

/// Share of the window (XProf, input-bound suggestion: 10 % of the step; the checklist: "long gaps = data loading issues").
const WARNING_PERCENT: f64 = 10.0;
/// From this share on waiting for input is most of what there is to win (XProf calls a step with 20 % and more highly
/// input-bound; ours is the complement of the JAX guide's 80 % busy twice over).
const CRITICAL_PERCENT: f64 = 40.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let (window, share) = match idle_share(numbers, StepPart::InputBound, WARNING_PERCENT, numbers.lacks_host_events())
    {
        Ok(found) => found,
        Err(verdict) => return verdict,
    };
    let Some(input) = &numbers.profile.io_operations else {
        return lacks(&format!(
            "no span of an input pipeline is in the capture. Wrap the code that makes the next batch in {}.",
            numbers.words().next_batch_range
        ));
    };
    if share < WARNING_PERCENT {
        return Verdict::Fine;
    }
    let critical = share >= CRITICAL_PERCENT;
    let severity = if critical { FindingSeverity::Critical } else { FindingSeverity::Warning };
    let message = format!(
        "Devices wait {} of {} ({}) while the host is in the input pipeline, which runs for {} of the time.{}{}",
        format::time_us(window.us(share)),
        window.words(),
        format::percent(share),
        format::percent(input.io_percent),
        gap::sentence(numbers),
        numbers.host_meanwhile()
    );
    Draft::new(
        severity,
        Confidence::High,
        &format!("Devices wait for input {} of the time", format::percent(share)),
        message,
    )
    .remedy(&format!(
        "Prepare batches ahead, in other threads or processes ({}), and copy the next batch to the device while the step runs ({}).",
        numbers.words().loader,
        numbers.words().copy_ahead
    ))
    .passed("input_bound_percent", share, if critical { CRITICAL_PERCENT } else { WARNING_PERCENT })
    .evidence("input_bound_us", window.us(share))
    .evidence("io_total_time_us", input.io_total_time_us)
    .at_stake(share)
    .link_to_idle(numbers)
    .fires()
}
