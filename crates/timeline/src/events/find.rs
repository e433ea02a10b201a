//! Finds events by name on all lines, counts them, and moves from one to the next.
//!
//! The search compares names instead of events. Each [kind](trace::Events::kinds) of event is tested once, and the
//! events of that kind are counted once. To find the next event, the search walks along each line from the given time.
//! The search leaves a line when the line cannot contain a closer match.

use base::{Ps, sort};
use trace::{EventId, LineEvents, StrId};

use crate::events::search::starting_before;
use crate::events::source::Source;

/// Events whose names match. The events are sorted by start, then by line, then by position on the line.
#[derive(Clone, Debug)]
pub struct Found {
    /// For each kind of event, true if the events of that kind match.
    passes: Vec<bool>,
    /// Number of matching events.
    pub events: u64,
    /// Number of distinct matching names.
    pub names: u64,
}

/// Sort key of an event: its start, then its line, then its position on the line.
type Key = (Ps, usize, usize);

impl Found {
    /// Finds the events for whose names `pass` returns true. Calls `pass` once per name, even if many kinds of event
    /// have the same name.
    pub fn new(source: Source<'_>, pass: &dyn Fn(&str) -> bool) -> Found {
        let mut known: Vec<Option<bool>> = vec![None; source.trace.strings.len()];
        let kinds = source.trace.events.kinds().iter();
        let passes = kinds.map(|kind| match known.get_mut(kind.name.index()) {
            Some(known) => *known.get_or_insert_with(|| pass(source.trace.text(kind.name))),
            None => false,
        });
        Found::of_kinds(source, passes.collect())
    }

    /// Finds the events of the kinds in `passes`.
    pub fn of_kinds(source: Source<'_>, passes: Vec<bool>) -> Found {
        let mut known = vec![false; source.trace.strings.len()];
        let mut found = Found { passes, events: 0, names: 0 };
        let kinds = source.trace.events.kinds().iter().zip(source.counts()).zip(&found.passes);
        for ((kind, &count), _) in kinds.filter(|((_, count), passes)| **passes && **count > 0) {
            found.events += u64::from(count);
            let is_new = known.get_mut(kind.name.index()).is_some_and(|known| !std::mem::replace(known, true));
            found.names += u64::from(is_new);
        }
        found
    }

    /// Returns one value for each kind of event, in the order of the kinds: true if the events of that kind match.
    pub fn kinds(&self) -> &[bool] {
        &self.passes
    }

    /// Finds the events with one name.
    pub fn of_name(source: Source<'_>, name: StrId) -> Found {
        Found::of_kinds(source, source.trace.events.kinds().iter().map(|kind| kind.name == name).collect())
    }

    /// Returns the first match that starts at `time` or later.
    pub fn first_from(&self, source: Source<'_>, time: Ps) -> Option<EventId> {
        self.first(source, (time, 0, 0))
    }

    /// Returns the last match that starts before `time`.
    pub fn last_before(&self, source: Source<'_>, time: Ps) -> Option<EventId> {
        self.last(source, (time, 0, 0))
    }

    /// Returns the first match after an event. The given event itself need not match.
    pub fn after(&self, source: Source<'_>, event: EventId) -> Option<EventId> {
        let (start, line, place) = key(source, event)?;
        self.first(source, (start, line, place + 1))
    }

    /// Returns the last match before an event. The given event itself need not match.
    pub fn before(&self, source: Source<'_>, event: EventId) -> Option<EventId> {
        self.last(source, key(source, event)?)
    }

    /// Returns the number of matches before an event, which is 0 for the first match.
    pub fn place_of(&self, source: Source<'_>, event: EventId) -> Option<u64> {
        let key = key(source, event)?;
        let mut count = 0u64;
        for (line, events) in source.by_line.events.iter().enumerate() {
            let end = place_from(source, line, events, key);
            events.for_each_time_at(&source.trace.events, 0..end, |_, kind, _| count += u64::from(self.passes(kind)));
        }
        Some(count)
    }

    /// Returns the match with the index `place`, from 0.
    pub fn nth(&self, source: Source<'_>, place: u64) -> Option<EventId> {
        // Number of parts of the capture. The function counts the matches in each part first, then searches only one part.
        const PARTS: u64 = 4096;
        let extent = source.by_line.extent?;
        let length = u64::try_from(extent.length().as_ps()).unwrap_or(u64::MAX);
        let shift = (length / PARTS).checked_ilog2().map_or(0, |bits| bits + 1);
        let part = |start: Ps| u64::try_from((start - extent.start).as_ps()).unwrap_or(0) >> shift;
        let mut counts = [0u64; PARTS as usize + 1];
        self.for_each(source, &mut |(start, ..), _| {
            counts.get_mut(part(start) as usize).into_iter().for_each(|count| *count += 1);
        });
        let mut rest = place;
        let chosen = counts.iter().position(|&count| {
            let is_here = rest < count;
            rest -= if is_here { 0 } else { count };
            is_here
        })?;
        let mut within: Vec<(Key, EventId)> = Vec::new();
        self.for_each(source, &mut |key, id| within.extend((part(key.0) as usize == chosen).then_some((key, id))));
        let rest = usize::try_from(rest).ok()?;
        sort::sort_by_key(&mut within, |(key, _)| *key);
        within.get(rest).map(|&(_, id)| id)
    }

    fn passes(&self, kind: usize) -> bool {
        self.passes.get(kind) == Some(&true)
    }

