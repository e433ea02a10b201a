//! What a picture shows: which events, where and at which zoom.

use base::Ps;
use serde::{Deserialize, Serialize};
use trace::{EventId, Interval, StrId};

use crate::arrangement::Arrangement;
use crate::bookmarks::Bookmarks;
use crate::coverage::Columns;
use crate::find::Found;
use crate::lane::Lane;
use crate::layout::{Layout, Row, RowContent};
use crate::links::Linked;
use crate::paint::{Paint, Rgb};
use crate::scopes::Scopes;
use crate::source::{Origin, Source};
use crate::tracks::{Process, Shows, TrackId};
use crate::viewport::Viewport;

/// Height of the axis of time above the rows, in CSS pixels.
pub const AXIS_HEIGHT: u32 = 24;

/// An event of one origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventRef {
    /// Origin of the trace that the event is of.
    pub origin: Origin,
    /// Index of the event in its trace.
    pub index: u32,
}

impl EventRef {
    /// Id of the event in its trace.
    pub fn id(self) -> EventId {
        EventId::new(self.index)
    }

    /// A recorded event.
    pub fn captured(id: EventId) -> EventRef {
        EventRef { origin: Origin::Captured, index: id.get() }
    }

    /// The event as addresses name it: `c` or `d`, recorded or derived, and its index.
    pub fn key(self) -> String {
        format!("{}{}", if self.origin == Origin::Captured { 'c' } else { 'd' }, self.index)
    }

    /// The event of that name.
    pub fn from_key(key: &str) -> Option<EventRef> {
        let (origin, index) = key.split_at_checked(1)?;
        let origin = if origin == "c" { Origin::Captured } else { Origin::Derived };
        Some(EventRef { origin, index: index.parse().ok()? })
    }
}

