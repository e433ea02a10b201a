//! Communication takes much of the step, whether computation overlaps it or not.
//!
//! The measure is the self time of all communication as a share of the window. Severity: warning from 30 % (XProf). Confidence:
//! high.

use super::avoidable_collectives::AVOIDABLE_COLLECTIVES;
use super::draft::{Draft, lacks};
use super::limits::BOTTLENECK_PERCENT;
use super::numbers::{Numbers, is_communication};
use super::{
    Needs, Rule, Verdict, gradient_synchronization, small_collectives, straggler_device, unhidden_collectives,
};
use base::format;
use report::{Confidence, FindingSeverity};

pub(super) static RULE: Rule = Rule {
    id: "collective_bound",
    title: "Communication takes much of the time",
    needs: Needs::AllLines,
    // Devices wait for a slow device inside collectives.
    explained_by: &[
        &AVOIDABLE_COLLECTIVES,
        &[
            &small_collectives::RULE,
            &gradient_synchronization::RULE,
            &unhidden_collectives::RULE,
            &straggler_device::RULE,
        ],
    ],
    ..Rule::checked_by(check)
};

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.communicates() {
        return Verdict::Irrelevant;
    }
    let Some(window) = numbers.window() else { return lacks("too few device ops ran. Capture several steps.") };
    let of_ops = numbers.category_percent(&is_communication);
    let share = of_ops * window.busy_percent / 100.0;
    if share < BOTTLENECK_PERCENT {
        return Verdict::Fine;
    }
    let (view, filter) = numbers.link_to_communication(&is_communication);
    let message = format!(
        "Collectives, sends and receives take {} of the op time: {} of {}.",
        format::percent(of_ops),
        format::time_us(window.us(share)),
        window.words()
    );
    Draft::new(FindingSeverity::Warning, Confidence::High, "Communication takes much of the time", message)
        .remedy(
            "Send less: shard the weights and the batch differently, or use bfloat16 instead of float32, or larger \
             batches per device. Then overlap the remaining communication with computation.",
        )
        .passed("communication_percent", share, BOTTLENECK_PERCENT)
        .at_stake(share)
        .link(view, &filter)
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{communicating, finding, fine};
    use report::FindingSeverity::Warning;

    #[test]
    fn fires_above_its_limit() {
        let gather = "ncclDevKernel_AllGather_RING_LL(ncclDevComm*)";
        assert_eq!(finding(communicating(gather, 310), &RULE).severity, Warning);
        fine(communicating(gather, 290), &RULE);
    }
}
