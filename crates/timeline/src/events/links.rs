//! Links between events. Some links lead from a call to the kernel that the call launches. Other links are recorded in
//! the trace file, as flows or as producers and consumers.
//!
//! ```text
//! thread 1   [launch 7)--launch--.          calls and ops are matched by number, as in the table of launches
//! stream 7                       '->[kernel 7)
//! thread 1   [forward)--flow "fwdbwd"--.    a flow point belongs to the innermost event at its time
//! thread 2                             '->[backward)
//! ```
//!
//! All links of a run are computed when the user first selects an event. After that, binary search finds the links of
//! one event.

use base::{Ps, sort};
use metrics::{Context, call_of, for_each_launch};
use trace::{EventColumn, EventId, FlowBinding, FlowRole, LineId, StrId, Trace};

use crate::events::lane::Lane;
use crate::events::search::partition_point;
use crate::events::source::Source;

/// Maximum number of simultaneous events of length 0 that are considered for a flow point.
const MOST_MOMENTS: usize = 64;

/// Reason why an event is linked to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// The cause is a call that launched the effect on a device.
    Launch,
    /// A flow with this name leads from one event to the other.
    Flow(StrId),
    /// One event produces data that the other consumes.
    Handover,
}

/// An event that is linked to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linked {
    /// The linked event.
    pub event: EventId,
    /// True if the linked event is the effect, and false if it is the cause.
    pub follows: bool,
    /// Reason for the link.
    pub kind: LinkKind,
    /// Time from the start of the cause to the start of the effect. The delay is negative if the effect starts before
    /// the cause.
    pub delay: Ps,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Link {
    from: EventId,
    to: EventId,
    kind: LinkKind,
}

/// Links between the recorded events of a run.
#[derive(Debug, Default)]
pub struct Links {
    /// Calls and the ops that they launch, sorted by call. A call and its ops have the same correlation id.
    launches: Vec<(EventId, EventId)>,
    /// Links in the trace file that are not launches, sorted by the source of the link.
    given: Vec<Link>,
    /// Positions in `given`, sorted by the target of the link.
    by_target: Vec<u32>,
}

impl Links {
    /// Finds all links of a run.
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

    /// Returns the events that are linked to an event. The linked events are sorted by the time between their start and
    /// the start of the event.
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

    /// Returns the memory that the links allocate, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.launches.capacity() * size_of::<(EventId, EventId)>()
            + self.given.capacity() * size_of::<Link>()
            + self.by_target.capacity() * size_of::<u32>()
    }
}

/// Returns the positions of the items, in the order of their numbers. The sort is stable.
fn in_order<T>(items: &[T], number: impl Fn(&T) -> i64) -> Vec<usize> {
    let mut keys: Vec<(i64, u32)> = items.iter().map(number).zip(0..).collect();
    sort::numbers_of(&mut keys);
    keys.into_iter().map(|(_, place)| place as usize).collect()
}

/// Returns the items in the order of their numbers. The sort is stable.
fn ordered<T: Copy>(items: &[T], number: impl Fn(&T) -> i64) -> Vec<T> {
    in_order(items, number).into_iter().filter_map(|at| items.get(at).copied()).collect()
}

/// Links the start of a flow to the first step of the flow, each step to the next, and the last step to each end. If
/// several flows have the same number, each later point is linked to the last start before that point.
fn add_flows(source: Source<'_>, links: &mut Vec<Link>) {
    let points = &source.trace.flows;
    let events = events_of_points(source);
    let points: Vec<_> = points.iter().zip(events).collect();
    let points = ordered(&points, |(point, _)| point.time.as_ps());
    let points = ordered(&points, |(point, _)| i64::from(point.flow));
    for flow in points.chunk_by(|(a, _), (b, _)| a.flow == b.flow) {
        // If clocks differ, the only start can be later than the end.
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

/// Returns the event to which each flow point belongs. Walks the lanes of every line once.
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

/// Returns the event of a line to which a point at `time` belongs. The result is the innermost event that runs at that
/// time or, if no event runs, the innermost event that ends at that time. For each lane, `first` contains a position.
/// All events at earlier positions end before `time`. The function advances these positions.
fn event_at(trace: &Trace, lanes: &[Lane], first: &mut [usize], time: Ps, binding: FlowBinding) -> Option<EventId> {
    let mut best: Option<((bool, Ps), EventId)> = None;
    for (lane, first) in lanes.iter().zip(first) {
        *first = lane.first_ending_after(trace, *first, time - Ps::new(1));
        for place in *first..*first + MOST_MOMENTS {
            let Some((at, event)) = lane.time(trace, place).zip(lane.event(place)) else { break };
            // Inner events start later than those around them. The next event is the one that starts first.
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
