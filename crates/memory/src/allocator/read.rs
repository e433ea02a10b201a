//! Finds the allocator events of a trace.

use std::collections::BTreeMap;

use base::Ps;
use rustc_hash::FxHashMap;
use trace::{ArgsId, Event, EventColumn, EventId, Trace};

use super::{Activity, Allocator, AllocatorEvent, Labels};

/// Name of the allocation events of TSL's allocators.
const ALLOCATION: &str = "MemoryAllocation";
const RELEASE: &str = "MemoryDeallocation";

/// Returns the allocators of a trace, by host, device and kind of memory. Empty if the capture has no allocator events.
/// Times are relative to `start`, the start of the capture.
pub fn allocators(trace: &Trace, start: Ps) -> Vec<Allocator> {
    let (allocation, release) = (trace.strings.find(ALLOCATION), trace.strings.find(RELEASE));
    let mut found: BTreeMap<(u16, String), Found> = BTreeMap::new();
    let mut names: FxHashMap<(u16, ArgsId), String> = FxHashMap::default();
    if allocation.is_none() && release.is_none() {
        return Vec::new();
    }
    let mut place = 0;
    trace.events.for_each(|id, event| {
        let activity = match Some(event.name) {
            name if name == allocation => Activity::Allocation,
            name if name == release => Activity::Release,
            _ => return,
        };
        let Some(line) = trace.lines.get(event.line.index()) else { return };
        let host = trace.plane_of(line).map_or(0, |plane| plane.host);
        let name = names.entry((host, event.args)).or_insert_with(|| name_of(trace, &event));
        let of = found.entry((host, name.clone())).or_default();
        let labels = of.label(trace, event.args);
        let read = AllocatorEvent {
            place,
            time: event.start - start,
            labels,
            own_labels: labels,
            ..read(trace, id, activity)
        };
        of.events.push(AllocatorEvent { time_in_line: event.start - line.start, ..read });
        place += 1;
    });
    let allocator = |((host, name), found): ((u16, String), Found)| Allocator {
        name,
        title: String::new(),
        host,
        labels: found.labels,
        events: ordered(found.events),
    };
    let mut all: Vec<Allocator> = found.into_iter().map(allocator).collect();
    all.iter_mut().for_each(|allocator| allocator.title = allocator.titled());
    all.sort_by_cached_key(Allocator::order);
    all
}

/// An allocator whose events are being collected.
#[derive(Default)]
struct Found {
    labels: Vec<Labels>,
    /// Index of the labels that each set of arguments contains.
    places: FxHashMap<ArgsId, u32>,
    events: Vec<AllocatorEvent>,
}

impl Found {
    fn label(&mut self, trace: &Trace, id: ArgsId) -> u32 {
        *self.places.entry(id).or_insert_with(|| {
            let args = trace.args.get(id);
            let [op, region, shape] = [args.tf_op, args.region_type, args.shape].map(|id| trace.text(id).to_owned());
            let labels = Labels { op, region, shape };
            let known = self.labels.iter().position(|other| *other == labels);
            let place = known.unwrap_or_else(|| {
                self.labels.push(labels);
                self.labels.len() - 1
            });
            u32::try_from(place).unwrap_or(u32::MAX)
        })
    }
}

/// Sorts events by time, and gives releases the labels of their allocations.
fn ordered(mut events: Vec<AllocatorEvent>) -> Vec<AllocatorEvent> {
    events.sort_by_key(|event| (event.time, event.place));
    let mut alive: FxHashMap<u64, u32> = FxHashMap::default();
    for event in &mut events {
        match event.activity {
            Activity::Allocation => drop(alive.insert(event.address, event.own_labels)),
            Activity::Release => event.labels = alive.remove(&event.address).unwrap_or(event.own_labels),
        }
    }
    events
}

/// Returns the allocator with times relative to the lines of its events, sorted by these times.
pub(super) fn in_time_of_lines(allocator: &Allocator) -> Allocator {
    let events = allocator.events.iter().map(|event| AllocatorEvent { time: event.time_in_line, ..*event }).collect();
    Allocator { events: ordered(events), ..allocator.clone() }
}

/// Returns the name of an event's allocator in the file, or the number of its device if the file names no allocator.
fn name_of(trace: &Trace, event: &Event) -> String {
    let args = trace.args_of(event);
    if !args.allocator_name.is_empty() {
        return trace.text(args.allocator_name).to_owned();
    }
    args.index_on_host.or(args.device_ordinal).map_or_else(String::new, |number| number.to_string())
}

fn read(trace: &Trace, id: EventId, activity: Activity) -> AllocatorEvent {
    let column = |column: EventColumn| trace.events.column(column).get(id);
    let bytes = |of: EventColumn| column(of).and_then(|bytes| u64::try_from(bytes).ok());
    let total = |of: EventColumn| bytes(of).unwrap_or(0);
    AllocatorEvent {
        place: 0,
        time: Ps::ZERO,
        time_in_line: Ps::ZERO,
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
        labels: 0,
        own_labels: 0,
    }
}
