//! Derived tracks, which no profiler records. These tracks show steps, the activity of each device and the causes of
//! its idle time, exposed communication, instants, memory in use, and the utilisation of units.

use std::collections::BTreeMap;

use base::{Ps, sort};
use memory::allocator::allocators;
use metrics::{Context, DeviceTime, StepPart, exposed_communication};
use trace::{
    ArgsId, CounterTrack, Event, EventId, Interval, Line, LineId, LineKind, Plane, PlaneId, PlaneKind, StrId, Trace,
};

pub(crate) const STEPS: (&str, &str) =
    ("Steps", "Steps of this device, as in the tables. Each step lasts until the next step starts.");
pub(crate) const PARTS: (&str, &str) = (
    "Busy and idle by cause",
    "Activity of the device at each instant. If several activities overlap, computation takes precedence over communication, and communication over copies. Inside steps, idle time is split by cause, and the causes of one gap follow each other in the order of the legend. The times add up to the step breakdown.",
);
pub(crate) const EXPOSED: (&str, &str) = (
    "Exposed communication",
    "Time of each collective during which its device computes nothing. Every time that a collective runs is included, so over the whole capture the times add up to the exposed time in the collectives table.",
);
pub(crate) const INSTANTS: (&str, &str) =
    ("Instants", "Instants in the trace file, which are events without a duration.");

pub(crate) const MEMORY: (&str, &str) = (
    "Memory in use",
    "Bytes that the allocator has in use or reserved, after each allocation and release that it reported. The memory page shows the same curve.",
);

pub(crate) const UNITS: (&str, &str) = (
    "Unit use",
    "Utilisation of a unit at each reading of the chip's hardware counters, in percent of the unit's peak, as in the table of units.",
);

/// Returns the definition of a derived line or counter.
pub(crate) fn definition(name: &str) -> Option<&'static str> {
    let known = [STEPS, PARTS, EXPOSED, INSTANTS, MEMORY, UNITS].into_iter().find(|(title, _)| name.starts_with(title));
    known.map(|(_, definition)| definition)
}

/// Returns the derived events. Each derived plane has the same index as the recorded plane from which it is derived.
pub(crate) fn trace(context: Context<'_>) -> Trace {
    let whole = context.captured_trace();
    let mut derived = Derived { trace: Trace::default(), planes: Vec::new() };
    for plane in &whole.planes {
        let name = derived.trace.strings.intern(whole.text(plane.name));
        let plane = Plane { name, kind: plane.kind, host: plane.host, ..Plane::default() };
        derived.planes.extend(derived.trace.add_plane(plane));
    }
    derived.steps(context);
    let times = DeviceTime::of_all(whole, &context.analysis.captured);
    let parts = derived.parts(context, &times);
    derived.exposed(context, &times);
    derived.instants(whole);
    derived.memory(context);
    derived.units(context);
    derived.pack(parts);
    derived.trace
}

struct Derived {
    trace: Trace,
    planes: Vec<PlaneId>,
}

impl Derived {
    fn line(&mut self, plane: usize, name: &str) -> Option<LineId> {
        let plane = *self.planes.get(plane)?;
        let name = self.trace.strings.intern(name);
        self.trace.add_line(Line { plane, name, kind: LineKind::default(), ..Line::default() })
    }

    fn event(&mut self, line: LineId, name: StrId, time: Interval) -> Option<EventId> {
        let duration = time.length();
        self.trace.events.push(Event { line, name, start: time.start, duration, args: ArgsId::NONE })
    }

    /// Adds the steps of each device, or the steps of the first host if there are no devices.
    fn steps(&mut self, context: Context<'_>) {
        let (steps, captured) = (&context.analysis.steps, &context.analysis.captured);
        for (index, windows) in steps.windows.iter().enumerate() {
            let host = || context.captured_trace().planes.iter().position(|plane| plane.kind == PlaneKind::Host);
            let Some(plane) = captured.used.get(index).map(|device| device.plane).or_else(host) else { continue };
            if windows.iter().all(Option::is_none) {
                continue;
            }
            let Some(line) = self.line(plane, STEPS.0) else { return };
            for (step, window) in windows.iter().enumerate() {
                let Some(window) = window else { continue };
                let name = steps.names.get(step).and_then(Option::as_deref);
                let name = name.map_or_else(|| format!("step {step}"), |name| format!("step {name}"));
                let name = self.trace.strings.intern(&name);
                self.event(line, name, window.interval);
            }
        }
    }

    /// Creates the lines for the step parts, and returns them with their contents.
    fn parts(&mut self, context: Context<'_>, times: &[DeviceTime]) -> Vec<(LineId, Vec<(Interval, StepPart)>)> {
        let analysis = context.analysis;
        let bands = analysis.step_breakdown.bands(
            context.captured_trace(),
            &analysis.captured,
            times,
            &analysis.hosts,
            &analysis.calls,
        );
        let devices = analysis.captured.used.iter().zip(bands);
        devices.map_while(|(device, bands)| Some((self.line(device.plane, PARTS.0)?, bands))).collect()
    }

