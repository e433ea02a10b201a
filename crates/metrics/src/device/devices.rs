//! Finds the devices of a run, and the sorted ops that ran on each device.
//!
//! An *op* is an event that occupies a device: on a TPU an event of `XLA Ops`, on a GPU an event of a stream (a kernel,
//! copy or fill), and on a CPU backend a host event that names its HLO op. Other host events are not ops. Lines that
//! repeat the ops (modules, steps, framework ops) contain no ops either. A device is *in use* if it ran at least one
//! op, or a program whose ops were not recorded ([`Unrecorded`]).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::op::categories::{Categorizer, OpFamily, Recognised};
use crate::profile::unrecorded::Unrecorded;
use base::{Ps, sort};
use trace::{
    ArgsId, ByLine, ChipClock, END_MARKER, Event, EventId, EventKind, Interval, IntervalSet, LineEvents, LineKind,
    PlaneKind, Platform, StrId, Trace, Union, in_blocks, is_op_cat,
};

/// Relation between nested ops of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Nesting {
    /// A nested op runs inside the op that was already running on the same line.
    #[default]
    ByLine,
    /// Index of the enclosing op for each op, or `u32::MAX` if no op encloses it. CPU backends need these indices,
    /// because their ops start on one thread and compute on other threads.
    ByOp(Vec<u32>),
}

/// A device in use and its ops.
#[derive(Clone, Debug)]
pub struct Device {
    /// Name of the device in the trace, preceded by the host's name if the run has several hosts. `CPU:0` for a CPU
    /// backend.
    pub name: String,
    /// Kind of accelerator.
    pub platform: Platform,
    /// Number in the device's name.
    pub ordinal: u32,
    /// Index of the device's plane in the trace.
    pub plane: usize,
    /// Index of the device's host in [`Trace::hosts`].
    pub host: u16,
    /// Ops of the device, sorted by start, so that a nested op follows its parent. If several ops start at the same
    /// time, the longest is first. If the device's window is limited, contains only the ops that are at least partly
    /// inside the window.
    pub ops: Arc<Vec<EventId>>,
    /// Number of ops that start before the window. The number of ops in the window excludes these ops.
    pub begun_before: u64,
    /// Relation between nested ops.
    pub nesting: Nesting,
    /// Times in the window when an op or an [unrecorded](Device::unrecorded) run of a program is in progress.
    pub busy: IntervalSet,
    /// Runs of programs in which no op was recorded.
    pub unrecorded: Unrecorded,
    /// Time in the whole capture from the start of the first op to the end of the last op. Runs of programs without ops
    /// are treated as ops.
    pub span: Interval,
    /// Relation of the device's clock to the host's. `None` if the times of the device's events are already on the
    /// host's clock.
    pub clock: Option<ChipClock>,
    /// The measured time, to which shares are relative. The same as `span` unless the window is limited.
    pub window: IntervalSet,
}

impl Device {
    /// Converts a time of this device to the host's time.
    pub fn to_host(&self, time: Ps) -> Ps {
        self.clock.map_or(time, |clock| clock.to_host(time))
    }

    /// Converts a time of the host to this device's time.
    pub fn time_from_host(&self, time: Ps) -> Ps {
        self.clock.map_or(time, |clock| clock.time_from_host(time))
    }

    /// Converts an interval of the host to this device's time.
    pub fn interval_from_host(&self, interval: Interval) -> Interval {
        Interval::new(self.time_from_host(interval.start), self.time_from_host(interval.end))
    }

    /// Converts a set of the host's times to this device's times.
    pub fn set_from_host(&self, set: &IntervalSet) -> IntervalSet {
        if self.clock.is_none_or(|clock| clock.drift == 0) {
            return set.clone();
        }
        IntervalSet::union_of(set.parts().iter().map(|part| self.interval_from_host(*part)))
    }

    /// Converts a set of this device's times to the host's times.
    pub fn set_to_host(&self, set: &IntervalSet) -> IntervalSet {
        if self.clock.is_none_or(|clock| clock.drift == 0) {
            return set.clone();
        }
        let to_host = |part: &Interval| Interval::new(self.to_host(part.start), self.to_host(part.end));
        IntervalSet::union_of(set.parts().iter().map(to_host))
    }

