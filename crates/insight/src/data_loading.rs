//! Devices wait for the input pipeline.

use super::draft::{Draft, lacks};
use super::gap;
use super::limits::INPUT_BOUND_PERCENT;
use super::numbers::Numbers;
use super::waiting::idle_share;
use super::{Rule, Verdict};
use base::format;
use metrics::StepPart;
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule = Rule { id: "data_loading", title: "Devices wait for input", check };

fn check(numbers: &Numbers<'_>) -> Verdict {
    let (window, share) =
        match idle_share(numbers, StepPart::InputBound, INPUT_BOUND_PERCENT.good, numbers.lacks_host_events()) {
            Ok(found) => found,
            Err(verdict) => return verdict,
        };
    let Some(input) = &numbers.profile.io_operations else {
        return lacks(&format!(
            "the capture contains no span of an input pipeline. Wrap the code that produces the next batch in {}.",
            numbers.words().next_batch_range
        ));
    };
    if share < INPUT_BOUND_PERCENT.good {
        return Verdict::Fine;
    }
    let critical = share >= INPUT_BOUND_PERCENT.bad;
    let severity = if critical { FindingSeverity::Critical } else { FindingSeverity::Warning };
    let message = format!(
        "Devices wait for input for {} of {} ({}). The input pipeline runs on the host for {} of the time.{}{}",
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
        &format!("Devices wait for input for {} of the time", format::percent(share)),
        message,
    )
    .remedy(&format!(
        "Prepare batches ahead of time, in other threads or processes ({}), and copy the next batch to the device while the step \
         runs ({}).",
        numbers.words().loader,
        numbers.words().copy_ahead
    ))
    .passed("input_bound_percent", share, if critical { INPUT_BOUND_PERCENT.bad } else { INPUT_BOUND_PERCENT.good })
    .evidence("input_bound_us", window.us(share))
    .evidence("io_total_time_us", input.io_total_time_us)
    .at_stake(share)
    .link_to_idle(numbers)
    .fires()
}
