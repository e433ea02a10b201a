//! Finds the runs of the module (compiled program) that takes the most device time.
//!
//! Reads the `XLA Modules` line of a device. If the devices lack this line (CPU backend), reads the ops that have both
//! `hlo_module` and `run_id`. GPU kernels name their module but not its run. Nothing reliable distinguishes one run
//! from the next, so no runs are found on GPUs.

use std::collections::BTreeMap;

use super::{Mark, align::Aligned, rhythm};
use crate::device::devices::{Device, Devices, cpu_op_ordinal, interval};
use base::format::{percent, shorten};
use base::{Ps, sort};
use trace::{EventColumn, Interval, LineKind, PlaneKind, Trace};

#[derive(Clone, Debug)]
pub(super) struct Runs {
    /// Name of the module, without fingerprint.
    pub module: String,
    /// `marks[device]`, by start. The key is the run id.
    pub marks: Vec<Vec<Mark>>,
    /// Share of the time of all modules that this module takes between its first and last run, from 0 to 1.
    share: f64,
}

impl Runs {
    /// Returns the runs as marks of `count` annotated steps. Each step has the same number of runs on every device that
    /// has runs. `None` if the numbers do not fit.
    pub(super) fn per_step(&self, count: usize) -> Option<Aligned> {
        let fits = |runs: &Vec<Mark>| count > 0 && runs.len().is_multiple_of(count);
        if !self.marks.iter().all(fits) {
            return None;
        }
        let steps =
            |runs: &Vec<Mark>| {
                let mut marks: Vec<Option<Mark>> = Vec::with_capacity(count);
                for group in runs.chunks((runs.len() / count).max(1)) {
                    let (first, last) = (group.first(), group.last());
                    let end = |first: &Mark| last.map_or(first.interval.end, |last| last.interval.end);
                    marks.push(first.map(|first| Mark {
                        interval: Interval::new(first.interval.start, end(first)),
                        key: first.key,
                    }));
                }
                marks
            };
        Some(self.marks.iter().map(steps).collect())
    }
}

/// Runs of each module by device in use, without the modules' fingerprints. The map is sparse, because most modules may
/// run on only a few devices.
pub(super) type ByModule<'a> = BTreeMap<&'a str, BTreeMap<usize, Vec<Mark>>>;

/// Returns the runs of the dominant module: the module with the largest sum of run times over all devices. If that
/// module ran only once (an initialisation), a module that ran repeatedly and took at least a tenth of the dominant
/// module's time is used instead.
///
/// Programs that differ only in their fingerprint (`jit_f(123)`, `jit_f(456)`) are one module: a function that was
/// compiled for several shapes.
pub(super) fn runs(trace: &Trace, devices: &Devices) -> Option<Runs> {
    let mut by_module = all(trace, devices);
    let total = |marks: &BTreeMap<usize, Vec<Mark>>| -> Ps {
        marks.values().flatten().map(|mark| mark.interval.length()).sum()
    };
    // If several modules have the same time, this keeps the first name. `max_by_key` alone would keep the last.
    let longest = |candidates: &mut dyn Iterator<Item = (&'_ str, Ps)>| {
        candidates.fold(None, |best: Option<(String, Ps)>, (name, time)| match best {
            Some(best) if best.1 >= time => Some(best),
            _ => Some((name.to_owned(), time)),
        })
    };
    let repeats = |marks: &BTreeMap<usize, Vec<Mark>>| marks.values().any(|row| row.len() > 1);
    let top = longest(&mut by_module.iter().map(|(name, marks)| (*name, total(marks))))?;
    let repeated =
        longest(&mut by_module.iter().filter(|(_, marks)| repeats(marks)).map(|(name, marks)| (*name, total(marks))));
    let (module, _) = repeated.filter(|(_, time)| time.as_ps() >= top.1.as_ps() / 10).unwrap_or(top);
    let share = share_while_running(&by_module, &module);
    let mut of_device = by_module.remove(module.as_str())?;
    let marks = (0..devices.used.len()).map(|device| of_device.remove(&device).unwrap_or_default()).collect();
    Some(Runs { module, marks, share })
}

/// Returns the runs of all modules, sorted by start.
pub(super) fn all<'a>(trace: &'a Trace, devices: &Devices) -> ByModule<'a> {
    let mut by_module = from_lines(trace, devices);
    if by_module.is_empty() {
        by_module = from_ops(trace, devices);
    }
    for row in by_module.values_mut().flat_map(BTreeMap::values_mut) {
        sort::sort_by_key(row, |mark| mark.interval);
    }
    by_module
}