    /// Returns the time in the window during which at least one recorded op runs.
    pub fn busy_with_ops(&self) -> Ps {
        self.busy.length() - self.unrecorded.time.length()
    }

    /// Returns the number of ops that start in the window.
    pub fn num_ops(&self) -> u64 {
        (self.ops.len() as u64).saturating_sub(self.begun_before)
    }

    /// Returns true if the window covers all work of the device.
    pub fn is_whole(&self) -> bool {
        holds(&self.window, self.span)
    }

    /// Returns true if the measurements include work that starts at `time`. If the window covers all work of the
    /// device, programs that start before the first op are also included.
    pub fn counts(&self, time: Ps) -> bool {
        self.is_whole() || self.window.contains(time)
    }

    /// Returns the time in the window during which no op runs.
    pub fn idle(&self) -> Ps {
        self.window.length() - self.busy.length()
    }
}

/// All devices of a run.
#[derive(Clone, Debug)]
pub struct Devices {
    /// Platform of the devices in use. `None` if nothing ran. Accelerators take precedence over a CPU backend.
    pub platform: Option<Platform>,
    /// Devices in use that belong to [`Devices::platform`], sorted by host and ordinal.
    pub used: Vec<Device>,
    /// Names of the platform's devices that the trace lists but that are not in use, sorted by host and ordinal.
    pub unused: Vec<String>,
    /// Time from the first start to the last end of all events, including the host's. `None` for an empty trace.
    pub capture: Option<Interval>,
    /// The sorted events of every line, shared with other readers of the trace.
    pub by_line: Arc<ByLine>,
    /// Cache of the categories that were recognised so far.
    pub(crate) recognised: Recognised,
}

impl Devices {
    /// Returns an upper bound on the number of different ops of the devices in use. Callers reserve this capacity: with
    /// a million ops, a buffer that grows by doubling is copied and takes twice the memory.
    pub(crate) fn most_distinct_ops(&self, trace: &Trace) -> usize {
        let all: usize = self.used.iter().map(|device| device.ops.len()).sum();
        all.min(trace.events.kinds().len())
    }

    /// Finds the devices of `trace` and their ops. `by_line` contains the trace's sorted events.
    pub fn new(trace: &Trace, by_line: Arc<ByLine>) -> Devices {
        Devices::of_capture(trace, by_line, base::cut(&trace.warnings).is_some())
    }

    /// Finds the devices of `trace`. `is_cut` is true if events are missing from the trace. A cut trace may lack the
    /// ops of a run, so a program run without ops is then not treated as unrecorded on a device that has ops.
    pub(crate) fn of_capture(trace: &Trace, by_line: Arc<ByLine>, is_cut: bool) -> Devices {
        let accelerators = accelerator_ops(trace, &by_line);
        let ran = |device: &Device| {
            !device.ops.is_empty() || by_line.events_of(trace, device.plane, LineKind::Modules).next().is_some()
        };
        let platform = [Platform::Tpu, Platform::Gpu]
            .into_iter()
            .find(|&wanted| accelerators.iter().any(|d| d.platform == wanted && ran(d)));
        let found = if platform.is_some() { accelerators } else { cpu_ops(trace, &by_line.events) };
        let platform = platform.or_else(|| found.iter().any(ran).then_some(Platform::Cpu));
        let mut visible: Vec<Device> = found.into_iter().filter(|d| Some(d.platform) == platform).collect();
        sort::sort_by(&mut visible, |a, b| (a.host, a.ordinal, &a.name).cmp(&(b.host, b.ordinal, &b.name)));
        let (mut used, unused): (Vec<Device>, Vec<Device>) = visible.into_iter().partition(ran);
        for device in &mut used {
            finish(trace, &by_line, device, is_cut);
        }
        Devices {
            platform,
            used,
            unused: unused.into_iter().map(|device| device.name).collect(),
            capture: by_line.extent,
            by_line,
            recognised: Recognised::default(),
        }
    }

