//! Where ops run: on the devices, or on the host although a device was meant.
//!
//! ```text
//! TPU:0      [fusion)[all-reduce)      [fusion)      device   loop fusion, all-reduce
//! python              [pure_callback)                host     callback
//! tf_XLAEigen [dot.1)                                host     CPU program: jit_eval
//! ```
//!
//! Work of the host where a device was meant is of three kinds: callbacks of compiled programs into Python; host compute that the
//! compiler was told to offload (line `Host Offload Ops` of a TPU); programs of XLA's CPU backend beside an accelerator's.

use std::collections::{BTreeMap, BTreeSet};

use super::devices::Devices;
use super::ops::Ops;
use base::{Ps, sort};
use facts::host_callbacks;
use trace::{EventKind, Interval, IntervalSet, LineKind, Platform, Trace};

/// Why something ran on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostReason {
    /// A compiled program calls into Python.
    Callback,
    /// The compiler placed it there (`jax.experimental.compute_on`).
    HostCompute,
    /// A program of XLA's CPU backend.
    CpuProgram,
}

impl HostReason {
    /// Name of the reason for tables.
    pub fn label(self) -> &'static str {
        match self {
            HostReason::Callback => "callback",
            HostReason::HostCompute => "host compute",
            HostReason::CpuProgram => "CPU program",
        }
    }
}

/// The ops of one type in one place.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacementRow {
    /// Why the ops ran on the host; `None` where they ran on devices.
    pub reason: Option<HostReason>,
    /// Category of device ops; name of a callback or of a CPU program; `host compute` ops by name.
    pub op_type: String,
    /// Distinct ops.
    pub num_ops: u64,
    /// How often the ops ran.
    pub occurrences: u64,
    /// Self time of device ops; summed durations on the host.
    pub time: Ps,
}

/// Where the ops of a run ran.
#[derive(Clone, Debug, Default)]
pub struct Placement {
    /// Rows on devices, most time first; then on the host, most time first.
    pub rows: Vec<PlacementRow>,
    /// When something ran on a host where a device was meant.
    pub on_host: IntervalSet,
    /// Callbacks of compiled programs into Python; those of XLA's CPU backend too, which are ops of its device.
    pub callbacks: u64,
    /// When a thread of any host is in a callback.
    pub in_callbacks: IntervalSet,
}

impl Placement {
    /// Of all devices, and of each host in its window. Events are walked only where some kind of them counts.
    pub fn new(trace: &Trace, devices: &Devices, ops: &Ops, window: impl Fn(u16) -> Interval) -> Placement {
        let on_hosts = on_hosts(trace, devices, &window);
        Placement { rows: on_devices(trace, ops).into_iter().chain(on_hosts.rows).collect(), ..on_hosts }
    }

    /// What ran on a host.
    pub fn host_rows(&self) -> impl Iterator<Item = (HostReason, &PlacementRow)> {
        self.rows.iter().filter_map(|row| Some((row.reason?, row)))
    }

    /// Sum of the times in one place.
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

/// An event on a host that a device was meant to run, or a callback.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct HostOp {
    reason: HostReason,
    name: String,
    /// Is it an op of the device too? It is among the rows of devices then.
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
    // The CPU backend names an event after the op; calls that launch a kernel carry the op, too.
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
            // A callback's own frames lie inside it: it counts once.
            if is_callback {
                if interval.end <= until {
                    return;
                }
                until = interval.end;
            }
            // As all ops, it counts where it starts; its time is that in the window.
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
