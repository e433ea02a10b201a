//! Which event follows from which: a kernel from the call that launches it, and whatever the file links by flows or by producers and
//! consumers.
//!
//! ```text
//! thread 1   [launch 7)--launch--.          the numbers of calls and ops are joined as in the table of launches
//! stream 7                       '->[kernel 7)
//! thread 1   [forward)--flow "fwdbwd"--.    points of a flow are in the innermost event that runs at their time
//! thread 2                             '->[backward)
//! ```
//!
//! All links of a run are found in one go, when an event is first selected; those of an event are then found by halves.

use base::{Ps, sort};
use metrics::{Context, call_of, for_each_launch};
use trace::{EventColumn, EventId, FlowBinding, FlowRole, LineId, StrId, Trace};

use crate::lane::Lane;
use crate::order::partition_point;
use crate::source::Source;

/// Moments of one time that are looked at for a point of a flow.
const MOST_MOMENTS: usize = 64;

/// Why an event follows from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// A call launches device work.
    Launch,
    /// A flow of this name leads from one to the other.
    Flow(StrId),
    /// One event hands on what the other takes up.
    Handover,
}

/// An event that another one is linked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linked {
    /// The event that is linked.
    pub event: EventId,
    /// Whether the event follows from the other one.
    pub follows: bool,
    /// Why the two are linked.
    pub kind: LinkKind,
    /// From the start of what comes first to the start of what follows; negative where that starts earlier.
    pub delay: Ps,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Link {
    from: EventId,
    to: EventId,
    kind: LinkKind,
}

/// The links of the recorded events.
#[derive(Debug, Default)]
pub struct Links {
    /// Calls and what each launches, by call. The call of an op is found by its number.
    launches: Vec<(EventId, EventId)>,
    /// Links that the file gives and that are no launches, by where they come from.
    given: Vec<Link>,
    /// Places in `given`, by where the links lead to.
    by_target: Vec<u32>,
}

impl Links {
    /// All links of a run.
    pub fn new(context: Context<'_>, source: Source<'_>) -> Links {
        let (trace, devices, calls) = (context.captured_trace(), &context.analysis.captured, &context.analysis.calls);
        let mut keys: Vec<(i64, u32)> = Vec::new();
        for_each_launch(trace, devices, calls, |call, op| {
            if call != op {
                keys.push((i64::from(call.get()), op.get()));
            }
        });
        sort::numbers_of(&mut keys);
        let launches = keys.iter().map(|&(call, op)| (EventId::new(call as u32), EventId::new(op))).collect();
        let mut given = Vec::new();
        add_flows(source, &mut given);
        add_handovers(trace, &mut given);
        given.retain(|link: &Link| {
            let launches = call_of(trace, devices, calls, link.to).is_some_and(|call| call.event == link.from);
            link.from != link.to && !launches
        });
        let to = |link: &Link| i64::from(link.to.get());
        given = ordered(&given, to);
        given = ordered(&given, |link| i64::from(link.from.get()));
        given.dedup_by_key(|link| (link.from, link.to));
        let by_target = in_order(&given, to).into_iter().map(|at| at as u32).collect();
        Links { launches, given, by_target }
    }

    /// What an event is linked with, the nearest by start first.
    pub fn of(&self, context: Context<'_>, event: EventId) -> Vec<Linked> {
        let trace = context.captured_trace();
        let (devices, calls) = (&context.analysis.captured, &context.analysis.calls);
        let start = |id: EventId| trace.occupied(id).map_or(Ps::ZERO, |(_, time)| time.start);
        let here = start(event);
        let mut found: Vec<Linked> = Vec::new();
        let mut add = |other: EventId, follows: bool, kind: LinkKind| {
            let ahead = start(other) - here;
            let delay = if follows { ahead } else { Ps::ZERO - ahead };
            found.push(Linked { event: other, follows, kind, delay });
        };
        if let Some(call) = call_of(trace, devices, calls, event).filter(|call| call.event != event) {
            add(call.event, false, LinkKind::Launch);
        }
        let launched = self.launches.get(self.launches.partition_point(|(call, _)| *call < event)..);
        for &(_, op) in launched.unwrap_or_default().iter().take_while(|(call, _)| *call == event) {
            add(op, true, LinkKind::Launch);
        }
        let leaving = self.given.get(self.given.partition_point(|link| link.from < event)..);
        for link in leaving.unwrap_or_default().iter().take_while(|link| link.from == event) {
            add(link.to, true, link.kind);
        }
        let link = |place: u32| self.given.get(place as usize);
        let first = self.by_target.partition_point(|&place| link(place).is_some_and(|link| link.to < event));
        let arriving = self.by_target.get(first..).unwrap_or_default().iter().map_while(|&place| link(place));
        for link in arriving.take_while(|link| link.to == event) {
            add(link.from, false, link.kind);
        }
        sort::sort_by_key(&mut found, |linked| (linked.delay.max(Ps::ZERO - linked.delay), linked.event));
        found
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.launches.capacity() * size_of::<(EventId, EventId)>()
            + self.given.capacity() * size_of::<Link>()
            + self.by_target.capacity() * size_of::<u32>()
    }
}

/// The places of some items in the order of a number, of equal ones as they stand.
fn in_order<T>(items: &[T], number: impl Fn(&T) -> i64) -> Vec<usize> {
    let mut keys: Vec<(i64, u32)> = items.iter().map(number).zip(0..).collect();
    sort::numbers_of(&mut keys);
    keys.into_iter().map(|(_, place)| place as usize).collect()
}

