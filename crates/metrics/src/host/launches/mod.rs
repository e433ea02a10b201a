//! Matches each host call that starts device work to the work that it started.
//!
//! ```text
//! host     [- call 7 -]  [- call 8 -]
//!          '-- host --'-- delay --.
//! stream                          [=== op 7 ===][ op 8 ]
//!                                 '-- device --'
//! queue    0  1           2       1             0           calls whose op has not started
//! ```
//!
//! Reads host events that have the correlation id of a device op (GPU), or the run id of a module's run (TPU). A CPU
//! backend launches nothing. Calls that start no device work (synchronisation, queries) are left out, even if the file
//! has an event for them on the stream (`Stream Sync` of Kineto). One call may start many ops (a CUDA graph). Such a
//! call is one launch: its device time is the sum of its ops, and its delay ends at the first of these ops. If an op
//! starts before its call, the host and device clocks differ, and the delay of the launch is unknown.

mod index;
mod queue;
mod section;
mod statistics;

pub use index::Call;
pub(crate) use index::{CallIndex, Scope};
pub(crate) use queue::Queue;
pub(crate) use section::section;
pub use statistics::LaunchStatistics;

use rustc_hash::FxHashMap;

use crate::device::devices::{Device, Devices, GpuWork};
use base::{Ps, sort};
use trace::{Event, EventColumn, EventId, Line, LineKind, Platform, SparseColumn, StrId, Trace, in_blocks};

/// Ops that one call started. Takes only 24 bytes, because a trace may contain millions of launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Started {
    first: EventId,
    ops: u32,
    first_start: Ps,
    device_time: Ps,
}

impl Started {
    const NOTHING: Started = Started { first: EventId::new(0), ops: 0, first_start: Ps::MAX, device_time: Ps::ZERO };
}

/// All launches that started the same kernel with the same call (`cuLaunchKernel`).
#[derive(Clone, Debug)]
pub struct LaunchGroup {
    /// Name of the call on the host. If the collector names the call after the kernel, `call` is the same as `kernel`.
    pub call: StrId,
    /// Name of the kernel that the call started. For a graph, the name of its first op.
    pub kernel: StrId,
    /// Statistics of the launches.
    pub statistics: LaunchStatistics,
}

/// All launches of a run.
#[derive(Clone, Debug, Default)]
pub struct Launches {
    /// Number of ops (module runs on TPUs) of the devices in use.
    pub device_ops: u64,
    /// Number of the ops in `device_ops` whose call is in the trace.
    pub joined_ops: u64,
    /// Statistics of all launches.
    pub total: LaunchStatistics,
    /// Maximum time by which an op starts before the call that launched the op. The host and device clocks differ by at
    /// least this much.
    pub early_max: Ps,
    /// Launches grouped by call and kernel. The group with the longest total delay comes first.
    pub groups: Vec<LaunchGroup>,
    /// The queue of every stream that has launches, sorted by device and stream.
    pub queues: Vec<Queue>,
}

pub(crate) struct Op {
    pub id: EventId,
    pub event: Event,
    /// Start of the op on the host's clock.
    start: Ps,
    pub number: i64,
    pub scope: Scope,
}

impl Launches {
    /// Measures the launches of `trace`. `calls` contains the launch calls of `trace`: see [`calls_of`].
    pub fn new(trace: &Trace, devices: &Devices, calls: &CallIndex) -> Launches {
        let mut found = Launches { device_ops: count_ops(trace, devices), ..Launches::default() };
        if calls.is_empty() {
            return found;
        }
        let mut started: Vec<Started> = vec![Started::NOTHING; calls.slots()];
        for_each_op(trace, devices, |op| {
            let Some((slot, _)) = calls.find(trace, op.scope, op.number) else { return };
            let Some(entry) = started.get_mut(slot) else { return };
            found.joined_ops += 1;
            if op.start < entry.first_start {
                (entry.first, entry.first_start) = (op.id, op.start);
            }
            entry.device_time += op.event.duration;
            entry.ops = entry.ops.saturating_add(1);
        });
        found.queues = queue::queues(trace, devices, calls);
        found.group(trace, calls, &started);
        found
    }

