//! Describes the profiled run: hardware, software, place and time. All values come from the profile, never from the
//! analysing machine.

use std::collections::BTreeMap;

use crate::common::civil::{iso_8601_of_run_name, iso_8601_utc};
use crate::device::devices::Devices;
use facts::devices;
use report::{Metadata, PROFILER_VERSION, SCHEMA_VERSION, UNKNOWN};
use run::Run;
use trace::{Framework, Plane, PlaneKind, Platform, StatValue, Trace};

/// Maximum length of versions and capabilities. Longer texts are ignored.
const LONGEST_VALUE: usize = 200;

/// Maximum length of a text that contains all flags of a compiler or program.
const LONGEST_FLAGS: usize = 4000;

/// Name of the stat in which the Python package's capture kit embeds its sidecar `crossprof.json` in the capture.
pub const EMBEDDED_SIDECAR: &str = "crossprof";

/// Names of the capture kit's notes that have their own fields in the metadata.
const NOTED_START: &str = "wall_clock_ns";
const NOTED_FRAMEWORK: &str = "framework";
const NOTED_DEVICE: &str = "device_kind";
/// Name of the capture kit's note with the places of the chips. Each chip has an entry `id slice x,y,z`, and `;`
/// separates the entries.
pub(crate) const NOTED_PLACES: &str = "device_places";

/// Returns the time of capture: the time in the run's files, or the time in the name of the run's folder if the files
/// contain no time.
pub fn captured_at(run: &Run) -> Option<String> {
    let noted_start = || run.capture_notes.get(NOTED_START)?.parse().ok();
    let start = run.trace.capture.start_unix_ns.or_else(noted_start).map(iso_8601_utc);
    start.or_else(|| iso_8601_of_run_name(&run.name))
}

/// Builds the `metadata` of a run. `framework` comes from [`crate::profile::framework`]. `chosen` is the device that the user
/// names.
pub(crate) fn metadata(run: &Run, devices: &Devices, framework: &str, chosen: Option<&str>) -> Metadata {
    let trace = &run.trace;
    let platform = devices.platform.map_or(UNKNOWN, Platform::label);
    let model = || devices.used.iter().find_map(|device| device_model(trace, trace.planes.get(device.plane)?));
    // The kit recorded the library that the program imported. A trace JSON often names none of the library's files.
    let noted_framework = run
        .capture_notes
        .get(NOTED_FRAMEWORK)
        .filter(|_| [Framework::Jax, Framework::Unknown].map(Framework::name).contains(&framework));
    let framework = noted_framework.map_or(framework, String::as_str);
    let mut metadata = Metadata {
        timestamp: captured_at(run),
        platform: platform.to_owned(),
        device_type: model().unwrap_or_else(|| platform.to_owned()),
        trace_file: run.files.first().map(|file| file.path.clone()).unwrap_or_default(),
        framework: framework.to_owned(),
        num_devices: devices.used.len() as u64,
        profiler_version: PROFILER_VERSION.to_owned(),
        schema_version: Some(SCHEMA_VERSION.to_owned()),
        experiment_name: None,
        config_name: None,
        run_name: Some(run.name.clone()).filter(|name| !name.is_empty()),
        num_devices_visible: Some(devices.num_visible()),
        num_hosts: Some(trace.hosts.len() as u64).filter(|&hosts| hosts > 0),
        capture_duration_us: devices.capture.map(|capture| capture.length().as_us()),
        num_events: Some(trace.events.len() as u64),
        source_format: trace.format.map(|format| format.label().to_owned()),
        generator: Some(concat!("crossprof ", env!("CARGO_PKG_VERSION")).to_owned()),
        environment: environment(run, devices),
        // Only the user can give the other fields.
        ..Metadata::default()
    };
    if let Some(chosen) = chosen {
        name_device(&mut metadata, chosen);
    }
    metadata
}

