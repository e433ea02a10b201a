//! Finds the host call that launched a device event: the call and the event have the same number.
//!
//! On GPUs the number is the correlation id, which is unique in a process. On TPUs the number is the `run_id` of a
//! module's run. The runs of one computation on several devices share a `run_id`, so the device's ordinal is part of
//! the key.

use rustc_hash::FxHashMap;

use base::{Ps, sort};
use trace::{EventColumn, EventId, LineKind, SparseColumn, Trace, in_blocks};

/// Scope in which numbers are unique: a host, and on TPUs one of its devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope {
    /// Index of the host.
    pub host: u16,
    /// Ordinal of the device, if the number is not unique without it.
    pub device: Option<u32>,
}

/// A launch call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The event on the host.
    pub event: EventId,
    /// Start of the call.
    pub start: Ps,
    /// End of the call.
    pub end: Ps,
}

/// The calls of all hosts, with their numbers. A call's *slot* is a dense index for side tables.
#[derive(Clone, Debug, Default)]
pub struct CallIndex {
    scopes: Vec<(Scope, Calls)>,
    slots: usize,
}

#[derive(Clone, Debug, Default)]
struct Calls {
    /// `(number, call)` by number, each number once.
    sorted: Vec<(i64, EventId)>,
    /// Lookup table for dense numbers, which profilers usually assign. An index is a call's number minus the first
    /// number. A value is the call's position in `sorted` plus one, or 0 if no call has the number.
    places: Vec<u32>,
    /// Slot of the first call.
    first_slot: usize,
}

/// Numbers are dense if the ratio of their range to their count is at most this limit. Up to this ratio, the lookup
/// table takes less memory than the calls.
const DENSE: usize = 4;

impl Calls {
    fn tabulate(&mut self) {
        let (Some(&(first, _)), Some(&(last, _))) = (self.sorted.first(), self.sorted.last()) else { return };
        let reach = last.checked_sub(first).and_then(|reach| usize::try_from(reach).ok());
        let Some(reach) = reach.filter(|&reach| reach / DENSE < self.sorted.len()) else { return };
        self.places = vec![0; reach + 1];
        let mut place = 0;
        in_blocks(&self.sorted, |&(number, _)| {
            place += 1;
            if let Some(slot) = self.places.get_mut((number - first) as usize) {
                *slot = place;
            }
        });
    }

    fn place(&self, number: i64) -> Option<usize> {
        let first = self.sorted.first()?.0;
        if self.places.is_empty() {
            return self.sorted.binary_search_by_key(&number, |&(found, _)| found).ok();
        }
        let distance = usize::try_from(number.checked_sub(first)?).ok()?;
        (*self.places.get(distance)? as usize).checked_sub(1)
    }
}

impl CallIndex {
    /// Indexes the host events of a GPU trace that have a correlation id.
    pub fn by_correlation(trace: &Trace) -> CallIndex {
        CallIndex::new(trace, trace.events.column(EventColumn::Correlation), |host, _| Scope { host, device: None })
    }

    /// Indexes the host events of a TPU trace that have the id of a module's run.
    pub fn by_run(trace: &Trace) -> CallIndex {
        CallIndex::new(trace, trace.events.column(EventColumn::RunId), |host, id| {
            let args = trace.events.get(id).map(|event| trace.args_of(&event));
            let ordinal = args.and_then(|args| args.device_ordinal).and_then(|ordinal| u32::try_from(ordinal).ok());
            Scope { host, device: Some(ordinal.unwrap_or(0)) }
        })
    }