    /// Returns the number of devices of the platform that the trace lists, in use or not.
    pub fn num_visible(&self) -> u64 {
        (self.used.len() + self.unused.len()) as u64
    }

    /// Returns the family of each kind of event that is an op of a device in use, and `None` for other kinds. Indexed
    /// by kind.
    pub fn op_families(&self, trace: &Trace) -> Vec<Option<OpFamily>> {
        let mut categorizer = Categorizer::new(trace, &self.recognised);
        let is_op_line: Vec<bool> = trace.lines.iter().map(|line| line.kind == LineKind::DeviceOps).collect();
        let on_host = self.platform == Some(Platform::Cpu);
        let gpu_work = GpuWork::new(trace);
        let family = |kind: &EventKind| {
            let stands_for_op = if on_host {
                trace.args.set(kind.args.index()).is_some_and(|args| !args.hlo_op.is_empty())
                    && !trace.text(kind.name).starts_with(END_MARKER)
            } else {
                is_op_line.get(kind.line.index()) == Some(&true) && gpu_work.contains(kind.args)
            };
            stands_for_op.then(|| {
                let category = categorizer.of(kind.name, kind.args);
                categorizer.family(category)
            })
        };
        trace.events.kinds().iter().map(family).collect()
    }

    #[cfg(test)]
    pub(crate) fn of(trace: &Trace) -> Devices {
        Devices::new(trace, Arc::new(ByLine::new(trace)))
    }

    /// Maps each plane to the index of its device in use, if it has one. If a plane has several devices in use, the
    /// first one is used.
    pub fn by_plane(&self) -> FxHashMap<usize, usize> {
        self.used.iter().enumerate().rev().map(|(index, device)| (device.plane, index)).collect()
    }

    /// Returns the category of a device op by its name and arguments. The category is also available for ops outside
    /// the window, which [`Ops`](crate::Ops) does not list.
    pub fn category(&self, trace: &Trace, name: StrId, args: ArgsId) -> &'static str {
        self.recognised.category(trace, name, args)
    }

    /// Returns the indices of a host's devices in use, which are consecutive.
    pub fn of_host(&self, host: u16) -> Range<usize> {
        let before = |end: &dyn Fn(u16) -> bool| self.used.partition_point(|device| end(device.host));
        before(&|of| of < host)..before(&|of| of <= host)
    }
}

fn accelerator_ops(trace: &Trace, by_line: &ByLine) -> Vec<Device> {
    let gpu_work = GpuWork::new(trace);
    let mut devices = Vec::new();
    for (index, plane) in trace.planes.iter().enumerate() {
        let PlaneKind::Device { platform, ordinal } = plane.kind else { continue };
        let mut ops = Vec::new();
        for (_, line, events) in by_line.lines_of(trace, index) {
            if line.kind == LineKind::DeviceOps {
                events.for_each(&trace.events, |id, op| {
                    ops.extend(gpu_work.contains(op.args).then_some(id));
                });
            }
        }
        devices.push(Device { ops: Arc::new(ops), ..device(trace, platform, ordinal, index, trace.text(plane.name)) });
    }
    devices
}

/// The argument sets that belong to ops of a stream. A million events share only a few thousand sets. Kineto also puts
/// annotations and synchronisations on the streams. If the events have categories, only the events with a category of
/// GPU work are ops.
pub(crate) struct GpuWork(Vec<bool>);

impl GpuWork {
    pub(crate) fn new(trace: &Trace) -> GpuWork {
        let is_work = |index| trace.args.set(index).is_some_and(|args| is_op_cat(trace.text(args.cat)));
        GpuWork((0..trace.args.len()).map(is_work).collect())
    }

    /// Returns true if a stream event with these arguments is an op.
    pub(crate) fn contains(&self, args: ArgsId) -> bool {
        self.0.get(args.index()) == Some(&true)
    }
}

