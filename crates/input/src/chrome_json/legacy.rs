//! Reads traces of PyTorch versions before Kineto (`torch.autograd.profiler`, `export_chrome_trace`). Such a trace is a
//! list of events without categories and metadata. Host ops belong to the process `CPU functions`, and their thread is
//! the calling thread. Kernels belong to `CUDA functions`, and their thread is the device.

use super::id::Id;
use super::store::Store;
use trace::{LineKind, Plane, PlaneId, PlaneKind, Platform, Trace};

/// Names of the two processes in traces of these PyTorch versions.
const HOST: &str = "CPU functions";
const DEVICES: &str = "CUDA functions";

/// Returns true if a PyTorch version before Kineto wrote the trace.
pub(super) fn is_writer(trace: &Trace) -> bool {
    trace.strings.find(HOST).is_some() || trace.strings.find(DEVICES).is_some()
}

/// Turns each thread of the device process into a device, and the other process into a host.
pub(super) fn name_devices(store: &mut Store) {
    if !is_writer(&store.trace) {
        return;
    }
    let name = |trace: &Trace, plane: usize| {
        trace.planes.get(plane).map_or(String::new(), |it| trace.text(it.name).to_owned())
    };
    for plane in 0..store.trace.planes.len() {
        match name(&store.trace, plane).as_str() {
            HOST => set_kind(&mut store.trace, plane, PlaneKind::Host),
            DEVICES => split(store, plane),
            _ => {}
        }
    }
}

fn set_kind(trace: &mut Trace, plane: usize, kind: PlaneKind) {
    trace.planes.get_mut(plane).into_iter().for_each(|plane| plane.kind = kind);
}

/// Gives each thread of the process its own plane. The first thread keeps the existing plane.
fn split(store: &mut Store, plane: usize) {
    let mut is_first = true;
    for line in 0..store.trace.lines.len() {
        let is_here = store.trace.lines.get(line).is_some_and(|line| line.plane.index() == plane);
        let ordinal = match store.line_ids.get(line) {
            Some(&Id::Number(number)) => u32::try_from(number).unwrap_or(0),
            _ => 0,
        };
        if !is_here {
            continue;
        }
        let Some(own) = (if is_first { plane_id(store, line) } else { add_plane(store) }) else { return };
        is_first = false;
        let Trace { strings, planes, lines, .. } = &mut store.trace;
        if let Some(found) = planes.get_mut(own.index()) {
            found.kind = PlaneKind::Device { platform: Platform::Gpu, ordinal };
            found.name = strings.intern(&format!("GPU {ordinal}"));
        }
        if let Some(line) = lines.get_mut(line) {
            (line.plane, line.kind) = (own, LineKind::DeviceOps);
            line.name = strings.intern("kernels");
        }
    }
}

fn plane_id(store: &Store, line: usize) -> Option<PlaneId> {
    store.trace.lines.get(line).map(|line| line.plane)
}

fn add_plane(store: &mut Store) -> Option<PlaneId> {
    let added = store.trace.add_plane(Plane::default())?;
    store.plane_ids.push(Id::Missing);
    Some(added)
}
