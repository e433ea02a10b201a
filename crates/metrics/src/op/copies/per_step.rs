//! Adds up copies by step.

use super::One;
use crate::step::steps::Steps;
use base::{Ps, sort};
use trace::copies::Direction;

const DIRECTIONS: usize = Direction::ALL.len();

/// The copies that start in one step, summed over the devices that ran the step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepCopies {
    /// Index of the step.
    pub step: usize,
    /// Number of the step in the trace, if it has one.
    pub name: Option<String>,
    /// Number of devices that ran the step.
    pub devices: u64,
    /// Sum of durations by direction, in the order of [`Direction::ALL`].
    pub time: [Ps; DIRECTIONS],
    /// Bytes of transfers of known size, by direction.
    pub bytes: [u64; DIRECTIONS],
}

/// Adds up copies by step. A copy belongs to the step whose window on the copy's device contains the start of the copy.
/// Host calls belong to no step.
pub(super) fn by_step(all: &[One], steps: &Steps) -> Vec<StepCopies> {
    if steps.is_empty() || !all.iter().any(|one| one.device.is_some()) {
        return Vec::new();
    }
    let ran = |step: usize| steps.windows.iter().filter(|row| row.get(step).is_some_and(Option::is_some)).count();
    let mut found: Vec<StepCopies> = (0..steps.len())
        .map(|step| StepCopies {
            step,
            name: steps.names.get(step).cloned().flatten(),
            devices: ran(step) as u64,
            ..StepCopies::default()
        })
        .collect();
    // `(start, end, step)` of every device's windows, by start.
    let mut windows: Vec<Vec<(Ps, Ps, usize)>> = Vec::new();
    for row in &steps.windows {
        let present = row.iter().enumerate().filter_map(|(step, window)| Some((step, (*window)?.interval)));
        let mut sorted: Vec<(Ps, Ps, usize)> = present.map(|(step, it)| (it.start, it.end, step)).collect();
        sort::sort_by_key(&mut sorted, |it| *it);
        windows.push(sorted);
    }
    for one in all {
        let Some(windows) = one.device.and_then(|device| windows.get(device)) else { continue };
        let start = one.interval.start;
        let after = windows.partition_point(|&(begin, _, _)| begin <= start);
        let Some(&(_, end, step)) = after.checked_sub(1).and_then(|at| windows.get(at)) else { continue };
        let Some(sums) = found.get_mut(step).filter(|_| start < end) else { continue };
        let direction = one.class.direction as usize;
        if let (Some(time), Some(bytes)) = (sums.time.get_mut(direction), sums.bytes.get_mut(direction)) {
            *time += one.interval.length();
            *bytes = bytes.saturating_add(one.bytes.unwrap_or(0));
        }
    }
    found
}
