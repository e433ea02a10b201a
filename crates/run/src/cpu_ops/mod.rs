//! Analyses the ops of XLA's CPU backend. Finds their ends, the ops that run inside others, and the events that belong
//! to one execution.
//!
//! An op's event is the call that starts it. If the op computes on other threads, the call returns before the op ends. XLA then
//! marks the end with an event `end: <op>` with the number of the op's event ([`trace::EventColumn::Producer`],
//! [`trace::EventColumn::Consumer`]). XLA notifies the waiters of an op in reverse order, and the marker comes last: the thread
//! that completes an op first runs the ops that became ready. So the marker may come long after the end. crossprof takes the
//! earliest of these times as the end of an op:
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
//! Each of these times is an upper bound, because the op had ended by that time. A loop, call or branch ends with the last op
//! that runs in it: only its marker comes later. An op without a marker keeps the end of its event.

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

/// Role of a kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Op,
    Marker,
    Other,
}

/// Extends the events of the ops of XLA's CPU backend to the ends of the ops, and stores the relations between the ops. Runs
/// once per trace. The time is linear in the number of events, except that the events of the ops are sorted. Does nothing if
/// there are no such ops.
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
    let message = "Ops of XLA's CPU backend that compute on other threads may outlast their events. The end of each is taken as \
                   the earliest of its end marker, the first op that uses its result and the next event of its thread, so \
                   its time is an upper bound.";
    Warning::new(WarningCode::CpuOpEndsAreBounds, message).with_count(count)
}

fn unknown_ends() -> Warning {
    let message = "Ops of XLA's CPU backend that compute on other threads may outlast their events, and a trace JSON does not \
                   record their ends. They appear too short, and the device's idle time too long.";
    Warning::new(WarningCode::CpuOpEndsUnknown, message).with_remedy("Analyse the *.xplane.pb next to it.")
}

/// Returns the role of each [kind](trace::Events::kinds) of event. Empty if an accelerator ran ops, because the run's
/// devices are then the accelerators.
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

/// Ops that end after their events, and the relations between all ops.
#[derive(Default)]
struct OpEnds {
    /// Ends by event, ascending.
    ends: Vec<(EventId, Ps)>,
    relations: CpuOps,
    /// True if some ops end later than their events, but the trace does not record which ones.
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

/// Moves the ends of the loops, calls and branches with a marker to the ends of the last ops that run in them.
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
