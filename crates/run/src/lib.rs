//! A decoded run, the settings of its analysis, and the data that is derived from them before metrics are computed.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod compiled_programs;
mod cpu_ops;
mod graph_kernels;
mod settings;
mod window_choice;

pub use compiled_programs::CompiledPrograms;
pub use graph_kernels::ReadKinds;
pub use settings::Settings;
pub use window_choice::WindowChoice;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use base::Warning;
use report::{ModelConfig, SourceFile, Tracing};
use trace::{ByLine, EventId, Trace};

/// A decoded run: the events of all its hosts, and the files that contain these events.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Name of the profile folder, or name of the file if there is no profile folder.
    pub name: String,
    /// Events of all hosts.
    pub trace: Trace,
    /// Model configuration from a sidecar file (`config.json`, `crossprof.json`).
    pub model: ModelConfig,
    /// Device that the sidecar `crossprof.json` names.
    pub device: Option<String>,
    /// Slowdown of the program by tracing, if the capture kit measured it.
    pub tracing: Option<Tracing>,
    /// Other notes of the capture kit, under the names that they have in `metadata.environment`.
    pub capture_notes: BTreeMap<String, String>,
    /// The files of the run. The main file comes first.
    pub files: Vec<SourceFile>,
    /// Warnings about the files. Warnings about events are in the trace.
    pub warnings: Vec<Warning>,
    /// Uncompressed device memory profile (pprof). A run with events has this profile only if one was saved next to the
    /// trace.
    pub heap_profile: Option<Arc<[u8]>>,
    /// The device memory profile that was saved before `heap_profile`. For a run with events, this is the first profile
    /// next to the trace. If the run is itself a device memory profile, this is the profile that the user supplied just
    /// before `heap_profile`.
    pub earlier_heap_profile: Option<EarlierHeapProfile>,
    /// Text of an out-of-memory error. `None` for a run with events or programs.
    pub memory_error: Option<Arc<str>>,
    /// Cache of [`Run::by_line`]. Code that changes the trace must empty this cache.
    pub sorted: OnceLock<Arc<ByLine>>,
    /// Cache of [`Run::programs`].
    pub compiled: OnceLock<Arc<CompiledPrograms>>,
    /// For each event kind that [`Run::complete`] assigned to graph kernels, the kind that was read from the file.
    pub graph_kernels: Option<ReadKinds>,
}

/// A device memory profile (pprof) that was saved before another profile.
#[derive(Clone, Debug)]
pub struct EarlierHeapProfile {
    /// Name of the profile's file.
    pub name: String,
    /// Uncompressed bytes of the profile.
    pub bytes: Arc<[u8]>,
}

impl Run {
    /// Returns the sorted events of every line. The events are sorted on the first call, and later calls and analyses
    /// reuse the result.
    pub fn by_line(&self) -> &Arc<ByLine> {
        self.sorted.get_or_init(|| Arc::new(ByLine::new(&self.trace)))
    }

    /// Returns the compiled programs of the run. Each program is read on first use, and later calls and analyses reuse
    /// it.
    pub fn programs(&self) -> &Arc<CompiledPrograms> {
        self.compiled.get_or_init(|| Arc::new(CompiledPrograms::new(&self.trace)))
    }

    /// Completes the trace with data from the compiled programs. Later calls do nothing. Extends the events of XLA's
    /// CPU ops to the true ends of the ops. Adds the names of instructions to the events of kernels that CUDA graphs
    /// launched. Does nothing if the trace has no such events.
    pub fn complete(&mut self) {
        let compiled = Arc::clone(self.programs());
        cpu_ops::complete(&mut self.trace, &compiled.modules);
        if self.graph_kernels.is_none() {
            self.graph_kernels = Some(graph_kernels::name(&mut self.trace, &compiled.modules));
        }
    }

    /// Returns the run as it was read from its files. Reverts the changes that an analysis made to the run's events,
    /// and empties the caches.
    pub fn as_read(mut self) -> Run {
        if let Some(read) = self.graph_kernels.take() {
            graph_kernels::undo(&mut self.trace, &read);
        }
        cpu_ops::undo(&mut self.trace);
        Run { sorted: OnceLock::new(), compiled: OnceLock::new(), ..self }
    }

    /// Returns the path of the file that contains an event, and the event's index in that file. In [`Run::files`], the
    /// files with events come first, in the order of their events.
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
