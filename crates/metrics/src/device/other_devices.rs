//! Measures devices of unsupported kinds. Only their busy time and their events are known.
//!
//! A plane that is not a TPU, a GPU or a host is treated as an unsupported device if its name or label identifies a
//! device (`/device:CUSTOM:0`, `Ascend Hardware`, a process with the label `NPU 0`). If a Chrome trace has no device op
//! of a supported kind, its other processes are listed too, because a file without device ops contains nothing else.

use crate::device::devices::Devices;
use crate::host::host_activity::{by_name, cover};
use crate::host::host_ops::{HostOpTally, tallies_of_kinds};
use base::{Ps, sort};
use facts::accelerators;
use report::{OtherDevice, OtherDeviceEvent};
use trace::{EventKind, LineKind, Plane, PlaneKind, SourceFormat, StatValue, Trace};

/// Number of event names that are listed for each device.
const MOST_EVENTS: usize = 10;

/// Builds the section, with the devices in file order. Takes time linear in the number of events of these devices.
pub(crate) fn other_devices(trace: &Trace, devices: &Devices) -> Vec<OtherDevice> {
    let with_processes = devices.platform.is_none() && trace.format == Some(SourceFormat::ChromeJson);
    let mut found = Vec::new();
    let mut kinds = None;
    for (index, plane) in trace.planes.iter().enumerate() {
        let is_accelerator = is_accelerator(trace, plane);
        if plane.kind != PlaneKind::Other || !(is_accelerator || with_processes) {
            continue;
        }
        let used = devices.by_line.lines_of(trace, index).filter(|(.., events)| !events.is_empty());
        let lines: Vec<usize> = used.map(|(line, ..)| line).collect();
        if lines.is_empty() {
            continue;
        }
        let kinds = kinds.get_or_insert_with(|| kinds_by_plane(trace, devices));
        let of_plane = kinds.get(index).into_iter().flatten();
        if of_plane.clone().all(|(kind, _)| is_of_recorder(trace, kind)) {
            continue;
        }
        let mut events = by_name(of_plane.map(|(kind, tally)| (kind, tally)));
        sort::sort_by(&mut events, |a, b| {
            b.1.self_time.cmp(&a.1.self_time).then_with(|| trace.text(a.0).cmp(trace.text(b.0)))
        });
        let busy = cover(trace, devices, &lines);
        let span = busy.span().map_or(Ps::ZERO, |span| span.length());
        found.push(OtherDevice {
            name: name(trace, plane),
            kind: if is_accelerator { "accelerator" } else { "process" }.to_owned(),
            num_lines: lines.len() as u64,
            num_events: events.iter().map(|(_, tally)| tally.occurrences).sum(),
            busy_time_us: busy.length().as_us(),
            total_time_us: span.as_us(),
            busy_percent: crate::device::gaps::percent(busy.length(), span),
            top_events: events
                .iter()
                .take(MOST_EVENTS)
                .map(|(name, tally)| OtherDeviceEvent {
                    name: trace.text(*name).to_owned(),
                    occurrences: tally.occurrences,
                    total_time_us: tally.total.as_us(),
                    self_time_us: tally.self_time.as_us(),
                    max_time_us: tally.longest.as_us(),
                })
                .collect(),
        });
    }
    found
}

/// Returns, for each plane, the kinds of events on lines that belong to no known device, each with its tally.
fn kinds_by_plane(trace: &Trace, devices: &Devices) -> Vec<Vec<(EventKind, HostOpTally)>> {
    let tallies = tallies_of_kinds(trace, devices, &|kind| kind == LineKind::Other, &|_| None);
    let mut kinds = vec![Vec::new(); trace.planes.len()];
    for (&kind, tally) in trace.events.kinds().iter().zip(tallies).filter(|(_, tally)| tally.occurrences > 0) {
        let plane = trace.lines.get(kind.line.index()).and_then(|line| kinds.get_mut(line.plane.index()));
        if let Some(of_plane) = plane {
            of_plane.push((kind, tally));
        }
    }
    kinds
}

/// Returns true for the span of the recording itself, which Kineto's profiler adds as a process (`Spans`). This process
/// runs no program.
fn is_of_recorder(trace: &Trace, kind: &EventKind) -> bool {
    trace.args.set(kind.args.index()).is_some_and(|args| trace.text(args.cat) == "Trace")
}

fn label<'t>(trace: &'t Trace, plane: &Plane) -> &'t str {
    match trace.plane_stat(plane, "labels") {
        Some(StatValue::Text(label)) => trace.text(label),
        _ => "",
    }
}

fn is_accelerator(trace: &Trace, plane: &Plane) -> bool {
    [trace.text(plane.name), label(trace, plane)].into_iter().any(accelerators::is)
}

