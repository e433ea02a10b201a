//! Finds the groups of collectives from their times if the file does not record the groups. The devices of a group end
//! a collective together.
//!
//! ```text
//! device 0   [===== all-reduce =====)            \  end together in every run: a group
//! device 1          [== all-reduce ==)           /
//! device 2   [=== all-reduce ===)                \  another one
//! device 3     [= all-reduce ===)                /
//! ```
//!
//! Trace JSON contains no replica groups. Collectives of one program are matched across devices by name, run and
//! sequence. A collective ends on all devices of a group at the same time. Devices therefore form a group if nearly all
//! of their runs overlap and end together. If no other device's runs end together with a device's runs, the device is
//! in no group, and its runs are not compared.

use rustc_hash::FxHashMap;

use super::members::Members;
use super::waits::matched;
use super::{CollectiveOp, Run};
use base::Ps;

/// Ends of runs are treated as equal if they differ by at most this time. We chose this limit because a collective's
/// kernels on one host end within a few microseconds of each other.
const SAME_END: Ps = Ps::new(5_000_000);
/// The ends of long runs may differ by more: by the length of the shorter run divided by this number, but by no more
/// than [`MOST_APART`]. We chose both limits.
const PART_OF_RUN: i64 = 10;
const MOST_APART: Ps = Ps::new(100_000_000);
/// Minimum number of runs, out of ten, that must end together. We chose this limit because the profiler may lose or
/// misplace an event.
const MOST_OF_TEN: usize = 9;

/// Finds groups for the ops whose groups the file does not record. `devices` is the number of devices in use.
pub(super) fn find_groups(ops: &mut [CollectiveOp], members: &mut Vec<Members>, runs: &[Run], devices: usize) {
    let is_unstated = |op: &CollectiveOp| {
        let unknown = members.get(op.members as usize).is_some_and(Members::are_unknown);
        unknown && op.message.groups.is_none() && op.message.pairs.is_empty()
    };
    let mut lists: FxHashMap<u32, Vec<Vec<u32>>> = FxHashMap::default();
    let unstated: Vec<bool> = ops.iter().map(is_unstated).collect();
    for (at, run) in (0u32..).zip(runs) {
        if run.parts != 0 || unstated.get(run.op as usize) != Some(&true) {
            continue;
        }
        let of_op = lists.entry(run.op).or_insert_with(|| vec![Vec::new(); devices]);
        if let Some(list) = of_op.get_mut(run.device as usize) {
            list.push(at);
        }
    }
    for (op, at) in ops.iter_mut().zip(0u32..) {
        let Some(found) = lists.get(&at).and_then(|of_device| groups(of_device, runs)) else { continue };
        let largest = |size: u32| found.sizes.iter().all(|&found| found <= size as usize);
        if op.message.group_size.is_some_and(|size| !largest(size)) {
            continue;
        }
        let shown = Members::of_groups(found.of_device);
        let place = members.iter().position(|known| *known == shown).unwrap_or_else(|| {
            members.push(shown);
            members.len() - 1
        });
        op.members = u32::try_from(place).unwrap_or(u32::MAX);
    }
}

/// Groups found from the times of runs.
struct Shown {
    of_device: Vec<Option<u32>>,
    sizes: Vec<usize>,
}

/// Finds the groups of one op, whose runs are listed by device. Returns `None` if no two devices end together.
fn groups(of_device: &[Vec<u32>], runs: &[Run]) -> Option<Shown> {
    let mut groups: Vec<(&Vec<u32>, Vec<usize>)> = Vec::new();
    for (device, list) in of_device.iter().enumerate().filter(|(_, list)| !list.is_empty()) {
        match groups.iter_mut().find(|(first, _)| end_together(first, list, runs)) {
            Some((_, devices)) => devices.push(device),
            None => groups.push((list, vec![device])),
        }
    }
    groups.retain(|(_, devices)| devices.len() > 1);
    let mut shown = Shown { of_device: vec![None; of_device.len()], sizes: Vec::new() };
    for (number, (_, devices)) in (0u32..).zip(&groups) {
        for &device in devices {
            if let Some(slot) = shown.of_device.get_mut(device) {
                *slot = Some(number);
            }
        }
        shown.sizes.push(devices.len());
    }
    (!groups.is_empty()).then_some(shown)
}

/// Returns true if nearly all runs of two devices overlap and end together.
fn end_together(first: &[u32], second: &[u32], runs: &[Run]) -> bool {
    let pairs = matched(&[(0, first.to_vec()), (1, second.to_vec())], runs);
    let fewest = first.len().min(second.len());
    let run = |at: Option<&u32>| runs.get(*at? as usize);
    let same = pairs.iter().filter(|pair| {
        let (Some(a), Some(b)) = (run(pair.first()), run(pair.get(1))) else { return false };
        let apart = Ps::new((a.end() - b.end()).as_ps().abs());
        let shorter = a.duration.min(b.duration);
        let allowed = Ps::new(shorter.as_ps() / PART_OF_RUN).max(SAME_END).min(MOST_APART);
        apart <= allowed && a.start.max(b.start) < a.end().min(b.end())
    });
    same.count() * 10 >= fewest * MOST_OF_TEN
}
