//! Finds the op that makes one step longer than another: the op with the largest increase of self time on the same
//! device.

use std::collections::BTreeMap;

use crate::Context;
use crate::device::self_time::for_each_self_interval;
use crate::step::step_breakdown::StepRow;
use base::Ps;
use trace::{Interval, StrId};

/// Returns the op with the largest increase of self time from `usual` to `long`, and the increase. The two steps must
/// be on the same device. `None` if no op takes longer.
pub fn grown_op(context: &Context<'_>, long: &StepRow, usual: &StepRow) -> Option<(String, Ps)> {
    let trace = context.captured_trace();
    let device = context.analysis.captured.used.get(long.device as usize).filter(|_| long.device == usual.device)?;
    let windows = [long, usual].map(|row| Interval::new(row.start, row.start + row.duration));
    let mut times: BTreeMap<StrId, [Ps; 2]> = BTreeMap::new();
    for_each_self_interval(trace, device, |op, interval| {
        for (at, window) in windows.iter().enumerate() {
            let Some(inside) = interval.clip(*window) else { continue };
            let Some(event) = device.ops.get(op).and_then(|&id| trace.events.get(id)) else { continue };
            if let Some(time) = times.entry(event.name).or_default().get_mut(at) {
                *time += inside.length();
            }
        }
    });
    let growth = times.into_iter().map(|(name, [long, usual])| (long - usual, trace.text(name)));
    let (more, name) = growth.max_by(|a, b| a.0.cmp(&b.0).then_with(|| b.1.cmp(a.1)))?;
    (more > Ps::ZERO).then(|| (name.to_owned(), more))
}
