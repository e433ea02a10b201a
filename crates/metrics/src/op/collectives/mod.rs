//! Measures communication between devices: which collectives ran, the data they moved, their times, and how long
//! devices waited for each other.
//!
//! ```text
//! device 0   [======= all-reduce =======)      wait 6, transfer 4
//! device 1         [==== all-reduce ====)      wait 3, transfer 4
//! device 2               [ all-reduce  )       wait 0: it arrived last
//! ```
//!
//! A collective ends on all devices of a group at the same time. The device with the shortest run therefore arrived
//! last. Every other device waited for the time by which its run is longer. Only durations are compared, never starts,
//! because the clocks of devices may differ by seconds. [`Members`] lists the members of each group. If the file does
//! not record the groups, `together` finds the groups from the times of the runs.
//!
//! Reads the ops of devices. An asynchronous collective may consist of a start op and an end op. Such a collective
//! lasts from the start of its start op to the end of its end op, and is counted once. Collectives that a library fused
//! with arithmetic into one kernel are not detected.

mod apart;
mod exposed;
mod inside;
mod kind;
mod matrix;
mod members;
mod message;
mod runs;
mod section;
mod together;
mod waits;

#[cfg(test)]
mod tests;

pub(crate) use apart::Apart;
pub use exposed::exposed_communication;
pub(crate) use kind::bus_factor;
pub(crate) use matrix::Matrix;
pub(crate) use members::Members;
pub(crate) use members::stated_id;
pub(crate) use message::Message;
pub(crate) use message::shapes_bytes;
pub(crate) use section::section;
pub use waits::GroupRun;

use inside::Inside;

use rustc_hash::FxHashMap;

use self::members::Numbering;
use self::runs::{Runs, SeenRun};
use crate::device::device_time::DeviceTime;
use crate::device::devices::Devices;
use base::{Ps, sort};
use hlo::{Instruction, Module, Modules};
use trace::{Args, ArgsId, EventColumn, IntervalSet, Platform, StrId, Trace};

/// A collective instruction (or kernel) of a program.
#[derive(Clone, Debug)]
pub struct CollectiveOp {
    /// Name of the collective in the trace.
    pub name: StrId,
    /// One of the argument sets of the collective's events.
    pub args: ArgsId,
    /// `all-reduce`, `all-gather`, ...
    pub kind: &'static str,
    /// Data that one run moves.
    pub message: Message,
    /// Index into [`Collectives::members`].
    pub members: u32,
    /// Path of the framework's op (`jit(f)/shard_map/psum`), from the trace or the embedded HLO. Empty if neither
    /// contains the path.
    pub framework_op: String,
    /// `RING`, `TREE`, ... if the kernel's name contains it.
    pub algorithm: Option<String>,
    /// `LL`, `SIMPLE`, ... if the kernel's name contains it.
    pub protocol: Option<String>,
    /// Sums over the runs of the collective.
    pub sums: CollectiveSums,
}

/// Sums over runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CollectiveSums {
    /// Number of runs that start in the window: one for each device and execution.
    pub occurrences: u64,
    /// Sum of [`Run::parts`], in billionths of a run. Corrects `occurrences` for runs that an edge of the window cuts.
    pub parts: i64,
    /// Sum of the durations.
    pub total: Ps,
    /// Duration of the shortest run.
    pub min: Option<Ps>,
    /// Duration of the longest run.
    pub max: Ps,
    /// Part of the total during which the device computes nothing.
    pub exposed: Ps,
    /// Number of runs that were compared with the same run on other devices.
    pub compared: u64,
    /// Time in compared runs before the last device arrived.
    pub wait: Ps,
    /// Time in compared runs after the last device arrived.
    pub transfer: Ps,
}

