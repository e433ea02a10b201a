//! The devices of a run and the ops that ran on them, in order.
//!
//! An *op* here is what occupies a device: an event of `XLA Ops` on a TPU, of a stream on a GPU (kernels, copies,
//! fills), and for a CPU backend a host event that names its HLO op. Lines that repeat these (modules, steps,
//! framework ops) and host events are never ops. A device is *used* where at least one op ran on it, or one program
//! whose ops were not recorded ([`Unrecorded`]).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::categories::{Categorizer, OpFamily, Recognised};
use super::unrecorded::Unrecorded;
use base::{Ps, sort};
use trace::{
    ArgsId, ByLine, ChipClock, END_MARKER, Event, EventId, EventKind, Interval, IntervalSet, LineEvents, LineKind,
    PlaneKind, Platform, StrId, Trace, Union, in_blocks, is_op_cat,
};

/// How it is known which op of a device runs in which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Nesting {
    /// An op runs in the one that was open on its line when it started.
    #[default]
    ByLine,
    /// By op the index of the one that it runs in, `u32::MAX` for none: lines do not say, since ops start on one thread and
    /// compute on others (CPU backend).
    ByOp(Vec<u32>),
}

/// A used device and its ops.
#[derive(Clone, Debug)]
pub struct Device {
    /// Name as in the trace; with the host in front where a run has several; `CPU:0` for a CPU backend.
    pub name: String,
    /// Kind of accelerator.
    pub platform: Platform,
    /// Number in the device's name.
    pub ordinal: u32,
    /// Index of the device's plane in the trace.
    pub plane: usize,
    /// Index of the device's host in [`Trace::hosts`].
    pub host: u16,
    /// Ops of the device by ascending start, longest first, then file order: a nested op follows its parent. Of a
    /// device that is [limited](super::window::Limited), the ops of which a part lies in its window.
    pub ops: Arc<Vec<EventId>>,
    /// How many of the ops start before the window: they count where they start.
    pub begun_before: u64,
    /// Which op runs in which.
    pub nesting: Nesting,
    /// Union of the ops and of the [unrecorded](Device::unrecorded) runs of programs, inside the window.
    pub busy: IntervalSet,
    /// Runs of programs in which no op was recorded.
    pub unrecorded: Unrecorded,
    /// Start of the first op, or of a run without ops, to the end of the last one; of the whole capture.
    pub span: Interval,
    /// How the device's clock lies against the host's; `None` where its events have the host's times.
    pub clock: Option<ChipClock>,
    /// The time that is measured: what shares are of. All of `span` until it is limited.
    pub window: IntervalSet,
}

impl Device {
    /// The host's time at `time` of this device.
    pub fn to_host(&self, time: Ps) -> Ps {
        self.clock.map_or(time, |clock| clock.to_host(time))
    }

    /// This device's time at `time` of the host.
    pub fn time_from_host(&self, time: Ps) -> Ps {
        self.clock.map_or(time, |clock| clock.time_from_host(time))
    }

    /// This device's time of an interval of the host.
    pub fn interval_from_host(&self, interval: Interval) -> Interval {
        Interval::new(self.time_from_host(interval.start), self.time_from_host(interval.end))
    }

    /// This device's times of a set of the host's.
    pub fn set_from_host(&self, set: &IntervalSet) -> IntervalSet {
        if self.clock.is_none_or(|clock| clock.drift == 0) {
            return set.clone();
        }
        IntervalSet::union_of(set.parts().iter().map(|part| self.interval_from_host(*part)))
    }

    /// A set of this device's times as the host's.
    pub fn set_to_host(&self, set: &IntervalSet) -> IntervalSet {
        if self.clock.is_none_or(|clock| clock.drift == 0) {
            return set.clone();
        }
        let to_host = |part: &Interval| Interval::new(self.to_host(part.start), self.to_host(part.end));
        IntervalSet::union_of(set.parts().iter().map(to_host))
    }

    /// Time in the window in which at least one recorded op runs.
    pub fn busy_with_ops(&self) -> Ps {
        self.busy.length() - self.unrecorded.time.length()
    }

    /// Ops that start in the window.
    pub fn num_ops(&self) -> u64 {
        (self.ops.len() as u64).saturating_sub(self.begun_before)
    }

