//! Finds the steps on the devices from annotations on the host.
//!
//! The times of a step on a device come from the first of these relations that connects device work with the
//! annotations:
//!
//! 1. a `Steps` line with the same number of steps on every device: the profiler's own relation;
//! 2. correlation ids: a kernel belongs to the step in which it was launched (GPU);
//! 3. the group number that XProf assigns to annotations and device ops;
//! 4. the calls that dispatch programs, by run id or order (TPU, CPU);
//! 5. module runs, `k` of them for every annotation;
//! 6. the annotations' own starts, for all devices of the annotations' host.
//!
//! A step without device work keeps the time of its annotation. The last step has no next step, so its length is known
//! only if the capture kit marks its end, or if annotations follow each other without a pause. The last step then ends
//! at the latest of three times: its annotation's end, its last op's end and the mark.

use std::collections::BTreeMap;

use super::align::Aligned;
use super::annotations::Annotations;
use super::graphs::Graphs;
use super::launched::Owners;
use super::{
    Mark, StepSource, StepWindow, Steps, Tie, begin, dispatch, kit_marks, launches, modules, ops_starting_in, windows,
};
use crate::common::statistics::median;
use crate::device::devices::{Device, Devices};
use base::Ps;
use trace::{Interval, Trace};

/// The end of the last step is known without a mark if the median pause between annotations is at most this share of
/// the step time. We chose this limit because the last step then appears too short by less than this share.
const LONGEST_PAUSE: f64 = 0.02;

/// Finds the steps that the annotations `found` mark. `lines` are the marks of the devices' `Steps` lines, and `runs`
/// are the marks of the dominant module.
pub(super) fn steps(
    trace: &Trace,
    devices: &Devices,
    found: &Annotations,
    lines: &[Vec<Mark>],
    runs: Option<&modules::Runs>,
) -> Steps {
    let (tie, mut marks, owners) = tied(trace, devices, found, lines, runs);
    let launched = marks.clone();
    let annotated: Vec<Vec<Option<Mark>>> = devices.used.iter().map(|device| on_device(device, found)).collect();
    fill_empty(devices, &mut marks, &annotated);
    for ((device, row), annotated) in devices.used.iter().zip(&mut marks).zip(&annotated) {
        begin::with_annotations(row, annotated, &device.busy);
    }
    let mut steps = Steps {
        names: found
            .numbers
            .iter()
            .map(|number| found.distinct_numbers.is_none().then(|| number.to_string()))
            .collect(),
        tie: tie.filter(|_| !devices.used.is_empty()),
        ..Steps::new(StepSource::StepNum, format!("{} annotations", found.name), &marks)
    };
    steps.remarks.distinct_numbers = found.distinct_numbers;
    if devices.used.is_empty() {
        let annotated = found.by_host.values().next().map_or(&[][..], Vec::as_slice);
        steps.windows.iter_mut().for_each(|row| close_last(row, annotated, found.ends, None, |_| true));
        return steps;
    }
    let (mut ops, mut by_time) = (0, 0);
    let graphs = Graphs::find(trace, devices);
    steps.launches_graphs = (tie == Some(Tie::Correlation)).then_some(!graphs.is_empty());
    let marked_ends = kit_marks::ends_of_steps(trace, devices);
    let rows = steps.windows.iter_mut().zip(&annotated).zip(&launched);
    for (device, ((row, annotated), launched)) in devices.used.iter().zip(rows) {
        for (window, annotation) in row.iter_mut().zip(annotated) {
            if let (Some(window), Some(annotation)) = (window, annotation) {
                window.annotation = Some(annotation.interval);
            }
        }
        let marked = marked_ends.get(&device.host).map(|&end| device.time_from_host(end));
        close_last(row, annotated, found.ends, marked, |window| ops_starting_in(trace, device, window.interval) > 0);
        if let Some(owners) = &owners {
            by_time += owners.note(trace, device, &graphs, launched, row);
            ops += row.iter().flatten().map(|window| window.num_ops(trace, device)).sum::<u64>();
        }
    }
    steps.remarks.by_time = owners.map(|_| [ops, by_time]);
    steps
}

/// Finds the steps that own device ops.
type FindOwners = fn(&Trace, &Devices, &Annotations) -> Owners;

/// Finds the relation between device work and the annotations, and the marks of every device in use. Also returns the
/// owners of device ops if the relation assigns individual ops.
fn tied(
    trace: &Trace,
    devices: &Devices,
    found: &Annotations,
    lines: &[Vec<Mark>],
    runs: Option<&modules::Runs>,
) -> (Option<Tie>, Aligned, Option<Owners>) {
    let count = found.numbers.len();
    if devices.used.is_empty() {
        return (None, found.by_host.values().take(1).cloned().collect(), None);
    }
    if !lines.is_empty() && lines.iter().all(|marks| marks.len() == count) {
        let marks = lines.iter().map(|marks| marks.iter().copied().map(Some).collect()).collect();
        return (Some(Tie::StepsLine), marks, None);
    }
    let by_ops: [(Tie, FindOwners); 3] =
        [(Tie::Correlation, launches::owners), (Tie::Group, launches::grouped), (Tie::Dispatch, dispatch::owners)];
    for (tie, owners) in by_ops {
        let owners = owners(trace, devices, found);
        if let Some(marks) = owners.marks(trace, devices, count) {
            return (Some(tie), marks, Some(owners));
        }
    }
    match runs.and_then(|runs| runs.per_step(count)) {
        Some(marks) => (Some(Tie::ModuleRuns), marks, None),
        None => (Some(Tie::Time), own_starts(trace, devices, found), None),
    }
}

