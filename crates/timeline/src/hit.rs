//! What is at a point of the picture.

use base::Ps;
use trace::Interval;

use crate::lane::Lane;
use crate::layout::{RowContent, TrackId};
use crate::scene::{AXIS_HEIGHT, EventRef, Scene};
use crate::source::Origin;
use crate::tracks::{Shows, Track};

/// Events this near to the pointer, in CSS pixels, are meant.
const NEAR: f64 = 2.0;

/// What is at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    /// The heading of a process.
    Heading(u32),
    /// The name of a track.
    Name(TrackId),
    /// A track, and the event there, where one is near.
    Track(TrackId, Option<EventRef>),
}

impl Scene<'_> {
    /// What is at a point, in CSS pixels from the upper left corner of the events.
    pub fn hit(&self, x: f64, y: f64) -> Option<Hit> {
        let down = (y - f64::from(AXIS_HEIGHT)) + f64::from(self.scroll);
        if y < f64::from(AXIS_HEIGHT) || down < 0.0 {
            return None;
        }
        let row = self.layout.visible(down as u32..down as u32 + 1).first()?;
        match row.content {
            RowContent::Heading { process, .. } => Some(Hit::Heading(process)),
            RowContent::Track { id, lane_height, .. } => {
                let lane = (down as u32).saturating_sub(row.top) / lane_height.max(1);
                let event = self.track(id).and_then(|track| self.event_near(track, lane, x));
                Some(Hit::Track(id, event))
            }
        }
    }

    /// A track by its place.
    pub fn track(&self, id: TrackId) -> Option<&Track> {
        self.processes.get(id.process as usize)?.tracks.get(id.track as usize)
    }

    fn event_near(&self, track: &Track, lane: u32, x: f64) -> Option<EventRef> {
        match track.shows {
            Shows::Events(origin, line) => {
                let lane = self.source(origin).lanes(line).get(lane as usize)?;
                self.near(origin, lane, x)
            }
            // A scope is of the innermost op there.
            Shows::Scopes(_, line) => {
                let lanes = self.source(Origin::Captured).lanes(line);
                lanes.iter().rev().find_map(|lane| self.near(Origin::Captured, lane, x))
            }
            Shows::Counter(_) => None,
        }
    }

    fn near(&self, origin: Origin, lane: &Lane, x: f64) -> Option<EventRef> {
        let source = self.source(origin);
        let at = |x: f64| self.viewport.time_at(x / f64::from(self.size.0.max(1)));
        let (time, near) = (at(x), Interval::new(at(x - NEAR), at(x + NEAR)));
        let pixel = Ps::new(near.length().as_ps() / 4);
        let first = lane.first_from(source.trace, near.start);
        let end = lane.first_starting_at(source.trace, first, near.end);
        // The one below the pointer where it is wide enough to be meant; else the longest one near.
        let below = (first..end.min(first + 64)).find(|&place| {
            lane.time(source.trace, place).is_some_and(|it| it.start <= time && time < it.end && it.length() >= pixel)
        });
        let place = below.or_else(|| lane.longest_of(source.trace, first, end))?;
        Some(EventRef { origin, index: lane.event(place)?.get() })
    }
}