impl CollectiveSums {
    /// Adds a run.
    pub fn add(&mut self, run: &Run) {
        self.occurrences += u64::from(run.counts);
        self.parts = self.parts.saturating_add(run.parts);
        self.total += run.duration;
        self.min = Some(self.min.map_or(run.duration, |min| min.min(run.duration)));
        self.max = self.max.max(run.duration);
        self.exposed += run.exposed;
        if let Some(wait) = run.wait {
            self.compared += 1;
            self.wait += wait;
            self.transfer += run.duration - wait;
        }
    }
}

/// A run of a collective on one device.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Index into [`Collectives::ops`].
    pub op: u32,
    /// Index into [`Devices::used`].
    pub device: u32,
    /// Start of the run.
    pub start: Ps,
    /// Duration of the run.
    pub duration: Ps,
    /// Part of the duration during which the device computes nothing.
    pub exposed: Ps,
    /// True if the run starts in the window. False if the run started before the window.
    pub counts: bool,
    /// Correction to the number of runs, in billionths of a run. If an edge of the window cuts the run, this is the
    /// fraction of the run inside the window, minus 1 if `counts` is true. If no edge cuts the run, the correction is
    /// 0.
    pub parts: i64,
    /// Number of the run, which is the same on all devices. `None` if the trace does not record it.
    pub id: Option<i64>,
    /// Time until the last device arrived. `None` if no other device has a matching run.
    pub wait: Option<Ps>,
}

impl Run {
    fn end(&self) -> Ps {
        self.start + self.duration
    }
}

/// Communication of one device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceSums {
    /// Sums over all runs of the device.
    pub sums: CollectiveSums,
    /// Number of compared runs in which the device arrived last and another device waited for it.
    pub last: u64,
    /// Number of compared runs in which the device would arrive last if all members of a group arrived last equally often.
    pub fair: f64,
    /// Time that other devices waited for this device.
    pub caused: Ps,
    /// Time that would have been saved if this device had arrived together with the second-last device whenever it
    /// arrived last.
    pub delay: Ps,
}

/// A device is late only if it arrives last in at least this share of its compared runs. We chose this limit because in
/// a large group, a device may arrive last twice by chance.
const LEAST_LAST_SHARE: f64 = 0.1;

impl DeviceSums {
    /// Returns the share of the compared runs in which the device arrived last, from 0 to 1.
    pub fn last_share(&self) -> Option<f64> {
        (self.sums.compared > 0).then(|| self.last as f64 / self.sums.compared as f64)
    }

    /// Returns the share of runs in which the device would arrive last if all members of a group arrived last equally often,
    /// from 0 to 1.
    pub fn fair_share(&self) -> Option<f64> {
        (self.sums.compared > 0).then(|| self.fair / self.sums.compared as f64)
    }

    /// Returns true if the device arrives last far more often than if all devices were identical. The device must
    /// arrive last more than once, and in at least twice its fair share of the compared runs. The required share is at
    /// least 10 % and at most 75 %.
    pub fn is_late(&self) -> bool {
        let (Some(share), Some(fair)) = (self.last_share(), self.fair_share()) else { return false };
        self.last > 1 && share >= (2.0 * fair).clamp(LEAST_LAST_SHARE, 0.75)
    }
}

/// All communication of a run.
#[derive(Clone, Debug, Default)]
pub struct Collectives {
    /// Collectives, sorted by descending time.
    pub ops: Vec<CollectiveOp>,
    /// Runs, sorted by device, then by time.
    pub runs: Vec<Run>,
    /// Sums of each device in use.
    pub devices: Vec<DeviceSums>,
    /// Runs that were compared on several devices, sorted by time.
    pub group_runs: Vec<GroupRun>,
    /// Members of the groups. Ops refer to entries by index.
    pub members: Vec<Members>,
    /// Sums over all collectives.
    pub sums: CollectiveSums,
    /// Bytes that each pair of devices exchanges. `None` if a group is unknown.
    pub matrix: Option<Matrix>,
    /// Communication that is not an op, or that duplicates one. The other fields exclude it.
    pub apart: Vec<Apart>,
    /// Sum of the lengths of the devices' windows. Shares of exposed communication are relative to this sum.
    pub device_time: Ps,
}

