//! Measures a run. The report, the findings, the tables and the page are built from these measurements.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::device::device_clocks;
use crate::device::device_time::DeviceTime;
use crate::device::devices::{Device, Devices};
use crate::device::pipeline::{has_transfers, pipeline};
use crate::device::scores::{self, DeviceScore};
use crate::host::host_threads::{self, HostTime};
use crate::host::input_pipeline::InputPipeline;
use crate::host::launches::{self, CallIndex, Launches};
use crate::op::collectives::Collectives;
use crate::op::copies::Copies;
use crate::op::kernel_stats::KernelStats;
use crate::op::layers::{LayerGrouping, Layers};
use crate::op::ops::{Op, Ops, Tallies};
use crate::op::roofline::{self, Roofline};
use crate::profile::missing;
use crate::program::autotuning;
use crate::program::memory_use::MemoryUse;
use crate::step::step_breakdown::{Breakdown, Measured};
use crate::step::steps::{self, StepReport, Steps};
use crate::step::window::{self, Limited, Window};
use base::{Cut, Warning, WarningCode};
use hlo::Modules;
use run::{Run, Settings, WindowChoice};
use trace::{IntervalSet, Trace};

/// All measurements of one run with one set of settings. An `Analysis` never changes, so values derived from it are
/// cached elsewhere.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The part of the run that was measured.
    pub window: Window,
    /// The devices and their ops in the window.
    pub devices: Devices,
    /// The devices and their ops in the whole capture.
    pub captured: Devices,
    /// The events in the window. `None` if the window cuts no event.
    limited: Option<Trace>,
    /// Time ranges of each host's activities. The key is the index of the host.
    pub hosts: BTreeMap<u16, HostTime>,
    /// The calls that launch device work.
    pub calls: CallIndex,
    /// The steps of the whole trace, even if the window covers only some of them.
    pub steps: Steps,
    /// Op statistics of the window.
    pub ops: Ops,
    /// The ops compared with the peaks of the devices.
    pub roofline: Roofline,
    /// Time of each step by activity.
    pub step_breakdown: Breakdown,
    /// GPU kernels.
    pub kernel_stats: KernelStats,
    /// Launches of device work.
    pub launches: Launches,
    /// Copies and fills.
    pub copies: Copies,
    /// Communication between devices.
    pub collectives: Collectives,
    /// Comparison of the devices in use.
    pub scores: Vec<DeviceScore>,
    /// Stages of the input pipeline. `None` if the trace shows no input pipeline.
    pub input_pipeline: Option<InputPipeline>,
    /// Use of device memory.
    pub memory: MemoryUse,
}

/// Measurements that only the report builder uses.
pub(crate) struct DocumentParts<'r> {
    pub modules: &'r Modules,
    pub tallies: Tallies,
    pub steps: StepReport,
    pub warnings: Vec<Warning>,
    /// The measured window: the one that the user chose, or the main window if no window of the run matches that
    /// choice.
    pub choice: &'r WindowChoice,
    pub cut: Option<Cut>,
    /// The device that provides the peaks, if the user or a sidecar file names one.
    pub device: Option<&'r str>,
    /// The pipeline-parallel execution in the whole capture.
    pub pipeline: Option<report::Pipeline>,
}