/// Returns the device that the capture kit recorded, if the profile names no device and crossprof supports the recorded
/// device.
pub(crate) fn noted_device<'r>(run: &'r Run, devices: &Devices) -> Option<&'r str> {
    let noted = run.capture_notes.get(NOTED_DEVICE)?;
    let named = |plane: usize| run.trace.planes.get(plane).and_then(|plane| device_model(&run.trace, plane));
    let is_named = devices.used.iter().any(|device| named(device.plane).is_some());
    (!is_named && devices::chosen(noted).is_some()).then_some(noted)
}

/// Sets the device's name to the user's choice in two cases: the profile does not name the device, or the choice is a
/// slice of the chips that the profile names. In all other cases the name stays, because the user may compare with the
/// peaks of any device.
pub fn name_device(metadata: &mut Metadata, chosen: &str) {
    let Some(chosen) = devices::chosen(chosen) else { return };
    let is_unnamed =
        metadata.device_type == metadata.platform && matches!(metadata.platform(), Some(Platform::Tpu | Platform::Gpu));
    let of_platform = (chosen.device.vendor == "google") == (metadata.platform() == Some(Platform::Tpu));
    let is_slice = chosen.name != chosen.device.label && chosen.device.vendor == "google";
    let same = || devices::find(&metadata.device_type).is_some_and(|known| known.key == chosen.device.key);
    if (is_unnamed && of_platform) || (is_slice && same()) {
        metadata.device_type = chosen.name;
    }
}

/// Returns the name of the matrix units on devices of this type: tensor cores on NVIDIA, matrix cores on AMD.
pub fn matrix_units(device_type: &str) -> &'static str {
    if is_amd(device_type) { "matrix cores" } else { "tensor cores" }
}

/// Returns true if a device of this type is an AMD GPU, whose profiles come from ROCm.
pub fn is_amd(device_type: &str) -> bool {
    ["AMD", "Radeon", "Instinct"].iter().any(|word| device_type.contains(word)) || device_type.starts_with("gfx")
}

/// Returns the model of a device: its name if the profile contains it, or a name for its compute capability. `None` if
/// the profile contains neither a name nor a compute capability, as in every trace JSON from JAX.
pub(crate) fn device_model(trace: &Trace, plane: &Plane) -> Option<String> {
    let text = |name: &str| match trace.plane_stat(plane, name)? {
        StatValue::Text(id) => Some(trace.text(id).to_owned()).filter(|text| !text.is_empty()),
        _ => None,
    };
    let int = |name: &str| match trace.plane_stat(plane, name)? {
        StatValue::Int(value) => Some(value),
        StatValue::Double(value) => Some(value as i64),
        StatValue::Text(id) => trace.text(id).parse().ok(),
    };
    if let Some(name) = text("gpu_device_name").or_else(|| text("device_type_string")) {
        return Some(name);
    }
    let (major, minor) = (int("compute_cap_major")?, int("compute_cap_minor").unwrap_or(0));
    let vendor = text("device_vendor");
    // NVIDIA has no capability 9.4 or 9.5.
    let is_amd = vendor.map_or(major == 9 && minor > 0, |vendor| vendor.eq_ignore_ascii_case("AMD"));
    Some(if is_amd {
        // The capability contains only the first two digits of the ISA's name. The table lists the current ISAs with
        // these digits.
        match (major, minor) {
            (9, 4) => "AMD GPU gfx942".to_owned(),
            (9, 5) => "AMD GPU gfx950".to_owned(),
            _ => format!("AMD GPU (compute capability {major}.{minor})"),
        }
    } else {
        match nvidia_architecture(major, minor) {
            Some(name) => format!("NVIDIA GPU ({name}, compute capability {major}.{minor})"),
            None => format!("NVIDIA GPU (compute capability {major}.{minor})"),
        }
    })
}

/// Returns the name of the NVIDIA architecture with this compute capability.
fn nvidia_architecture(major: i64, minor: i64) -> Option<&'static str> {
    Some(match (major, minor) {
        (3, _) => "Kepler",
        (5, _) => "Maxwell",
        (6, _) => "Pascal",
        (7, 5) => "Turing",
        (7, _) => "Volta",
        (8, 9) => "Ada Lovelace",
        (8, _) => "Ampere",
        (9, _) => "Hopper",
        (10..=12, _) => "Blackwell",
        _ => return None,
    })
}