impl Collectives {
    /// Measures the communication of `trace`. `times` and `windows` have one entry per device in use. Only the parts of
    /// runs inside the windows are included.
    pub fn new(
        trace: &Trace,
        devices: &Devices,
        times: &[DeviceTime],
        modules: &Modules,
        windows: &[IntervalSet],
    ) -> Collectives {
        let mut all =
            Collectives { devices: vec![DeviceSums::default(); devices.used.len()], ..Collectives::default() };
        let mut index: FxHashMap<(StrId, Option<i64>, StrId), u32> = FxHashMap::default();
        let mut runs = Runs::new(trace, devices);
        let mut groups = Groups { numbering: Numbering::new(trace, devices), known: FxHashMap::default() };
        for (number, device) in (0u32..).zip(&devices.used) {
            let window = windows.get(number as usize).unwrap_or(&device.window);
            all.device_time += window.length();
            let inside = Inside::new(device, window, times.get(number as usize));
            runs.for_each(trace, device, |SeenRun { event: id, name, args, kind, interval }| {
                let Some(part) = inside.part(interval) else { return };
                let set = trace.args.get(args);
                // One PyTorch kernel may run for messages of several sizes. Each size is a separate op.
                let stated =
                    if message::is_stated(trace.text(set.kernel_details)) { set.kernel_details } else { StrId::EMPTY };
                let op = *index.entry((name, set.program_id, stated)).or_insert_with(|| {
                    let op = op(trace, modules, device.host, kind, name, args, &mut groups, &mut all.members);
                    all.ops.push(op);
                    u32::try_from(all.ops.len() - 1).unwrap_or(u32::MAX)
                });
                all.runs.push(Run {
                    op,
                    device: number,
                    start: interval.start,
                    duration: part.time,
                    exposed: part.exposed,
                    counts: part.counts,
                    parts: part.missing,
                    id: trace.events.column(EventColumn::AllReduceId).get(id),
                    wait: None,
                });
            });
        }
        together::find_groups(&mut all.ops, &mut all.members, &all.runs, devices.used.len());
        let (ops, members) = (&all.ops, &all.members);
        let group_of = |run: &Run| members.get(ops.get(run.op as usize)?.members as usize)?.group(run.device);
        let (arrivals, group_runs) = waits::split(&mut all.runs, devices.used.len(), group_of);
        all.group_runs = group_runs;
        for (device, arrival) in all.devices.iter_mut().zip(arrivals) {
            (device.last, device.fair) = (arrival.last, arrival.fair);
            (device.caused, device.delay) = (arrival.caused, arrival.delay);
        }
        for run in &all.runs {
            all.sums.add(run);
            if let Some(device) = all.devices.get_mut(run.device as usize) {
                device.sums.add(run);
            }
            if let Some(op) = all.ops.get_mut(run.op as usize) {
                op.sums.add(run);
            }
        }
        all.matrix = Matrix::new(&all);
        all.apart = apart::apart(trace, devices, times, windows);
        all.sort_ops(trace);
        all
    }

    /// Returns the straggler and the share of its compared runs in which it arrived last. The straggler is the device
    /// that its groups waited for far more often than for their other members ([`DeviceSums::is_late`]). If several
    /// devices qualify, the straggler is the device that caused the most waiting. `None` if no runs were compared, if
    /// no device is exceptional, or if waiting is less than 1 % of the compared time.
    pub fn straggler(&self) -> Option<(usize, f64)> {
        if 100 * i128::from(self.sums.wait.as_ps()) < i128::from((self.sums.wait + self.sums.transfer).as_ps()) {
            return None;
        }
        let late = self.devices.iter().enumerate().filter(|(_, device)| device.is_late());
        let (at, device) = late.max_by_key(|&(at, device)| (device.caused, std::cmp::Reverse(at)))?;
        Some((at, device.last_share()?))
    }

