//! A run's events in, its numbers out. Every number is defined in docs/metrics.md.
//!
//! Each number is made by the module of its name; [`Analysis`] puts them together.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod analysis;
mod answers;
mod arguments;
mod categories;
mod civil;
mod collectives;
mod compilation;
mod compiled_programs;
mod context;
mod copies;
mod cpu_ops;
mod device_clocks;
mod device_time;
mod devices;
mod document;
mod duty_cycle;
mod framework;
mod freezing;
mod gaps;
mod histogram;
mod host_activity;
mod host_ops;
mod host_threads;
mod host_waits;
mod host_work;
mod io;
mod kernel_stats;
mod kernels;
mod labels;
mod launches;
pub mod memory_use;
mod metadata;
mod missing;
mod not_measured;
mod ops;
mod other_devices;
mod overlap;
mod parameters;
mod per_line;
mod placement;
mod programs;
mod questions;
pub mod roofline;
mod self_time;
mod statistics;
mod step_breakdown;
mod step_growth;
mod step_ops;
mod step_part;
mod steps;
mod throughput;
mod transfers;
mod unrecorded;
mod utilization;
mod window;

pub use analysis::Analysis;

pub use arguments::Argument;
pub use categories::{OpClass, OpFamily, family_of};
pub use collectives::{CollectiveOp, CollectiveSums, Collectives, exposed_communication};
pub use compilation::compilation;
pub use compiled_programs::CompiledPrograms;
pub use context::{Context, Examined, analyse};
pub use copies::{Copies, CopyRow, StepCopies, bandwidth_gb_per_sec};
pub use device_time::DeviceTime;
pub use devices::{Device, Devices, interval};
pub use freezing::of_module as layer_freezing_of;
pub use histogram::Histogram;
pub use host_ops::{HostOp, HostOps};
pub use host_threads::{HostRole, HostThreads};
pub use host_waits::event_in;
pub use host_work::{HostWork, compiled_modules, for_each_named, host_spans};
pub use io::io_operations;
pub use kernel_stats::demangle::demangle;
pub use kernel_stats::{KernelColumns, KernelRow, KernelStats, KernelSum, Occurrences, SHORT_KERNEL};
pub use kernels::kernels;
pub use launches::{Call, LaunchGroup, LaunchStatistics, Launches, call_of, for_each_launch};
pub use metadata::{EMBEDDED_SIDECAR, captured_at, is_amd, matrix_units, name_device};
pub use ops::tree::{OpNode, OpTree};
pub use ops::{
    Coverage, Grouping, NodeText, Op, OpColumns, OpText, Ops, PROGRAM, Tallies, Text, Texts, TreeColumns, WorkTime,
    rate,
};
pub use parameters::{Preset, parameter_counts, presets};
pub use placement::{HostReason, Placement, PlacementRow};
pub use programs::{MissingProgram, missing as missing_programs};
pub use questions::LEAST_SHARE;
pub use self_time::{SelfTime, self_times};
pub use statistics::{Percentiles, median, percentiles};
pub use step_breakdown::{Breakdown, MeanPart, StepEvent, StepRow};
pub use step_growth::grown_op;
pub use step_part::StepPart;
pub use steps::{Launched, StepWindow, Steps, StepsTogether};
pub use throughput::throughput;
pub use transfers::memory_operations;
pub use unrecorded::Unrecorded;
pub use window::{WindowChoice, WindowKind};

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use base::Warning;
use report::{ModelConfig, SourceFile, Tracing};
use trace::{ByLine, EventId, Trace};

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
    /// How much tracing slowed it down, where the capture kit measured it.
    pub tracing: Option<Tracing>,
    /// What else the capture kit noted, by the names that `metadata.environment` has for it.
    pub capture_notes: BTreeMap<String, String>,
    /// The files it was made from, the main one first.
    pub files: Vec<SourceFile>,
    /// Warnings about the files (those about events are in the trace).
    pub warnings: Vec<Warning>,
    /// The device memory profile (pprof) that it is, unpacked; `None` for a run with events or programs.
    pub heap_profile: Option<Arc<[u8]>>,
    /// The device memory profile that was given before it, where this run is one and there is such.
    pub earlier_heap_profile: Option<EarlierHeapProfile>,
    /// The text of an out-of-memory error that it is; `None` for a run with events or programs.
    pub memory_error: Option<Arc<str>>,
    /// What [`Run::by_line`] has made. Whoever changes the trace empties it.
    pub sorted: OnceLock<Arc<ByLine>>,
    /// What [`Run::programs`] has made.
    pub compiled: OnceLock<Arc<CompiledPrograms>>,
}

/// A device memory profile (pprof) that was given before another.
#[derive(Clone, Debug)]
pub struct EarlierHeapProfile {
    /// Name of the profile's run.
    pub name: String,
    /// Bytes of the profile, unpacked.
    pub bytes: Arc<[u8]>,
}

impl Run {
    /// The events of every line in order: sorted when first asked for, for all who look at the trace, however often it is analysed.
    pub fn by_line(&self) -> &Arc<ByLine> {
        self.sorted.get_or_init(|| Arc::new(ByLine::new(&self.trace)))
    }

    /// The compiled programs of the run: each is read when first asked for, for all who ask, however often the run is
    /// analysed.
    pub fn programs(&self) -> &Arc<CompiledPrograms> {
        self.compiled.get_or_init(|| Arc::new(CompiledPrograms::new(&self.trace)))
    }

    /// Makes the events of the ops of XLA's CPU backend last as long as the ops do, once. Costs nothing where there are no such ops.
    pub fn complete_cpu_ops(&mut self) {
        let compiled = Arc::clone(self.programs());
        cpu_ops::complete(&mut self.trace, &compiled.modules);
    }

    /// The run as it was read: without what an analysis wrote into its events, and without what is made when it is first asked for.
    pub fn as_read(mut self) -> Run {
        cpu_ops::undo(&mut self.trace);
        Run { sorted: OnceLock::new(), compiled: OnceLock::new(), ..self }
    }

    /// The file that holds an event, by its path, and the event's index among those that it holds. The files of the hosts come first, in
    /// the order in which their events follow each other.
    pub fn in_file(&self, event: EventId) -> Option<(&str, u32)> {
        let mut first = 0u64;
        for file in &self.files {
            let end = first.saturating_add(file.num_events?);
            if u64::from(event.get()) < end {
                let first = EventId::new(u32::try_from(first).ok()?);
                return Some((&file.path, self.trace.file_index(first, event)?));
            }
            first = end;
        }
        None
    }
}