/// Collects the stats of the first device in use, of the hosts, and of all other planes, in this order. Keeps the first
/// value of each name. The capture kit's notes have the lowest precedence. Leaves out measured values and the capture's
/// own times, because other parts of the report contain them.
fn environment(run: &Run, devices: &Devices) -> BTreeMap<String, String> {
    let trace = &run.trace;
    let device = devices.used.first().and_then(|device| trace.planes.get(device.plane));
    let hosts = trace.planes.iter().filter(|plane| plane.kind == PlaneKind::Host);
    let others = trace.planes.iter().filter(|plane| plane.kind == PlaneKind::Other);
    let mut environment = BTreeMap::new();
    for plane in device.into_iter().chain(hosts).chain(others) {
        for &(name, value) in &plane.stats {
            let name = trace.text(name);
            let text = match value {
                StatValue::Int(value) => value.to_string(),
                StatValue::Double(value) if value.is_finite() => value.to_string(),
                StatValue::Double(_) => continue,
                StatValue::Text(id) => trace.text(id).to_owned(),
            };
            let measured = name.ends_with("_utilization_percent") || name.starts_with("profile_");
            // Skips hints for viewers, and the sidecar, because its notes are listed individually.
            let shown = ["labels", "sort_index", EMBEDDED_SIDECAR].contains(&name);
            let is_flags = ["flags", "args"].iter().any(|end| name.to_ascii_lowercase().ends_with(end));
            let longest = if is_flags { LONGEST_FLAGS } else { LONGEST_VALUE };
            let printable = !text.is_empty() && text.len() <= longest && !text.starts_with('<');
            if !name.is_empty() && !measured && !shown && printable {
                environment.entry(name.to_owned()).or_insert(text);
            }
        }
    }
    for (name, note) in run.capture_notes.iter().filter(|(_, note)| note.len() <= LONGEST_FLAGS) {
        if [NOTED_START, NOTED_FRAMEWORK, NOTED_DEVICE, NOTED_PLACES].contains(&name.as_str()) {
            continue;
        }
        environment.entry(name.clone()).or_insert_with(|| note.clone());
    }
    environment
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::TraceBuilder;

    fn gpu(stats: &[(&str, StatValue)], vendor: Option<&str>) -> Run {
        let mut b = TraceBuilder::new();
        let line = b.line("/device:GPU:0", "Stream #1(Compute)");
        b.line("/device:GPU:1", "Stream #1(Compute)");
        b.event(line, "k", 5, 10);
        for &(name, value) in stats {
            b.plane_stat("/device:GPU:0", name, value);
        }
        if let Some(vendor) = vendor {
            let vendor = StatValue::Text(b.trace_mut().strings.intern(vendor));
            b.plane_stat("/device:GPU:0", "device_vendor", vendor);
        }
        Run { trace: b.build(), ..Run::default() }
    }

    fn device_type(run: &Run) -> String {
        metadata(run, &Devices::of(&run.trace), "JAX", None).device_type
    }

    #[test]
    fn the_device_is_named_by_the_profile() {
        let capability =
            |major, minor| [("compute_cap_major", StatValue::Int(major)), ("compute_cap_minor", StatValue::Int(minor))];
        assert_eq!(device_type(&gpu(&capability(9, 4), Some("AMD"))), "AMD GPU gfx942");
        assert_eq!(
            device_type(&gpu(&capability(8, 9), Some("Nvidia"))),
            "NVIDIA GPU (Ada Lovelace, compute capability 8.9)"
        );
        assert_eq!(device_type(&gpu(&capability(9, 5), None)), "AMD GPU gfx950");
        assert_eq!(device_type(&gpu(&capability(9, 0), None)), "NVIDIA GPU (Hopper, compute capability 9.0)");
        assert_eq!(device_type(&gpu(&[], None)), "GPU");
    }

    #[test]
    fn the_user_names_an_unnamed_device() {
        let with = |run: &Run, chosen| metadata(run, &Devices::of(&run.trace), "JAX", Some(chosen)).device_type;
        let nameless = gpu(&[], None);
        assert_eq!(with(&nameless, "a100-sxm-40gb"), "A100 SXM 40 GB");
        assert_eq!(with(&nameless, "NVIDIA A100-SXM4-40GB"), "NVIDIA A100-SXM4-40GB");
        assert_eq!(with(&nameless, "v4-8"), "GPU", "a GPU is no TPU");
        let mut b = TraceBuilder::new();
        let line = b.line("/device:TPU:0", "XLA Ops");
        b.event(line, "fusion", 0, 10);
        let tpu = Run { trace: b.build(), ..Run::default() };
        assert_eq!(with(&tpu, "v4-8"), "TPU v4-8");
        let mut b = TraceBuilder::new();
        let line = b.line("/device:TPU:0", "XLA Ops");
        b.event(line, "fusion", 0, 10);
        let name = b.trace_mut().strings.intern("TPU v4");
        b.plane_stat("/device:TPU:0", "device_type_string", StatValue::Text(name));
        let named = Run { trace: b.build(), ..Run::default() };
        assert_eq!(with(&named, "v4-8"), "TPU v4-8", "a slice of what the profile names");
        assert_eq!(with(&named, "v5p-8"), "TPU v4", "peaks of another device are no name");
    }

    #[test]
    fn only_used_devices_are_counted_and_time_comes_from_the_profile() {
        let mut run = gpu(&[("core_count", StatValue::Int(304))], Some("AMD"));
        run.name = "2026_05_20_08_45_02".to_owned();
        let metadata = metadata(&run, &Devices::of(&run.trace), "JAX", None);
        assert_eq!((metadata.num_devices, metadata.num_devices_visible), (1, Some(2)));
        assert_eq!(metadata.timestamp.as_deref(), Some("2026-05-20T08:45:02"));
        assert_eq!(metadata.environment.get("core_count").map(String::as_str), Some("304"));
        assert_eq!(metadata.capture_duration_us, Some(10.0));
        run.trace.capture.start_unix_ns = Some(1_779_266_702_889_805_563);
        let metadata = super::metadata(&run, &Devices::of(&run.trace), "JAX", None);
        assert_eq!(metadata.timestamp.as_deref(), Some("2026-05-20T08:45:02.889Z"));
    }

    #[test]
    fn notes_of_the_kit_supply_what_a_trace_json_lacks() {
        let note = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let noted = BTreeMap::from([
            note("wall_clock_ns", "1779266702889805563"),
            note("framework", "Flax"),
            note("device_kind", "NVIDIA A100-SXM4-40GB"),
            note("git_commit", "ab12"),
        ]);
        let run = Run { capture_notes: noted.clone(), ..gpu(&[], None) };
        let devices = Devices::of(&run.trace);
        assert_eq!(noted_device(&run, &devices), Some("NVIDIA A100-SXM4-40GB"));
        let found = metadata(&run, &devices, "JAX", noted_device(&run, &devices));
        assert_eq!(found.timestamp.as_deref(), Some("2026-05-20T08:45:02.889Z"));
        assert_eq!((found.framework.as_str(), found.device_type.as_str()), ("Flax", "NVIDIA A100-SXM4-40GB"));
        assert_eq!(found.environment.keys().map(String::as_str).collect::<Vec<_>>(), ["git_commit"]);
        // The profile's own value takes precedence.
        let name = [("compute_cap_major", StatValue::Int(9)), ("compute_cap_minor", StatValue::Int(0))];
        let run = Run { capture_notes: noted, ..gpu(&name, None) };
        assert_eq!(noted_device(&run, &Devices::of(&run.trace)), None);
        assert_eq!(metadata(&run, &Devices::of(&run.trace), "PyTorch", None).framework, "PyTorch");
    }
}