/// Returns, for every device, the annotations of its host. Leaves out a step if ops begin in it only on other devices
/// of the host, because the step did not run on this device.
fn own_starts(trace: &Trace, devices: &Devices, found: &Annotations) -> Aligned {
    let annotated = |device: &Device| on_device(device, found);
    let runs = |device: &Device| -> Vec<bool> {
        let windows = windows::start_to_start(&annotated(device)).into_iter();
        windows.map(|window| window.is_some_and(|it| ops_starting_in(trace, device, it.interval) > 0)).collect()
    };
    let runs: Vec<Vec<bool>> = devices.used.iter().map(runs).collect();
    let of_host = any_of_host(devices, &runs);
    let own = |(device, runs): (&Device, &Vec<bool>)| {
        let others_run = of_host.get(&device.host).into_iter().flatten();
        let marks = annotated(device).into_iter().zip(runs).zip(others_run);
        marks.map(|((mark, &runs), &others_run)| mark.filter(|_| runs || !others_run)).collect()
    };
    devices.used.iter().zip(&runs).map(own).collect()
}

/// Returns, for every host, the steps that any of its devices runs.
fn any_of_host(devices: &Devices, runs: &[Vec<bool>]) -> BTreeMap<u16, Vec<bool>> {
    let mut of_host: BTreeMap<u16, Vec<bool>> = BTreeMap::new();
    for (device, runs) in devices.used.iter().zip(runs) {
        let any = of_host.entry(device.host).or_insert_with(|| vec![false; runs.len()]);
        any.iter_mut().zip(runs).for_each(|(any, runs)| *any |= runs);
    }
    of_host
}

/// Adds marks for the steps in which no device of a host had work. An empty step lasts as long as its annotation, but
/// begins after the work of the steps before it. A device that still worked on earlier steps until the next step began
/// gets no mark for the empty step.
fn fill_empty(devices: &Devices, marks: &mut Aligned, annotated: &[Vec<Option<Mark>>]) {
    let runs: Vec<Vec<bool>> = marks.iter().map(|row| row.iter().map(Option::is_some).collect()).collect();
    let of_host = any_of_host(devices, &runs);
    for ((device, row), annotated) in devices.used.iter().zip(marks).zip(annotated) {
        let Some(any) = of_host.get(&device.host) else { continue };
        let mut ended = Ps::new(i64::MIN);
        for step in 0..row.len() {
            let next = row.iter().skip(step + 1).flatten().next().map(|next| next.interval.start);
            let Some(slot) = row.get_mut(step) else { continue };
            if let (None, Some(false), Some(&Some(annotation))) = (&slot, any.get(step), annotated.get(step)) {
                let start = annotation.interval.start.max(ended);
                if next.is_none_or(|next| start < next) {
                    let interval = Interval::new(start, annotation.interval.end.max(start));
                    *slot = Some(Mark { interval, ..annotation });
                }
            }
            ended = slot.map_or(ended, |mark| ended.max(mark.interval.end));
        }
    }
}

/// Ends the last step of a device at the latest of its annotation's end, its last op's end and the end that the kit
/// `marked`. The step stays open if the kit marked no end and the annotations pause or mark only starts (`ends` is
/// false). It also stays open if it has no device work although an earlier step has some, because the capture then
/// ended during the step.
fn close_last(
    row: &mut [Option<StepWindow>],
    annotated: &[Option<Mark>],
    ends: bool,
    marked: Option<Ps>,
    works: impl Fn(&StepWindow) -> bool,
) {
    let Some((Some(last), earlier)) = row.split_last_mut() else { return };
    let Some(Some(annotation)) = annotated.get(earlier.len()) else { return };
    let marked = marked.filter(|&end| end >= annotation.interval.start);
    let end = last.interval.end.max(annotation.interval.end).max(marked.unwrap_or(annotation.interval.end));
    last.interval = Interval::new(last.interval.start, end);
    let is_stub = !works(last) && earlier.iter().flatten().any(works);
    let lengths: Vec<f64> = earlier.iter().flatten().map(|window| window.interval.length().as_ps() as f64).collect();
    let is_shown = marked.is_some() || (ends && follow_at_once(annotated, median(&lengths).unwrap_or(0.0)));
    last.open = is_stub || !is_shown;
}

/// Returns true if annotations follow each other without a significant pause for steps of this length in picoseconds. A
/// single annotation has no pause.
fn follow_at_once(annotated: &[Option<Mark>], step_ps: f64) -> bool {
    let marks = || annotated.iter().flatten();
    let pauses = marks().zip(marks().skip(1)).map(|(mark, next)| next.interval.start - mark.interval.end);
    let pause = median(&pauses.map(|pause| pause.as_ps() as f64).collect::<Vec<f64>>());
    pause.is_none_or(|pause| pause <= LONGEST_PAUSE * step_ps)
}

/// Returns the annotations of a device's host, on the device's clock.
fn on_device(device: &Device, found: &Annotations) -> Vec<Option<Mark>> {
    let of_host = found.by_host.get(&device.host).into_iter().flatten();
    of_host.map(|mark| mark.map(|mark| Mark { interval: device.interval_from_host(mark.interval), ..mark })).collect()
}
