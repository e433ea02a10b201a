//! The SparseCores of a TPU are busy for much of the step.
//!
//! TPU only: at least one SparseCore of a chip is busy for 10 % of the chip's active span (XProf). Severity: note. Confidence:
//! medium, because the TensorCore may compute at the same time.

use std::collections::BTreeMap;

use super::draft::Draft;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::{Ps, format};
use report::{Confidence, FindingSeverity, View};
use trace::{Interval, IntervalSet, PlaneKind};

pub(super) static RULE: Rule =
    Rule { id: "sparse_core", title: "SparseCores are busy for much of the time", ..Rule::checked_by(check) };

/// Minimum share of the devices' window for a note (XProf, SparseCore suggestion: 10 % of the step).
const NOTE_PERCENT: f64 = 10.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let planes = &numbers.trace.planes;
    if !numbers.is_tpu() || !planes.iter().any(|plane| matches!(plane.kind, PlaneKind::SparseCore { .. })) {
        return Verdict::Irrelevant;
    }
    let share = busy_percent(numbers);
    if share < NOTE_PERCENT {
        return Verdict::Fine;
    }
    let message = format!(
        "At least one SparseCore of a chip is busy for {} of the time between the chip's first and last op.",
        format::percent(share)
    );
    Draft::new(
        FindingSeverity::Note,
        Confidence::Medium,
        &format!("SparseCores are busy for {} of the time", format::percent(share)),
        message,
    )
    .remedy(
        "Check on the timeline that the TensorCore computes meanwhile. If it waits, use fewer or smaller embedding lookups per \
         step, split the tables over all SparseCores, or pipeline the embeddings.",
    )
    .passed("sparse_core_percent", share, NOTE_PERCENT)
    .link(View::Devices, "")
    .fires()
}

/// Returns the share of the window during which at least one SparseCore of a chip is busy, over all chips that use
/// SparseCores.
fn busy_percent(numbers: &Numbers<'_>) -> f64 {
    let (mut busy, mut span) = (Ps::ZERO, Ps::ZERO);
    let (trace, devices) = (numbers.trace, &numbers.context.analysis.devices);
    let mut planes: BTreeMap<(u16, u32), Vec<usize>> = BTreeMap::new();
    for (index, plane) in trace.planes.iter().enumerate() {
        if let PlaneKind::SparseCore { ordinal } = plane.kind {
            planes.entry((plane.host, ordinal)).or_default().push(index);
        }
    }
    for device in &devices.used {
        let of_chip = planes.get(&(device.host, device.ordinal)).into_iter().flatten();
        let lines = of_chip.flat_map(|&plane| devices.by_line.lines_of(trace, plane));
        let times = lines.flat_map(|(.., events)| events.iter()).filter_map(|id| trace.events.time(id));
        let union = IntervalSet::union_of(times.map(|(start, length)| Interval::new(start, start + length)));
        if !union.is_empty() {
            busy += union.intersection(&device.window).length();
            span += device.window.length();
        }
    }
    if span > Ps::ZERO { 100.0 * busy.as_ps() as f64 / span.as_ps() as f64 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, says, three_ops, with_sparse_cores};
    use report::FindingSeverity::Note;

    #[test]
    fn fires_above_its_limit() {
        assert_eq!(finding(with_sparse_cores(100, 10), &RULE).severity, Note);
        fine(with_sparse_cores(99, 10), &RULE);
        assert_eq!(says(three_ops("gather", 10), &RULE), Verdict::Irrelevant);
    }
}
