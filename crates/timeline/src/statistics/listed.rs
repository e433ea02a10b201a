//! Lists the events of an area. Each event is listed with its full duration, even if the range cuts the event.

use std::cmp::Reverse;

use base::{Ps, sort};
use metrics::SelfTime;
use trace::{EventId, Interval, LineId};

use super::{Area, EventsIn};
use crate::events::nesting::Nesting;
use crate::events::source::Source;

/// An event with its depth and self time on its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedEvent {
    /// Id of the event.
    pub id: EventId,
    /// Nesting depth of the event, which is zero at the top level.
    pub depth: u32,
    /// Self time of the whole event, inside and outside the range.
    pub self_time: Ps,
}

/// Returns the events that overlap the area. The events are sorted by start, then by descending length, then by line.
/// The running time is linear in the number of these events and of all events that run at the same time. An area with
/// several lines also requires a sort.
pub fn events(source: Source<'_>, area: &Area) -> Vec<ListedEvent> {
    let mut listed: Vec<ListedEvent> = Vec::new();
    for &line in &area.lines {
        add_line(source, line, area.range, &mut listed);
    }
    if area.lines.len() > 1 {
        let key =
            |event: &ListedEvent| source.trace.events.time(event.id).map(|(start, length)| (start, Reverse(length)));
        sort::sort_by_key(&mut listed, key);
    }
    listed
}

/// Adds the events of one line. Depth and self time depend on events of the same line that run at the same time. The
/// function therefore reads the events from the first event that runs at the start of the range to the last event that
/// starts before the last listed event ends.
fn add_line(source: Source<'_>, line: LineId, range: Interval, listed: &mut Vec<ListedEvent>) {
    let trace = source.trace;
    let inside = EventsIn::new(source, line, range);
    let Some(events) = source.by_line.events.get(line.index()) else { return };
    let before = listed.len();
    let mut last_end = Ps::new(i64::MIN);
    inside.for_each_whole(|id, _, at| {
        listed.push(ListedEvent { id, depth: 0, self_time: Ps::ZERO });
        last_end = last_end.max(at.end);
    });
    let mut next = before;
    let (mut nesting, mut running) = (Nesting::default(), SelfTime::default());
    const OUTSIDE: usize = usize::MAX;
    trace.for_each_on_thread_at(events, inside.places_until(last_end), |id, _, at| {
        let depth = nesting.place(at).depth;
        let place = match listed.get_mut(next).filter(|event| event.id == id) {
            Some(event) => {
                event.depth = depth;
                next += 1;
                next - 1
            }
            None => OUTSIDE,
        };
        running.start(place, at, &mut |place, own| give(listed, place, own));
    });
    running.finish(&mut |place, own| give(listed, place, own));
}

fn give(listed: &mut [ListedEvent], place: usize, own: Interval) {
    listed.get_mut(place).into_iter().for_each(|event| event.self_time += own.length());
}
