//! The content of a picture, which consists of the events, their positions and the zoom.

use base::Ps;
use serde::{Deserialize, Serialize};
use trace::{EventId, Interval, StrId};

use crate::draw::layout::{Layout, Row, RowContent};
use crate::draw::paint::{Paint, Rgb};
use crate::events::coverage::Columns;
use crate::events::find::Found;
use crate::events::lane::Lane;
use crate::events::links::Linked;
use crate::events::scopes::Scopes;
use crate::events::source::{Origin, Source};
use crate::events::tracks::{Process, Shows, TrackId};
use crate::state::arrangement::Arrangement;
use crate::state::bookmarks::Bookmarks;
use crate::state::viewport::Viewport;

/// Height of the time axis above the rows, in CSS pixels.
pub const AXIS_HEIGHT: u32 = 24;

/// Reference to an event by its origin and index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventRef {
    /// Origin of the trace that contains the event.
    pub origin: Origin,
    /// Index of the event in its trace.
    pub index: u32,
}

impl EventRef {
    /// Returns the id of the event in its trace.
    pub fn id(self) -> EventId {
        EventId::new(self.index)
    }

    /// Refers to a recorded event.
    pub fn captured(id: EventId) -> EventRef {
        EventRef { origin: Origin::Captured, index: id.get() }
    }

    /// Returns the key that identifies the event in URLs. The key is `c` for a recorded event or `d` for a derived
    /// event, followed by the event's index.
    pub fn key(self) -> String {
        format!("{}{}", if self.origin == Origin::Captured { 'c' } else { 'd' }, self.index)
    }

    /// Parses the key of an event.
    pub fn from_key(key: &str) -> Option<EventRef> {
        let (origin, index) = key.split_at_checked(1)?;
        let origin = if origin == "c" { Origin::Captured } else { Origin::Derived };
        Some(EventRef { origin, index: index.parse().ok()? })
    }
}

/// Content of a picture.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// Events, by [`Origin`].
    pub sources: [Source<'a>; 2],
    /// Name scopes and source lines of the recorded ops, in the order of [`Flame::ALL`](crate::Flame::ALL).
    pub flames: &'a [Scopes; 2],
    /// Processes with their tracks.
    pub processes: &'a [Process],
    /// Rows of the tracks.
    pub layout: &'a Layout,
    /// Arrangement of the tracks on which the positions of the rows are based.
    pub arrangement: &'a Arrangement,
    /// The user's bookmarks.
    pub bookmarks: &'a Bookmarks,
    /// Index of the selected bookmark.
    pub bookmark: Option<u32>,
    /// Visible range of time.
    pub viewport: Viewport,
    /// Time at which the axis shows 0.
    pub zero: Ps,
    /// Size in CSS pixels.
    pub size: (u32, u32),
    /// Number of canvas pixels per CSS pixel.
    pub scale: f64,
    /// Vertical scroll position, in CSS pixels.
    pub scroll: u32,
    /// True for the dark theme.
    pub dark: bool,
    /// Name of the events that are highlighted on every track.
    pub named: Option<(Origin, StrId)>,
    /// Selected event, which is drawn with a frame.
    pub selected: Option<EventRef>,
    /// Events that are linked to the selected event. The nearest event comes first.
    pub linked: &'a [Linked],
    /// Recorded events that pass the filter, if there is a filter.
    pub found: Option<&'a Found>,
    /// For each origin and each kind of event, true if the kind passes the filter. Events of other kinds are pale.
    /// `None` if all kinds pass.
    pub passing: [Option<&'a [bool]>; 2],
    /// Colour of each kind of recorded event, which shows the change in comparison with another run. Kinds with `None`
    /// keep their usual colour.
    pub changes: Option<&'a [Option<Paint>]>,
}

/// Colours of everything in the picture other than events.
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
    /// Returns the events of an origin.
    pub fn source(&self, origin: Origin) -> Source<'a> {
        let [captured, derived] = self.sources;
        if origin == Origin::Captured { captured } else { derived }
    }

    /// Returns the colour of a kind of event.
    pub(crate) fn paint(&self, origin: Origin, kind: usize) -> Paint {
        let changes = self.changes.filter(|_| origin == Origin::Captured);
        let changed = changes.and_then(|changes| changes.get(kind).copied().flatten());
        changed.unwrap_or_else(|| self.source(origin).paint(kind))
    }

    /// Returns the background colour.
    pub fn background(&self) -> Rgb {
        self.theme().surface
    }

    /// Returns the text colour.
    pub fn ink(&self) -> Rgb {
        self.theme().ink
    }

    pub(crate) fn theme(&self) -> &'static Theme {
        if self.dark { &DARK } else { &LIGHT }
    }

    /// Converts CSS pixels to canvas pixels.
    pub(crate) fn px(&self, css: i32) -> i32 {
        (f64::from(css) * self.scale) as i32
    }

    /// Returns the upper edge of a row on the canvas.
    pub(crate) fn top(&self, row: &Row) -> i32 {
        self.px(i32::try_from(i64::from(row.top) - i64::from(self.scroll) + i64::from(AXIS_HEIGHT)).unwrap_or(i32::MAX))
    }

    /// Returns the visible rows.
    pub fn rows(&self) -> &'a [Row] {
        self.layout.visible(self.scroll..self.scroll.saturating_add(self.size.1))
    }

    /// Returns the row and lane of an event, the height of the lanes in that row, and the event's interval. Returns
    /// `None` if the event's track is not shown.
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

    /// Returns the track of an event, even if the track is not visible.
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

    /// Returns the left and the right edge of a range of columns, in canvas pixels. A column is wider than a pixel if a
    /// pixel is shorter than a picosecond.
    pub(crate) fn column_edges(&self, columns: &Columns, first: usize, end: usize) -> (i32, i32) {
        let width = self.px(self.size.0 as i32);
        if columns.len() as i64 >= i64::from(width) {
            return (first as i32, end as i32);
        }
        let x = |column: usize| (column as i64 * i64::from(width) / columns.len().max(1) as i64) as i32;
        (x(first), x(end))
    }
}
