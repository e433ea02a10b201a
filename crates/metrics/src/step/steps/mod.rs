//! Finds the steps of a run, and the start, end and work of each step on every device.
//!
//! The steps come from the first of these sources that the trace contains. The report names the source that was used.
//!
//! 1. the forward passes of an inference engine (`serving`), unless each annotated step contains several passes;
//! 2. `step_num` annotations on host lines (`annotations`);
//! 3. a `Steps` line on the devices (`steps_line`);
//! 4. the order of programs on the first stage of a pipeline (`stages`);
//! 5. runs of the module that takes the most time, if it dominates and repeats (`modules`, `rhythm`), or the block that
//!    the capture kit recorded, if the module ran only once in it (`kit_marks`);
//! 6. spans that repeat on the host and take most of the time (`host_spans`);
//! 7. a sequence of ops that repeats on every device (`device_sequence`);
//! 8. no source: the number of steps is unknown, and nothing is guessed.
//!
//! A number of steps that the user gives is applied afterwards (`report`).
//!
//! A step lasts from its start to the next step's start *on the same device*. The duration of the host annotation is
//! not used, because the annotation covers only the dispatch of asynchronous work. The starts of a step on two devices
//! may be more than a step apart. A step starts when the host begins it, but not before the end of the previous step's
//! ops and not after its own first op (`begin`). Device work belongs to the step that launched it, regardless of when
//! it runs (`launched`).
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
mod graphs;
mod host_spans;
mod kit_marks;
mod launched;
mod launches;
mod measure;
mod modules;
mod report;
mod rhythm;
mod serving;
mod stages;
mod steps_line;
mod together;
mod windows;

pub use launched::Launched;
pub(crate) use measure::ops_starting_in;
pub(crate) use report::mark_steps;
pub(crate) use report::{StepReport, extents, report};
pub(crate) use together::Relation;
pub use together::StepsTogether;
pub use windows::{SortedWindows, StepWindow};

use crate::device::devices::Devices;
use facts::{ServedBatch, ServingPhase};
use trace::{Interval, Trace};

/// Source of the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepSource {
    /// The user gave the number of steps.
    User,
    /// Host spans of an inference engine's forward passes.
    ForwardPasses,
    /// Host events that have a `step_num`.
    StepNum,
    /// The `Steps` line of the devices.
    StepsLine,
    /// The order of programs on the first stage of a pipeline.
    Pipeline,
    /// Runs of one module.
    ModuleRuns,
    /// Repeated spans on a host thread.
    HostSpans,
    /// A sequence of ops that repeats on every device.
    DeviceOps,
    /// No source in the trace.
    Unknown,
}

impl StepSource {
    /// Returns the name that the report uses.
    pub fn label(self) -> &'static str {
        match self {
            StepSource::User => "user",
            StepSource::ForwardPasses => "forward_passes",
            StepSource::StepNum => "step_num",
            StepSource::StepsLine => "steps_line",
            StepSource::Pipeline => "pipeline",
            StepSource::ModuleRuns => "module_runs",
            StepSource::HostSpans => "host_spans",
            StepSource::DeviceOps => "device_ops",
            StepSource::Unknown => "unknown",
        }
    }
}

/// Relation by which device work is assigned to the host's annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// A `Steps` line with the same number of steps: the profiler's own relation.
    StepsLine,
    /// Correlation ids of launches and ops.
    Correlation,
    /// The group number that XProf gives to annotations and their ops.
    Group,
    /// The calls that dispatched the runs of programs. Runs and calls are matched by id or by order.
    Dispatch,
    /// The same number of runs of one program in each step.
    ModuleRuns,
    /// The times of the ops, because nothing else is recorded.
    Time,
}

impl Tie {
    /// Returns the name that the report uses.
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

/// A mark of one step on one device or host: its own start and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    interval: Interval,
    /// Number of this step in the trace (`step_num`, `run_id`).
    key: Option<i64>,
}