/// Returns the share of `module` in the time of all modules' runs between the first and the last run of `module`, over all
/// devices, from 0 to 1. Earlier and later runs (initialisation, evaluation) are ignored.
fn share_while_running(by_module: &ByModule<'_>, module: &str) -> f64 {
    let Some(own) = by_module.get(module) else { return 0.0 };
    let (mut of_module, mut of_all) = (Ps::ZERO, Ps::ZERO);
    for (device, row) in own {
        let (Some(first), Some(last)) = (row.first(), row.iter().map(|mark| mark.interval.end).max()) else { continue };
        let while_running = Interval::new(first.interval.start, last);
        let inside = |mark: &Mark| mark.interval.clip(while_running).map_or(Ps::ZERO, Interval::length);
        of_module += row.iter().map(inside).sum();
        of_all += by_module.values().filter_map(|rows| rows.get(device)).flatten().map(inside).sum();
    }
    if of_all > Ps::ZERO { of_module.as_ps() as f64 / of_all.as_ps() as f64 } else { 1.0 }
}

/// The runs of a program are steps only if they take at least this share of the time of all runs.
const DOMINANT: f64 = 0.5;

impl Runs {
    /// Returns true if the module ran once on each device that ran it.
    pub(super) fn is_single(&self) -> bool {
        self.marks.iter().all(|row| row.len() <= 1)
    }

    /// Returns the reason why these runs are not the steps of a loop, or `None` if the runs are steps. To be steps, the
    /// module must take at least half of the time of all runs between its first and last run. On every device the runs
    /// must follow each other at regular intervals or with the same work from one run to the next.
    pub(super) fn objection(&self, trace: &Trace, devices: &Devices) -> Option<String> {
        let module = shorten(&self.module, 60);
        if self.share < DOMINANT {
            return Some(format!(
                "no program dominates: {module}, which takes the most device time, takes only {} of it between its \
                 first and last run",
                percent(100.0 * self.share)
            ));
        }
        let repeats = |(row, device): (&Vec<Mark>, &Device)| {
            row.len() < 2 || rhythm::regular(row) || rhythm::same_work(trace, device, row)
        };
        (!self.marks.iter().zip(&devices.used).all(repeats)).then(|| {
            format!(
                "{module}, which takes the most device time, runs neither at regular intervals nor with the same work from one \
                 run to the next"
            )
        })
    }
}

fn from_lines<'a>(trace: &'a Trace, devices: &Devices) -> ByModule<'a> {
    let mut by_module = ByModule::new();
    for (index, device) in devices.used.iter().enumerate() {
        for id in devices.by_line.events_of(trace, device.plane, LineKind::Modules) {
            let Some(event) = trace.events.get(id) else { continue };
            let mark = Mark { interval: interval(&event), key: trace.events.column(EventColumn::RunId).get(id) };
            let name = without_fingerprint(trace.text(event.name));
            by_module.entry(name).or_default().entry(index).or_default().push(mark);
        }
    }
    by_module
}

/// Finds runs from ops: a run lasts from the first to the last op that has the run's id.
fn from_ops<'a>(trace: &'a Trace, devices: &Devices) -> ByModule<'a> {
    let key = |(index, device): (usize, &Device)| ((device.host, i64::from(device.ordinal)), index);
    let device_index = sort::map(devices.used.iter().enumerate().map(key));
    let mut runs: BTreeMap<(&str, usize, i64), Interval> = BTreeMap::new();
    for (id, run_id) in trace.events.column(EventColumn::RunId).iter() {
        let Some(event) = trace.events.get(id) else { continue };
        let Some(plane) = trace.lines.get(event.line.index()).and_then(|line| trace.plane_of(line)) else { continue };
        let Some(ordinal) = cpu_op_ordinal(trace, &event).filter(|_| plane.kind == PlaneKind::Host) else { continue };
        let module = trace.args_of(&event).hlo_module;
        let Some(&device) = device_index.get(&(plane.host, ordinal)).filter(|_| !module.is_empty()) else { continue };
        let op = interval(&event);
        let run = runs.entry((trace.text(module), device, run_id)).or_insert(op);
        *run = Interval::new(run.start.min(op.start), run.end.max(op.end));
    }
    let mut by_module = ByModule::new();
    for ((module, device, run_id), interval) in runs {
        let rows = by_module.entry(without_fingerprint(module)).or_default();
        rows.entry(device).or_default().push(Mark { interval, key: Some(run_id) });
    }
    by_module
}

/// Removes the fingerprint: returns `jit_f` for `jit_f(12190760917235803885)`.
fn without_fingerprint(name: &str) -> &str {
    let Some((stem, rest)) = name.rsplit_once('(') else { return name };
    match rest.strip_suffix(')') {
        Some(digits) if !stem.is_empty() && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => stem,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_not_part_of_the_name() {
        assert_eq!(without_fingerprint("jit_f(12190760917235803885)"), "jit_f");
        assert_eq!(without_fingerprint("jit_f(x)"), "jit_f(x)");
        assert_eq!(without_fingerprint("(1)"), "(1)");
    }
}