    /// Returns, for each device in use, the number of its group. Devices that wait for each other, directly or through
    /// other devices, are in the same group. Devices of collectives with unknown groups are assumed to wait for all
    /// devices.
    pub fn connected(&self) -> Vec<u32> {
        // Each device refers to itself, or to an earlier device that it is connected to.
        let mut of: Vec<u32> = (0..self.devices.len() as u32).collect();
        fn first_of(of: &[u32], mut device: u32) -> u32 {
            while let Some(&earlier) = of.get(device as usize).filter(|&&earlier| earlier != device) {
                device = earlier;
            }
            device
        }
        let mut seen = vec![false; self.members.len()];
        for op in &self.ops {
            let (Some(members), Some(seen)) = (self.members_of(op), seen.get_mut(op.members as usize)) else {
                continue;
            };
            if std::mem::replace(seen, true) {
                continue;
            }
            let mut first: FxHashMap<Option<u32>, u32> = FxHashMap::default();
            for device in 0..of.len() as u32 {
                let group = members.group(device);
                let other = *first.entry(group).or_insert(device);
                let (a, b) = (first_of(&of, other), first_of(&of, device));
                if let Some(later) = of.get_mut(a.max(b) as usize) {
                    *later = a.min(b);
                }
                if let Some(own) = of.get_mut(device as usize) {
                    *own = a.min(b);
                }
            }
        }
        // Earlier devices are resolved first.
        for device in 0..of.len() {
            let first = of.get(device).and_then(|&earlier| of.get(earlier as usize)).copied();
            if let Some((own, first)) = of.get_mut(device).zip(first) {
                *own = first;
            }
        }
        of
    }

    /// Returns the members of the op's groups.
    pub fn members_of(&self, op: &CollectiveOp) -> Option<&Members> {
        self.members.get(op.members as usize)
    }

    /// Returns the overlapped share of the communication, in percent. `None` without communication.
    pub fn hidden_percent(&self) -> Option<f64> {
        let (exposed, total) = (self.sums.exposed.as_ps() as f64, self.sums.total.as_ps() as f64);
        (total > 0.0).then(|| (100.0 * (1.0 - exposed / total)).clamp(0.0, 100.0))
    }

    /// Returns the sums of each kind of collective, longest time first.
    pub fn kinds(&self) -> Vec<(&'static str, CollectiveSums)> {
        let mut kinds: Vec<(&'static str, CollectiveSums)> = Vec::new();
        for run in &self.runs {
            let Some(op) = self.ops.get(run.op as usize) else { continue };
            match kinds.iter_mut().find(|(kind, _)| *kind == op.kind) {
                Some((_, sums)) => sums.add(run),
                None => {
                    let mut sums = CollectiveSums::default();
                    sums.add(run);
                    kinds.push((op.kind, sums));
                }
            }
        }
        sort::sort_by(&mut kinds, |a, b| b.1.total.cmp(&a.1.total).then_with(|| a.0.cmp(b.0)));
        kinds
    }

    fn sort_ops(&mut self, trace: &Trace) {
        let mut order: Vec<u32> = (0..self.ops.len() as u32).collect();
        let op = |at: u32| self.ops.get(at as usize);
        sort::sort_by(&mut order, |&a, &b| {
            let key = |at: u32| op(at).map(|op| (std::cmp::Reverse(op.sums.total), trace.text(op.name)));
            key(a).cmp(&key(b))
        });
        let mut places = vec![0u32; order.len()];
        for (place, &at) in (0u32..).zip(&order) {
            if let Some(slot) = places.get_mut(at as usize) {
                *slot = place;
            }
        }
        let ops = self.runs.iter_mut().map(|run| &mut run.op);
        for op in ops.chain(self.group_runs.iter_mut().map(|run| &mut run.op)) {
            *op = places.get(*op as usize).copied().unwrap_or(*op);
        }
        self.ops = order.iter().filter_map(|&at| self.ops.get(at as usize).cloned()).collect();
    }
}

impl CollectiveOp {
    /// Returns the bytes of one run divided by the mean time of a run, in 1e9 bytes per second.
    pub fn algorithm_gb_per_sec(&self) -> Option<f64> {
        let runs = self.sums.occurrences as f64 + self.sums.parts as f64 / 1e9;
        let seconds = if runs > 0.0 { self.sums.total.as_ps() as f64 * 1e-12 / runs } else { 0.0 };
        let bytes = self.message.bytes?;
        (seconds > 0.0).then(|| bytes as f64 / seconds * 1e-9)
    }