    fn is_one(&self, source: Source<'_>, events: &LineEvents, place: usize) -> bool {
        let kind = events.get(place).and_then(|id| source.trace.events.kind(id));
        kind.is_some_and(|kind| self.passes(kind as usize))
    }

    fn for_each(&self, source: Source<'_>, visit: &mut dyn FnMut(Key, EventId)) {
        for (line, events) in source.by_line.events.iter().enumerate() {
            let mut place = 0;
            events.for_each_time_at(&source.trace.events, 0..events.len(), |id, kind, at| {
                if self.passes(kind) {
                    visit((at.start, line, place), id);
                }
                place += 1;
            });
        }
    }

    /// Returns the first match whose sort key is `from` or larger.
    fn first(&self, source: Source<'_>, from: Key) -> Option<EventId> {
        let mut best: Option<(Ps, EventId)> = None;
        for (line, events) in source.by_line.events.iter().enumerate() {
            let first = place_from(source, line, events, from);
            // If starts are equal, the event on the earlier line comes first.
            let end = best.map_or(events.len(), |(start, _)| starting_before(source.trace, events, start));
            let found = (first..end).find(|&place| self.is_one(source, events, place)).and_then(|at| events.get(at));
            best = found.and_then(|id| Some((source.trace.events.time(id)?.0, id))).or(best);
        }
        best.map(|(_, id)| id)
    }

    /// Returns the last match whose sort key is smaller than `until`.
    fn last(&self, source: Source<'_>, until: Key) -> Option<EventId> {
        let mut best: Option<(Ps, EventId)> = None;
        for (line, events) in source.by_line.events.iter().enumerate() {
            let end = place_from(source, line, events, until);
            let first = best.map_or(0, |(start, _)| starting_before(source.trace, events, start));
            let found = (first..end).rev().find(|&place| self.is_one(source, events, place));
            best =
                found.and_then(|at| events.get(at)).and_then(|id| Some((source.trace.events.time(id)?.0, id))).or(best);
        }
        best.map(|(_, id)| id)
    }
}

/// Returns the first position on a line whose sort key is not smaller than `key`.
fn place_from(source: Source<'_>, line: usize, events: &LineEvents, (start, of, place): Key) -> usize {
    match line.cmp(&of) {
        std::cmp::Ordering::Less => starting_before(source.trace, events, start + Ps::new(1)),
        std::cmp::Ordering::Equal => place.max(starting_before(source.trace, events, start)),
        std::cmp::Ordering::Greater => starting_before(source.trace, events, start),
    }
}

fn key(source: Source<'_>, event: EventId) -> Option<Key> {
    let at = source.trace.events.get(event)?;
    let line = at.line.index();
    let events = source.by_line.events.get(line)?;
    let first = starting_before(source.trace, events, at.start);
    // A linear search among events with the same start is fast, because there are only a few of them.
    let place = (first..events.len()).find(|&place| events.get(place) == Some(event))?;
    Some((at.start, line, place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::source::Caches;
    use proptest::prelude::*;
    use trace::{ByLine, TraceBuilder};

    proptest! {
        #[test]
        fn what_is_found_is_what_a_plain_search_finds(
            events in prop::collection::vec((0usize..3, 0usize..4, 0i64..60, 0i64..9), 1..60),
            wanted in 0usize..4,
            time in -5i64..70,
        ) {
            let names = ["alpha", "beta", "alphabet", "gamma"];
            let words = ["alpha", "bet", "mm", "none"];
            let mut b = TraceBuilder::new();
            let lines = ["a", "b", "c"].map(|line| b.line("/host:CPU", line));
            for &(line, name, start, length) in &events {
                b.event(lines[line], names[name], start, length);
            }
            let trace = b.build();
            let (by_line, caches) = (ByLine::new(&trace), Caches::new(&trace));
            let source = Source::new(&trace, &by_line, &caches);
            let found = Found::new(source, &|name| name.contains(words[wanted]));
            let key = |id: EventId| super::key(source, id).unwrap();
            let mut expected: Vec<EventId> = trace.events.ids().filter(|id| names[events[id.index()].1].contains(words[wanted])).collect();
            expected.sort_by_key(|&id| key(id));
            prop_assert!(expected.is_sorted_by_key(|id| events[id.index()].2));
            let used: std::collections::BTreeSet<usize> = expected.iter().map(|id| events[id.index()].1).collect();
            prop_assert_eq!((found.events, found.names), (expected.len() as u64, used.len() as u64));
            let at = Ps::new(time * 1_000_000);
            let start = |id: &&EventId| Ps::new(events[id.index()].2 * 1_000_000);
            prop_assert_eq!(found.first_from(source, at), expected.iter().find(|id| start(id) >= at).copied());
            prop_assert_eq!(found.last_before(source, at), expected.iter().rfind(|id| start(id) < at).copied());
            for id in trace.events.ids() {
                prop_assert_eq!(found.after(source, id), expected.iter().find(|&&other| key(other) > key(id)).copied());
                prop_assert_eq!(found.before(source, id), expected.iter().rfind(|&&other| key(other) < key(id)).copied());
                let before = expected.iter().filter(|&&other| key(other) < key(id)).count();
                prop_assert_eq!(found.place_of(source, id), Some(before as u64));
            }
            for place in 0..=expected.len() {
                prop_assert_eq!(found.nth(source, place as u64), expected.get(place).copied());
            }
            let beta = trace.strings.find("beta").unwrap_or_default();
            let of_name = Found::of_name(source, beta);
            prop_assert_eq!(of_name.events, events.iter().filter(|event| event.1 == 1).count() as u64);
        }
    }
}
