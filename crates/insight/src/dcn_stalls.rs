//! Devices stall in collectives between TPU slices.
//!
//! The measure is `megascale.stall_percent`. Severity: note from 5 %, warning from 10 %, critical from 30 % of the devices'
//! time (the limits of exposed communication). Confidence: high. Remedy: give the transfers more slack, or send less data
//! between slices.

use super::draft::Draft;
use super::limits::{BOTTLENECK_PERCENT, OVERHEAD_NOTED_PERCENT, OVERHEAD_PERCENT};
use super::numbers::Numbers;
use super::{Needs, Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule {
    id: "dcn_stalls",
    title: "Devices wait for data from other slices",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

fn check(numbers: &Numbers<'_>) -> Verdict {
    let Some(megascale) = &numbers.context.profile.megascale else { return Verdict::Irrelevant };
    let share = megascale.stall_percent;
    let Some(worst) = megascale.collectives.first().filter(|_| share >= OVERHEAD_NOTED_PERCENT) else {
        return Verdict::Fine;
    };
    let (severity, limit) = match share {
        share if share >= BOTTLENECK_PERCENT => (FindingSeverity::Critical, BOTTLENECK_PERCENT),
        share if share >= OVERHEAD_PERCENT.good => (FindingSeverity::Warning, OVERHEAD_PERCENT.good),
        _ => (FindingSeverity::Note, OVERHEAD_NOTED_PERCENT),
    };
    let needed = worst.required_gb_per_sec.map_or_else(String::new, |rate| {
        format!(
            " Its {} need {} for each device to fit in the slack.",
            format::bytes(worst.net_tx_bytes.unwrap_or(0)),
            format::si(rate * 1e9, "B/s")
        )
    });
    let message = format!(
        "Devices stall in sends and receives between slices for {} of their time. Most of the stall time is in {} \
         ({}): {} per run, with a slack of {}.{needed}",
        format::percent(share),
        format::printable(&worst.rendezvous_name),
        worst.transfer_type.as_deref().map_or("unknown type".to_owned(), format::printable),
        format::time_us(worst.stall_duration_us),
        format::time_us(worst.slack_time_us),
    );
    Draft::new(
        severity,
        Confidence::High,
        &format!("Devices wait for other slices for {} of the time", format::percent(share)),
        message,
    )
    .remedy(
        "If the required bandwidth exceeds the network's, send less between slices: keep only data parallelism across slices \
         (dcn_mesh_shape of jax.experimental.mesh_utils.create_hybrid_device_mesh), and accumulate gradients over several \
         microbatches. If it does not, increase the slack: move work between the send and the recv-done, for example with \
         LIBTPU_INIT_ARGS=--xla_tpu_enable_latency_hiding_scheduler=true.",
    )
    .passed("stall_percent", share, limit)
    .evidence("slack_time_us", worst.slack_time_us)
    .evidence("stall_duration_us", worst.stall_duration_us)
    .at_stake(share)
    .link(View::Communication, "")
    .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, host_bound, says, tpu_steps};
    use report::FindingSeverity::{Critical, Note, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us. The ops of a transfer between slices stall for `stall` us in total.
    fn between_slices(stall: i64) -> Trace {
        tpu_steps(6, |b, at| {
            let line = b.line("/device:TPU:0", "XLA Ops");
            let mut op = |kind: &str, category: &str, at: i64, duration: i64| {
                let text = format!(
                    "%{kind}.1 = (f32[8]{{0}}, token[]) {kind}(%x), channel_id=1, \
                     frontend_attributes={{_xla_host_transfer_rendezvous=\"all-reduce.1\"}}"
                );
                b.event(line, &format!("{kind}.1"), at, duration).hlo_category(category).long_name(&text);
            };
            op("send", "host send", at, 1);
            op("fusion", "loop fusion", at + 1, 998 - stall);
            op("recv-done", "host recv-done", at + 1000 - stall, stall - 1);
        })
    }

    #[test]
    fn fires_above_its_limits() {
        assert_eq!(finding(between_slices(310), &RULE).severity, Critical);
        assert_eq!(finding(between_slices(110), &RULE).severity, Warning);
        let found = finding(between_slices(60), &RULE);
        assert_eq!(found.severity, Note);
        assert!(found.message.contains("all-reduce.1"), "{}", found.message);
        fine(between_slices(45), &RULE);
        assert_eq!(says(host_bound(500), &RULE), Verdict::Irrelevant);
    }
}