    fn new(trace: &Trace, numbers: &SparseColumn, scope: impl Fn(u16, EventId) -> Scope) -> CallIndex {
        let host_of_line: Vec<Option<u16>> = trace
            .lines
            .iter()
            .map(|line| trace.plane_of(line).filter(|_| line.kind == LineKind::Host).map(|plane| plane.host))
            .collect();
        let mut scopes: FxHashMap<Scope, Calls> = FxHashMap::default();
        let mut slots = 0;
        numbers.for_each(|id, number| {
            let Some(event) = trace.events.get(id) else { return };
            let Some(&Some(host)) = host_of_line.get(event.line.index()) else { return };
            scopes.entry(scope(host, id)).or_default().sorted.push((number, id));
        });
        let start = |id: EventId| trace.events.time(id).map(|(start, _)| start);
        let mut scopes: Vec<(Scope, Calls)> = scopes.into_iter().collect();
        sort::sort_by_key(&mut scopes, |(scope, _)| *scope);
        for (_, calls) in &mut scopes {
            if !calls.sorted.is_sorted() {
                sort::sort_by(&mut calls.sorted, Ord::cmp);
            }
            // If several calls have the same number, the call that starts first is the launch. They nest (a runtime call inside
            // an annotation) or follow each other (an enqueue and its completion).
            calls.sorted.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                if same && start(next.1) < start(kept.1) {
                    *kept = *next;
                }
                same
            });
            calls.tabulate();
            calls.first_slot = slots;
            slots += calls.sorted.len();
        }
        CallIndex { scopes, slots }
    }

    /// Returns true if the index contains no call.
    pub fn is_empty(&self) -> bool {
        self.slots == 0
    }

    /// Returns the number of slots.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Returns the calls' events in the order of their slots.
    pub fn events(&self) -> impl Iterator<Item = EventId> + '_ {
        self.scopes.iter().flat_map(|(_, calls)| calls.sorted.iter().map(|&(_, event)| event))
    }

    /// Returns the call with this number, and its slot. Takes constant time if numbers are dense.
    pub fn find(&self, trace: &Trace, scope: Scope, number: i64) -> Option<(usize, Call)> {
        let at = self.scopes.binary_search_by_key(&scope, |(known, _)| *known).ok()?;
        let (_, calls) = self.scopes.get(at)?;
        let at = calls.place(number)?;
        let &(_, event) = calls.sorted.get(at)?;
        let (start, length) = trace.events.time(event)?;
        Some((calls.first_slot + at, Call { event, start, end: start + length }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::TraceBuilder;

    #[test]
    fn the_first_call_with_a_number_is_the_launch() {
        let mut b = TraceBuilder::new();
        let host = b.line("/host:CPU", "launcher");
        let other = b.line("/host:CPU", "another");
        let stream = b.line("/device:GPU:0", "Stream #7(Compute)");
        b.event(host, "late", 20, 1).correlation(12);
        b.event(other, "early", 10, 5).correlation(12);
        b.event(host, "far", 30, 1).correlation(1_000_000);
        b.event(host, "first", 1, 1).correlation(-3);
        b.event(stream, "kernel", 40, 1).correlation(12);
        let trace = b.build();
        let index = CallIndex::by_correlation(&trace);
        let scope = Scope { host: 0, device: None };
        let name = |number| {
            let (slot, call) = index.find(&trace, scope, number)?;
            assert!(slot < index.slots());
            Some(trace.text(trace.events.get(call.event)?.name))
        };
        assert_eq!([name(12), name(1_000_000), name(-3)], [Some("early"), Some("far"), Some("first")]);
        assert_eq!([name(13), name(i64::MIN), name(i64::MAX)], [None; 3]);
        assert_eq!(index.slots(), 3);
    }

    #[test]
    fn dense_numbers_are_found_as_sparse_ones_are() {
        for step in [3, 1000] {
            let mut b = TraceBuilder::new();
            let host = b.line("/host:CPU", "launcher");
            for number in 0..50 {
                b.event(host, "launch", number, 1).correlation(number * step - 20);
            }
            let trace = b.build();
            let index = CallIndex::by_correlation(&trace);
            let of = |number| index.find(&trace, Scope { host: 0, device: None }, number).map(|(slot, _)| slot as i64);
            assert!((0..50).all(|number| of(number * step - 20) == Some(number)));
            assert!([-21, -19, 49 * step - 19, i64::MIN, i64::MAX].into_iter().all(|number| of(number).is_none()));
        }
    }
}