/// Finds the ops of the CPU backend: host events that name their HLO op, without the markers (`end: add.1`) that follow
/// them.
fn cpu_ops(trace: &Trace, events_by_line: &[LineEvents]) -> Vec<Device> {
    let mut devices: BTreeMap<(u16, i64), Device> = BTreeMap::new();
    if (0..trace.args.len()).all(|index| trace.args.set(index).is_none_or(|args| args.hlo_op.is_empty())) {
        return Vec::new();
    }
    for (line, events) in trace.lines.iter().zip(events_by_line) {
        let Some(plane) = trace.plane_of(line).filter(|plane| plane.kind == PlaneKind::Host) else { continue };
        events.for_each(&trace.events, |id, event| {
            let Some(ordinal) = cpu_op_ordinal(trace, &event) else { return };
            let device = devices.entry((plane.host, ordinal)).or_insert_with(|| {
                let name = format!("CPU:{ordinal}");
                let number = u32::try_from(ordinal).unwrap_or(0);
                device(trace, Platform::Cpu, number, line.plane.index(), &name)
            });
            Arc::make_mut(&mut device.ops).push(id);
        });
    }
    devices.into_values().collect()
}

/// Returns the device of a host event that is an op of the CPU backend. `None` for any other event.
pub(crate) fn cpu_op_ordinal(trace: &Trace, event: &Event) -> Option<i64> {
    if event.args == ArgsId::NONE {
        return None;
    }
    let args = trace.args_of(event);
    let is_op = !args.hlo_op.is_empty() && !trace.text(event.name).starts_with(END_MARKER);
    is_op.then(|| args.device_ordinal.unwrap_or(0))
}

fn device(trace: &Trace, platform: Platform, ordinal: u32, plane: usize, name: &str) -> Device {
    let host = trace.planes.get(plane).map_or(0, |plane| plane.host);
    let host_name = trace.hosts.get(host as usize).filter(|_| trace.hosts.len() > 1);
    Device {
        name: host_name.map_or_else(|| name.to_owned(), |host| format!("{host} {name}")),
        platform,
        ordinal,
        plane,
        host,
        ops: Arc::default(),
        begun_before: 0,
        nesting: Nesting::default(),
        busy: IntervalSet::default(),
        unrecorded: Unrecorded::default(),
        span: Interval::new(Ps::ZERO, Ps::ZERO),
        clock: trace.planes.get(plane).and_then(|plane| plane.clock),
        window: IntervalSet::default(),
    }
}

fn finish(trace: &Trace, by_line: &ByLine, device: &mut Device, is_cut: bool) {
    let (mut last, mut is_sorted) = (None, true);
    in_blocks(&device.ops, |&id| {
        let next = trace.events.time_order(id);
        is_sorted &= last <= next;
        last = next;
    });
    if !is_sorted {
        trace.events.sort_by_time(Arc::make_mut(&mut device.ops).as_mut_slice());
    }
    let (mut start, mut end) = (Ps::MAX, Ps::new(i64::MIN));
    let mut busy = Union::default();
    in_blocks(&device.ops, |&id| {
        let Some((op_start, length)) = trace.events.time(id) else { return };
        let op = Interval::new(op_start, op_start + length);
        (start, end) = (start.min(op.start), end.max(op.end));
        busy.add(op);
    });
    device.busy = busy.finish();
    device.nesting = nesting(trace, device);
    if device.platform != Platform::Cpu && (!is_cut || device.ops.is_empty()) {
        device.unrecorded = Unrecorded::new(trace, by_line, device.plane, &device.ops, &device.busy);
    }
    if let Some(runs) = device.unrecorded.time.span() {
        device.busy = device.busy.union(&device.unrecorded.time);
        (start, end) = (start.min(runs.start), end.max(runs.end));
    }
    device.span = Interval::new(start, end);
    device.window = IntervalSet::union_of([device.span]);
}

/// Returns true if `window` is a single interval that contains `span`.
pub(crate) fn holds(window: &IntervalSet, span: Interval) -> bool {
    matches!(window.parts(), [only] if only.start <= span.start && only.end >= span.end)
}

