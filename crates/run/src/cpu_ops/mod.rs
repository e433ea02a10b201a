//! Analyses the ops of XLA's CPU backend. Finds the ends of the ops, the ops that run inside other ops, and the events
//! that belong to one execution of an op.
//!
//! The event of an op is the call that starts the op. If the op computes on other threads, this call returns before the
//! op ends. XLA then marks the end of the op with an event `end: <op>`, which contains the number of the op's event
//! ([`trace::EventColumn::Producer`], [`trace::EventColumn::Consumer`]). When an op completes, XLA notifies its waiters
//! in reverse order, and writes the marker last. Before that, the thread that completed the op runs the ops that became
//! ready. Therefore, the marker may come long after the end of the op. crossprof takes the earliest of four times as
//! the end.
//!
//! ```text
//! thread 1   [dot  )                                         the event: only the start
//! thread 2   ...compute...|[ThunkExecutor::Execute      )|   begins when dot ends; the marker follows directly
//!                          [add    ) [uses dot      )    end: dot
//!                         |          |                   |
//!                         1          2                   3   1: the next span of its thread, 2: the first use of its
//!                                                            result, 3: its marker; 4: the end of the op that it runs in
//! ```
//!
//! Each of the four times is an upper bound, because the op had ended by that time. A loop, call or branch ends with
//! the last op that runs in it, and its marker comes later. An op without a marker keeps the end of its event.

mod bounds;
mod program;
mod runs;
#[cfg(test)]
mod tests;
mod unnumbered;

use rustc_hash::FxHashMap;

use self::runs::Runs;
use base::{Ps, Warning, WarningCode, sort};
use hlo::Modules;
use trace::{ArgsId, CpuOps, END_MARKER, EventColumn, EventId, LineKind, SourceFormat, StrId, Trace};

#[derive(Clone, Copy, Debug)]
struct OpEvent {
    id: EventId,
    /// Index of the event's thread in [`Trace::lines`].
    line: usize,
    name: StrId,
    args: ArgsId,
    start: Ps,
    /// End of the event.
    end: Ps,
}

/// The marker of an op's end.
#[derive(Clone, Copy, Debug)]
struct Marker {
    line: usize,
    start: Ps,
}

/// Role of the events of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Op,
    Marker,
    Other,
}

/// Extends the events of ops of XLA's CPU backend to the ends of these ops, and stores the relations between the ops.
/// Does nothing if the trace was already completed. The time is linear in the number of events, except for the sorting
/// of the ops' events. Does nothing if the trace has no such ops.
pub(crate) fn complete(trace: &mut Trace, modules: &Modules) {
    if trace.cpu_ops.is_some() {
        return;
    }
    let roles = roles(trace);
    if !roles.contains(&Role::Op) {
        trace.cpu_ops = Some(CpuOps::default());
        return;
    }
    let found = find(trace, &roles, modules);
    let count = found.ends.len() as u64;
    let mut relations = found.relations;
    for (id, end) in found.ends {
        let Some((start, duration)) = trace.events.time(id) else { continue };
        relations.on_thread.push(id, duration.as_ps());
        trace.events.set_duration(id, end - start);
    }
    trace.cpu_ops = Some(relations);
    if count > 0 {
        trace.warnings.push(later(count));
    } else if found.ends_unknown {
        trace.warnings.push(unknown_ends());
    }
}

/// Reverts [`complete`]: restores the trace as it was read.
pub(crate) fn undo(trace: &mut Trace) {
    let Some(relations) = trace.cpu_ops.take() else { return };
    for (id, duration) in relations.on_thread.iter() {
        trace.events.set_duration(id, Ps::new(duration));
    }
    let own = [WarningCode::CpuOpEndsAreBounds, WarningCode::CpuOpEndsUnknown].map(WarningCode::label);
    trace.warnings.retain(|warning| !own.contains(&warning.code.as_str()));
}

fn later(count: u64) -> Warning {
    let message = "Ops of XLA's CPU backend that compute on other threads may outlast their events. crossprof takes the \
                   earliest of four times as the end of such an op: its end marker, the first op that uses its result, \
                   the next event of its thread, and the end of the op that runs it. The time of the op is therefore \
                   an upper bound.";
    Warning::new(WarningCode::CpuOpEndsAreBounds, message).with_count(count)
}

fn unknown_ends() -> Warning {
    let message = "Ops of XLA's CPU backend that compute on other threads may outlast their events, and a JSON trace does \
                   not record their ends. These ops appear too short, and the device's idle time appears too long.";
    Warning::new(WarningCode::CpuOpEndsUnknown, message).with_remedy("Analyse the *.xplane.pb file next to this trace.")
}

/// Returns the role of each [kind](trace::Events::kinds) of events. Returns an empty list if an accelerator ran ops,
/// because the devices of the run are then the accelerators.
fn roles(trace: &Trace) -> Vec<Role> {
    let kinds = trace.events.kinds();
    let line = |index: usize| trace.lines.get(index).map(|line| line.kind);
    if kinds.iter().any(|kind| line(kind.line.index()) == Some(LineKind::DeviceOps)) {
        return Vec::new();
    }
    let role = |kind: &trace::EventKind| {
        let is_marker = trace.text(kind.name).starts_with(END_MARKER);
        match line(kind.line.index()) {
            Some(LineKind::Host) if is_marker => Role::Marker,
            Some(LineKind::Host) if !trace.args.get(kind.args).hlo_op.is_empty() => Role::Op,
            _ => Role::Other,
        }
    };
    kinds.iter().map(role).collect()
}

