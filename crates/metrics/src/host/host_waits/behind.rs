//! Finds the activity of host threads while devices are idle and no user range in which a thread works explains the
//! idle time. Uses the innermost spans and frames of any kind.
//!
//! ```text
//! device    [op )                                    [op )
//! python    [block_until_ready                     )            waits like the device
//! runtime         [BufferSequencingEvent::Execute)              the work that both wait for
//!
//! device    [op )                                    [op )
//! python        [$core.py:9 bind    )[cudaMalloc   )            no user range: library frames, runtime calls
//! ```
//!
//! While the threads that feed devices are in no range, all their spans are included. While these threads are in a
//! range that waits, only their spans inside this range are included, and only spans that do not wait. Spans of other
//! threads are always included, unless these spans wait.

use rustc_hash::FxHashMap;

use super::{HostWaits, add, is_users, overlap, shown, thread_name};
use crate::device::devices::Devices;
use crate::device::self_time::for_each_self_kind;
use crate::host::host_threads::{HostRole, roles_of_kinds, thread_role};
use base::{Ps, sort};
use trace::{Interval, IntervalSet, LineKind, StrId, Trace, Union};

/// Maximum number of listed names. We chose this limit because findings name only three.
const MOST_NAMES: usize = 20;

/// Times of the innermost spans of a host's threads.
#[derive(Default)]
pub(super) struct Behind {
    spans: Vec<Span>,
    /// Times during which at least one thread has an event.
    any: IntervalSet,
}

struct Span {
    name: String,
    /// First thread that has the span.
    thread: String,
    /// True if the span is included only while no thread that feeds devices is in any user range, including ranges that
    /// only wait.
    outside_only: bool,
    /// True if the thread waits in the span.
    waits: bool,
    times: IntervalSet,
}

/// Name of the span, and true if the span is included only outside of ranges.
type Key = (StrId, bool);

impl Behind {
    /// Finds the spans of a host. `feeding` contains the threads that feed devices. `working` contains the times when
    /// these threads work in user ranges. Takes time linear in the events of the threads: the first pass finds the
    /// names with the most time, and the second pass finds the times of these names.
    pub(super) fn new(trace: &Trace, devices: &Devices, host: u16, feeding: &[usize], working: &IntervalSet) -> Behind {
        let mut idle = IntervalSet::default();
        for device in devices.used.iter().filter(|device| device.host == host) {
            let window = IntervalSet::union_of([devices.capture.unwrap_or(device.span)]);
            idle = idle.union(&device.set_to_host(&window.difference(&device.busy)));
        }
        let idle = idle.difference(working);
        if idle.is_empty() {
            return Behind::default();
        }
        let roles = roles_of_kinds(trace, devices);
        let users = users_names(trace, feeding);
        let mut times: FxHashMap<Key, Ps> = FxHashMap::default();
        let mut any = Union::default();
        for_each_span(trace, devices, host, feeding, (&roles, &users), |found, interval| {
            any.add(interval);
            if let Some((key, ..)) = found {
                let time = idle.length_within(interval);
                if time > Ps::ZERO {
                    *times.entry(key).or_default() += time;
                }
            }
        });
        let mut most: Vec<(Ps, Key)> = times.into_iter().map(|(key, time)| (time, key)).collect();
        sort::sort_by(&mut most, |a, b| {
            b.0.cmp(&a.0).then_with(|| (trace.text(a.1.0), a.1.1).cmp(&(trace.text(b.1.0), b.1.1)))
        });
        most.truncate(MOST_NAMES);
        let mut unions: Vec<(usize, bool, Union)> =
            most.iter().map(|_| (usize::MAX, false, Union::default())).collect();
        let places: FxHashMap<Key, usize> = most.iter().enumerate().map(|(place, &(_, key))| (key, place)).collect();
        for_each_span(trace, devices, host, feeding, (&roles, &users), |found, interval| {
            let Some((key, line, waits)) = found else { return };
            let Some((first, is_wait, union)) = places.get(&key).and_then(|&place| unions.get_mut(place)) else {
                return;
            };
            if idle.length_within(interval) > Ps::ZERO {
                (*first, *is_wait) = ((*first).min(line), waits);
                union.add(interval);
            }
        });
        let spans = most.into_iter().zip(unions).map(|((_, (name, outside_only)), (line, waits, union))| Span {
            name: shown(trace.text(name)).to_owned(),
            thread: thread_name(trace, trace.lines.get(line)).to_owned(),
            outside_only,
            waits,
            times: union.finish(),
        });
        Behind { spans: spans.collect(), any: any.finish() }
    }

    /// Adds the activity of the threads in the idle time of a device. `all` is the time in user ranges, and `working`
    /// is the time in user ranges that do not wait.
    pub(super) fn add_to(&self, waits: &mut HostWaits, idle: &IntervalSet, all: &IntervalSet, working: &IntervalSet) {
        let (outside, unexplained) = (idle.difference(all), idle.difference(working));
        for span in &self.spans {
            let within = if span.outside_only { &outside } else { &unexplained };
            add(&mut waits.behind, &span.name, &span.thread, span.waits, overlap(within, &span.times));
        }
        waits.silent += outside.length() - overlap(&outside, &self.any);
    }
}

/// Returns true for each text of the trace that is a user's name for an event on the lines `feeding`. Examines each
/// name once.
fn users_names(trace: &Trace, feeding: &[usize]) -> Vec<bool> {
    let mut users: Vec<Option<bool>> = vec![None; trace.strings.len()];
    for kind in trace.events.kinds().iter().filter(|kind| feeding.contains(&kind.line.index())) {
        if let Some(slot) = users.get_mut(kind.name.index()) {
            slot.get_or_insert_with(|| is_users(trace.text(kind.name)));
        }
    }
    users.into_iter().map(|users| users == Some(true)).collect()
}

/// Calls `visit` for every interval of self time on a thread of the host. The first argument is the key of the span,
/// its line and true if the thread waits, or `None` if the span explains no more than the user ranges do.
fn for_each_span(
    trace: &Trace,
    devices: &Devices,
    host: u16,
    feeding: &[usize],
    (roles, users): (&[Option<HostRole>], &[bool]),
    mut visit: impl FnMut(Option<(Key, usize, bool)>, Interval),
) {
    let kinds = trace.events.kinds();
    for (at, (line, events)) in trace.lines.iter().zip(devices.by_line.events.iter()).enumerate() {
        let is_of_host = trace.plane_of(line).is_some_and(|plane| plane.host == host);
        if line.kind != LineKind::Host || !is_of_host || events.is_empty() {
            continue;
        }
        let feeds = feeding.contains(&at);
        // A Python thread that feeds no device only watches. Examples are the threads of progress bars and loggers.
        let watches = !feeds && thread_role(trace.text(line.name)) == HostRole::Python;
        for_each_self_kind(trace, events, |kind, interval| {
            let (Some(role), Some(event)) = (roles.get(kind).copied().flatten(), kinds.get(kind)) else { return };
            let waits = role == HostRole::Wait;
            let counts = !watches && if feeds { users.get(event.name.index()) != Some(&true) } else { !waits };
            let outside_only = feeds && matches!(role, HostRole::Wait | HostRole::Python);
            visit(counts.then_some(((event.name, outside_only), at, waits)), interval);
        });
    }
}
