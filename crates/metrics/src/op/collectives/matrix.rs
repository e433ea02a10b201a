//! Counts the bytes that each pair of devices exchanges.

use super::{Collectives, Run, bus_factor};

/// `bytes[from][to]`, indexed by devices in use.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Bytes sent, with one row per sending device.
    pub bytes: Vec<Vec<f64>>,
}

/// Maximum number of devices in the matrix. A larger matrix is unreadable.
const MOST_DEVICES: usize = 256;

impl Matrix {
    /// Adds up the bytes that each run sends. A permute sends to its targets. Any other collective sends the bytes that
    /// its links carry ([`bus_factor`]), spread evenly over the other members of the group. Returns `None` if the bytes
    /// or groups of a run are unknown. Also returns `None` if a member is not a device in use, which happens if the
    /// capture lacks the member's host.
    pub(super) fn new(all: &Collectives) -> Option<Matrix> {
        let devices = all.devices.len();
        if all.runs.is_empty() || !(2..=MOST_DEVICES).contains(&devices) {
            return None;
        }
        let mut bytes = vec![vec![0.0; devices]; devices];
        all.runs.iter().try_for_each(|run| add(all, run, &mut bytes))?;
        Some(Matrix { bytes })
    }
}

fn add(all: &Collectives, run: &Run, bytes: &mut [Vec<f64>]) -> Option<()> {
    let op = all.ops.get(run.op as usize)?;
    let message = &op.message;
    // A run that an edge of the window cuts is included by its share inside the window.
    let runs = f64::from(u8::from(run.counts)) + run.parts as f64 / 1e9;
    let sent = message.bytes? as f64 * runs;
    let row = bytes.get_mut(run.device as usize)?;
    let members = all.members_of(op)?;
    let own = members.number(run.device)?;
    if !message.pairs.is_empty() {
        for &(_, to) in message.pairs.iter().filter(|&&(from, _)| from == own) {
            *row.get_mut(members.device(to)? as usize)? += sent;
        }
        return Some(());
    }
    let group = message.groups.as_ref()?.iter().find(|group| group.contains(&own))?;
    let others = group.iter().filter(|&&number| number != own);
    let each = sent * bus_factor(op.kind, u32::try_from(group.len()).ok())? / (group.len().max(2) - 1) as f64;
    for &to in others {
        *row.get_mut(members.device(to)? as usize)? += each;
    }
    Some(())
}