    /// Stores the step parts as packed events, after all other events. A device has as many parts as ops, and packed
    /// parts take only a third of the memory.
    fn pack(&mut self, parts: Vec<(LineId, Vec<(Interval, StepPart)>)>) {
        for (line, bands) in parts {
            for (time, part) in bands {
                let name = self.trace.strings.intern(part.title());
                let (start, duration) = (time.start, time.length());
                self.trace.events.push_packed(Event { line, name, start, duration, args: ArgsId::NONE });
            }
        }
        self.trace.events.shrink_packed();
    }

    fn exposed(&mut self, context: Context<'_>, times: &[DeviceTime]) {
        let (whole, devices) = (context.captured_trace(), &context.analysis.captured);
        for (device, runs) in devices.used.iter().zip(exposed_communication(whole, devices, times)) {
            if runs.is_empty() {
                continue;
            }
            let Some(line) = self.line(device.plane, EXPOSED.0) else { return };
            for (interval, name) in runs {
                let name = self.trace.strings.intern(whole.text(name));
                self.event(line, name, interval);
            }
        }
    }

    fn instants(&mut self, whole: &Trace) {
        let mut lines: Vec<(usize, LineId)> = Vec::new();
        for instant in &whole.instants {
            let plane = match instant.scope {
                trace::InstantScope::Line(line) => whole.lines.get(line.index()).map_or(0, |line| line.plane.index()),
                trace::InstantScope::Plane(plane) => plane.index(),
                trace::InstantScope::Trace => 0,
            };
            let line = match lines.iter().find(|(of, _)| *of == plane) {
                Some((_, line)) => *line,
                None => {
                    let Some(line) = self.line(plane, INSTANTS.0) else { return };
                    lines.push((plane, line));
                    line
                }
            };
            let name = self.trace.strings.intern(whole.text(instant.name));
            self.event(line, name, Interval::new(instant.time, instant.time));
        }
    }

    /// Adds a counter for each allocator to the allocator's device, or to its host if it has no device.
    fn memory(&mut self, context: Context<'_>) {
        let whole = context.captured_trace();
        for allocator in allocators(whole, Ps::ZERO) {
            let ordinal = allocator.device_ordinal();
            let mut devices = context.analysis.captured.used.iter();
            let device = devices.find(|it| it.host == allocator.host && Some(it.ordinal) == ordinal);
            let is_host = |plane: &Plane| plane.kind == PlaneKind::Host && plane.host == allocator.host;
            let plane = device.map(|it| it.plane).or_else(|| whole.planes.iter().position(is_host));
            let Some(&plane) = plane.and_then(|plane| self.planes.get(plane)) else { continue };
            let name = format!("{}: {} (bytes)", MEMORY.0, allocator.title);
            let name = self.trace.strings.intern(&name);
            let times = allocator.events.iter().map(|event| event.time).collect();
            let values = allocator.events.iter().map(|event| event.used_bytes() as f64).collect();
            self.trace.counters.push(CounterTrack { plane, name, times, values });
        }
    }

    /// For each chip whose hardware counters were read several times, adds a counter for each of the chip's units.
    fn units(&mut self, context: Context<'_>) {
        let whole = context.captured_trace();
        let origin = context.analysis.captured.capture.map_or(Ps::ZERO, |capture| capture.start);
        let mut tracks: BTreeMap<(usize, String), Vec<(Ps, f64)>> = BTreeMap::new();
        for unit in context.profile.hardware.iter().flat_map(|hardware| &hardware.units) {
            let is_of = |plane: &Plane| {
                let host = whole.hosts.get(usize::from(plane.host)).filter(|_| unit.host.is_some());
                whole.text(plane.name) == unit.device_name && host == unit.host.as_ref()
            };
            let Some(plane) = whole.planes.iter().position(is_of) else { continue };
            let name = format!("{}: {}, node {} (%)", UNITS.0, unit.name, unit.node);
            let time = origin + Ps::new((unit.time_us * 1e6) as i64);
            tracks.entry((plane, name)).or_default().push((time, unit.use_percent));
        }
        for ((plane, name), mut samples) in tracks {
            let Some(&plane) = self.planes.get(plane).filter(|_| samples.len() > 1) else { continue };
            sort::sort_by(&mut samples, |a, b| a.0.cmp(&b.0));
            let name = self.trace.strings.intern(&name);
            let (times, values) = samples.into_iter().unzip();
            self.trace.counters.push(CounterTrack { plane, name, times, values });
        }
    }
}
