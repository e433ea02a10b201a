//! Events grouped by line, and other data that is collected in the same pass over all events.

use std::ops::Range;

use super::{Event, EventId, EventIds, Events, Interval, Line, LineKind, StrId, Trace, in_blocks};
use base::Ps;

/// The events of a trace by line.
#[derive(Clone, Debug, Default)]
pub struct ByLine {
    /// Events of each line, sorted by ascending start. Events with equal start are sorted by descending duration (so
    /// that a parent precedes its children), and then by file order.
    pub events: Vec<LineEvents>,
    /// Indices of the lines of each plane, in order. The outer index is the plane.
    lines_by_plane: Vec<Vec<usize>>,
    /// Time range from the first start to the last end of all events. `None` if the trace has no events.
    pub extent: Option<Interval>,
    /// Distinct names of the events on host lines. Searches look here first, because most of them look for a name that
    /// no host event has.
    pub host_names: Vec<StrId>,
}

/// The events of one line in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineEvents {
    /// Events that are consecutive in the file and already sorted, such as the events of a device in an xplane file.
    Run(EventIds),
    /// Events in any other order, 4 bytes each.
    List(Vec<EventId>),
}

impl LineEvents {
    /// Returns the number of events.
    pub fn len(&self) -> usize {
        match self {
            LineEvents::Run(run) => run.len(),
            LineEvents::List(list) => list.len(),
        }
    }

    /// Returns true if there are no events.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the event at a position in the sorted order.
    #[inline]
    pub fn get(&self, place: usize) -> Option<EventId> {
        match self {
            LineEvents::Run(run) => run.get(place),
            LineEvents::List(list) => list.get(place).copied(),
        }
    }

    /// Returns all events of the line in order.
    pub fn iter(&self) -> impl Iterator<Item = EventId> + '_ {
        let (run, list) = match self {
            LineEvents::Run(run) => (run.clone(), [].as_slice()),
            LineEvents::List(list) => (EventIds::default(), list.as_slice()),
        };
        run.chain(list.iter().copied())
    }

    /// Calls `visit` with the kind of each event (an index into [`Events::kinds`]) and its interval.
    pub fn for_each_time(&self, events: &Events, mut visit: impl FnMut(usize, Interval)) {
        self.for_each_time_at(events, 0..self.len(), |_, kind, interval| visit(kind, interval));
    }

    /// Calls `visit` with the id, the kind and the interval of each event whose position is in `places`.
    pub fn for_each_time_at(
        &self,
        events: &Events,
        places: Range<usize>,
        mut visit: impl FnMut(EventId, usize, Interval),
    ) {
        match self {
            LineEvents::Run(run) => events.for_each_time(run.part(places), visit),
            LineEvents::List(list) => {
                let end = places.end.min(list.len());
                in_blocks(list.get(places.start..end).unwrap_or_default(), |&id| {
                    if let Some((kind, interval)) = events.kind_and_time(id) {
                        visit(id, kind, interval);
                    }
                });
            }
        }
    }

    /// Calls `visit` for all events, in order. [`blocks`](super::blocks) explains why long loops use such a function.
    pub fn for_each(&self, events: &Events, mut visit: impl FnMut(EventId, Event)) {
        match self {
            LineEvents::Run(run) => events.for_each_of(run.clone(), visit),
            LineEvents::List(list) => in_blocks(list, |&id| {
                if let Some(event) = events.get(id) {
                    visit(id, event);
                }
            }),
        }
    }
}

/// State of a line while the events are scanned.
#[derive(Clone, Copy)]
struct LineProgress {
    count: usize,
    first: EventId,
    last: EventId,
    /// Interval of the last event.
    interval: Interval,
    is_sorted: bool,
}

impl LineProgress {
    const NOTHING: LineProgress = LineProgress {
        count: 0,
        first: EventId(0),
        last: EventId(0),
        interval: Interval { start: Ps::new(i64::MIN), end: Ps::MAX },
        is_sorted: true,
    };

    /// Adds the next event of the line, in file order.
    #[inline(always)]
    fn add(&mut self, id: EventId, this: Interval) {
        if self.count == 0 {
            self.first = id;
        }
        // Sorted by ascending start, then by descending duration.
        let last = self.interval;
        self.is_sorted &= last.start < this.start || (last.start == this.start && last.end >= this.end);
        (self.count, self.last, self.interval) = (self.count + 1, id, this);
    }

    /// Returns the events of the line as a range, if they are consecutive in the file.
    fn run(&self) -> EventIds {
        EventIds::new(self.first.0..self.last.0 + 1)
    }

    /// Returns true if the events of the line are consecutive in the file, as in an xplane file.
    fn is_run(&self) -> bool {
        self.count == self.last.index() - self.first.index() + 1
    }
}

impl ByLine {
    /// Sorts the events of `trace` by line. Needs one pass if the events of each line are consecutive in the file, and
    /// two passes otherwise.
    pub fn new(trace: &Trace) -> ByLine {
        let mut seen = vec![LineProgress::NOTHING; trace.lines.len()];
        let lines: Vec<usize> = trace.events.kinds().iter().map(|kind| kind.line.index()).collect();
        let (mut start, mut end) = (Ps::MAX, Ps::new(i64::MIN));
        trace.events.for_each_block(trace.events.ids(), |block| {
            let (mut block_start, mut block_end) = (start, end);
            // An event is usually on the same line as the event before it, so only a change of line costs a lookup.
            let (mut line, mut latest) = (usize::MAX, LineProgress::NOTHING);
            for (id, kind, interval) in block.times() {
                (block_start, block_end) = (block_start.min(interval.start), block_end.max(interval.end));
                let on = lines.get(kind).copied().unwrap_or(usize::MAX);
                if on != line {
                    put_back(&mut seen, line, latest);
                    (line, latest) = (on, seen.get(on).copied().unwrap_or(LineProgress::NOTHING));
                }
                latest.add(id, interval);
            }
            put_back(&mut seen, line, latest);
            (start, end) = (block_start, block_end);
        });
        let extent = (!trace.events.is_empty()).then(|| Interval::new(start, end));
        let host_names = host_names(trace);
        ByLine { events: in_order(trace, &seen), lines_by_plane: lines_by_plane(trace), extent, host_names }
    }