    fn group(&mut self, trace: &Trace, calls: &CallIndex, started: &[Started]) {
        let name = |id: EventId| trace.events.get(id).map_or(StrId::EMPTY, |event| event.name);
        let mut index: FxHashMap<(StrId, StrId), usize> = FxHashMap::default();
        let mut delays: Vec<(i64, u32)> = Vec::new();
        let mut events = calls.events();
        in_blocks(started, |it| {
            let Some(call) = events.next().filter(|_| it.ops > 0).and_then(|call| trace.events.get(call)) else {
                return;
            };
            let key = (call.name, name(it.first));
            let groups = &mut self.groups;
            let at = *index.entry(key).or_insert_with(|| {
                groups.push(LaunchGroup { call: key.0, kernel: key.1, statistics: LaunchStatistics::default() });
                groups.len() - 1
            });
            // An op that starts before its call has no valid delay: the clocks differ.
            let delay = (it.first_start >= call.start).then(|| (it.first_start - call.end()).max(Ps::ZERO));
            self.early_max = self.early_max.max(call.start - it.first_start);
            self.total.add(call.duration, it.device_time, delay, it.ops);
            if let Some(group) = self.groups.get_mut(at) {
                group.statistics.add(call.duration, it.device_time, delay, it.ops);
            }
            delays.extend(delay.map(|delay| (delay.as_ps(), u32::try_from(at).unwrap_or(u32::MAX))));
        });
        sort::numbers_of(&mut delays);
        let mut of_groups: Vec<Vec<i64>> = vec![Vec::new(); self.groups.len()];
        for &(delay, at) in &delays {
            if let Some(of_group) = of_groups.get_mut(at as usize) {
                of_group.push(delay);
            }
        }
        for (group, delays) in self.groups.iter_mut().zip(of_groups) {
            group.statistics.set_percentiles(delays.len(), |rank| delays.get(rank).copied());
        }
        self.total.set_percentiles(delays.len(), |rank| delays.get(rank).map(|it| it.0));
        sort::sort_by(&mut self.groups, |a, b| {
            let texts = |it: &LaunchGroup| (trace.text(it.call), trace.text(it.kernel));
            b.statistics.delay.cmp(&a.statistics.delay).then_with(|| texts(a).cmp(&texts(b)))
        });
    }

    /// Returns true if no launch started any op.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
}

/// Returns the launch calls of a trace, indexed by the number that the trace's platform assigns to calls.
pub(crate) fn calls_of(trace: &Trace, devices: &Devices) -> CallIndex {
    match devices.platform {
        Some(Platform::Gpu) => CallIndex::by_correlation(trace),
        Some(Platform::Tpu) => CallIndex::by_run(trace),
        _ => CallIndex::default(),
    }
}

/// Returns the scope in which the number of an op of this device is unique.
pub(crate) fn scope_of(device: &Device) -> Scope {
    Scope { host: device.host, device: (device.platform == Platform::Tpu).then_some(device.ordinal) }
}

/// Calls `visit` with each op whose launch call is known, and with that call. Covers the devices in use.
pub(crate) fn each_launched_op(trace: &Trace, devices: &Devices, calls: &CallIndex, mut visit: impl FnMut(&Op, Call)) {
    if calls.is_empty() {
        return;
    }
    for_each_op(trace, devices, |op| {
        if let Some((_, call)) = calls.find(trace, op.scope, op.number) {
            visit(&op, call);
        }
    });
}

/// Returns the call that launched an event of a device.
pub fn call_of(trace: &Trace, devices: &Devices, calls: &CallIndex, event: EventId) -> Option<Call> {
    let line = trace.lines.get(trace.events.get(event)?.line.index())?;
    let device = devices.used.iter().find(|device| device.plane == line.plane.index())?;
    let number = numbers(trace, devices).get(event)?;
    calls.find(trace, scope_of(device), number).map(|(_, call)| call)
}

/// For each device event whose launch call is known, calls `visit` with the call and the event, in file order.
pub fn for_each_launch(trace: &Trace, devices: &Devices, calls: &CallIndex, mut visit: impl FnMut(EventId, EventId)) {
    each_launched_op(trace, devices, calls, |op, call| visit(call.event, op.id));
}

/// Returns the column with the numbers that connect device events with their calls.
fn numbers<'t>(trace: &'t Trace, devices: &Devices) -> &'t SparseColumn {
    let is_tpu = devices.platform == Some(Platform::Tpu);
    trace.events.column(if is_tpu { EventColumn::RunId } else { EventColumn::Correlation })
}

fn count_ops(trace: &Trace, devices: &Devices) -> u64 {
    if devices.platform == Some(Platform::Tpu) {
        let mut runs = 0;
        for_each_op(trace, devices, |_| runs += 1);
        return runs;
    }
    devices.used.iter().map(Device::num_ops).sum()
}

/// Calls `visit` with the ops that start in the window and have a number, in file order: stream ops with a correlation
/// id, module runs with a run id.
pub(crate) fn for_each_op(trace: &Trace, devices: &Devices, mut visit: impl FnMut(Op)) {
    let tpu = devices.platform == Some(Platform::Tpu);
    let wanted = if tpu { LineKind::Modules } else { LineKind::DeviceOps };
    let by_plane = devices.by_plane();
    let device = |line: &Line| devices.used.get(*by_plane.get(&line.plane.index()).filter(|_| line.kind == wanted)?);
    let device_of_line: Vec<Option<&Device>> = trace.lines.iter().map(device).collect();
    let gpu_work = GpuWork::new(trace);
    numbers(trace, devices).for_each(|id, number| {
        let Some(event) = trace.events.get(id) else { return };
        let Some(&Some(device)) = device_of_line.get(event.line.index()) else { return };
        let is_op = tpu || gpu_work.contains(event.args);
        if !is_op || !device.counts(event.start) || trace.events.began_before(id) {
            return;
        }
        visit(Op { id, event, start: device.to_host(event.start), number, scope: scope_of(device) });
    });
}

#[cfg(test)]
mod tests;
