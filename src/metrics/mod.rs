//! A run's events in, its numbers out. Every number is defined in docs/metrics.md.
//!
//! [`analyse`] assembles the unified profile; each section is made by the module of its name.

pub mod categories;
mod civil;
pub mod compilation;
pub mod devices;
pub mod gaps;
pub mod host_work;
pub mod io;
pub mod kernels;
pub mod metadata;
pub mod not_measured;
pub mod parameters;
pub mod self_time;
pub mod statistics;
pub mod steps;
pub mod throughput;
pub mod transfers;
pub mod utilization;

use crate::report::{ModelConfig, SourceFile, UnifiedProfile};
use crate::trace::Trace;
use crate::warning::Warning;

use devices::Devices;
use steps::Steps;

/// What the trace cannot know and the user gives: flags on the command line, a form in the page.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Settings {
    /// Overrides the number of steps found in the trace.
    pub num_steps: Option<u64>,
    /// Dimensions of the model; each given field overrides the sidecar file's.
    pub model: ModelConfig,
}

/// One run, decoded: the events of all its hosts and where they came from.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Name of the profile folder, else of the file.
    pub name: String,
    /// The events.
    pub trace: Trace,
    /// Model configuration of a sidecar file (`config.json`, `crossprof.json`).
    pub model: ModelConfig,
    /// The files it was made from, the main one first.
    pub files: Vec<SourceFile>,
    /// Warnings about the files (those about events are in the trace).
    pub warnings: Vec<Warning>,
}

/// The unified profile of `run`: the same for the same bytes and settings, on every machine.
pub fn analyse(run: &Run, settings: &Settings) -> UnifiedProfile {
    let trace = &run.trace;
    let devices = Devices::new(trace);
    let compile = compilation::compile_spans(trace);
    let steps = steps::report(trace, &devices, &Steps::find(trace, &devices), &compile, settings.num_steps);
    let model_config = run.model.overridden_by(&settings.model);
    let num_devices = devices.used.len() as u64;
    let mut warnings = run.warnings.clone();
    warnings.extend(trace.warnings.iter().cloned());
    warnings.extend(steps.warnings);
    warnings.extend(no_device_ops(&devices));
    let mut profile = UnifiedProfile {
        metadata: metadata::metadata(run, &devices),
        parameter_counts: parameters::parameter_counts(&model_config),
        throughput: throughput::throughput(&steps.timing, &model_config, num_devices),
        model_config,
        compute_utilization: utilization::compute_utilization(trace, &devices, steps.occupancy),
        kernels: kernels::kernels(trace, &devices),
        memory_operations: transfers::memory_operations(trace, &devices),
        multi_device: utilization::multi_device(trace, &devices),
        timeline_analysis: gaps::timeline_analysis(trace, &devices),
        compilation: compilation::compilation(trace, &devices),
        io_operations: io::io_operations(trace, &devices),
        step_timing: steps.timing,
        steps: steps.rows,
        warnings,
        not_measured: Vec::new(),
        provenance: run.files.clone(),
    };
    profile.not_measured = not_measured::not_measured(&profile, trace);
    profile
}

fn no_device_ops(devices: &Devices) -> Option<Warning> {
    let warning = Warning::caution(
        "no_device_ops",
        "The profile holds no op that ran on a TPU, a GPU or XLA's CPU backend: nothing can be said of devices.",
    );
    let remedy = "Capture while the jitted function runs, and call jax.block_until_ready on its result before the trace is stopped.";
    devices.used.is_empty().then(|| warning.with_remedy(remedy))
}
