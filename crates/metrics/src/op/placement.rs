//! Finds where ops ran: on the devices, or on the host instead of a device.
//!
//! ```text
//! TPU:0      [fusion)[all-reduce)      [fusion)      device   loop fusion, all-reduce
//! python              [pure_callback)                host     callback
//! tf_XLAEigen [dot.1)                                host     CPU program: jit_eval
//! ```
//!
//! Three kinds of work are treated as run on the host instead of a device:
//!
//! * callbacks of compiled programs into Python;
//! * host compute that the compiler offloads at the user's request (line `Host Offload Ops` of a TPU);
//! * programs of XLA's CPU backend, if the run uses an accelerator.

use std::collections::{BTreeMap, BTreeSet};

use crate::device::devices::Devices;
use crate::op::ops::Ops;
use base::{Ps, sort};
use facts::host_callbacks;
use trace::{EventKind, Interval, IntervalSet, LineKind, Platform, Trace};

/// Reason why an op ran on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostReason {
    /// A compiled program calls into Python.
    Callback,
    /// The compiler placed the op on the host (`jax.experimental.compute_on`).
    HostCompute,
    /// A program of XLA's CPU backend.
    CpuProgram,
}

impl HostReason {
    /// Returns the name that tables show.
    pub fn label(self) -> &'static str {
        match self {
            HostReason::Callback => "callback",
            HostReason::HostCompute => "host compute",
            HostReason::CpuProgram => "CPU program",
        }
    }
}

/// The ops of one type that ran in the same place: on devices, or on the host for the same reason.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacementRow {
    /// Reason why the ops ran on the host. `None` if the ops ran on devices.
    pub reason: Option<HostReason>,
    /// For device ops, the category. For host ops, the name of the callback, the CPU program or the `host compute` op.
    pub op_type: String,
    /// Number of distinct ops.
    pub num_ops: u64,
    /// Number of runs of the ops.
    pub occurrences: u64,
    /// For device ops, the self time. For host ops, the sum of the durations.
    pub time: Ps,
}

/// The devices and hosts that the ops of a run ran on.
#[derive(Clone, Debug, Default)]
pub struct Placement {
    /// Rows of devices, then rows of hosts. Both are sorted by descending time.
    pub rows: Vec<PlacementRow>,
    /// Times when an op ran on a host instead of a device.
    pub on_host: IntervalSet,
    /// Number of callbacks of compiled programs into Python. Includes the callbacks of XLA's CPU backend, which are ops
    /// of the backend's device.
    pub callbacks: u64,
    /// Times when a thread of any host is in a callback.
    pub in_callbacks: IntervalSet,
}

impl Placement {
    /// Measures all devices, and each host in its window.
    pub fn new(trace: &Trace, devices: &Devices, ops: &Ops, window: impl Fn(u16) -> Interval) -> Placement {
        let on_hosts = on_hosts(trace, devices, &window);
        Placement { rows: on_devices(trace, ops).into_iter().chain(on_hosts.rows).collect(), ..on_hosts }
    }

    /// Returns the rows of hosts, each with its reason.
    pub fn host_rows(&self) -> impl Iterator<Item = (HostReason, &PlacementRow)> {
        self.rows.iter().filter_map(|row| Some((row.reason?, row)))
    }

    /// Returns the total time of the rows of hosts, or of the rows of devices.
    pub fn time(&self, on_host: bool) -> Ps {
        self.rows.iter().filter(|row| row.reason.is_some() == on_host).map(|row| row.time).sum()
    }
}

fn on_devices(trace: &Trace, ops: &Ops) -> Vec<PlacementRow> {
    let mut found: BTreeMap<&str, PlacementRow> = BTreeMap::new();
    for op in &ops.rows {
        let category = ops.text(trace, op.category);
        let placed = found.entry(category).or_insert_with(|| empty(None, category));
        placed.num_ops += 1;
        placed.occurrences += op.occurrences;
        placed.time += op.self_time;
    }
    by_time(found.into_values().collect())
}

fn empty(reason: Option<HostReason>, op_type: &str) -> PlacementRow {
    PlacementRow { reason, op_type: op_type.to_owned(), num_ops: 0, occurrences: 0, time: Ps::ZERO }
}

fn by_time(mut rows: Vec<PlacementRow>) -> Vec<PlacementRow> {
    sort::sort_by(&mut rows, |a, b| {
        b.time.cmp(&a.time).then_with(|| (a.reason, &a.op_type).cmp(&(b.reason, &b.op_type)))
    });
    rows
}

