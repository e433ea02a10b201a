//! Explains why memory figures are absent, and gives the line of Python that records them.

use report::{NotMeasured, UnifiedProfile};
use trace::{Framework, Platform, SourceFormat};

use run::Run;

const DUMP: &str = "Dump the programs and open the folder: \
                    `os.environ[\"XLA_FLAGS\"] = \"--xla_dump_to=DIR --xla_dump_hlo_as_proto\"` before `import jax`.";
const TRACE: &str = "`options = jax.profiler.ProfileOptions(); options.enable_hlo_proto = True; jax.profiler.start_trace(DIR, \
                     profiler_options=options)`";
const ALLOCATOR: &str = "`options = jax.profiler.ProfileOptions(); options.host_tracer_level = 2; jax.profiler.start_trace(DIR, \
                         profiler_options=options)`, with a step that allocates in the capture.";
const SAVE: &str = "`jax.profiler.save_device_memory_profile(\"memory.prof\")` records the live arrays at one moment.";

/// Lists the values that are absent from the section `memory` of a report. If the report has no such section, lists the
/// section itself.
pub(crate) fn not_measured(profile: &UnifiedProfile, run: &Run) -> Vec<NotMeasured> {
    let mut list = Vec::new();
    let mut add = |field: &str, reason: &str, remedy: &str| {
        let remedy = (!remedy.is_empty()).then(|| remedy.to_owned());
        list.push(NotMeasured { field: field.to_owned(), reason: reason.to_owned(), remedy });
    };
    let memory = profile.memory.as_ref();
    let is_json = run.trace.format == Some(SourceFormat::ChromeJson);
    let has_heap_alone = run.heap_profile.is_some() && run.trace.format.is_none();
    if memory.is_none_or(|memory| memory.programs.is_empty()) {
        let (reason, remedy) = if run.trace.framework == Framework::PyTorch {
            ("PyTorch does not compile programs whose buffers a trace could record.", "")
        } else if has_heap_alone {
            ("A device memory profile contains no compiled programs, so temporary values are missing.", DUMP)
        } else if is_json {
            ("A trace JSON embeds no compiled programs.", "Open the *.xplane.pb of the same run, which embeds them.")
        } else if run.trace.hlo.is_empty() {
            ("The capture embeds no compiled programs.", TRACE)
        } else {
            ("The compiled programs in the file have no buffer assignment.", DUMP)
        };
        add("memory.programs", reason, remedy);
    }
    let peaks_are_known = memory.is_some_and(|memory| {
        !memory.devices.is_empty()
            && memory.devices.iter().all(|device| device.source != "memory_profile" && device.source != "programs")
    });
    if !peaks_are_known {
        let (reason, remedy) = if has_heap_alone {
            ("A device memory profile records the live arrays at one moment, not the peak.", ALLOCATOR)
        } else if run.trace.framework == Framework::PyTorch {
            ("The trace has no allocator events.", "")
        } else if is_json {
            ("A trace JSON has no allocator events.", "Open the *.xplane.pb of the same run.")
        } else if profile.metadata.platform() == Some(Platform::Cpu) {
            let remedy = if run.heap_profile.is_some() { "" } else { SAVE };
            ("The CPU backend's allocator records no events in a capture.", remedy)
        } else if profile.metadata.num_devices == 0 && run.trace.events.is_empty() {
            ("Programs alone do not show what else is in the device's memory.", ALLOCATOR)
        } else {
            ("No allocator recorded events during the capture.", ALLOCATOR)
        };
        add("memory.devices[].peak_bytes", reason, remedy);
    }
    let devices = memory.map(|memory| memory.devices.as_slice()).unwrap_or_default();
    if profile.metadata.platform() != Some(Platform::Cpu)
        && devices.iter().any(|it| it.peak_bytes.is_some() && it.capacity_bytes.is_none())
    {
        let reason = "Neither the profile nor the device's data sheet contains the memory size.";
        add("memory.devices[].capacity_bytes", reason, "Choose the device on the Model page or the command line.");
    }
    list
}
