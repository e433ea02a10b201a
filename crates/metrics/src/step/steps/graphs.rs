//! Finds the ops that the host launched as part of a graph (CUDA, HIP; the command buffers of XLA).
//!
//! ```text
//! host     [graphLaunch 7]       [launch 8]
//! stream        [op 7)[op 7)[op 7)     [op 8)
//!               '-- one graph launch-'  '-- launched by itself
//! ```
//!
//! An op is part of a graph if the trace names its graph or its node in the graph, or if the call with its correlation id
//! launches graphs (`cudaGraphLaunch`). All ops with one correlation id belong to one launch.

use rustc_hash::FxHashSet;

use crate::device::devices::{Device, Devices};
use trace::{Args, Event, EventColumn, EventId, LineKind, Platform, StrId, Trace};

/// Word in the names of all calls that launch graphs: `cuGraphLaunch`, `cudaGraphLaunch`, `hipGraphLaunch`.
const GRAPH_LAUNCH: &str = "GraphLaunch";

#[derive(Debug, Default)]
pub(super) struct Graphs {
    /// True for each argument set that names a graph. Empty if no argument set names a graph.
    of_args: Vec<bool>,
    /// Host and correlation id of each call that launches a graph.
    calls: FxHashSet<(u16, i64)>,
}

impl Graphs {
    /// Finds the graph launches, which only GPUs have.
    pub(super) fn find(trace: &Trace, devices: &Devices) -> Graphs {
        if devices.platform != Some(Platform::Gpu) {
            return Graphs::default();
        }
        let is_in_graph = |index| trace.args.set(index).is_some_and(Args::is_in_graph);
        let mut of_args: Vec<bool> = (0..trace.args.len()).map(is_in_graph).collect();
        if !of_args.contains(&true) {
            of_args.clear();
        }
        Graphs { of_args, calls: calls(trace) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.of_args.is_empty() && self.calls.is_empty()
    }

    pub(super) fn of_device<'a>(&'a self, trace: &'a Trace, device: &Device) -> OfDevice<'a> {
        OfDevice { graphs: self, trace, host: device.host, seen: FxHashSet::default() }
    }
}

/// Returns host and correlation id of each call that launches a graph.
fn calls(trace: &Trace) -> FxHashSet<(u16, i64)> {
    let host =
        |line: &trace::Line| trace.plane_of(line).filter(|_| line.kind == LineKind::Host).map(|plane| plane.host);
    let host_of_line: Vec<Option<u16>> = trace.lines.iter().map(host).collect();
    let kinds = trace.events.kinds().iter();
    let names: FxHashSet<StrId> =
        kinds.map(|kind| kind.name).filter(|&name| trace.text(name).contains(GRAPH_LAUNCH)).collect();
    let mut calls = FxHashSet::default();
    if names.is_empty() {
        return calls;
    }
    trace.events.column(EventColumn::Correlation).for_each(|id, correlation| {
        let Some(event) = trace.events.get(id).filter(|event| names.contains(&event.name)) else { return };
        if let Some(&Some(host)) = host_of_line.get(event.line.index()) {
            calls.insert((host, correlation));
        }
    });
    calls
}

/// The graph launches of one device. Callers must request each op of the device once.
pub(super) struct OfDevice<'a> {
    graphs: &'a Graphs,
    trace: &'a Trace,
    host: u16,
    /// Correlation ids of the launches that started a requested op.
    seen: FxHashSet<i64>,
}

impl OfDevice<'_> {
    /// Returns `None` for an op that no graph launched. For other ops, returns true if the op is the first requested op of
    /// its launch.
    pub(super) fn first_of_launch(&mut self, id: EventId, op: &Event) -> Option<bool> {
        if self.graphs.is_empty() {
            return None;
        }
        let correlation = self.trace.events.column(EventColumn::Correlation).get(id);
        let is_called = correlation.is_some_and(|correlation| self.graphs.calls.contains(&(self.host, correlation)));
        let is_in_graph = is_called || self.graphs.of_args.get(op.args.index()) == Some(&true);
        is_in_graph.then(|| correlation.is_some_and(|correlation| self.seen.insert(correlation)))
    }
}
