//! From the events of each thread, finds upper bounds for the ends of ops, and the ops that are nested in other ops.

use super::{Marker, OpEvent};
use base::{Ps, sort};
use trace::Trace;

/// Name of the spans in which XLA's executor runs ready ops.
const EXECUTE: &str = "ThunkExecutor::Execute";

/// Maximum time between a marker and the previous event on its thread for which the two are treated as adjacent.
/// Between adjacent events, a function only returns. The return takes about a microsecond.
const AT_ONCE: Ps = Ps::new(10_000_000);

/// The last event that ended on a marker's thread before the marker.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Before {
    end: Ps,
    /// Start of the event, reversed. Of several events that end together, the outermost event is then the greatest.
    start: std::cmp::Reverse<Ps>,
    is_execute: bool,
}

/// For each op, returns the start of the executor's span that directly precedes the op's marker on the marker's thread.
/// The op had ended by the start of this span. Returns `None` for ops that end within their event.
pub(super) fn starts_of_next_spans(trace: &Trace, ops: &[OpEvent], marked: &[Option<Marker>]) -> Vec<Option<Ps>> {
    let mut found = vec![None; ops.len()];
    let mut wanted: Vec<Vec<(Ps, usize)>> = vec![Vec::new(); trace.lines.len()];
    for (at, (op, marker)) in ops.iter().zip(marked).enumerate() {
        if let Some(marker) = marker.filter(|marker| marker.start > op.end)
            && let Some(line) = wanted.get_mut(marker.line)
        {
            line.push((marker.start, at));
        }
    }
    if wanted.iter().all(Vec::is_empty) {
        return found;
    }
    wanted.iter_mut().for_each(|line| sort::sort_by_key(line, |it| *it));
    let mut before: Vec<Vec<Option<Before>>> = wanted.iter().map(|line| vec![None; line.len()]).collect();
    let kinds = trace.events.kinds();
    let is_execute: Vec<bool> = kinds.iter().map(|kind| trace.text(kind.name) == EXECUTE).collect();
    trace.events.for_each_time(trace.events.ids(), |_, kind, interval| {
        let Some(line) = kinds.get(kind).map(|kind| kind.line.index()) else { return };
        let (Some(wanted), Some(before)) = (wanted.get(line), before.get_mut(line)) else { return };
        // An event belongs to the first marker after it, because any later marker directly follows that first marker or a later
        // event.
        let after = wanted.partition_point(|&(start, _)| start < interval.end);
        let is_execute = is_execute.get(kind) == Some(&true);
        let this = Some(Before { end: interval.end, start: std::cmp::Reverse(interval.start), is_execute });
        // The marker itself may have no duration.
        let is_before = wanted.get(after).is_some_and(|&(marker, _)| interval.start < marker);
        if let Some(slot) = before.get_mut(after).filter(|_| is_before) {
            *slot = (*slot).max(this);
        }
    });
    for (&(marker, at), before) in wanted.iter().flatten().zip(before.into_iter().flatten()) {
        let before = before.filter(|before| before.is_execute && marker - before.end <= AT_ONCE);
        if let Some(slot) = found.get_mut(at) {
            *slot = before.map(|before| before.start.0);
        }
    }
    found
}

/// For each op, returns the innermost op on the same thread whose event contains the op's event. `ops` must be sorted.
pub(super) fn on_thread_of(ops: &[OpEvent], lines: usize) -> Vec<Option<usize>> {
    let mut open: Vec<Vec<usize>> = vec![Vec::new(); lines];
    let mut found = Vec::with_capacity(ops.len());
    for (at, op) in ops.iter().enumerate() {
        let Some(open) = open.get_mut(op.line) else {
            found.push(None);
            continue;
        };
        while open.last().and_then(|&outer| ops.get(outer)).is_some_and(|outer| outer.end <= op.start) {
            open.pop();
        }
        found.push(open.last().copied());
        open.push(at);
    }
    found
}