fn nesting(trace: &Trace, device: &Device) -> Nesting {
    let Some(known) = trace.cpu_ops.as_ref().filter(|_| device.platform == Platform::Cpu) else {
        return Nesting::ByLine;
    };
    let mut parents = vec![u32::MAX; device.ops.len()];
    if known.runs_in.is_empty() {
        return Nesting::ByOp(parents);
    }
    let places: FxHashMap<EventId, u32> = device.ops.iter().copied().zip(0..).collect();
    for (&id, slot) in device.ops.iter().zip(&mut parents) {
        let outer = known.runs_in.get(id).and_then(|outer| u32::try_from(outer).ok()).map(EventId::new);
        *slot = outer.and_then(|outer| places.get(&outer).copied()).unwrap_or(u32::MAX);
    }
    Nesting::ByOp(parents)
}

/// Returns the time that an event covers.
pub fn interval(event: &Event) -> Interval {
    Interval::new(event.start, event.end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::TraceBuilder;

    #[test]
    fn only_lines_that_occupy_the_device_hold_ops() {
        let mut b = TraceBuilder::new();
        let ops = b.line("/device:TPU:0", "XLA Ops");
        let modules = b.line("/device:TPU:0", "XLA Modules");
        let host = b.line("/host:CPU", "python");
        b.line("/device:TPU:1", "XLA Ops");
        b.event(modules, "jit_f", 0, 100);
        b.event(ops, "while.1", 10, 50);
        b.event(ops, "fusion.1", 20, 10);
        b.event(ops, "fusion.2", 80, 10);
        b.event(host, "train", 0, 500);
        let devices = Devices::of(&b.build());
        assert_eq!(devices.platform, Some(Platform::Tpu));
        assert_eq!((devices.used.len(), devices.num_visible()), (1, 2));
        assert_eq!(devices.unused, ["/device:TPU:1"]);
        let device = devices.used.first().unwrap();
        assert_eq!(device.ops.len(), 3);
        assert_eq!(device.busy.length(), Ps::new(60_000_000));
        assert_eq!(device.span.length(), Ps::new(80_000_000));
        assert_eq!(devices.capture.unwrap().length(), Ps::new(500_000_000));
    }

    /// The search for ops reads each line only once, for all devices together. The time of the search therefore does
    /// not grow with the number of devices.
    #[test]
    fn each_device_goes_through_its_own_lines() {
        for count in [100, 2_000] {
            let mut b = TraceBuilder::new();
            for device in 0..count {
                let plane = format!("/device:TPU:{device}");
                let (ops, modules) = (b.line(&plane, "XLA Ops"), b.line(&plane, "XLA Modules"));
                b.event(modules, "jit_f", 0, 10);
                b.event(ops, "fusion.1", 0, 10);
            }
            let trace = b.build();
            let devices = Devices::of(&trace);
            let lines = devices.used.iter().flat_map(|device| devices.by_line.lines_of(&trace, device.plane));
            assert_eq!((devices.used.len(), lines.count()), (count, 2 * count));
            for (index, device) in devices.used.iter().enumerate() {
                let mut runs = devices.by_line.events_of(&trace, device.plane, LineKind::Modules);
                let run = runs.next().and_then(|id| trace.events.get(id)).unwrap();
                assert_eq!(trace.lines[run.line.index()].plane.index(), device.plane);
                assert_eq!((runs.next(), devices.by_plane().get(&device.plane)), (None, Some(&index)));
                if index == 99 {
                    break;
                }
            }
            assert_eq!((devices.of_host(0), devices.of_host(1)), (0..count, count..count));
        }
    }

    #[test]
    fn a_cpu_backend_is_found_on_host_lines() {
        let mut b = TraceBuilder::new();
        let worker = b.line("/host:CPU", "tf_XLAEigen/1");
        b.event(worker, "dot.1", 0, 10).hlo_op("dot.1");
        b.event(worker, "end: dot.1", 10, 1).hlo_op("dot.1");
        b.event(worker, "ThreadpoolListener", 0, 20);
        let devices = Devices::of(&b.build());
        assert_eq!(devices.platform, Some(Platform::Cpu));
        assert_eq!(devices.used.first().map(|d| d.ops.len()), Some(1));
    }
}