/// An op on a host instead of a device, or a callback.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct HostOp {
    reason: HostReason,
    name: String,
    /// True if the device rows also include this op.
    is_device_op: bool,
}

fn host_op(trace: &Trace, devices: &Devices, kind: &EventKind) -> Option<HostOp> {
    let line = trace.lines.get(kind.line.index())?;
    let name = trace.text(kind.name);
    let op = |reason, name: &str| Some(HostOp { reason, name: name.to_owned(), is_device_op: false });
    if trace.text(line.name) == "Host Offload Ops" {
        return op(HostReason::HostCompute, name);
    }
    if line.kind != LineKind::Host {
        return None;
    }
    let args = trace.args.get(kind.args);
    // The CPU backend names an event after its op. Calls that launch a kernel also have the op in their arguments.
    let is_cpu_op = !args.hlo_op.is_empty() && args.hlo_op == kind.name;
    if is_cpu_op && matches!(devices.platform, Some(Platform::Tpu | Platform::Gpu)) {
        let module = trace.text(args.hlo_module);
        return op(HostReason::CpuProgram, if module.is_empty() { "unnamed program" } else { module });
    }
    let may_be = (name.contains("callback") || name.contains("debug_print")) && host_callbacks::is(name);
    let callback = op(HostReason::Callback, name).filter(|_| may_be)?;
    Some(HostOp { is_device_op: is_cpu_op, ..callback })
}

fn on_hosts(trace: &Trace, devices: &Devices, window: &dyn Fn(u16) -> Interval) -> Placement {
    let mut index: BTreeMap<HostOp, usize> = BTreeMap::new();
    let mut rows: Vec<(PlacementRow, bool)> = Vec::new();
    let mut names: Vec<BTreeSet<usize>> = Vec::new();
    let mut on_line = vec![false; trace.lines.len()];
    let of_kind: Vec<Option<usize>> = trace
        .events
        .kinds()
        .iter()
        .map(|kind| {
            let op = host_op(trace, devices, kind)?;
            let at = *index.entry(op.clone()).or_insert_with(|| {
                rows.push((empty(Some(op.reason), &op.name), op.is_device_op));
                names.push(BTreeSet::new());
                rows.len() - 1
            });
            names.get_mut(at)?.insert(kind.name.index());
            on_line.get_mut(kind.line.index()).into_iter().for_each(|slot| *slot = true);
            Some(at)
        })
        .collect();
    if rows.is_empty() {
        return Placement::default();
    }
    let (mut spans, mut in_callbacks, mut callbacks) = (Vec::new(), Vec::new(), 0);
    let lines = trace.lines.iter().zip(devices.by_line.events.iter()).zip(on_line);
    for ((line, events), _) in lines.filter(|(_, wanted)| *wanted) {
        let window = window(trace.plane_of(line).map_or(0, |plane| plane.host));
        let mut until = Ps::new(i64::MIN);
        events.for_each_time(&trace.events, |kind, interval| {
            let Some(Some(row)) = of_kind.get(kind) else { return };
            let Some((row, is_device_op)) = rows.get_mut(*row) else { return };
            let is_callback = row.reason == Some(HostReason::Callback);
            // The frames inside a callback belong to the callback, so each callback is counted only once.
            if is_callback {
                if interval.end <= until {
                    return;
                }
                until = interval.end;
            }
            // Like every op, this op is counted if it starts in the window. Its time is the part inside the window.
            let starts_inside = interval.start >= window.start && interval.start < window.end;
            let Some(inside) = interval.clip(window).filter(|part| starts_inside || part.length() > Ps::ZERO) else {
                return;
            };
            row.occurrences += u64::from(starts_inside);
            row.time += inside.length();
            if is_callback {
                callbacks += u64::from(starts_inside);
                in_callbacks.push(inside);
            }
            if !*is_device_op {
                spans.push(inside);
            }
        });
    }
    for ((row, _), names) in rows.iter_mut().zip(names) {
        row.num_ops = names.len() as u64;
    }
    let listed =
        |(row, is_device_op): (PlacementRow, bool)| Some(row).filter(|row| !is_device_op && row.occurrences > 0);
    Placement {
        rows: by_time(rows.into_iter().filter_map(listed).collect()),
        on_host: IntervalSet::union_of(spans),
        callbacks,
        in_callbacks: IntervalSet::union_of(in_callbacks),
    }
}