pub(crate) fn measure<'r>(run: &'r Run, settings: &'r Settings) -> (Analysis, DocumentParts<'r>) {
    let whole = &run.trace;
    // Steps are found and judged in the whole capture, regardless of the window.
    let cut = base::cut(run.warnings.iter().chain(&whole.warnings));
    let captured = Devices::of_capture(whole, Arc::clone(run.by_line()), cut.is_some());
    let calls = launches::calls_of(whole, &captured);
    autotuning::mark(whole, &captured, &calls);
    let modules = &run.programs().modules;
    let hosts = host_threads::host_times(whole, &captured);
    let compile = host_threads::compiling(&hosts);
    let times = DeviceTime::of_all(whole, &captured);
    let mut steps = Steps::find(whole, &captured);
    if cut.is_some() {
        steps.open_where_cut(&captured);
    }
    let steps = steps.related(&times);
    let mut warnings = run.warnings.clone();
    warnings.extend(whole.warnings.iter().cloned());
    let (choice, chosen) = match window::chosen_steps(&settings.window, &captured, &steps, settings.num_steps) {
        Ok(chosen) => (&settings.window, chosen),
        Err(warning) => {
            warnings.push(*warning);
            (&WindowChoice::Main, None)
        }
    };
    let mut step_report =
        steps::report(whole, &captured, &times, &steps, &compile, settings.num_steps, chosen.as_deref());
    let is_given = step_report.rows.is_empty() && step_report.timing.num_steps > 0;
    let given = settings.num_steps.filter(|_| is_given);
    let extents = given.map(|_| steps::extents(&captured, &steps));
    let plain = window::plain(choice, &captured, extents.as_deref());
    let measured = Measured { steps: &steps, judged: &step_report.rows, plain: &plain };
    let mut step_breakdown = Breakdown::new(whole, &captured, &times, &hosts, &calls, measured);
    let window = step_breakdown.window(choice, &steps, &plain, given);
    // From here on everything covers only the window, except where `whole` or `captured` is passed.
    let Limited { trace: limited, devices } = Limited::new(whole, &captured, &window.of_device);
    let trace = limited.as_ref().unwrap_or(whole);
    let tallies = Tallies::new(trace, &devices);
    step_breakdown.measure_window(whole, &devices, &tallies, &hosts, &window);
    step_report.timing.total_time_us = window.mean_length_us();
    step_report.timing.total_kernels = devices.used.iter().map(Device::num_ops).sum();
    let device = settings
        .device
        .as_deref()
        .or(run.device.as_deref())
        .or_else(|| crate::profile::metadata::noted_device(run, &captured));
    warnings.append(&mut step_report.warnings);
    // A file without events has no ops either, so one warning is enough.
    let is_reported = warnings.iter().any(|it| it.is(WarningCode::NoEvents) || it.is(WarningCode::XplaneNoEvents));
    if !is_reported && !has_only_memory(run) {
        warnings.extend(no_device_ops(&run.trace, &captured));
    }
    warnings.extend(device_clocks::warnings(&captured));
    warnings.extend(missing::warnings(whole, &captured, &calls, &steps, cut.is_some()));
    let ops = Ops::new(trace, &devices, &tallies, modules);
    let roofline = Roofline::new(trace, &devices, &ops, device);
    warnings.extend(roofline::warnings(&roofline));
    let memory = MemoryUse::new(run, &captured, &ops, device);
    warnings.extend(memory.warnings.iter().cloned());
    let collectives = Collectives::new(whole, &captured, &times, modules, &window.of_device);
    // The steps of a pipeline may be outside the window.
    let pipeline = match captured.used.len() {
        0 | 1 => None,
        _ if window.covers(&captured) || !has_transfers(&collectives) => {
            pipeline(whole, &captured, &times, &collectives, &steps)
        }
        _ => {
            let windows: Vec<IntervalSet> = captured.used.iter().map(|device| device.window.clone()).collect();
            let all = Collectives::new(whole, &captured, &times, modules, &windows);
            pipeline(whole, &captured, &times, &all, &steps)
        }
    };
    let input_pipeline = InputPipeline::new(whole, &captured, &hosts, |host| window.of_host(&captured, host));
    let analysis = Analysis {
        input_pipeline,
        memory,
        kernel_stats: KernelStats::new(trace, &devices, modules, &calls),
        launches: Launches::new(trace, &devices, &calls),
        copies: Copies::new(whole, &captured, &steps, &calls, Some(&window)),
        scores: scores::scores(trace, &devices, &step_breakdown, &collectives),
        collectives,
        ops,
        roofline,
        step_breakdown,
        window,
        devices,
        captured,
        limited,
        hosts,
        calls,
        steps,
    };
    (analysis, DocumentParts { modules, tallies, steps: step_report, warnings, choice, cut, device, pipeline })
}

impl Analysis {
    /// Returns the events of `run` in the window. `run` must be the run that was measured. Events that cross an edge of
    /// the window are cut at this edge.
    pub fn trace<'a>(&'a self, run: &'a Run) -> &'a Trace {
        self.limited.as_ref().unwrap_or(&run.trace)
    }

    /// Returns the limiting resource of an op: the resource that the op uses most.
    pub fn bound_by(&self, op: &Op) -> Option<&'static str> {
        self.roofline.bound_label(op)
    }

    /// Groups the ops of the run by layer of the model. `trace` is the result of [`Analysis::trace`].
    pub fn layers(&self, trace: &Trace, grouping: LayerGrouping) -> Layers {
        Layers::new(trace, &self.ops, &self.collectives, grouping, &|op| self.bound_by(op))
    }

    /// Returns the time that the op would need at the peak of its limiting resource, as a share of its actual time,
    /// from 0 to 1.
    pub fn efficiency(&self, op: &Op) -> Option<f64> {
        self.roofline.point(op)?.roofline_efficiency
    }
}

/// Returns true if the run consists of compiled programs, a device memory profile or the text of an out-of-memory
/// error. Such a run has no ops, so the lack of ops needs no warning.
fn has_only_memory(run: &Run) -> bool {
    let has_memory = run.heap_profile.is_some() || run.memory_error.is_some() || !run.trace.hlo.is_empty();
    run.trace.events.is_empty() && has_memory
}

fn no_device_ops(trace: &Trace, devices: &Devices) -> Option<Warning> {
    let warning = Warning::new(
        WarningCode::NoDeviceOps,
        "The profile contains no op that ran on a TPU, a GPU or XLA's CPU backend: steps, kernels and utilisation are unknown.",
    );
    devices.used.is_empty().then(|| warning.with_remedy(trace.framework.words().record_ops))
}
