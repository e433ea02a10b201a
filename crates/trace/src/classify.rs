//! Classifies planes and lines by their names. The kind of an event follows from its line, and never from a part of its
//! name.

use super::{Plane, Platform, StrId, Trace};

/// Kind of a plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PlaneKind {
    /// One chip or core: `/device:TPU:0`, `/device:GPU:3`.
    Device {
        /// TPU or GPU.
        platform: Platform,
        /// Device number, from the plane's name.
        ordinal: u32,
    },
    /// A SparseCore of a TPU: `/device:TPU:0 SparseCore 1`.
    SparseCore {
        /// Number of the TPU that the SparseCore belongs to.
        ordinal: u32,
    },
    /// The host's threads.
    Host,
    /// Any other plane (metadata, counters, custom planes). No metric includes such a plane.
    #[default]
    Other,
}

/// Kind of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LineKind {
    /// Ops or kernels that occupy the device. For example, `XLA Ops` of a TPU, or a stream of a GPU.
    DeviceOps,
    /// Runs of programs: `XLA Modules`.
    Modules,
    /// Steps as XProf groups them: `Steps`.
    Steps,
    /// Asynchronous ops (`Async XLA Ops`): DMA transfers and collectives that run in the background while ops run. The
    /// time of these ops is never added to the time of the ops on other lines.
    AsyncOps,
    /// A line that repeats other lines (`Framework Ops`, `XLA Ops` derived from streams, ...).
    Derived,
    /// A thread of the host.
    Host,
    /// Any other line.
    #[default]
    Other,
}

/// Returns the kind of a plane from its name.
pub fn plane_kind(name: &str) -> PlaneKind {
    let Some(device) = name.strip_prefix("/device:") else {
        let host = name.starts_with("/host:CPU") || name == "Host Threads";
        return if host { PlaneKind::Host } else { PlaneKind::Other };
    };
    let (kind, rest) = device.split_once(':').unwrap_or((device, ""));
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let ordinal = rest.get(..digits).and_then(|text| text.parse().ok());
    match (kind, ordinal) {
        ("TPU", Some(ordinal)) if rest.contains("SparseCore") => PlaneKind::SparseCore { ordinal },
        ("TPU", Some(ordinal)) => PlaneKind::Device { platform: Platform::Tpu, ordinal },
        ("GPU", Some(ordinal)) => PlaneKind::Device { platform: Platform::Gpu, ordinal },
        _ => PlaneKind::Other,
    }
}

/// Returns the kind of a line from its name and the kind of its plane.
pub(crate) fn line_kind(plane: PlaneKind, name: &str) -> LineKind {
    let PlaneKind::Device { platform, .. } = plane else {
        return if plane == PlaneKind::Host { LineKind::Host } else { LineKind::Other };
    };
    match name {
        "Steps" => LineKind::Steps,
        "XLA Modules" => LineKind::Modules,
        "XLA Ops" if platform == Platform::Tpu => LineKind::DeviceOps,
        "XLA Ops" => LineKind::Derived,
        "Async XLA Ops" => LineKind::AsyncOps,
        _ if name.starts_with("Framework") || name.starts_with("Source") || name.contains(" - from #") => {
            LineKind::Derived
        }
        _ if platform == Platform::Gpu && is_stream(name) => LineKind::DeviceOps,
        _ => LineKind::Other,
    }
}

/// Returns true for `Stream #13(Compute)` (XLA) and `stream 7` (Kineto).
fn is_stream(name: &str) -> bool {
    name.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("stream"))
}

/// Returns true for the categories that Kineto gives to work on a GPU. Older files spell these categories `Kernel`,
/// `Memcpy`, `Memset`.
pub fn is_gpu_cat(cat: &str) -> bool {
    ["kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"].iter().any(|known| cat.eq_ignore_ascii_case(known))
}

/// Returns true for the categories that an op on a stream may have. Such an op has no category, one of Kineto's GPU
/// categories, or the single category of TensorFlow 1 timelines.
pub fn is_op_cat(cat: &str) -> bool {
    cat.is_empty() || cat == "Op" || is_gpu_cat(cat)
}

/// Sets the kind of every plane and line of `trace` from their names.
pub fn classify(trace: &mut Trace) {
    let text = |id: StrId| trace.strings.get(id);
    for plane in &mut trace.planes {
        // A decoder that has better information (Kineto's device processes) has already set the kind.
        if plane.kind == PlaneKind::Other {
            plane.kind = plane_kind(text(plane.name));
        }
    }
    for line in &mut trace.lines {
        let plane = trace.planes.get(line.plane.index()).map(|plane| plane.kind).unwrap_or_default();
        if line.kind == LineKind::Other {
            line.kind = line_kind(plane, text(line.name));
        }
    }
    ops_without_streams(trace);
}

/// On GPUs without streams, makes `XLA Ops` the line of ops. On other GPUs, this line repeats the streams.
fn ops_without_streams(trace: &mut Trace) {
    let is_gpu = |plane: &Plane| matches!(plane.kind, PlaneKind::Device { platform: Platform::Gpu, .. });
    let mut lacks_streams: Vec<bool> = trace.planes.iter().map(is_gpu).collect();
    for line in trace.lines.iter().filter(|line| line.kind == LineKind::DeviceOps) {
        if let Some(lacks) = lacks_streams.get_mut(line.plane.index()) {
            *lacks = false;
        }
    }
    for line in &mut trace.lines {
        let lacks = lacks_streams.get(line.plane.index()) == Some(&true);
        if lacks && line.kind == LineKind::Derived && trace.strings.get(line.name) == "XLA Ops" {
            line.kind = LineKind::DeviceOps;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TraceBuilder;

    #[test]
    fn planes_and_lines_are_classified_by_their_names() {
        let tpu = PlaneKind::Device { platform: Platform::Tpu, ordinal: 3 };
        let gpu = PlaneKind::Device { platform: Platform::Gpu, ordinal: 0 };
        assert_eq!(plane_kind("/device:TPU:3"), tpu);
        assert_eq!(plane_kind("/device:TPU:3 SparseCore 1"), PlaneKind::SparseCore { ordinal: 3 });
        assert_eq!(plane_kind("/device:GPU:0"), gpu);
        assert_eq!(plane_kind("/device:CUSTOM:Megascale Trace"), PlaneKind::Other);
        assert_eq!(plane_kind("/host:CPU"), PlaneKind::Host);
        assert_eq!(line_kind(tpu, "XLA Ops"), LineKind::DeviceOps);
        assert_eq!(line_kind(gpu, "XLA Ops"), LineKind::Derived);
        assert_eq!(line_kind(gpu, "Stream #13(Compute)"), LineKind::DeviceOps);
        assert_eq!(line_kind(gpu, "XLA Ops - from #13"), LineKind::Derived);
        assert_eq!(line_kind(PlaneKind::Host, "python"), LineKind::Host);
    }

    #[test]
    fn the_ops_of_a_gpu_without_streams_are_on_the_line_that_else_repeats_them() {
        let mut b = TraceBuilder::new();
        for (device, line) in [(0, "XLA Ops"), (1, "XLA Ops"), (1, "Stream #1(Compute)"), (2, "XLA Modules")] {
            b.line(&format!("/device:GPU:{device}"), line);
        }
        let kinds: Vec<LineKind> = b.build().lines.iter().map(|line| line.kind).collect();
        assert_eq!(kinds, [LineKind::DeviceOps, LineKind::Derived, LineKind::DeviceOps, LineKind::Modules]);
    }
}
