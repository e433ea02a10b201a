//! The steps of a run: where each begins and ends on every device, and what happened in it.
//!
//! Sources, best first (the report says which was used):
//!
//! 1. `step_num` annotations on host lines (`annotations`);
//! 2. a `Steps` line on the devices (`steps_line`);
//! 3. runs of the module that takes most time, where it dominates and repeats (`modules`, `rhythm`);
//! 4. what repeats on the host and takes most of the time (`host_spans`);
//! 5. none: the number of steps is unknown, and nothing is guessed.
//!
//! The user's own count is applied on top of what was found (`report`).
//!
//! A step lasts from its start to the next step's start *on the same device*: a host annotation covers only the
//! dispatch of asynchronous work, and devices may run a step more than a whole step apart. It starts when the host begins
//! it, at the earliest with the end of the previous step's ops, at the latest with its own first op (`begin`).
//!
//! ```text
//! host     [train 0]  [train 1]  [train 2]
//! device 0      [=0=====][=1=====][=2=====]
//! device 1                 [=0=====][=1=====][=2=====]
//!          '-- step 0 --''-step 1-'
//! ```

mod align;
mod annotations;
mod begin;
mod flags;
mod host_spans;
mod launches;
mod measure;
mod modules;
mod report;
mod rhythm;
mod steps_line;
mod together;
mod windows;

pub(crate) use measure::ops_starting_in;
pub(crate) use report::mark_steps;
pub use report::{StepReport, extents, report};
pub use together::{Relation, StepsTogether};
pub use windows::StepWindow;

use std::collections::BTreeMap;

use crate::devices::{Device, Devices};
use trace::{Interval, Trace};

/// How the steps were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepSource {
    /// The user gave their number.
    User,
    /// Host events that carry `step_num`.
    StepNum,
    /// The `Steps` line of the devices.
    StepsLine,
    /// Runs of one module.
    ModuleRuns,
    /// Spans on a host thread that repeat.
    HostSpans,
    /// Nothing in the trace says what the steps are.
    Unknown,
}

impl StepSource {
    /// The report's spelling.
    pub fn label(self) -> &'static str {
        match self {
            StepSource::User => "user",
            StepSource::StepNum => "step_num",
            StepSource::StepsLine => "steps_line",
            StepSource::ModuleRuns => "module_runs",
            StepSource::HostSpans => "host_spans",
            StepSource::Unknown => "unknown",
        }
    }
}

/// What marks one step on one device or host: the mark's own start and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    interval: Interval,
    /// Number by which the trace tells this step from others (`step_num`, `run_id`).
    key: Option<i64>,
}

/// The steps of a run.
#[derive(Clone, Debug)]
pub struct Steps {
    /// How the steps were found.
    pub source: StepSource,
    /// What the steps are, for people (`train annotations`).
    pub marker: Option<String>,
    /// One entry per step: the number the trace gives it.
    pub names: Vec<Option<String>>,
    /// `windows[device][step]`, devices as in [`Devices::used`]; one row for the host alone where no device was used.
    /// `None` where a device did not run a step.
    pub windows: Vec<Vec<Option<StepWindow>>>,
    /// How several devices run the steps together; absent before [`Steps::related`] and for one device.
    pub relation: Option<Relation>,
    /// What the reader should know of where they come from: the rest of a sentence after why nothing better was found; empty for
    /// annotations and lines.
    remarks: Remarks,
}

/// Why the better sources gave no steps, and what the chosen one rests on.
#[derive(Clone, Debug, Default)]
struct Remarks {
    /// Why the runs of the module that takes most time are no steps.
    modules: Option<String>,
    /// Share in percent that the host's spans cover or launch.
    host_share: Option<f64>,
}

impl Steps {
    /// For a capture that was cut: what lies beyond a device's last op may be missing, so no window that goes on after it is whole.
    pub fn open_where_cut(&mut self, devices: &Devices) {
        for (device, windows) in devices.used.iter().zip(&mut self.windows) {
            let last = device.span.end;
            windows
                .iter_mut()
                .flatten()
                .filter(|window| window.interval.end > last)
                .for_each(|window| window.open = true);
        }
    }

    /// The index of the step of this name, else of this index.
    pub fn find_step(&self, name: &str) -> Option<usize> {
        let named = self.names.iter().position(|known| known.as_deref() == Some(name));
        let is_named = |index: &usize| self.names.get(*index).is_some_and(Option::is_some);
        // Where steps have names these are shown, and an index would mean another step.
        named.or_else(|| name.parse().ok().filter(|index| *index < self.len() && !is_named(index)))
    }

    /// Finds the steps of `trace`.
    pub fn find(trace: &Trace, devices: &Devices) -> Steps {
        let lines = steps_line::marks(trace, devices);
        let runs = modules::runs(trace, devices);
        if let Some(found) = annotations::find(trace) {
            return from_annotations(trace, devices, &found, &lines, runs.as_ref());
        }
        if lines.iter().any(|marks| !marks.is_empty()) {
            return Steps::new(StepSource::StepsLine, "Steps line".to_owned(), &align::by_key(&lines));
        }
        let objection = runs.as_ref().and_then(|runs| runs.objection(trace, devices));
        match runs.filter(|_| objection.is_none()) {
            Some(runs) => {
                let marker = format!("runs of {}", runs.module);
                let mut marks = align::by_rank(&runs.marks);
                let compiled = begin::compilations(trace, devices);
                for (device, row) in devices.used.iter().zip(&mut marks) {
                    let calls = compiled.get(&device.host).into_iter().flatten();
                    let calls: Vec<begin::Compiled> = calls.map(|call| call.on_device(device)).collect();
                    begin::with_compilation(row, &calls, &device.busy);
                }
                Steps::new(StepSource::ModuleRuns, marker, &marks)
            }
            None => Steps::from_host(trace, devices, objection),
        }
    }

