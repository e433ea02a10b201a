//! What a device does at each instant: computes, communicates, moves data, or nothing.

use crate::metrics::categories::{Categorizer, OpClass};
use crate::metrics::devices::Device;
use crate::metrics::self_time::for_each_self_interval;
use crate::trace::{Interval, IntervalSet, Trace};

/// The parts of a device's busy time; they do not overlap, and their union is the busy time.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    /// At least one compute op runs.
    pub compute: IntervalSet,
    /// Communication runs and no compute hides it.
    pub communication: IntervalSet,
    /// Copies or fills run and neither compute nor communication hides them.
    pub transfer: IntervalSet,
}

/// Intervals of one line by class, in order.
type LineParts = [Vec<Interval>; 3];

/// The parts of `device`. On each line only the innermost op counts at any instant, so that a `while` does not hide
/// the communication inside it; lines (streams) run beside each other.
///
/// ```text
/// line 1   [while (compute)                )
///             [all-reduce)   [fusion)
/// self     [C-)[M--------)[C-)[C----)[C----)
/// line 2              [copy---)
/// parts    [C-)[M--------)[C---------------)     the copy is hidden
/// ```
pub(super) fn parts<'a>(trace: &'a Trace, device: &Device, categories: &mut Categorizer<'a>) -> Parts {
    let mut lines: Vec<LineParts> = Vec::new();
    lines.resize_with(trace.lines.len(), LineParts::default);
    for_each_self_interval(trace, &device.ops, |op, interval| {
        let Some(event) = device.ops.get(op).and_then(|&id| trace.events.get(id)) else { return };
        let category = categories.of(event.name, event.args);
        let Some([compute, communication, transfer]) = lines.get_mut(event.line.index()) else { return };
        let list = match categories.class(category) {
            OpClass::Compute => compute,
            OpClass::Communication => communication,
            OpClass::Transfer => transfer,
        };
        // Joined at once where they touch: back-to-back ops are the rule, and this halves what is kept of them.
        match list.last_mut().filter(|last| last.end == interval.start) {
            Some(last) => last.end = interval.end,
            None => list.push(interval),
        }
    });
    let mut sums: [IntervalSet; 3] = Default::default();
    for line in lines {
        for (sum, intervals) in sums.iter_mut().zip(line).filter(|(_, intervals)| !intervals.is_empty()) {
            let set = IntervalSet::union_of(intervals);
            *sum = if sum.is_empty() { set } else { sum.union(&set) };
        }
    }
    let [compute, communication, transfer] = sums;
    let communication = communication.difference(&compute);
    let transfer = transfer.difference(&compute).difference(&communication);
    Parts { compute, communication, transfer }
}