/// Ops that end after their events, and relations between all ops.
#[derive(Default)]
struct OpEnds {
    /// End of each op that ends after its event, sorted by event.
    ends: Vec<(EventId, Ps)>,
    relations: CpuOps,
    /// True if some ops end after their events, but the trace does not record which ones.
    ends_unknown: bool,
}

fn find(trace: &Trace, roles: &[Role], modules: &Modules) -> OpEnds {
    let kinds = trace.events.kinds();
    let mut ops: Vec<OpEvent> = Vec::new();
    let mut markers: FxHashMap<(u16, i64), Marker> = FxHashMap::default();
    let host = |line: usize| {
        let line = trace.lines.get(line)?;
        trace.plane_of(line).map(|plane| plane.host)
    };
    trace.events.for_each_time(trace.events.ids(), |id, kind, interval| {
        let (Some(role), Some(kind)) = (roles.get(kind), kinds.get(kind)) else { return };
        let line = kind.line.index();
        match role {
            Role::Other => {}
            Role::Op => {
                let (name, args) = (trace.args.get(kind.args).hlo_op, kind.args);
                ops.push(OpEvent { id, line, name, args, start: interval.start, end: interval.end });
            }
            Role::Marker => {
                if let (Some(host), Some(flow)) = (host(line), trace.events.column(EventColumn::Consumer).get(id)) {
                    markers.insert((host, flow), Marker { line, start: interval.start });
                }
            }
        }
    });
    // Positions of the ops, sorted by start. If ops start together, the longest comes first. `!` reverses the order.
    let places = sort::by_number(&mut ops, |op| !op.start.as_ps(), |a, b| (b.end, a.id).cmp(&(a.end, b.id)));
    let marker_of =
        |op: &OpEvent| markers.get(&(host(op.line)?, trace.events.column(EventColumn::Producer).get(op.id)?)).copied();
    let marked: Vec<Option<Marker>> = ops.iter().map(marker_of).collect();
    let runs = Runs::new(trace, modules, &ops, &|line| host(line).unwrap_or(0));
    let ready = bounds::starts_of_next_spans(trace, &ops, &marked);
    let nested = bounds::on_thread_of(&ops, trace.lines.len());
    let mut ends: Vec<Ps> = Vec::with_capacity(ops.len());
    let mut parents: Vec<Option<usize>> = Vec::with_capacity(ops.len());
    // The parent, if it is an op of the same run: a loop, call or branch.
    let mut callers: Vec<Option<usize>> = Vec::with_capacity(ops.len());
    for (at, op) in ops.iter().enumerate() {
        // The op that runs this op starts before it, so the end of that op is known.
        let caller = runs.around(at);
        let around = caller.or_else(|| {
            let outer = nested.get(at).copied().flatten()?;
            (!runs.same(at, outer)).then_some(outer)
        });
        let around = around.filter(|&outer| ends.get(outer).is_some_and(|&end| end > op.start));
        let marker = marked.get(at).copied().flatten();
        let end = marker.map_or(op.end, |marker| {
            let outer = around.filter(|&outer| marked.get(outer).is_some_and(Option::is_some));
            let bounds = [
                Some(marker.start),
                runs.first_use(at),
                // The marker of a loop follows the last op that the loop ran.
                ready.get(at).copied().flatten().filter(|_| runs.is_leaf(at)),
                outer.and_then(|outer| ends.get(outer).copied()),
            ];
            bounds.into_iter().flatten().min().unwrap_or(op.end).max(op.end)
        });
        ends.push(end);
        parents.push(around);
        callers.push(around.filter(|_| caller.is_some()));
    }
    end_with_last_op(&ops, &marked, &callers, &mut ends);
    let unnumbered = trace.format == Some(SourceFormat::ChromeJson) && markers.is_empty();
    let ends_unknown = unnumbered && unnumbered::some_op_outlasts_its_event(trace, roles, &ops);
    let mut found = OpEnds { ends_unknown, ..OpEnds::default() };
    let id = |at: usize| ops.get(at).map(|op| i64::from(op.id.get()));
    for at in places.into_iter().map(|place| place as usize) {
        let (Some(op), Some(&end)) = (ops.get(at), ends.get(at)) else { continue };
        if end > op.end {
            found.ends.push((op.id, end));
        }
        if let Some(outer) = parents.get(at).copied().flatten().and_then(id) {
            found.relations.runs_in.push(op.id, outer);
        }
        if let Some(first) = runs.part_of(at).and_then(id) {
            found.relations.part_of.push(op.id, first);
        }
    }
    found
}

/// Sets the ends of loops, calls and branches that have a marker to the ends of the last ops that run in them.
///
/// ```text
/// while  [  )......................................................|end: while
/// body         [add  )  [add  )  [add  )
///                                      ^ the loop ends here. Until its marker, the thread runs ops that became ready
/// ```
fn end_with_last_op(ops: &[OpEvent], marked: &[Option<Marker>], callers: &[Option<usize>], ends: &mut [Ps]) {
    let mut last: Vec<Option<Ps>> = vec![None; ops.len()];
    // Ops start after the op that runs them, so this order visits them first.
    for (at, op) in ops.iter().enumerate().rev() {
        let is_marked = marked.get(at).is_some_and(Option::is_some);
        let inner = last.get(at).copied().flatten().filter(|_| is_marked);
        let Some(end) = ends.get_mut(at) else { continue };
        if let Some(inner) = inner {
            *end = inner.max(op.end).min(*end);
        }
        let end = *end;
        if let Some(of_outer) = callers.get(at).copied().flatten().and_then(|outer| last.get_mut(outer)) {
            *of_outer = (*of_outer).max(Some(end));
        }
    }
}
