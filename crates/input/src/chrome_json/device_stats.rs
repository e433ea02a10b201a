//! Sets the name, memory, compute capability and vendor of devices. The values come from the keys next to the event
//! list, and from the names of runtime calls.

use super::metadata::{DeviceProperties, TopLevel};
use super::store::Store;
use trace::{PlaneKind, StatValue, Trace};

/// Number of threads in a wave on AMD's data centre GPUs. A warp on NVIDIA's GPUs has 32 threads.
const WAVE_OF_AMD: i64 = 64;

/// Adds the device properties that are stored next to the event list to the planes.
pub(super) fn set(store: &mut Store, top_level: &TopLevel) {
    let is_amd = is_amd(&store.trace, &top_level.devices);
    for index in 0..store.trace.planes.len() {
        let Some(kind) = store.trace.planes.get(index).map(|plane| plane.kind) else { continue };
        if kind == PlaneKind::Host {
            set_integers(store, index, &top_level.stats);
        }
        let PlaneKind::Device { ordinal, .. } = kind else { continue };
        if is_amd {
            set_text(store, index, "device_vendor", "AMD");
        }
        let known = top_level.devices.iter().find(|device| device.ordinal == i64::from(ordinal));
        let Some(device) = known.cloned().or_else(|| common(&top_level.devices)) else { continue };
        if let Some(name) = device.name.filter(|name| !name.is_empty()) {
            set_text(store, index, "gpu_device_name", &name);
        }
        set_integers(store, index, &device.stats);
    }
}

/// Returns the properties that all listed devices share, or `None` if the names of the devices differ. A device that
/// the file does not list is assumed to have these properties too.
fn common(devices: &[DeviceProperties]) -> Option<DeviceProperties> {
    let (first, rest) = devices.split_first()?;
    let agrees = rest.iter().all(|device| device.name == first.name);
    let is_in_all = |stat: &(&str, i64)| rest.iter().all(|device| device.stats.contains(stat));
    let stats = first.stats.iter().copied().filter(is_in_all).collect();
    agrees.then(|| DeviceProperties { stats, ..first.clone() })
}

/// Returns true if device names, runtime calls (`hipLaunchKernel`), wave width or kernels show that the devices are
/// from AMD.
fn is_amd(trace: &Trace, devices: &[DeviceProperties]) -> bool {
    let is_named = |words: &[&str]| {
        let mut names = devices.iter().filter_map(|device| device.name.as_deref());
        names.any(|name| words.iter().any(|word| name.contains(word)))
    };
    let is_called = |prefix: &str| {
        let is_call = |rest: &str| rest.starts_with(|c: char| c.is_ascii_uppercase());
        trace.strings.iter().any(|name| name.strip_prefix(prefix).is_some_and(is_call))
    };
    if is_named(&["AMD", "Radeon", "Instinct", "gfx"]) {
        return true;
    }
    if is_named(&["NVIDIA", "Tesla", "GeForce"]) || is_called("cuda") {
        return false;
    }
    // Kernels of Tensile, AMD's matrix product generator.
    let has_tensile = || trace.strings.iter().any(|name| name.starts_with("Cijk_"));
    devices.iter().any(|device| device.wave == Some(WAVE_OF_AMD)) || is_called("hip") || has_tensile()
}

fn set_text(store: &mut Store, plane: usize, name: &str, text: &str) {
    let text = store.trace.strings.intern(text);
    store.set_stat(plane, name, StatValue::Text(text));
}

fn set_integers(store: &mut Store, plane: usize, stats: &[(&'static str, i64)]) {
    for &(name, value) in stats {
        store.set_stat(plane, name, StatValue::Int(value));
    }
}
