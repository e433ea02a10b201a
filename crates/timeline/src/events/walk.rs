//! Navigation between events: along a lane, to the lane above or below, between cause and effect, and to the next event
//! that passes the filter.

use base::Ps;
use trace::LineId;

use crate::draw::layout::RowContent;
use crate::draw::scene::{EventRef, Scene};
use crate::events::source::Origin;
use crate::events::tracks::Shows;

/// Direction of a move from an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Step {
    /// To the next event of the lane.
    Next,
    /// To the previous event of the lane.
    Previous,
    /// To the event above, in the same or the previous track.
    Up,
    /// To the event below, in the same or the next track.
    Down,
    /// To the nearest event that caused the selected event.
    Cause,
    /// To the nearest event that the selected event caused.
    Effect,
}

impl Scene<'_> {
    /// Returns the event to which a move from the selected event leads. Without a selection, returns the first visible
    /// event.
    pub fn step(&self, step: Step) -> Option<EventRef> {
        let is_along = matches!(step, Step::Cause | Step::Effect);
        let Some(from) = self.selected.filter(|event| is_along || self.place_of(*event).is_some()) else {
            let lanes = self.lanes();
            return lanes
                .into_iter()
                .find_map(|(origin, line, lane)| self.nearest(origin, line, lane, self.viewport.range.start));
        };
        let (origin, source) = (from.origin, self.source(from.origin));
        let (kind, _, time) = source.event(from.id())?;
        let line = source.trace.events.kinds().get(kind)?.line;
        let lanes = source.lanes(line);
        let (lane, place) = lanes
            .iter()
            .zip(0..)
            .find_map(|(of, lane)| Some((lane, of.place_of(source.trace, from.id(), time.start)?)))?;
        let event_at = |place: Option<usize>| {
            let id = lanes.get(lane)?.event(place?)?;
            Some(EventRef { origin, index: id.get() })
        };
        match step {
            Step::Next => event_at(place.checked_add(1)),
            Step::Previous => event_at(place.checked_sub(1)),
            Step::Cause | Step::Effect => {
                let linked = self.linked.iter().find(|linked| linked.follows == (step == Step::Effect));
                linked.map(|linked| EventRef::captured(linked.event))
            }
            Step::Up | Step::Down => {
                let all = self.lanes();
                let here = all.iter().position(|it| *it == (origin, line, lane))?;
                let middle = time.start + Ps::new(time.length().as_ps() / 2);
                let find = |(origin, line, lane): &(Origin, LineId, usize)| self.nearest(*origin, *line, *lane, middle);
                match step {
                    Step::Up => all.get(..here)?.iter().rev().find_map(find),
                    _ => all.get(here + 1..)?.iter().find_map(find),
                }
            }
        }
    }

    /// Returns all lanes that are shown, from top to bottom.
    fn lanes(&self) -> Vec<(Origin, LineId, usize)> {
        let mut lanes = Vec::new();
        for row in &self.layout.rows {
            let RowContent::Track { id, pinned: false, .. } = row.content else { continue };
            if let Some(Shows::Events(origin, line)) = self.track(id).map(|track| track.shows) {
                lanes.extend((0..self.source(origin).lanes(line).len()).map(|lane| (origin, line, lane)));
            }
        }
        lanes
    }

    /// Returns the event that runs at `time` in a lane. If no event runs, returns the next event. If no event follows,
    /// returns the last event.
    fn nearest(&self, origin: Origin, line: LineId, lane: usize, time: Ps) -> Option<EventRef> {
        let source = self.source(origin);
        let lane = source.lanes(line).get(lane)?;
        let place = lane.first_from(source.trace, time).min(lane.len().checked_sub(1)?);
        Some(EventRef { origin, index: lane.event(place)?.get() })
    }

    /// Returns the recorded event that passes the filter and is next to the selected event, either after or before it.
    /// The search wraps around at both ends of the capture. Returns `None` without a filter.
    pub fn next_passing(&self, forward: bool) -> Option<EventRef> {
        let (found, source) = (self.found?, self.source(Origin::Captured));
        let from = self.selected.filter(|event| event.origin == Origin::Captured);
        let next = match (from, forward) {
            (Some(event), true) => found.after(source, event.id()),
            (Some(event), false) => found.before(source, event.id()),
            (None, true) => found.first_from(source, self.viewport.range.start),
            (None, false) => found.last_before(source, self.viewport.range.start),
        };
        let other_end =
            || if forward { found.first_from(source, Ps::new(i64::MIN)) } else { found.last_before(source, Ps::MAX) };
        let index = next.or_else(other_end)?.get();
        Some(EventRef { origin: Origin::Captured, index })
    }
}