/// Returns the name of the plane, followed by its label if the label differs.
fn name(trace: &Trace, plane: &Plane) -> String {
    match (trace.text(plane.name), label(trace, plane)) {
        (name, label) if label.is_empty() || name == label => name.to_owned(),
        (name, label) => format!("{name} ({label})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::TraceBuilder;

    fn found(mut b: TraceBuilder, label: Option<(&str, &str)>, format: SourceFormat) -> Vec<OtherDevice> {
        if let Some((plane, label)) = label {
            let label = b.trace_mut().strings.intern(label);
            b.plane_stat(plane, "labels", StatValue::Text(label));
        }
        let mut trace = b.build();
        trace.format = Some(format);
        other_devices(&trace, &Devices::of(&trace))
    }

    /// ```text
    ///           0    10   20   30   40
    /// stream 1  [step          )
    ///             [matmul)
    /// stream 2                 [copy)      union 40, self: step 20, matmul 10, copy 10
    /// ```
    fn capture(plane: &str) -> TraceBuilder {
        let mut b = TraceBuilder::new();
        let one = b.line(plane, "stream 1");
        let two = b.line(plane, "stream 2");
        b.line(plane, "silent");
        b.event(one, "step", 0, 30);
        b.event(one, "matmul", 5, 10);
        b.event(two, "copy", 30, 10);
        b.event(two, "copy", 60, 0);
        b
    }

    #[test]
    fn a_device_of_another_kind_has_busy_time_and_top_events() {
        for format in [SourceFormat::XPlane, SourceFormat::ChromeJson] {
            let found = found(capture("/device:CUSTOM:0"), None, format);
            let device = found.first().unwrap();
            assert_eq!((device.name.as_str(), device.kind.as_str()), ("/device:CUSTOM:0", "accelerator"));
            assert_eq!((device.num_lines, device.num_events), (2, 4));
            assert_eq!((device.busy_time_us, device.total_time_us, device.busy_percent), (40.0, 40.0, 100.0));
            let event = |it: &OtherDeviceEvent| (it.name.clone(), it.occurrences, it.total_time_us, it.self_time_us);
            let events: Vec<_> = device.top_events.iter().map(event).collect();
            let expect = |name: &str, count, total, own| (name.to_owned(), count, total, own);
            assert_eq!(
                events,
                [expect("step", 1, 30.0, 20.0), expect("copy", 2, 10.0, 10.0), expect("matmul", 1, 10.0, 10.0)]
            );
        }
    }

    #[test]
    fn a_label_marks_a_device_and_other_processes_are_processes() {
        let of = |plane, label, format| {
            let found = found(capture(plane), label, format);
            found.into_iter().map(|device| (device.name, device.kind)).collect::<Vec<_>>()
        };
        let expect = |name: &str, kind: &str| vec![(name.to_owned(), kind.to_owned())];
        let json = SourceFormat::ChromeJson;
        assert_eq!(of("python3", Some(("python3", "NPU 0")), json), expect("python3 (NPU 0)", "accelerator"));
        assert_eq!(of("renderer", None, json), expect("renderer", "process"));
        assert_eq!(of("renderer", None, SourceFormat::XPlane), Vec::new());
        assert_eq!(of("/device:CUSTOM:Megascale Trace", None, SourceFormat::XPlane), Vec::new());
    }

    /// Kineto writes the span of its own run as a process. Without special treatment, it would be listed as a device
    /// that is always busy.
    #[test]
    fn the_profilers_own_span_is_no_process() {
        let mut b = capture("renderer");
        let spans = b.line("Spans", "PyTorch Profiler");
        b.event(spans, "PyTorch Profiler (0)", 0, 100).cat("Trace");
        let names: Vec<String> =
            found(b, None, SourceFormat::ChromeJson).into_iter().map(|device| device.name).collect();
        assert_eq!(names, ["renderer"]);
        // If the process has other events, they are listed.
        let mut b = TraceBuilder::new();
        let mixed = b.line("Spans", "PyTorch Profiler");
        b.event(mixed, "PyTorch Profiler (0)", 0, 100).cat("Trace");
        b.event(mixed, "work", 10, 20);
        assert_eq!(found(b, None, SourceFormat::ChromeJson).len(), 1);
    }

    #[test]
    fn processes_are_not_listed_with_devices_of_a_known_kind() {
        let mut b = capture("renderer");
        let ops = b.line("/device:TPU:0", "XLA Ops");
        b.event(ops, "fusion", 0, 10);
        assert_eq!(found(b, None, SourceFormat::ChromeJson), Vec::new());
    }
}
