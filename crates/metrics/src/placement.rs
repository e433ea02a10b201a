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
}

impl Placement {
    /// Of all devices and hosts. Events are walked only where some kind of them counts.
    pub fn new(trace: &Trace, devices: &Devices, ops: &Ops) -> Placement {
        let mut rows = on_devices(trace, ops);
        let (host, on_host) = on_hosts(trace, devices);
        rows.extend(host);
        Placement { rows, on_host }
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

/// What an event on a host is, where a device was meant.
fn host_op(trace: &Trace, devices: &Devices, kind: &EventKind) -> Option<(HostReason, String)> {
    let line = trace.lines.get(kind.line.index())?;
    let name = trace.text(kind.name);
    if trace.text(line.name) == "Host Offload Ops" {
        return Some((HostReason::HostCompute, name.to_owned()));
    }
    if line.kind != LineKind::Host {
        return None;
    }
    let args = trace.args.get(kind.args);
    // The CPU backend names an event after the op; calls that launch a kernel carry the op, too.
    let beside = matches!(devices.platform, Some(Platform::Tpu | Platform::Gpu));
    if !args.hlo_op.is_empty() && args.hlo_op == kind.name {
        if !beside {
            // The CPU is the device: a callback's op is one of its ops.
            return None;
        }
        let module = trace.text(args.hlo_module);
        return Some((HostReason::CpuProgram, if module.is_empty() { "unnamed program" } else { module }.to_owned()));
    }
    let may_be = (name.contains("callback") || name.contains("debug_print")) && host_callbacks::is(name);
    may_be.then(|| (HostReason::Callback, name.to_owned()))
}

fn on_hosts(trace: &Trace, devices: &Devices) -> (Vec<PlacementRow>, IntervalSet) {
    let mut index: BTreeMap<(HostReason, String), usize> = BTreeMap::new();
    let mut rows: Vec<PlacementRow> = Vec::new();
    let mut names: Vec<BTreeSet<usize>> = Vec::new();
    let mut on_line = vec![false; trace.lines.len()];
    let of_kind: Vec<Option<usize>> = trace
        .events
        .kinds()
        .iter()
        .map(|kind| {
            let key = host_op(trace, devices, kind)?;
            let at = *index.entry(key.clone()).or_insert_with(|| {
                rows.push(empty(Some(key.0), &key.1));
                names.push(BTreeSet::new());
                rows.len() - 1
            });
            names.get_mut(at)?.insert(kind.name.index());
            on_line.get_mut(kind.line.index()).into_iter().for_each(|slot| *slot = true);
            Some(at)
        })
        .collect();
    if rows.is_empty() {
        return (rows, IntervalSet::default());
    }
    let mut spans: Vec<Interval> = Vec::new();
    for (events, _) in devices.by_line.events.iter().zip(on_line).filter(|(_, wanted)| *wanted) {
        let mut until = Ps::new(i64::MIN);
        events.for_each_time(&trace.events, |kind, interval| {
            let Some(Some(row)) = of_kind.get(kind) else { return };
            let Some(row) = rows.get_mut(*row) else { return };
            // A callback's own frames lie inside it: its time counts once.
            if row.reason == Some(HostReason::Callback) {
                if interval.end <= until {
                    return;
                }
                until = interval.end;
            }
            row.occurrences += 1;
            row.time += interval.length();
            spans.push(interval);
        });
    }
    for (row, names) in rows.iter_mut().zip(names) {
        row.num_ops = names.len() as u64;
    }
    rows.retain(|row| row.occurrences > 0);
    (by_time(rows), IntervalSet::union_of(spans))
}
