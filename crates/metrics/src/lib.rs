//! Computes the numbers of a run from its events. docs/metrics.md defines every number.
//!
//! Each module computes the numbers that it is named after; [`Analysis`] combines them.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod analysis;
mod arguments;
mod cache;
mod call_path;
mod categories;
mod civil;
mod collectives;
mod compilation;
mod compiled_calls;
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
pub use compiled_calls::{CompiledCalls, HostArguments, compiled_calls, host_arguments};
pub use compiled_programs::CompiledPrograms;
pub use context::{Context, Examined, analyse};
pub use copies::{Copies, CopyRow, StepCopies, bandwidth_gb_per_sec};
pub use device_time::DeviceTime;
pub use devices::{Device, Devices, interval};
pub use freezing::of_module as layer_freezing_of;
pub use histogram::Histogram;
pub use host_ops::{HostOp, HostOps};
pub use host_threads::{HostRole, HostThreads};
pub use host_waits::{NamedCalls, PythonThreads, RangeCall, busy_python_threads, called_back, event_in, named_calls};
pub use host_work::{HostWork, compiled_modules, for_each_named, host_spans};
pub use io::io_operations;
pub use kernel_stats::demangle::demangle;
pub use kernel_stats::{KernelColumns, KernelRow, KernelStats, KernelSum, Occurrences, SHORT_KERNEL};
pub use kernels::kernels;
pub use launches::{Call, LaunchGroup, LaunchStatistics, Launches, call_of, for_each_launch};
pub use metadata::{EMBEDDED_SIDECAR, captured_at, is_amd, matrix_units, name_device};
pub use ops::shapes::{elements, of_expression as op_shapes};
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
pub use window::{LEAST_WORK_PERCENT, WindowChoice, WindowKind};

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use base::Warning;
use report::{ModelConfig, SourceFile, Tracing};
use trace::{ByLine, EventId, Trace};

/// Values that the trace cannot contain and the user gives, as flags of the command line or in a form of the page.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Settings {
    /// Number of steps. Overrides the number found in the trace.
    pub num_steps: Option<u64>,
    /// Device whose peaks to compare with. Overrides the profile's device. A key of the facts, a name from a profile or
    /// a TPU slice; see [`facts::devices::chosen`].
    #[serde(default)]
    pub device: Option<String>,
    /// Dimensions of the model. Each given field overrides the field of the sidecar file.
    pub model: ModelConfig,
    /// The part of the run that the numbers cover.
    #[serde(default)]
    pub window: WindowChoice,
    /// Files that `model` was read from. The report names them.
    #[serde(default)]
    pub model_files: Vec<SourceFile>,
}

/// A decoded run: the events of all its hosts and the files that they come from.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Name of the profile folder, or of the file if there is no such folder.
    pub name: String,
    /// Events of all hosts.
    pub trace: Trace,
    /// Model configuration from a sidecar file (`config.json`, `crossprof.json`).
    pub model: ModelConfig,
    /// Device that a sidecar `crossprof.json` names.
    pub device: Option<String>,
    /// Slowdown by tracing, if the capture kit measured it.
    pub tracing: Option<Tracing>,
    /// Other notes of the capture kit, under the names that `metadata.environment` uses.
    pub capture_notes: BTreeMap<String, String>,
    /// The files of the run, the main one first.
    pub files: Vec<SourceFile>,
    /// Warnings about the files. Warnings about events are in the trace.
    pub warnings: Vec<Warning>,
    /// Uncompressed device memory profile (pprof). A run with events has one if it was saved next to the trace.
    pub heap_profile: Option<Arc<[u8]>>,
    /// The device memory profile that was saved before it. A run with events has the first one of those next to the trace, a
    /// memory profile has the one that was given before it.
    pub earlier_heap_profile: Option<EarlierHeapProfile>,
    /// Text of an out-of-memory error. `None` for a run with events or programs.
    pub memory_error: Option<Arc<str>>,
    /// Cache of [`Run::by_line`]. Code that changes the trace must empty it.
    pub sorted: OnceLock<Arc<ByLine>>,
    /// Cache of [`Run::programs`].
    pub compiled: OnceLock<Arc<CompiledPrograms>>,
}

/// A device memory profile (pprof) that was saved before another one.
#[derive(Clone, Debug)]
pub struct EarlierHeapProfile {
    /// Name of the profile's file.
    pub name: String,
    /// Uncompressed bytes of the profile.
    pub bytes: Arc<[u8]>,
}

impl Run {
    /// Returns the events of every line, sorted. Sorts them on the first call; later calls and analyses reuse the
    /// result.
    pub fn by_line(&self) -> &Arc<ByLine> {
        self.sorted.get_or_init(|| Arc::new(ByLine::new(&self.trace)))
    }

    /// Returns the compiled programs of the run. Each program is read on first use; later calls and analyses reuse it.
    pub fn programs(&self) -> &Arc<CompiledPrograms> {
        self.compiled.get_or_init(|| Arc::new(CompiledPrograms::new(&self.trace)))
    }

    /// Extends the events of ops of XLA's CPU backend to the true ends of the ops, once. Does nothing if there are no
    /// such ops.
    pub fn complete_cpu_ops(&mut self) {
        let compiled = Arc::clone(self.programs());
        cpu_ops::complete(&mut self.trace, &compiled.modules);
    }

    /// Returns the run as it was read: without the changes that an analysis made to its events, and with empty caches.
    pub fn as_read(mut self) -> Run {
        cpu_ops::undo(&mut self.trace);
        Run { sorted: OnceLock::new(), compiled: OnceLock::new(), ..self }
    }

    /// Returns the path of the file that contains an event, and the event's index in that file. The files of the hosts
    /// come first in [`Run::files`], in the order of their events.
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
