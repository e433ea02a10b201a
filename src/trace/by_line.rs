//! The events of every line, and what one walk over all of them tells besides.

use std::cmp::Reverse;

use super::{EventId, Interval, LineKind, StrId, Trace};

/// The events of a trace by line.
#[derive(Clone, Debug, Default)]
pub struct ByLine {
    /// By ascending start, then longest first (so that a parent precedes its children), then file order. Index: the line. 4
    /// bytes an event.
    pub events: Vec<Vec<EventId>>,
    /// First start to last end of all events; `None` without any.
    pub extent: Option<Interval>,
    /// Names of the events on lines of hosts, each once: most questions to millions of them are about a name that none has.
    pub host_names: Vec<StrId>,
}

impl ByLine {
    /// Sorts the events of `trace`.
    pub fn new(trace: &Trace) -> ByLine {
        let is_host: Vec<bool> = trace.lines.iter().map(|line| line.kind == LineKind::Host).collect();
        let mut counts = vec![0usize; trace.lines.len()];
        let mut named = vec![false; trace.strings.len()];
        let (mut host_names, mut extent): (_, Option<Interval>) = (Vec::new(), None);
        trace.events.for_each(|_, event| {
            let line = event.line.index();
            if let Some(count) = counts.get_mut(line) {
                *count += 1;
            }
            if is_host.get(line) == Some(&true)
                && let Some(named) = named.get_mut(event.name.index()).filter(|named| !**named)
            {
                *named = true;
                host_names.push(event.name);
            }
            let known = extent.unwrap_or(Interval::new(event.start, event.end()));
            extent = Some(Interval::new(known.start.min(event.start), known.end.max(event.end())));
        });
        ByLine { events: in_order(trace, counts), extent, host_names }
    }
}

/// `counts`: how many there are on each line.
fn in_order(trace: &Trace, counts: Vec<usize>) -> Vec<Vec<EventId>> {
    let mut by_line: Vec<Vec<EventId>> = counts.into_iter().map(Vec::with_capacity).collect();
    // Threads of a host mostly come out of order, streams in order: a line is sorted only where it must be.
    let mut last = vec![None; trace.lines.len()];
    let mut is_sorted = vec![true; trace.lines.len()];
    trace.events.for_each(|id, event| {
        let line = event.line.index();
        if let (Some(ids), Some(last), Some(sorted)) =
            (by_line.get_mut(line), last.get_mut(line), is_sorted.get_mut(line))
        {
            ids.push(id);
            let key = Some((event.start, Reverse(event.duration)));
            *sorted &= *last <= key;
            *last = key;
        }
    });
    for (ids, _) in by_line.iter_mut().zip(is_sorted).filter(|(_, sorted)| !sorted) {
        ids.sort_unstable_by_key(|&id| trace.events.time(id).map(|(start, duration)| (start, Reverse(duration), id)));
    }
    by_line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::builder::TraceBuilder;
    use crate::units::Ps;

    #[test]
    fn parents_come_first_and_host_names_once() {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let ops = b.line("/device:TPU:0", "XLA Ops");
        for (line, name, start, length) in
            [(python, "child", 5, 2), (ops, "fusion.1", 9, 1), (python, "parent", 5, 4), (python, "child", 1, 1)]
        {
            b.event(line, name, start, length);
        }
        let trace = b.build();
        let found = ByLine::new(&trace);
        assert_eq!(found.events, [vec![3, 2, 0], vec![1]]);
        assert_eq!(found.extent, Some(Interval::new(Ps(1_000_000), Ps(10_000_000))));
        let names: Vec<&str> = found.host_names.iter().map(|&name| trace.text(name)).collect();
        assert_eq!(names, ["child", "parent"]);
    }
}
