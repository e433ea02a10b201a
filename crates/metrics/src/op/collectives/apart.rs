//! Measures communication that is not a device op, or that duplicates one. This communication is reported separately and is not
//! included in any sum.
//!
//! ```text
//! XLA Ops         [start)[fusion      )[done   )     counted: from the start to the end of the wait
//! Async XLA Ops   [all-gather-start            )     separate: the same work in flight, as the profiler recorded it
//! host            ....................|Receive       separate: a message from another slice, which ends here
//! ```
//!
//! Reads the lines `Async XLA Ops` of devices in use, and the marks that megascale writes on host threads when a
//! message between TPU slices was sent or received.

use rustc_hash::FxHashMap;

use super::inside::Inside;
use super::kind;
use crate::device::device_time::DeviceTime;
use crate::device::devices::{Devices, holds};
use crate::op::categories::{Categorizer, OpClass};
use base::{Ps, sort};
use trace::{ArgsId, EventColumn, EventId, Interval, IntervalSet, LineKind, StrId, Trace};

/// Source of communication that is measured separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Track {
    /// The device's `Async XLA Ops` line.
    Async,
    /// Messages between slices, recorded on the hosts.
    Megascale,
}

impl Track {
    /// Returns the name that the report uses.
    pub fn label(self) -> &'static str {
        match self {
            Track::Async => "async",
            Track::Megascale => "megascale",
        }
    }
}

/// All communication with one name, kind and track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Apart {
    /// Name of the instruction, or of the collective that the messages belong to.
    pub name: StrId,
    /// `all-gather`, ..., `megascale-send`, `megascale-receive`.
    pub kind: &'static str,
    /// Track that shows the communication.
    pub track: Track,
    /// Number of events.
    pub count: u64,
    /// Sum of the durations.
    pub total: Ps,
    /// Part of the time during which the device computes nothing. `None` for messages, which belong to no device.
    pub exposed: Option<Ps>,
    /// Bytes of all messages. `None` if the bytes of a message are unknown.
    pub bytes: Option<u64>,
}

/// Names of megascale's marks, with their kinds.
const MESSAGES: [(&str, &str); 2] = [
    ("MegaScale: Communication Transport Receive", "megascale-receive"),
    ("MegaScale: Communication Transport Send", "megascale-send"),
];

/// Returns the communication that is measured separately, longest first.
pub(super) fn apart(trace: &Trace, devices: &Devices, times: &[DeviceTime], windows: &[IntervalSet]) -> Vec<Apart> {
    let mut found = Messages { rows: Vec::new(), index: FxHashMap::default() };
    in_flight(trace, devices, times, windows, &mut found);
    messages(trace, devices, windows, &mut found);
    sort::sort_by(&mut found.rows, |a, b| {
        let key = |it: &Apart| (it.track, std::cmp::Reverse(it.total));
        key(a).cmp(&key(b)).then_with(|| trace.text(a.name).cmp(trace.text(b.name))).then_with(|| a.kind.cmp(b.kind))
    });
    found.rows
}

struct Messages {
    rows: Vec<Apart>,
    index: FxHashMap<(Track, StrId, &'static str), usize>,
}

impl Messages {
    fn add(&mut self, one: Apart) {
        let key = (one.track, one.name, one.kind);
        let Some(row) = self.index.get(&key).and_then(|&at| self.rows.get_mut(at)) else {
            self.index.insert(key, self.rows.len());
            self.rows.push(one);
            return;
        };
        row.count += one.count;
        row.total += one.total;
        row.exposed = row.exposed.zip(one.exposed).map(|(a, b)| a + b);
        row.bytes = row.bytes.zip(one.bytes).and_then(|(a, b)| a.checked_add(b));
    }
}

fn in_flight(trace: &Trace, devices: &Devices, times: &[DeviceTime], windows: &[IntervalSet], found: &mut Messages) {
    let mut categories = Categorizer::new(trace, &devices.recognised);
    let mut kinds: FxHashMap<(StrId, ArgsId), Option<&'static str>> = FxHashMap::default();
    for (index, (device, time)) in devices.used.iter().zip(times).enumerate() {
        let inside = Inside::new(device, windows.get(index).unwrap_or(&device.window), Some(time));
        let events = devices.by_line.events_of(trace, device.plane, LineKind::AsyncOps);
        for event in events.filter_map(|id| trace.events.get(id)) {
            let kind = *kinds.entry((event.name, event.args)).or_insert_with(|| {
                let category = categories.of(event.name, event.args);
                let communicates = categories.class(category) == OpClass::Communication;
                let names = [trace.text(event.name), categories.name(category)];
                names.into_iter().filter(|_| communicates).find_map(kind::of_instruction)
            });
            let Some(kind) = kind else { continue };
            let Some(part) = inside.part(Interval::new(event.start, event.end())) else { continue };
            found.add(Apart {
                name: event.name,
                kind,
                track: Track::Async,
                count: u64::from(part.counts),
                total: part.time,
                exposed: Some(part.exposed),
                bytes: None,
            });
        }
    }
}

fn messages(trace: &Trace, devices: &Devices, windows: &[IntervalSet], found: &mut Messages) {
    let kinds: Vec<(StrId, &'static str)> =
        MESSAGES.iter().filter_map(|&(name, kind)| Some((trace.strings.find(name)?, kind))).collect();
    if kinds.is_empty() {
        return;
    }
    let spans = windows.iter().zip(&devices.used).map(|(window, device)| {
        // A window that covers all work of the device covers all messages.
        if holds(window, device.span) { devices.capture } else { window.span() }
    });
    let hull = spans.flatten().reduce(|a, b| Interval::new(a.start.min(b.start), a.end.max(b.end)));
    let ends_inside = |id| {
        let end = trace.events.get(id).map(|event| event.end());
        hull.or(devices.capture).zip(end).is_some_and(|(hull, end)| end >= hull.start && end <= hull.end)
    };
    let lines = trace.lines.iter().zip(devices.by_line.events.iter()).filter(|(line, _)| line.kind == LineKind::Host);
    for id in lines.flat_map(|(_, events)| events.iter()) {
        if let Some(one) = message(trace, &kinds, id).filter(|_| ends_inside(id)) {
            found.add(one);
        }
    }
}

/// Reads a message. The event of a message marks the end of the message and records its duration.
fn message(trace: &Trace, kinds: &[(StrId, &'static str)], id: EventId) -> Option<Apart> {
    let event = trace.events.get(id)?;
    let &(_, kind) = kinds.iter().find(|(name, _)| *name == event.name)?;
    let args = trace.args_of(&event);
    Some(Apart {
        name: if args.tf_op.is_empty() { event.name } else { args.tf_op },
        kind,
        track: Track::Megascale,
        count: 1,
        total: trace.events.column(EventColumn::MessageDuration).get(id).map_or(event.duration, Ps::new),
        exposed: None,
        bytes: args.bytes_transferred.and_then(|bytes| u64::try_from(bytes).ok()),
    })
}
