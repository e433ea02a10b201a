//! Connects device ops with annotated steps through their launches: a launch on the host and its ops on the device have
//! the same correlation id.
//!
//! ```text
//! host     [train 0      ]  [train 1      ]
//!           [launch 7]       [launch 8]
//! device             [op 7]            [op 8]
//! step                0                 1
//! ```

use std::collections::BTreeMap;

use super::{Mark, annotations::Annotations, launched::Owners};
use crate::device::devices::Devices;
use base::{Ps, sort};
use trace::{EventColumn, LineKind, Trace};

/// Finds the step of every device op whose launch is inside an annotated step.
pub(super) fn owners(trace: &Trace, devices: &Devices, found: &Annotations) -> Owners {
    let launches = launches_by_host(trace, found);
    let mut owners = Owners::new(trace);
    let host_of_line = host_of_device_lines(trace, devices);
    trace.events.column(EventColumn::Correlation).for_each(|id, correlation| {
        let Some(event) = trace.events.get(id) else { return };
        let host = host_of_line.get(event.line.index()).copied().flatten();
        if let Some(step) = host.and_then(|host| launches.get(&host)).and_then(|launches| launches.step(correlation)) {
            owners.set(id, step);
        }
    });
    owners
}

/// Finds the step of every device op that belongs to the same group as an annotation. XProf assigns the same group
/// number to an annotation and its ops when it post-processes a capture.
pub(super) fn grouped(trace: &Trace, devices: &Devices, found: &Annotations) -> Owners {
    let mut owners = Owners::new(trace);
    let groups = trace.events.column(EventColumn::GroupId);
    let starts = starts_by_host(found);
    let mut steps: BTreeMap<(u16, i64), u32> = BTreeMap::new();
    for (id, _) in trace.events.column(EventColumn::StepNum).iter() {
        let Some((event, group)) = trace.events.get(id).zip(groups.get(id)) else { continue };
        let line = trace.lines.get(event.line.index()).filter(|line| line.kind == LineKind::Host);
        let Some(host) = line.and_then(|line| trace.plane_of(line)).map(|plane| plane.host) else { continue };
        if let Some(step) = starts.get(&host).and_then(|starts| starts.step_at(event.start)) {
            steps.entry((host, group)).or_insert(step);
        }
    }
    if steps.is_empty() {
        return owners;
    }
    let host_of_line = host_of_device_lines(trace, devices);
    groups.for_each(|id, group| {
        let Some(event) = trace.events.get(id) else { return };
        let host = host_of_line.get(event.line.index()).copied().flatten();
        if let Some(&step) = host.and_then(|host| steps.get(&(host, group))) {
            owners.set(id, step);
        }
    });
    owners
}

/// Returns the host of each line that has ops of a device in use.
fn host_of_device_lines(trace: &Trace, devices: &Devices) -> Vec<Option<u16>> {
    let by_plane = devices.by_plane();
    let of_line = |line: &trace::Line| {
        let index = *by_plane.get(&line.plane.index())?;
        let device = devices.used.get(index).filter(|_| line.kind == LineKind::DeviceOps)?;
        Some(device.host)
    };
    trace.lines.iter().map(of_line).collect()
}

#[derive(Debug, Default)]
struct Launches {
    /// `(correlation id, step)`, sorted by id.
    sorted: Vec<(i64, u32)>,
    /// Lookup table if the ids are dense: the step plus one, or 0 for no step, indexed by `id - first`.
    dense: Vec<u32>,
}

impl Launches {
    fn finish(&mut self) {
        if !self.sorted.is_sorted() {
            sort::numbers_of(&mut self.sorted);
        }
        let (Some(first), Some(last)) = (self.sorted.first(), self.sorted.last()) else { return };
        let (first, span) = (first.0, last.0.abs_diff(first.0));
        if span > self.sorted.len() as u64 * 4 {
            return;
        }
        self.dense = vec![0; span as usize + 1];
        // Iterates backwards, so that the first of several launches with one id takes precedence, as in the search.
        for &(id, step) in self.sorted.iter().rev() {
            if let Some(slot) = self.dense.get_mut(id.abs_diff(first) as usize) {
                *slot = step + 1;
            }
        }
    }

