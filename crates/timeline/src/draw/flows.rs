//! Arrows that link the selected event with its causes and its effects.
//!
//! ```text
//! thread 1   [launch)--.                 from the end of the cause, or from its start if they overlap
//!                       |
//! stream 7              '->[kernel)      to the start of the effect
//! ```
//!
//! If the track of an event is folded, the arrow ends at the heading of the process. If an event is not visible, the
//! arrow ends at the edge of the picture.

use trace::Interval;

use crate::draw::layout::{HEADING_HEIGHT, Row, RowContent};
use crate::draw::scene::{AXIS_HEIGHT, EventRef, Scene};
use crate::events::links::Linked;
use crate::events::source::Origin;
use crate::events::tracks::Shows;
use crate::surface::canvas::{Arrow, Canvas};

/// Maximum number of arrows. If there are more arrows, only the arrows to the nearest events are drawn.
pub const MOST_ARROWS: usize = 64;

/// Length of the straight part at each end of a curve, in CSS pixels.
const STRAIGHT: i32 = 30;

/// Length of an arrow's head, in CSS pixels.
const HEAD: i32 = 6;

/// Position of an event on the canvas.
#[derive(Clone, Copy)]
struct Place {
    /// Centre of the event's lane, or of the heading that represents a folded track.
    y: i32,
    time: Interval,
}

impl Scene<'_> {
    /// Returns the arrows to and from the selected event. The arrow to the nearest event comes first.
    pub fn arrows(&self) -> Vec<Arrow> {
        let Some(selected) = self.selected.filter(|event| event.origin == Origin::Captured) else { return Vec::new() };
        let Some(here) = self.place_on_canvas(selected) else { return Vec::new() };
        let arrow = |linked: &Linked| {
            let other = self.place_on_canvas(EventRef::captured(linked.event))?;
            if linked.follows { self.arrow(here, other) } else { self.arrow(other, here) }
        };
        self.linked.iter().take(MOST_ARROWS).filter_map(arrow).collect()
    }

    /// Draws the arrows. A margin separates each arrow from the shapes that it crosses.
    pub(crate) fn draw_arrows(&self, canvas: &mut dyn Canvas) {
        let (theme, margin) = (self.theme(), self.px(1).max(1));
        for arrow in self.arrows() {
            let width = arrow.width + 2 * margin;
            canvas.arrow(&Arrow { width, head: 0, ..arrow }, theme.surface);
            canvas.arrow(&arrow, theme.ink);
        }
    }

    /// Returns the arrow between two places. Returns `None` if both places are outside the picture on the same side.
    fn arrow(&self, from: Place, to: Place) -> Option<Arrow> {
        let (width, height) = (self.px(self.size.0 as i32), self.px(self.size.1 as i32));
        let top = self.px(AXIS_HEIGHT as i32);
        // A cast of a float saturates.
        let x = |time| (self.viewport.share_of(time) * f64::from(width)) as i32;
        let leaves = if to.time.start < from.time.end { from.time.start } else { from.time.end };
        let ends = [(x(leaves), from.y), (x(to.time.start), to.y)];
        let is_out = |side: &dyn Fn((i32, i32)) -> bool| ends.into_iter().all(side);
        if is_out(&|(x, _)| x < 0) || is_out(&|(x, _)| x > width) {
            return None;
        }
        if is_out(&|(_, y)| y < top) || is_out(&|(_, y)| y > height) {
            return None;
        }
        let [start, end] = ends;
        let straight = self.px(STRAIGHT);
        let points = [start, (start.0.saturating_add(straight), start.1), (end.0.saturating_sub(straight), end.1), end];
        let inside = |(x, y): (i32, i32)| (x.clamp(0, width), y.clamp(top, height.max(top)));
        let is_seen = inside(end) == end && end.0 >= self.px(HEAD);
        let head = if is_seen { self.px(HEAD) } else { 0 };
        Some(Arrow { points: points.map(inside), width: self.px(2).max(1), head })
    }

    fn place_on_canvas(&self, event: EventRef) -> Option<Place> {
        if let Some((row, lane, lane_height, time)) = self.place_of(event) {
            let down = lane_height.saturating_mul(lane).saturating_add(lane_height / 2);
            return Some(Place { y: self.top(&row).saturating_add(self.px(down as i32)), time });
        }
        let source = self.source(event.origin);
        let (kind, _, time) = source.event(event.id())?;
        let shows = Shows::Events(event.origin, source.trace.events.kinds().get(kind)?.line);
        let of = self.processes.iter().position(|process| process.tracks.iter().any(|track| track.shows == shows))?;
        let is_its = |row: &&Row| matches!(row.content, RowContent::Heading { process, .. } if process as usize == of);
        let heading = self.layout.rows.iter().find(is_its)?;
        Some(Place { y: self.top(heading).saturating_add(self.px(HEADING_HEIGHT as i32 / 2)), time })
    }
}
