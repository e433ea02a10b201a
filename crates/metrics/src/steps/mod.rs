//! The steps of a run: where each begins and ends on every device, and what happened in it.
//!
//! Sources, best first (the report says which was used):
//!
//! 1. `step_num` annotations on host lines (`annotations`);
//! 2. a `Steps` line on the devices (`steps_line`);
//! 3. runs of the module that takes most time, where it dominates and repeats (`modules`, `rhythm`); of one run the block around it, where
//!    the kit recorded one (`kit_marks`);
//! 4. what repeats on the host and takes most of the time (`host_spans`);
//! 5. a sequence of ops that repeats on every device (`device_sequence`);
//! 6. none: the number of steps is unknown, and nothing is guessed.
//!
//! The user's own count is applied on top of what was found (`report`).
//!
//! A step lasts from its start to the next step's start *on the same device*: a host annotation covers only the
//! dispatch of asynchronous work, and devices may run a step more than a whole step apart. It starts when the host begins
//! it, at the earliest with the end of the previous step's ops, at the latest with its own first op (`begin`). Device work belongs to the
//! step that launched it, whenever it runs (`launched`).
//!
//! ```text
//! host     [train 0]  [train 1]  [train 2]
//! device 0      [=0=====][=1=====][=2=====]
//! device 1                 [=0=====][=1=====][=2=====]
//!          '-- step 0 --''-step 1-'
//! ```

mod align;
mod annotated;
mod annotations;
mod begin;
mod device_sequence;
mod dispatch;
mod flags;
mod host_spans;
mod kit_marks;
mod launched;
mod launches;
mod measure;
mod modules;
mod report;
mod rhythm;
mod steps_line;
mod together;
mod windows;

pub use launched::Launched;
pub(crate) use measure::ops_starting_in;
pub(crate) use report::mark_steps;
pub use report::{StepReport, extents, report};
pub use together::{Relation, StepsTogether};
pub use windows::StepWindow;

use crate::devices::Devices;
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
    /// A sequence of ops that repeats on every device.
    DeviceOps,
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
            StepSource::DeviceOps => "device_ops",
            StepSource::Unknown => "unknown",
        }
    }
}

/// What ties device work to the host's annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// A `Steps` line with as many steps: the profiler's own tie.
    StepsLine,
    /// Correlation ids of launches and ops.
    Correlation,
    /// The group that XProf gives annotations and ops.
    Group,
    /// The calls that dispatched the runs of programs, by id or order.
    Dispatch,
    /// As many runs of one program in each step.
    ModuleRuns,
    /// Time alone.
    Time,
}

impl Tie {
    /// The report's spelling.
    pub fn label(self) -> &'static str {
        match self {
            Tie::StepsLine => "steps_line",
            Tie::Correlation => "correlation",
            Tie::Group => "group",
            Tie::Dispatch => "dispatch",
            Tie::ModuleRuns => "module_runs",
            Tie::Time => "time",
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
    /// How device work is tied to annotated steps; absent where the steps are the device's own.
    pub tie: Option<Tie>,
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
    /// Share in percent that the host's spans cover of the time or, if true, launch of the device work.
    host_share: Option<(f64, bool)>,
    /// Ops in the steps, all devices, and those of them whose launch is not in the trace.
    by_time: Option<[u64; 2]>,
    /// How many different numbers the annotations have, where they repeat.
    distinct_numbers: Option<u64>,
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
            return annotated::steps(trace, devices, &found, &lines, runs.as_ref());
        }
        if lines.iter().any(|marks| !marks.is_empty()) {
            return Steps::new(StepSource::StepsLine, "Steps line".to_owned(), &align::by_key(&lines));
        }
        if let Some(block) =
            kit_marks::block(trace, devices).filter(|_| runs.as_ref().is_some_and(modules::Runs::is_single))
        {
            let steps = annotated::steps(trace, devices, &block, &[], None);
            return Steps {
                source: StepSource::HostSpans,
                marker: Some("the recorded block".to_owned()),
                names: vec![None],
                ..steps
            };
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
                // A run's id is no number of a step.
                marks.iter_mut().flatten().flatten().for_each(|mark| mark.key = None);
                Steps::new(StepSource::ModuleRuns, marker, &marks)
            }
            None => Steps::from_repeats(trace, devices, objection),
        }
    }

    /// Steps from what repeats on the host, else on the devices; unknown where nothing does. `objection`: why the runs of no module are
    /// steps.
    fn from_repeats(trace: &Trace, devices: &Devices, objection: Option<String>) -> Steps {
        let remarks = Remarks { modules: objection, ..Remarks::default() };
        if let Some(found) = host_spans::find(trace, devices) {
            let steps = annotated::steps(trace, devices, &found.spans, &[], None);
            return Steps {
                source: StepSource::HostSpans,
                marker: Some(found.marker),
                names: vec![None; steps.names.len()],
                remarks: Remarks {
                    host_share: Some((found.percent, found.launches)),
                    by_time: steps.remarks.by_time,
                    ..remarks
                },
                ..steps
            };
        }
        if let Some(found) = device_sequence::find(trace, devices) {
            let marker = format!("repeats of {} ops", base::format::count(found.ops as u64));
            return Steps { remarks, ..Steps::new(StepSource::DeviceOps, marker, &align::by_rank(&found.marks)) };
        }
        Steps { remarks, ..Steps::new(StepSource::Unknown, String::new(), &[]) }
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
            marker: Some(marker).filter(|marker| !marker.is_empty()),
            names: (0..count).map(name).collect(),
            windows: marks.iter().map(|row| windows::start_to_start(row)).collect(),
            relation: None,
            tie: None,
            remarks: Remarks::default(),
        }
    }
}

#[cfg(test)]
mod tests;