/// What a picture shows.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The events, by [`Origin`].
    pub sources: [Source<'a>; 2],
    /// The name scopes and the source lines of the recorded ops, in the order of [`Flame::ALL`](crate::Flame::ALL).
    pub flames: &'a [Scopes; 2],
    /// The tracks.
    pub processes: &'a [Process],
    /// Rows of the tracks.
    pub layout: &'a Layout,
    /// What the rows were made of.
    pub arrangement: &'a Arrangement,
    /// What the user keeps.
    pub bookmarks: &'a Bookmarks,
    /// The selected one of the bookmarks.
    pub bookmark: Option<u32>,
    /// The time in sight.
    pub viewport: Viewport,
    /// The time that the axis calls 0.
    pub zero: Ps,
    /// Size in CSS pixels.
    pub size: (u32, u32),
    /// Pixels of the canvas in a CSS pixel.
    pub scale: f64,
    /// How far the rows are scrolled up.
    pub scroll: u32,
    /// The dark theme.
    pub dark: bool,
    /// Events of this name are marked, on every track.
    pub named: Option<(Origin, StrId)>,
    /// The event that is outlined, since it is selected.
    pub selected: Option<EventRef>,
    /// The events that the selected one is linked with, the nearest first.
    pub linked: &'a [Linked],
    /// The recorded events that pass the filter, where there is one.
    pub found: Option<&'a Found>,
    /// Whether each kind of event passes the filter, by origin: what does not is pale. Without an entry everything
    /// passes.
    pub passing: [Option<&'a [bool]>; 2],
    /// The colour of each kind of recorded event for what became of it in another run; without one its own.
    pub changes: Option<&'a [Option<Paint>]>,
}

/// Colours of what is no event.
pub(crate) struct Theme {
    pub surface: Rgb,
    pub band: Rgb,
    pub line: Rgb,
    pub ink: Rgb,
    pub soft: Rgb,
    pub accent: Rgb,
}

const LIGHT: Theme = Theme {
    surface: Rgb::hex(0xff_ffff),
    band: Rgb::hex(0xee_f0f3),
    line: Rgb::hex(0xdd_e1e7),
    ink: Rgb::hex(0x17_1b21),
    soft: Rgb::hex(0x4d_5663),
    accent: Rgb::hex(0x0a_5cb8),
};

const DARK: Theme = Theme {
    surface: Rgb::hex(0x19_1d24),
    band: Rgb::hex(0x22_2731),
    line: Rgb::hex(0x2b_313b),
    ink: Rgb::hex(0xe8_eaee),
    soft: Rgb::hex(0xb0_b8c3),
    accent: Rgb::hex(0x7a_b8ff),
};

impl<'a> Scene<'a> {
    /// The events of an origin.
    pub fn source(&self, origin: Origin) -> Source<'a> {
        let [captured, derived] = self.sources;
        if origin == Origin::Captured { captured } else { derived }
    }

    /// The colour of a kind of event.
    pub(crate) fn paint(&self, origin: Origin, kind: usize) -> Paint {
        let changes = self.changes.filter(|_| origin == Origin::Captured);
        let changed = changes.and_then(|changes| changes.get(kind).copied().flatten());
        changed.unwrap_or_else(|| self.source(origin).paint(kind))
    }

    /// The colour behind everything.
    pub fn background(&self) -> Rgb {
        self.theme().surface
    }

    /// The colour of text.
    pub fn ink(&self) -> Rgb {
        self.theme().ink
    }

    pub(crate) fn theme(&self) -> &'static Theme {
        if self.dark { &DARK } else { &LIGHT }
    }

    /// Pixels of the canvas.
    pub(crate) fn px(&self, css: i32) -> i32 {
        (f64::from(css) * self.scale) as i32
    }

    /// Where a row begins on the canvas.
    pub(crate) fn top(&self, row: &Row) -> i32 {
        self.px(i32::try_from(i64::from(row.top) - i64::from(self.scroll) + i64::from(AXIS_HEIGHT)).unwrap_or(i32::MAX))
    }

    /// The rows in sight.
    pub fn rows(&self) -> &'a [Row] {
        self.layout.visible(self.scroll..self.scroll.saturating_add(self.size.1))
    }

    /// The row and lane of an event, the height of its lanes, and when it is; none where its track is not shown.
    pub fn place_of(&self, event: EventRef) -> Option<(Row, u32, u32, Interval)> {
        let source = self.source(event.origin);
        let (kind, _, time) = source.event(event.id())?;
        let line = source.trace.events.kinds().get(kind)?.line;
        let track = self.track_of(event)?;
        let shown = |row: &&Row| matches!(row.content, RowContent::Track { id, .. } if id == track);
        let row = self.layout.rows.iter().find(shown)?;
        let RowContent::Track { lane_height, .. } = row.content else { return None };
        let holds = |lane: &Lane| lane.place_of(source.trace, event.id(), time.start).is_some();
        let lane = source.lanes(line).iter().position(holds)?;
        Some((*row, u32::try_from(lane).ok()?, lane_height, time))
    }

    /// The track that shows an event, in sight or not.
    pub fn track_of(&self, event: EventRef) -> Option<TrackId> {
        let source = self.source(event.origin);
        let (kind, _, _) = source.event(event.id())?;
        let shows = Shows::Events(event.origin, source.trace.events.kinds().get(kind)?.line);
        let of = |(process, of): (u32, &Process)| {
            let track = of.tracks.iter().position(|track| track.shows == shows)?;
            Some(TrackId { process, track: u32::try_from(track).ok()? })
        };
        (0..).zip(self.processes).find_map(of)
    }

    /// Where columns begin and end on the canvas: there are fewer than pixels where a pixel is less than a picosecond.
    pub(crate) fn column_edges(&self, columns: &Columns, first: usize, end: usize) -> (i32, i32) {
        let width = self.px(self.size.0 as i32);
        if columns.len() as i64 >= i64::from(width) {
            return (first as i32, end as i32);
        }
        let x = |column: usize| (column as i64 * i64::from(width) / columns.len().max(1) as i64) as i32;
        (x(first), x(end))
    }
}