    /// Returns the bandwidth on each link, in 1e9 bytes per second; see [`bus_factor`].
    pub fn bus_gb_per_sec(&self) -> Option<f64> {
        Some(self.algorithm_gb_per_sec()? * bus_factor(self.kind, self.message.group_size)?)
    }
}

type GroupsKey = (Vec<u32>, Option<Vec<Vec<u32>>>, Vec<(u32, u32)>);

/// Members of instructions. Each distinct set of groups is stored once.
struct Groups {
    numbering: Numbering,
    known: FxHashMap<GroupsKey, u32>,
}

impl Groups {
    /// Returns the index into `members`. Adds an entry if the groups are new.
    fn of(&mut self, assigned: &[u32], message: &Message, members: &mut Vec<Members>) -> u32 {
        let key = (assigned.to_vec(), message.groups.clone(), message.pairs.clone());
        *self.known.entry(key).or_insert_with(|| {
            members.push(self.numbering.members(assigned, message));
            u32::try_from(members.len() - 1).unwrap_or(u32::MAX)
        })
    }
}

fn instruction<'m>(
    trace: &Trace,
    modules: &'m Modules,
    host: u16,
    name: &str,
    set: &Args,
) -> Option<(&'m Module, &'m Instruction)> {
    let module = match set.program_id {
        Some(program) => modules.find(host, program),
        None if set.hlo_module.is_empty() => None,
        None => modules.find_by_name(host, trace.text(set.hlo_module)),
    }?;
    Some((module, module.instruction(name)?))
}

#[expect(clippy::too_many_arguments, reason = "all of them say which instruction it is")]
fn op(
    trace: &Trace,
    modules: &Modules,
    host: u16,
    kind: &'static str,
    name: StrId,
    args: ArgsId,
    groups: &mut Groups,
    members: &mut Vec<Members>,
) -> CollectiveOp {
    let set = trace.args.get(args);
    let text = trace.text(name);
    let hlo_op = if set.hlo_op.is_empty() { text } else { trace.text(set.hlo_op) };
    let nccl = kind::nccl(text);
    let found = instruction(trace, modules, host, hlo_op, &set);
    let message = Message::new(trace, found, kind, &set);
    let assigned = found.map_or(&[][..], |(module, _)| module.device_ids());
    let (own, of_hlo) = (trace.text(set.tf_op), found.map_or("", |(_, it)| it.metadata.op_name.as_str()));
    // As in the op table, the path in the trace is used on TPUs only. A GPU kernel may name only the scope, and a CPU op has no
    // path.
    let on_tpu = groups.numbering.platform() == Some(Platform::Tpu);
    let path = if of_hlo.is_empty() || (on_tpu && !own.is_empty()) { own } else { of_hlo };
    CollectiveOp {
        name,
        args,
        kind,
        members: groups.of(assigned, &message, members),
        message,
        framework_op: path.trim_end_matches(':').to_owned(),
        algorithm: nccl.and_then(|it| it.algorithm).map(str::to_owned),
        protocol: nccl.and_then(|it| it.protocol).map(str::to_owned),
        sums: CollectiveSums::default(),
    }
}
