//! Finds the ops of asynchronous pairs. The work of a pair lasts from the start of the first op to the end of the
//! second, not only during the two ops. The trace records the cost of the work on both ops.
//!
//! ```text
//! XLA Ops   [copy-start.3)[fusion      )[copy-done.3)
//!            0.004 us                    0 us              4 GiB in 0.004 us is not a rate
//! work      [---------------------------------------)      4 GiB in this time is one
//! ```
//!
//! GPUs have no asynchronous pairs: the kernel or copy of a start op is the work itself.

use rustc_hash::FxHashMap;

use super::{Op, Ops, Pair, PairRole};
use crate::device::device_time::async_pairs::{PairOp, for_each_pair, pair_role};
use crate::device::devices::Devices;
use base::{Ps, sort};
use trace::{Platform, Trace};

/// Sets [`Op::pair`] of every op that belongs to a pair. Reads the events only if at least one op belongs to a pair.
pub(super) fn find_pairs(trace: &Trace, devices: &Devices, ops: &mut Ops) {
    if devices.platform == Some(Platform::Gpu) {
        return;
    }
    let mut rows: FxHashMap<PairOp, u32> = FxHashMap::default();
    for &((name, args), row) in &ops.entries {
        let Some(role) = pair_role(trace, name, args) else { continue };
        rows.insert((name, args), row);
        if let Some(op) = ops.rows.get_mut(row as usize) {
            op.pair = Some(Pair { role, count: 0, time: Ps::ZERO, repeats: false });
        }
    }
    if rows.is_empty() {
        return;
    }
    let mut partners: Vec<(u32, u32)> = Vec::new();
    for device in &devices.used {
        for_each_pair(trace, device, |starting, waiting, interval| {
            let (Some(&a), Some(&b)) = (rows.get(&starting), rows.get(&waiting)) else { return };
            for row in [a, b] {
                if let Some(pair) = ops.rows.get_mut(row as usize).and_then(|op| op.pair.as_mut()) {
                    pair.count += 1;
                    pair.time += interval.length();
                }
            }
            if partners.last() != Some(&(a, b)) {
                partners.push((a, b));
            }
        });
    }
    sort::sort_by(&mut partners, Ord::cmp);
    partners.dedup();
    for (starting, waiting) in partners {
        let Some(start) = ops.rows.get(starting as usize).copied() else { continue };
        if let Some(wait) = ops.rows.get_mut(waiting as usize) {
            share(&start, wait);
        }
    }
}

/// Marks the cost of the waiting op as a repetition of the starting op's cost.
fn share(start: &Op, wait: &mut Op) {
    let has_cost = |op: &Op| op.bytes.is_some() || op.flops.is_some();
    let repeats = has_cost(start) && has_cost(wait);
    if let Some(pair) = wait.pair.as_mut().filter(|pair| repeats && pair.role == PairRole::Waits) {
        pair.repeats = true;
    }
}