    /// True where the window holds all that the device did.
    pub fn is_whole(&self) -> bool {
        holds(&self.window, self.span)
    }

    /// Does what starts at `time` count? Where the window holds all that the device did, programs count that start before the first
    /// op.
    pub fn counts(&self, time: Ps) -> bool {
        self.is_whole() || self.window.contains(time)
    }

    /// The part of the window in which no op runs.
    pub fn idle(&self) -> Ps {
        self.window.length() - self.busy.length()
    }
}

/// All devices of a run.
#[derive(Clone, Debug)]
pub struct Devices {
    /// The platform of the used devices; `None` where nothing ran. Accelerators win over a CPU backend beside them.
    pub platform: Option<Platform>,
    /// The used ones of that platform, by host and ordinal.
    pub used: Vec<Device>,
    /// Names of the others of that platform that the trace lists, in the same order.
    pub unused: Vec<String>,
    /// First start to last end of all events, host included; `None` for an empty trace.
    pub capture: Option<Interval>,
    /// The events of every line in order, as whoever else looks at the trace has them.
    pub by_line: Arc<ByLine>,
    /// What their ops were recognised as so far.
    pub(super) recognised: Recognised,
}

impl Devices {
    /// As many different ops of the used devices as there can be at most, for room that is taken at once: with a million of them, room that
    /// grows by doubling is moved, and held, twice.
    pub(crate) fn most_distinct_ops(&self, trace: &Trace) -> usize {
        let all: usize = self.used.iter().map(|device| device.ops.len()).sum();
        all.min(trace.events.kinds().len())
    }

    /// Finds the devices of `trace` and their ops. `by_line` are its events.
    pub fn new(trace: &Trace, by_line: Arc<ByLine>) -> Devices {
        Devices::of_capture(trace, by_line, base::cut(&trace.warnings).is_some())
    }

    /// Finds the devices of `trace`, which is known to be cut or not. Where ops were cut off, runs of programs without any say nothing of a
    /// device that has some.
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

    /// Devices of the platform that the trace lists, used or not.
    pub fn num_visible(&self) -> u64 {
        (self.used.len() + self.unused.len()) as u64
    }

    /// The family of each kind of event that is an op of a used device; `None` of all others. Index: the kind.
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

    /// Devices of a trace that a test has made.
    #[cfg(test)]
    pub(crate) fn of(trace: &Trace) -> Devices {
        Devices::new(trace, Arc::new(ByLine::new(trace)))
    }

    /// Index of the used device of each plane that has one; of several the first.
    pub fn by_plane(&self) -> FxHashMap<usize, usize> {
        self.used.iter().enumerate().rev().map(|(index, device)| (device.plane, index)).collect()
    }

    /// The category of a device op by its name and arguments, for one that [`Ops`](crate::Ops) does not list: those are of the window.
    pub fn category(&self, trace: &Trace, name: StrId, args: ArgsId) -> &'static str {
        self.recognised.category(trace, name, args)
    }

    /// Indices of the used devices of a host, which follow each other.
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

/// Which events of a stream are ops, by set of arguments: a million events share a few thousand. Kineto puts annotations and
/// synchronisations on the streams too. If events have categories, only those of GPU work are ops.
pub(crate) struct GpuWork(Vec<bool>);

impl GpuWork {
    pub fn new(trace: &Trace) -> GpuWork {
        let is_work = |index| trace.args.set(index).is_some_and(|args| is_op_cat(trace.text(args.cat)));
        GpuWork((0..trace.args.len()).map(is_work).collect())
    }

    /// True if an event of a stream with these arguments is an op.
    pub fn contains(&self, args: ArgsId) -> bool {
        self.0.get(args.index()) == Some(&true)
    }
}

/// Ops of the CPU backend: host events that name their HLO op, without the markers (`end: add.1`) that follow them.
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

/// The device of a host event that is an op of the CPU backend; `None` for any other event.
pub(super) fn cpu_op_ordinal(trace: &Trace, event: &Event) -> Option<i64> {
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

/// True where `window` is one piece that `span` lies in.
pub(super) fn holds(window: &IntervalSet, span: Interval) -> bool {
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

/// The time an event covers.
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

    /// The work grows with the lines, whatever the devices: together they go through each line once.
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