    fn step(&self, correlation: i64) -> Option<u32> {
        let first = self.sorted.first()?.0;
        if self.dense.is_empty() {
            let at = self.sorted.partition_point(|&(id, _)| id < correlation);
            return self.sorted.get(at).filter(|&&(id, _)| id == correlation).map(|&(_, step)| step);
        }
        let at = usize::try_from(correlation.checked_sub(first)?).ok()?;
        self.dense.get(at)?.checked_sub(1)
    }
}

/// Returns the launches inside annotated steps. The step of a launch is the launch's own `step_num`. A launch without
/// `step_num` belongs to the step of the last annotation that started before the launch. Launches after the end of the
/// last annotation belong to no step.
fn launches_by_host(trace: &Trace, found: &Annotations) -> BTreeMap<u16, Launches> {
    let host_of_line: Vec<Option<u16>> = trace
        .lines
        .iter()
        .map(|line| trace.plane_of(line).filter(|_| line.kind == LineKind::Host).map(|plane| plane.host))
        .collect();
    let starts = starts_by_host(found);
    let step_of_number = match found.distinct_numbers {
        Some(_) => BTreeMap::new(),
        None => sort::map(found.numbers.iter().copied().zip(0u32..)),
    };
    let mut step_nums = trace.events.column(EventColumn::StepNum).iter().peekable();
    let mut hosts: BTreeMap<u16, Launches> = BTreeMap::new();
    trace.events.column(EventColumn::Correlation).for_each(|id, correlation| {
        let Some(event) = trace.events.get(id) else { return };
        let Some(&Some(host)) = host_of_line.get(event.line.index()) else { return };
        while step_nums.next_if(|&(other, _)| other < id).is_some() {}
        let own = step_nums.peek().filter(|&&(other, _)| other == id).and_then(|(_, n)| step_of_number.get(n).copied());
        let by_time = || starts.get(&host).and_then(|starts| starts.step_at(event.start));
        if let Some(step) = own.or_else(by_time) {
            hosts.entry(host).or_default().sorted.push((correlation, step));
        }
    });
    hosts.values_mut().for_each(Launches::finish);
    hosts
}

pub(super) fn starts_by_host(found: &Annotations) -> BTreeMap<u16, Starts> {
    sort::map(found.by_host.iter().map(|(&host, marks)| (host, Starts::new(marks))))
}

pub(super) struct Starts {
    starts: Vec<(Ps, u32)>,
    end: Ps,
}

impl Starts {
    fn new(marks: &[Option<Mark>]) -> Starts {
        let present = || marks.iter().zip(0u32..).filter_map(|(mark, step)| mark.map(|mark| (mark.interval, step)));
        let mut starts: Vec<(Ps, u32)> = present().map(|(interval, step)| (interval.start, step)).collect();
        sort::sort_by_key(&mut starts, |it| *it);
        Starts { starts, end: present().map(|(interval, _)| interval.end).max().unwrap_or_default() }
    }

    /// Returns the step that began last before `time`. Returns `None` before the first annotation and after the end of the last
    /// annotation.
    pub(super) fn step_at(&self, time: Ps) -> Option<u32> {
        let after = self.starts.partition_point(|&(start, _)| start <= time);
        let (_, step) = self.starts.get(after.checked_sub(1)?)?;
        (time < self.end).then_some(*step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_and_sparse_ids_are_found_alike() {
        let launches = |ids: &[(i64, u32)]| {
            let mut launches = Launches { sorted: ids.to_vec(), dense: Vec::new() };
            launches.finish();
            launches
        };
        let dense = launches(&[(12, 1), (10, 0), (12, 2), (11, 0)]);
        let sparse = launches(&[(12_000_000, 1), (i64::MIN, 0), (i64::MAX, 2)]);
        assert!(!dense.dense.is_empty() && sparse.dense.is_empty());
        assert_eq!([9, 10, 11, 12, 13].map(|id| dense.step(id)), [None, Some(0), Some(0), Some(1), None]);
        assert_eq!([i64::MIN, 0, 12_000_000, i64::MAX].map(|id| sparse.step(id)), [Some(0), None, Some(1), Some(2)]);
        assert_eq!(dense.step(i64::MIN), None);
    }
}