/// The items in that order.
fn ordered<T: Copy>(items: &[T], number: impl Fn(&T) -> i64) -> Vec<T> {
    in_order(items, number).into_iter().filter_map(|at| items.get(at).copied()).collect()
}

/// From the start of a flow to its first step, on to the next, and from the last of these to each end; where points of several flows
/// share a number, from the last start before.
fn add_flows(source: Source<'_>, links: &mut Vec<Link>) {
    let points = &source.trace.flows;
    let events = events_of_points(source);
    let points: Vec<_> = points.iter().zip(events).collect();
    let points = ordered(&points, |(point, _)| point.time.as_ps());
    let points = ordered(&points, |(point, _)| i64::from(point.flow));
    for flow in points.chunk_by(|(a, _), (b, _)| a.flow == b.flow) {
        // A clock that runs early can put the only start behind its end.
        let mut starts = flow.iter().filter(|(point, _)| point.role == FlowRole::Start);
        let only_start = starts.next().filter(|_| starts.next().is_none());
        let mut from = only_start.and_then(|(_, event)| *event);
        for (point, event) in flow {
            if let (Some(from), Some(to)) = (from, *event)
                && point.role != FlowRole::Start
            {
                links.push(Link { from, to, kind: LinkKind::Flow(point.name) });
            }
            let leads_on = match point.role {
                FlowRole::Start => only_start.is_none(),
                FlowRole::Step => true,
                FlowRole::End => false,
            };
            if leads_on && event.is_some() {
                from = *event;
            }
        }
    }
}

/// The event that each point of a flow belongs to. One walk along the lanes of every line.
fn events_of_points(source: Source<'_>) -> Vec<Option<EventId>> {
    let points = &source.trace.flows;
    let mut events = vec![None; points.len()];
    let mut of_lines: Vec<Vec<(i64, u32)>> = vec![Vec::new(); source.trace.lines.len()];
    for (place, point) in (0..).zip(points) {
        if let Some(of_line) = of_lines.get_mut(point.line.index()) {
            of_line.push((point.time.as_ps(), place));
        }
    }
    for (line, mut of_line) in source.trace.line_ids().zip(of_lines).filter(|(_, of_line)| !of_line.is_empty()) {
        sort::numbers_of(&mut of_line);
        let lanes = source.lanes(line);
        let mut first = vec![0; lanes.len()];
        for (time, place) in of_line {
            let binding = points.get(place as usize).map(|point| point.binding).unwrap_or_default();
            let found = event_at(source.trace, lanes, &mut first, Ps::new(time), binding);
            events.get_mut(place as usize).into_iter().for_each(|event| *event = found);
        }
    }
    events
}

/// The event of a line that a point at `time` belongs to: the innermost one that runs then, else the innermost that ends then. `first` is, by lane, a place
/// before which all events end before `time`; it is moved on.
fn event_at(trace: &Trace, lanes: &[Lane], first: &mut [usize], time: Ps, binding: FlowBinding) -> Option<EventId> {
    let mut best: Option<((bool, Ps), EventId)> = None;
    for (lane, first) in lanes.iter().zip(first) {
        *first = lane.first_ending_after(trace, *first, time - Ps::new(1));
        for place in *first..*first + MOST_MOMENTS {
            let Some((at, event)) = lane.time(trace, place).zip(lane.event(place)) else { break };
            // Inner events start later than those around them; the next one is the earliest.
            let key = match binding {
                FlowBinding::Enclosing if at.start <= time => Some((at.end > time, at.start)),
                FlowBinding::Next if at.start >= time => Some((true, Ps::ZERO - at.start)),
                FlowBinding::Enclosing | FlowBinding::Next => None,
            };
            let is_past = at.start > time || (binding == FlowBinding::Next && key.is_some());
            if let Some(key) = key.filter(|key| best.is_none_or(|(known, _)| *key >= known)) {
                let is_outer = binding == FlowBinding::Next && best.is_some_and(|(known, _)| known == key);
                best = if is_outer { best } else { Some((key, event)) };
            }
            if is_past {
                break;
            }
        }
    }
    best.map(|(_, event)| event)
}

/// Adds links from each producer to its consumers on the same host.
fn add_handovers(trace: &Trace, links: &mut Vec<Link>) {
    let column = |column: EventColumn| trace.events.column(column);
    let mut producers: Vec<(i64, u32)> = Vec::new();
    column(EventColumn::Producer).for_each(|event, number| producers.push((number, event.get())));
    sort::numbers_of(&mut producers);
    let host = |event: EventId| {
        let line: LineId = trace.events.get(event)?.line;
        trace.plane_of(trace.lines.get(line.index())?).map(|plane| plane.host)
    };
    column(EventColumn::Consumer).for_each(|to, number| {
        let about = (host(to), column(EventColumn::ConsumerType).get(to));
        let first = partition_point(0..producers.len(), |at| producers.get(at).is_some_and(|it| it.0 < number));
        let same = producers.get(first..).unwrap_or_default().iter().take_while(|(of, _)| *of == number);
        let is_its = |from: &EventId| (host(*from), column(EventColumn::ProducerType).get(*from)) == about;
        if let Some(from) = same.map(|(_, event)| EventId::new(*event)).find(is_its) {
            links.push(Link { from, to, kind: LinkKind::Handover });
        }
    });
}