/// The steps of a run.
#[derive(Clone, Debug)]
pub struct Steps {
    /// Source of the steps.
    pub source: StepSource,
    /// Description of the steps (`train annotations`).
    pub marker: Option<String>,
    /// Number of each step in the trace. `None` if the step has no number.
    pub names: Vec<Option<String>>,
    /// Batch of each step of an inference engine. Empty for other steps.
    pub batches: Vec<ServedBatch>,
    /// `windows[device][step]`, with devices as in [`Devices::used`]. If no device was used, contains a single entry
    /// for the host. `None` if a device did not run a step.
    pub windows: Vec<Vec<Option<StepWindow>>>,
    /// Relation between device work and annotated steps. `None` if the steps come from the devices.
    pub tie: Option<Tie>,
    /// Relation between the steps of several devices. `None` before [`Steps::related`] and for a single device.
    pub relation: Option<Relation>,
    /// True if the host launches graphs (CUDA, HIP). `None` if launches are unknown.
    pub launches_graphs: Option<bool>,
    /// Details for warnings about the source of the steps. Empty if annotations or lines are the source.
    remarks: Remarks,
}

/// Reasons why sources of higher precedence yielded no steps, and the evidence for the chosen source.
#[derive(Clone, Debug, Default)]
struct Remarks {
    /// Reason why the runs of the most expensive module are not steps.
    modules: Option<String>,
    /// A share in percent, with a flag. If the flag is true, this is the share of device work that the host's spans
    /// launch. If the flag is false, it is the share of time that these spans cover.
    host_share: Option<(f64, bool)>,
    /// Number of ops in the steps over all devices, and the number of ops whose launch is not in the trace.
    by_time: Option<[u64; 2]>,
    /// Number of distinct annotation numbers, if numbers repeat.
    distinct_numbers: Option<u64>,
}

impl Steps {
    /// Marks windows as open if the capture was cut. Data may be missing after a device's last op, so a window that
    /// continues after that op is incomplete.
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

    /// Returns the windows of a device, sorted by time.
    pub fn sorted(&self, device: u32) -> SortedWindows {
        self.windows.get(device as usize).map(|windows| SortedWindows::new(windows)).unwrap_or_default()
    }

    /// Returns the index of the step with this name, or the step with this index if no step has the name.
    pub fn find_step(&self, name: &str) -> Option<usize> {
        let named = self.names.iter().position(|known| known.as_deref() == Some(name));
        let is_named = |index: &usize| self.names.get(*index).is_some_and(Option::is_some);
        // If steps have names, users see the names, and an index could mean a different step.
        named.or_else(|| name.parse().ok().filter(|index| *index < self.len() && !is_named(index)))
    }

    /// Finds the steps of `trace`.
    pub fn find(trace: &Trace, devices: &Devices) -> Steps {
        let lines = steps_line::marks(trace, devices);
        let runs = modules::runs(trace, devices);
        let annotations = annotations::find(trace);
        if let Some(serving::Passes { spans, batches }) = serving::find(trace, devices, annotations.as_ref()) {
            let steps = annotated::steps(trace, devices, &spans, &lines, runs.as_ref());
            let names = vec![None; batches.len()];
            return Steps { source: StepSource::ForwardPasses, names, batches, ..steps };
        }
        if let Some(found) = annotations {
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
        if let Some(found) = stages::find(trace, devices) {
            return Steps::new(StepSource::Pipeline, found.marker, &found.marks);
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
                // The id of a run is not a step number.
                marks.iter_mut().flatten().flatten().for_each(|mark| mark.key = None);
                Steps::new(StepSource::ModuleRuns, marker, &marks)
            }
            None => Steps::from_repeats(trace, devices, objection),
        }
    }

    /// Finds steps from spans that repeat on the host, or from ops that repeat on the devices if nothing repeats on the
    /// host. The steps are unknown if nothing repeats at all. `objection` is the reason why no module's runs can serve
    /// as steps.
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

    /// Returns the phase of a step of an inference engine.
    pub fn phase(&self, step: usize) -> Option<ServingPhase> {
        self.batches.get(step).and_then(ServedBatch::phase)
    }

    /// Returns the number of steps.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns true if no step was found.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Creates steps from aligned marks: `marks[device][step]`. A step gets a name if all its marks have the same key.
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
            batches: Vec::new(),
            windows: marks.iter().map(|row| windows::start_to_start(row)).collect(),
            relation: None,
            tie: None,
            launches_graphs: None,
            remarks: Remarks::default(),
        }
    }
}

#[cfg(test)]
mod tests;
