//! Some devices have more work for their experts than others.
//!
//! The measure is `experts.lost_percent`: the time that an equal share of the work for each device would save.
//! Severity: note from 5 %, warning from 10 %, critical from 50 % of the window (the JAX guide's limit for overheads).
//! The finding has the same confidence as the measured imbalance. The rule is skipped for a single device, because its
//! experts do not wait for each other. Remedy: balance the routing, or the placement of experts.

use super::draft::Draft;
use super::limits::{OVERHEAD_NOTED_PERCENT, OVERHEAD_PERCENT};
use super::numbers::Numbers;
use super::{Needs, Rule, Verdict};
use base::format;
use report::{FindingSeverity, View};

pub(super) static RULE: Rule = Rule {
    id: "expert_imbalance",
    title: "Experts have unequal loads",
    needs: Needs::Whole,
    ..Rule::checked_by(check)
};

fn check(numbers: &Numbers<'_>) -> Verdict {
    let Some(experts) = &numbers.context.profile.experts else { return Verdict::Irrelevant };
    let Some((lost, ratio)) = experts.lost_percent.zip(experts.device_max_to_mean) else {
        return Verdict::Irrelevant;
    };
    if lost < OVERHEAD_NOTED_PERCENT {
        return Verdict::Fine;
    }
    let (severity, limit) = match lost >= OVERHEAD_PERCENT.good {
        true => OVERHEAD_PERCENT.severity(lost),
        false => (FindingSeverity::Note, OVERHEAD_NOTED_PERCENT),
    };
    let message = format!(
        "The device whose experts have the most work spends {} longer on them than the average device. This costs up to {} of \
         the time. {}",
        format::percent(100.0 * (ratio - 1.0)),
        format::percent(lost),
        format::printable(&experts.evidence)
    );
    Draft::new(
        severity,
        experts.confidence,
        &format!("Unequal expert loads cost {} of the time", format::percent(lost)),
        message,
    )
    .remedy(
        "Balance the routing: an auxiliary load-balancing loss, or a router bias for each expert. Limit the tokens \
         of an expert with a capacity factor, or place experts with many tokens on different devices and replicate \
         the most loaded.",
    )
    .passed("lost_percent", lost, limit)
    .evidence("device_max_to_mean", ratio)
    .evidence_where("token_max_to_mean", experts.token_max_to_mean)
    .at_stake(lost)
    .link(View::Devices, "")
    .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, host_bound, says};
    use report::FindingSeverity::{Note, Warning};
    use trace::{Trace, TraceBuilder};

    /// Builds four devices. One of the devices spends `more` us longer on its experts than the others, in a window of
    /// 1000 us.
    fn devices(more: i64) -> Trace {
        let mut b = TraceBuilder::new();
        for device in 0..4 {
            let line = b.line(&format!("/device:TPU:{device}"), "XLA Ops");
            let duration = if device == 1 { 200 + more } else { 200 };
            b.event(line, "fusion.1", 0, duration).hlo_category("loop fusion").tf_op("jit(f)/experts/dot_general");
            b.event(line, "fusion.2", 600, 400).hlo_category("loop fusion");
        }
        b.build()
    }

    #[test]
    fn fires_above_its_limits() {
        // The mean over the devices grows by a quarter of `more`.
        assert_eq!(finding(devices(160), &RULE).severity, Warning);
        assert_eq!(finding(devices(80), &RULE).severity, Note);
        fine(devices(60), &RULE);
        assert_eq!(says(host_bound(500), &RULE), Verdict::Irrelevant);
    }
}
