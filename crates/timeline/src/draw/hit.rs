//! Finds the item at a point in the picture.

use base::Ps;
use trace::Interval;

use crate::draw::layout::{Row, RowContent};
use crate::draw::scene::{AXIS_HEIGHT, EventRef, Scene};
use crate::events::lane::Lane;
use crate::events::source::Origin;
use crate::events::tracks::{Shows, Track, TrackId};

/// Maximum distance of the pointer from an event that it selects, in CSS pixels.
const NEAR: f64 = 2.0;

/// Maximum distance from which the edge of a dragged range snaps to the edge of an event, in CSS pixels.
pub const SNAP: f64 = 15.0;

/// The item at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    /// The heading of a process.
    Heading(u32),
    /// The name of a track.
    Name(TrackId),
    /// A flag or a bookmarked range, by its index.
    Bookmark(u32),
    /// A track, and the event of the track that is nearest to the point, if that event is close enough.
    Track(TrackId, Option<EventRef>),
}

impl<'a> Scene<'a> {
    /// Returns the item at a point, in CSS pixels from the upper left corner of the events.
    pub fn hit(&self, x: f64, y: f64) -> Option<Hit> {
        if let Some(bookmark) = self.bookmark_at(x, y) {
            return Some(Hit::Bookmark(bookmark));
        }
        let (row, down) = self.row_at(y)?;
        match row.content {
            RowContent::Heading { process, .. } => Some(Hit::Heading(process)),
            RowContent::Track { id, .. } => {
                let (origin, lanes) = self.lanes_at(row, down);
                // A scope belongs to the innermost op at that point.
                let event = lanes.iter().rev().find_map(|lane| self.near(origin, lane, x));
                Some(Hit::Track(id, event))
            }
        }
    }

    /// Returns the time to which the edge of a dragged range snaps at a point. The edge snaps to the start or the end
    /// of the nearest event on the lane. Returns `None` if no event is close enough.
    pub fn edge_near(&self, x: f64, y: f64) -> Option<Ps> {
        let at = |x: f64| self.viewport.time_at(x / f64::from(self.size.0.max(1)));
        let (row, down) = self.row_at(y)?;
        let (origin, lanes) = self.lanes_at(row, down);
        let edges = lanes.iter().filter_map(|lane| lane.nearest_edge(self.source(origin).trace, at(x)));
        let edge = edges.min_by_key(|edge| (*edge - at(x)).as_ps().unsigned_abs())?;
        (at(x - SNAP) <= edge && edge <= at(x + SNAP)).then_some(edge)
    }

    /// Returns a track by its id.
    pub fn track(&self, id: TrackId) -> Option<&Track> {
        self.processes.get(id.process as usize)?.tracks.get(id.track as usize)
    }

    /// Returns the row at the vertical position `y`, and the distance of `y` below the row's upper edge.
    fn row_at(&self, y: f64) -> Option<(&'a Row, u32)> {
        let down = (y - f64::from(AXIS_HEIGHT)) + f64::from(self.scroll);
        if y < f64::from(AXIS_HEIGHT) || down < 0.0 {
            return None;
        }
        let row = self.layout.visible(down as u32..down as u32 + 1).first()?;
        Some((row, (down as u32).saturating_sub(row.top)))
    }

    /// Returns the lane at the distance `down` below the upper edge of a row. If the row shows scopes, returns all
    /// lanes of the line. If the row shows a counter, returns no lanes.
    fn lanes_at(&self, row: &Row, down: u32) -> (Origin, &'a [Lane]) {
        let RowContent::Track { id, lane_height, .. } = row.content else { return Default::default() };
        match self.track(id).map(|track| track.shows) {
            Some(Shows::Events(origin, line)) => {
                let lane = (down / lane_height.max(1)) as usize;
                (origin, self.source(origin).lanes(line).get(lane..=lane).unwrap_or_default())
            }
            Some(Shows::Scopes(_, line)) => (Origin::Captured, self.source(Origin::Captured).lanes(line)),
            Some(Shows::Counter(..)) | None => Default::default(),
        }
    }

    fn near(&self, origin: Origin, lane: &Lane, x: f64) -> Option<EventRef> {
        let source = self.source(origin);
        let at = |x: f64| self.viewport.time_at(x / f64::from(self.size.0.max(1)));
        let (time, near) = (at(x), Interval::new(at(x - NEAR), at(x + NEAR)));
        let pixel = Ps::new(near.length().as_ps() / 4);
        let first = lane.first_from(source.trace, near.start);
        let end = lane.first_starting_at(source.trace, first, near.end);
        // Selects the event below the pointer if it is at least a pixel wide, and otherwise the longest event nearby.
        let below = (first..end.min(first + 64)).find(|&place| {
            lane.time(source.trace, place).is_some_and(|it| it.start <= time && time < it.end && it.length() >= pixel)
        });
        let place = below.or_else(|| lane.longest_of(source.trace, first, end))?;
        Some(EventRef { origin, index: lane.event(place)?.get() })
    }
}
