//! Builds the communication section of the report.

use super::Collectives;
use crate::device::devices::Devices;
use base::Ps;
use report::{Communication, CommunicationApart, CommunicationKind, CommunicationOp};
use trace::Trace;

const TOP_OPS: usize = 50;

/// Builds the section. Returns `None` if there is no communication.
pub(crate) fn section(trace: &Trace, devices: &Devices, all: &Collectives) -> Option<Communication> {
    if all.runs.is_empty() && all.apart.is_empty() {
        return None;
    }
    let sums = &all.sums;
    let compared = |time: Ps| (sums.compared > 0).then(|| time.as_us());
    let straggler = all.straggler();
    let kinds = all.kinds().into_iter().map(|(kind, sums)| CommunicationKind {
        kind: kind.to_owned(),
        count: sums.occurrences,
        total_time_us: sums.total.as_us(),
        exposed_time_us: sums.exposed.as_us(),
    });
    let ops = all.ops.iter().take(TOP_OPS).map(|op| CommunicationOp {
        name: trace.text(op.name).to_owned(),
        kind: op.kind.to_owned(),
        count: op.sums.occurrences,
        total_time_us: op.sums.total.as_us(),
        exposed_time_us: op.sums.exposed.as_us(),
        bytes: op.message.bytes,
        group_size: op.message.group_size.map(u64::from),
        algorithm_gb_per_sec: op.algorithm_gb_per_sec(),
        bus_gb_per_sec: op.bus_gb_per_sec(),
    });
    let apart = all.apart.iter().take(TOP_OPS).map(|one| CommunicationApart {
        name: trace.text(one.name).to_owned(),
        kind: one.kind.to_owned(),
        track: one.track.label().to_owned(),
        count: one.count,
        total_time_us: one.total.as_us(),
        exposed_time_us: one.exposed.map(Ps::as_us),
        bytes: one.bytes,
    });
    Some(Communication {
        num_collectives: sums.occurrences,
        total_time_us: sums.total.as_us(),
        exposed_time_us: sums.exposed.as_us(),
        hidden_percent: all.hidden_percent(),
        wait_time_us: compared(sums.wait),
        transfer_time_us: compared(sums.transfer),
        straggler: straggler.and_then(|(device, _)| Some(devices.used.get(device)?.name.clone())),
        straggler_percent: straggler.map(|(_, share)| 100.0 * share),
        kinds: kinds.collect(),
        top_ops: ops.collect(),
        apart: apart.collect(),
    })
}