    /// Returns the lines of a plane in order, each with its index and its events. Thousands of devices have tens of
    /// thousands of lines. Scanning the lines of all planes for each device would take quadratic time.
    pub fn lines_of<'a>(
        &'a self,
        trace: &'a Trace,
        plane: usize,
    ) -> impl Iterator<Item = (usize, &'a Line, &'a LineEvents)> {
        let lines = self.lines_by_plane.get(plane).map_or(&[][..], Vec::as_slice);
        lines.iter().filter_map(|&line| Some((line, trace.lines.get(line)?, self.events.get(line)?)))
    }

    /// Returns the events of those lines of a plane that have this kind, line by line.
    pub fn events_of<'a>(
        &'a self,
        trace: &'a Trace,
        plane: usize,
        kind: LineKind,
    ) -> impl Iterator<Item = EventId> + 'a {
        self.lines_of(trace, plane).filter(move |(_, line, _)| line.kind == kind).flat_map(|(.., events)| events.iter())
    }
}

fn put_back(seen: &mut [LineProgress], line: usize, latest: LineProgress) {
    if let Some(slot) = seen.get_mut(line) {
        *slot = latest;
    }
}

fn lines_by_plane(trace: &Trace) -> Vec<Vec<usize>> {
    let mut lines = vec![Vec::new(); trace.planes.len()];
    for (index, line) in trace.lines.iter().enumerate() {
        if let Some(of_plane) = lines.get_mut(line.plane.index()) {
            of_plane.push(index);
        }
    }
    lines
}

fn host_names(trace: &Trace) -> Vec<StrId> {
    let is_host: Vec<bool> = trace.lines.iter().map(|line| line.kind == LineKind::Host).collect();
    let mut named = vec![false; trace.strings.len()];
    let on_host = trace.events.kinds().iter().filter(|kind| is_host.get(kind.line.index()) == Some(&true));
    let first = |name: &StrId| named.get_mut(name.index()).is_some_and(|named| !std::mem::replace(named, true));
    on_host.map(|kind| kind.name).filter(first).collect()
}

fn in_order(trace: &Trace, seen: &[LineProgress]) -> Vec<LineEvents> {
    let is_scattered: Vec<bool> = seen.iter().map(|seen| seen.count > 0 && !seen.is_run()).collect();
    let mut scattered: Vec<Vec<EventId>> = vec![Vec::new(); seen.len()];
    if is_scattered.contains(&true) {
        for (ids, seen) in scattered.iter_mut().zip(seen).filter(|(_, seen)| !seen.is_run()) {
            ids.reserve_exact(seen.count);
        }
        trace.events.for_each(|id, event| {
            let line = event.line.index();
            if let Some(ids) = scattered.get_mut(line).filter(|_| is_scattered.get(line) == Some(&true)) {
                ids.push(id);
            }
        });
    }
    // Events of host threads are mostly out of order, and events of streams are mostly in order, so a line is sorted
    // only if necessary.
    let sorted = |mut ids: Vec<EventId>| {
        trace.events.sort_by_time(&mut ids);
        LineEvents::List(ids)
    };
    let of_line = |(seen, ids): (&LineProgress, Vec<EventId>)| match (seen.count, seen.is_run()) {
        (0, _) => LineEvents::Run(EventIds::default()),
        (_, true) if seen.is_sorted => LineEvents::Run(seen.run()),
        (_, true) => sorted(seen.run().collect()),
        (_, false) if seen.is_sorted => LineEvents::List(ids),
        (_, false) => sorted(ids),
    };
    seen.iter().zip(scattered).map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::TraceBuilder;

    #[test]
    fn parents_come_first_and_host_names_once() {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let ops = b.line("/device:TPU:0", "XLA Ops");
        let pool = b.line("/host:CPU", "pool");
        b.line("/host:CPU", "silent");
        for (line, name, start, length) in [
            (python, "child", 5, 2),
            (ops, "fusion.1", 9, 1),
            (python, "parent", 5, 4),
            (python, "child", 1, 1),
            (pool, "child", 7, 1),
            (pool, "child", 6, 1),
            (pool, "child", 8, 2),
        ] {
            b.event(line, name, start, length);
        }
        let trace = b.build();
        let found = ByLine::new(&trace);
        let list = |ids: [u32; 3]| LineEvents::List(ids.map(EventId).to_vec());
        let run = |ids| LineEvents::Run(EventIds::new(ids));
        assert_eq!(found.events, [list([3, 2, 0]), run(1..2), list([5, 4, 6]), run(0..0)]);
        for events in &found.events {
            let mut seen = Vec::new();
            events.for_each(&trace.events, |id, event| seen.push((id, event)));
            assert!(seen.into_iter().eq(events.iter().map(|id| (id, trace.events.get(id).unwrap()))));
        }
        assert_eq!(found.extent, Some(Interval::new(Ps::new(1_000_000), Ps::new(10_000_000))));
        let names: Vec<&str> = found.host_names.iter().map(|&name| trace.text(name)).collect();
        assert_eq!(names, ["child", "parent"]);
    }
}
