//! Rearranges timelines of TensorFlow 1 (`tf.python.client.timeline`). In such a timeline, each stream of a device, and
//! each combination of streams, is a separate process.
//!
//! ```text
//! /job:localhost/replica:0/task:0/device:GPU:0 Compute   the host hands ops to the device    a host
//! /device:GPU:0/stream:all Compute                       repeats all streams                 derived
//! /device:GPU:0/memcpy Compute                           repeats the streams of copies       derived
//! /device:GPU:0/stream:14 Compute                        a stream                            line "stream 14" of /device:GPU:0
//! /gpu:0/context#0/stream#1:Kernel Compute               a stream, as older versions name it
//! ```
//!
//! The threads of such a process are lanes, which keep overlapping ops from covering each other.

use trace::{LineKind, PlaneId, PlaneKind, Platform, Trace};

/// Role of a process in a timeline of TensorFlow 1.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Process {
    /// The host computes, or hands ops to a device.
    Host,
    /// One stream of a GPU.
    Stream { ordinal: u32, stream: String },
    /// A copy of the events on several streams of a GPU.
    Sum { ordinal: u32 },
}

impl Process {
    fn of(name: &str) -> Option<Process> {
        let name = name.strip_suffix(" Compute").filter(|name| name.starts_with('/'))?.to_ascii_lowercase();
        let Some((_, device)) = name.rsplit_once("gpu:") else {
            return (name.contains("cpu:") || name == "/host:cpu").then_some(Process::Host);
        };
        let (ordinal, rest) = device.split_once('/').unwrap_or((device, ""));
        let ordinal = ordinal.parse().ok()?;
        if rest.is_empty() {
            return Some(Process::Host);
        }
        let stream = rest.rsplit_once("stream").map(|(_, stream)| stream.trim_start_matches([':', '#']));
        match stream.map(|stream| stream.split(':').next().unwrap_or(stream)) {
            Some("all") => Some(Process::Sum { ordinal }),
            Some(stream) => Some(Process::Stream { ordinal, stream: stream.to_owned() }),
            None if rest == "memcpy" => Some(Process::Sum { ordinal }),
            None => None,
        }
    }

    fn ordinal(&self) -> Option<u32> {
        match self {
            Process::Host => None,
            Process::Stream { ordinal, .. } | Process::Sum { ordinal } => Some(*ordinal),
        }
    }
}

/// If `trace` is a timeline of TensorFlow 1, turns the streams of each device into lines of one plane and returns true.
pub(super) fn arrange(trace: &mut Trace) -> bool {
    let Trace { strings, planes, lines, .. } = trace;
    let processes: Vec<Option<Process>> = planes.iter().map(|plane| Process::of(strings.get(plane.name))).collect();
    if processes.iter().all(Option::is_none) {
        return false;
    }
    // The plane that receives each device's lines: the plane of its first line.
    let mut homes: Vec<(u32, PlaneId)> = Vec::new();
    let mut lanes: Vec<(PlaneId, u32)> = Vec::new();
    for line in lines.iter_mut() {
        let Some(Some(process)) = processes.get(line.plane.index()) else { continue };
        let Some(ordinal) = process.ordinal() else { continue };
        let has_streams =
            || processes.iter().flatten().any(|it| matches!(it, Process::Stream { ordinal: of, .. } if *of == ordinal));
        let (name, kind) = match process {
            Process::Stream { stream, .. } => (format!("stream {stream}"), LineKind::DeviceOps),
            _ if has_streams() => {
                let name = planes.get(line.plane.index()).map_or("", |plane| strings.get(plane.name));
                (name.to_owned(), LineKind::Derived)
            }
            _ => ("stream all".to_owned(), LineKind::DeviceOps),
        };
        let lane = match lanes.iter_mut().find(|(plane, _)| *plane == line.plane) {
            Some((_, lane)) => {
                *lane += 1;
                *lane
            }
            None => {
                lanes.push((line.plane, 0));
                0
            }
        };
        line.name = strings.intern(&if lane == 0 { name } else { format!("{name} lane {lane}") });
        line.kind = kind;
        line.plane = match homes.iter().find(|(of, _)| *of == ordinal) {
            Some(&(_, home)) => home,
            None => {
                homes.push((ordinal, line.plane));
                line.plane
            }
        };
    }
    for (at, (plane, process)) in planes.iter_mut().zip(&processes).enumerate() {
        let Some(process) = process else { continue };
        let Some(ordinal) = process.ordinal() else {
            plane.kind = PlaneKind::Host;
            continue;
        };
        let name = if homes.iter().any(|&(of, home)| of == ordinal && home.index() == at) {
            plane.kind = PlaneKind::Device { platform: Platform::Gpu, ordinal };
            format!("/device:GPU:{ordinal}")
        } else {
            // Its lines moved to another plane, so its name must not look like a device.
            strings.get(plane.name).trim_start_matches("/device:").to_owned()
        };
        plane.name = strings.intern(&name);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_detected_by_their_names() {
        let stream = |stream: &str| Some(Process::Stream { ordinal: 1, stream: stream.to_owned() });
        for (name, wanted) in [
            ("/job:localhost/replica:0/task:0/device:GPU:0 Compute", Some(Process::Host)),
            ("/job:localhost/replica:0/task:0/device:CPU:0 Compute", Some(Process::Host)),
            ("/host:CPU Compute", Some(Process::Host)),
            ("/cpu:0 Compute", Some(Process::Host)),
            ("/device:GPU:1/stream:14 Compute", stream("14")),
            ("/gpu:1/stream:11 Compute", stream("11")),
            ("/gpu:1/context#0/stream#2:MemcpyHtoD Compute", stream("2")),
            ("/job:localhost/replica:0/task:0/device:GPU:1/stream:14 Compute", stream("14")),
            ("/device:GPU:1/stream:all Compute", Some(Process::Sum { ordinal: 1 })),
            ("/device:GPU:1/memcpy Compute", Some(Process::Sum { ordinal: 1 })),
            ("/device:GPU:0", None),
            ("/job:localhost/replica:0/task:0/device:GPU:0 Tensors", None),
            ("Allocators", None),
            ("GPU:0 Compute", None),
            ("/host:CPU", None),
        ] {
            assert_eq!(Process::of(name), wanted, "{name}");
        }
    }
}
