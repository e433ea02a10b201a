//! Finds the events of allocators in a trace.

use std::collections::BTreeMap;

use base::Ps;
use rustc_hash::FxHashMap;
use trace::{ArgsId, Event, EventColumn, EventId, Line, Trace};

use super::{Activity, Allocator, AllocatorEvent};

/// The names that TSL's allocators give their events.
const ALLOCATION: &str = "MemoryAllocation";
const RELEASE: &str = "MemoryDeallocation";

/// The allocators of a trace, by host and name; none where the capture has no such events.
pub fn allocators(trace: &Trace) -> Vec<Allocator> {
    allocators_by(trace, |event, _| event.start)
}

/// The allocators with events that have other times: those of `time`, by event and line.
pub(super) fn allocators_by(trace: &Trace, time: impl Fn(&Event, &Line) -> Ps) -> Vec<Allocator> {
    let (allocation, release) = (trace.strings.find(ALLOCATION), trace.strings.find(RELEASE));
    let mut found: BTreeMap<(u16, String), Vec<AllocatorEvent>> = BTreeMap::new();
    let mut names: FxHashMap<(u16, ArgsId), String> = FxHashMap::default();
    if allocation.is_none() && release.is_none() {
        return Vec::new();
    }
    trace.events.for_each(|id, event| {
        let activity = match Some(event.name) {
            name if name == allocation => Activity::Allocation,
            name if name == release => Activity::Release,
            _ => return,
        };
        let Some(line) = trace.lines.get(event.line.index()) else { return };
        let host = trace.plane_of(line).map_or(0, |plane| plane.host);
        let name = names.entry((host, event.args)).or_insert_with(|| name_of(trace, &event));
        let read = AllocatorEvent { time: time(&event, line), ..read(trace, id, &event, activity) };
        found.entry((host, name.clone())).or_default().push(read);
    });
    found.into_iter().map(|((host, name), events)| Allocator { name, host, events: ordered(events) }).collect()
}

/// By time, and a release with what its allocation says.
fn ordered(mut events: Vec<AllocatorEvent>) -> Vec<AllocatorEvent> {
    events.sort_by_key(|event| (event.time, event.id));
    let mut alive: FxHashMap<u64, ArgsId> = FxHashMap::default();
    for event in &mut events {
        match event.activity {
            Activity::Allocation => drop(alive.insert(event.address, event.args)),
            Activity::Release => event.args = alive.remove(&event.address).unwrap_or(event.args),
        }
    }
    events
}

/// What the file calls an allocator: by name, else by the number of its device.
fn name_of(trace: &Trace, event: &Event) -> String {
    let args = trace.args_of(event);
    if !args.allocator_name.is_empty() {
        return trace.text(args.allocator_name).to_owned();
    }
    args.index_on_host.or(args.device_ordinal).map_or_else(String::new, |number| number.to_string())
}

fn read(trace: &Trace, id: EventId, event: &Event, activity: Activity) -> AllocatorEvent {
    let column = |column: EventColumn| trace.events.column(column).get(id);
    let bytes = |of: EventColumn| column(of).and_then(|bytes| u64::try_from(bytes).ok());
    let total = |of: EventColumn| bytes(of).unwrap_or(0);
    AllocatorEvent {
        id,
        time: event.start,
        activity,
        reserved_bytes: total(EventColumn::ReservedBytes),
        in_use_bytes: total(EventColumn::InUseBytes),
        available_bytes: total(EventColumn::AvailableBytes),
        fragmentation: column(EventColumn::Fragmentation)
            .map(|bits| f64::from_bits(bits.cast_unsigned()))
            .filter(|share| share.is_finite()),
        lifetime_peak_bytes: total(EventColumn::PeakInUseBytes),
        requested_bytes: bytes(EventColumn::RequestedBytes),
        allocation_bytes: bytes(EventColumn::AllocationBytes),
        address: column(EventColumn::Address).map_or(0, i64::cast_unsigned),
        args: event.args,
    }
}