    /// Steps from what repeats on the host; unknown where nothing does. `objection`: why the runs of no module are steps.
    fn from_host(trace: &Trace, devices: &Devices, objection: Option<String>) -> Steps {
        let remarks = Remarks { modules: objection, host_share: None };
        match host_spans::find(trace, devices) {
            Some(found) => {
                let steps = from_annotations(trace, devices, &found.spans, &[], None);
                Steps {
                    source: StepSource::HostSpans,
                    marker: Some(found.marker),
                    names: vec![None; steps.names.len()],
                    remarks: Remarks { host_share: Some(found.percent), ..remarks },
                    ..steps
                }
            }
            None => Steps {
                source: StepSource::Unknown,
                marker: None,
                names: Vec::new(),
                windows: Vec::new(),
                relation: None,
                remarks,
            },
        }
    }

    /// Number of steps.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True where no step was found.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Steps from aligned marks: `marks[device][step]`. A step is named where all its marks have the same key.
    fn new(source: StepSource, marker: String, marks: &[Vec<Option<Mark>>]) -> Steps {
        let count = marks.iter().map(Vec::len).max().unwrap_or(0);
        let name = |step: usize| {
            let mut keys = marks.iter().filter_map(|row| row.get(step).copied().flatten()).map(|mark| mark.key);
            let first = keys.next().flatten()?;
            keys.all(|key| key == Some(first)).then(|| first.to_string())
        };
        Steps {
            source,
            marker: Some(marker),
            names: (0..count).map(name).collect(),
            windows: marks.iter().map(|row| windows::start_to_start(row)).collect(),
            relation: None,
            remarks: Remarks::default(),
        }
    }
}

/// The device windows of annotated steps, from the best of what ties device work to the host's annotations:
///
/// 1. a `Steps` line with as many steps on every device: the profiler's own tie;
/// 2. correlation ids: a kernel belongs to the step in which it was launched (GPU);
/// 3. module runs, `k` of them for every annotation (TPU, CPU);
/// 4. the annotations' own starts, for all devices of that host.
fn from_annotations(
    trace: &Trace,
    devices: &Devices,
    found: &annotations::Annotations,
    lines: &[Vec<Mark>],
    runs: Option<&modules::Runs>,
) -> Steps {
    let count = found.numbers.len();
    let marks = if devices.used.is_empty() {
        found.by_host.values().take(1).cloned().collect()
    } else if !lines.is_empty() && lines.iter().all(|marks| marks.len() == count) {
        lines.iter().map(|marks| marks.iter().copied().map(Some).collect()).collect()
    } else if let Some(marks) = launches::attribute(trace, devices, found) {
        marks
    } else if let Some(marks) = runs.and_then(|runs| runs.per_step(count)) {
        marks
    } else {
        own_starts(trace, devices, found)
    };
    let mut marks: Vec<Vec<Option<Mark>>> = marks;
    for (device, row) in devices.used.iter().zip(&mut marks) {
        begin::with_annotations(row, &on_device(device, found), &device.busy);
    }
    Steps {
        names: found.numbers.iter().map(|number| Some(number.to_string())).collect(),
        ..Steps::new(StepSource::StepNum, format!("{} annotations", found.name), &marks)
    }
}

/// The annotations of its host for every device, but for the steps in which only other devices of that host begin an op: those were
/// not this device's.
fn own_starts(trace: &Trace, devices: &Devices, found: &annotations::Annotations) -> Vec<Vec<Option<Mark>>> {
    let annotated = |device: &Device| on_device(device, found);
    let runs = |device: &Device| -> Vec<bool> {
        let windows = windows::start_to_start(&annotated(device)).into_iter();
        windows.map(|window| window.is_some_and(|it| ops_starting_in(trace, device, it.interval) > 0)).collect()
    };
    let runs: Vec<Vec<bool>> = devices.used.iter().map(runs).collect();
    let mut of_host: BTreeMap<u16, Vec<bool>> = BTreeMap::new();
    for (device, runs) in devices.used.iter().zip(&runs) {
        let any = of_host.entry(device.host).or_insert_with(|| vec![false; runs.len()]);
        any.iter_mut().zip(runs).for_each(|(any, runs)| *any |= runs);
    }
    let own = |(device, runs): (&Device, &Vec<bool>)| {
        let others_run = of_host.get(&device.host).into_iter().flatten();
        let marks = annotated(device).into_iter().zip(runs).zip(others_run);
        marks.map(|((mark, &runs), &others_run)| mark.filter(|_| runs || !others_run)).collect()
    };
    devices.used.iter().zip(&runs).map(own).collect()
}

/// The annotations of a device's host, by the device's clock.
fn on_device(device: &Device, found: &annotations::Annotations) -> Vec<Option<Mark>> {
    let of_host = found.by_host.get(&device.host).into_iter().flatten();
    of_host.map(|mark| mark.map(|mark| Mark { interval: device.interval_from_host(mark.interval), ..mark })).collect()
}

#[cfg(test)]
mod tests;
