//! A run's events in, its numbers out. Every number is defined in docs/metrics.md.
//!
//! Each number is made by the module of its name; [`crate::analysis`] puts them together.

pub mod analysis;
pub mod arguments;
pub mod categories;
mod civil;
pub mod collectives;
pub mod compilation;
pub mod copies;
pub mod cpu_ops;
pub mod device_clocks;
pub mod device_time;
pub mod devices;
pub mod duty_cycle;
pub mod framework;
pub mod freezing;
pub mod gaps;
pub mod histogram;
pub mod host_activity;
pub mod host_ops;
pub mod host_threads;
pub mod host_waits;
pub mod host_work;
pub mod io;
pub mod kernel_stats;
pub mod kernels;
pub mod labels;
pub mod launches;
pub mod metadata;
pub mod not_measured;
pub mod ops;
pub mod other_devices;
pub mod overlap;
pub mod parameters;
pub mod placement;
pub mod roofline;
pub mod self_time;
pub mod statistics;
pub mod step_breakdown;
pub mod step_ops;
pub mod steps;
pub mod throughput;
pub mod transfers;
pub mod utilization;
pub mod window;

pub use window::WindowChoice;

use base::warning::Warning;
use report::{ModelConfig, SourceFile};
use trace::Trace;

/// What the trace cannot know and the user gives: flags on the command line, a form in the page.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Settings {
    /// Overrides the number of steps found in the trace.
    pub num_steps: Option<u64>,
    /// The device whose peaks to compare with, instead of what the profile says: a key of the facts, a name of a profile or a
    /// slice of TPUs; see [`facts::devices::chosen`].
    #[serde(default)]
    pub device: Option<String>,
    /// Dimensions of the model; each given field overrides the sidecar file's.
    pub model: ModelConfig,
    /// The part of the run that its numbers are of.
    #[serde(default)]
    pub window: WindowChoice,
    /// Files that `model` was read from: the report names them.
    #[serde(default)]
    pub model_files: Vec<SourceFile>,
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
    /// The device, where a sidecar `crossprof.json` names it.
    pub device: Option<String>,
    /// The files it was made from, the main one first.
    pub files: Vec<SourceFile>,
    /// Warnings about the files (those about events are in the trace).
    pub warnings: Vec<Warning>,
}
