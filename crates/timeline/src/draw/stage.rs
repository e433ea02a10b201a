//! Builds a scene from the view that the page requests, and caches data that several pictures use.

use base::Ps;
use metrics::Context;
use serde::{Deserialize, Serialize};
use trace::{EventKind, Interval, StrId, Trace};

use crate::draw::hit::Hit;
use crate::draw::layout::Layout;
use crate::draw::paint::Paint;
use crate::draw::scene::{EventRef, Scene};
use crate::events::find::Found;
use crate::events::links::Linked;
use crate::events::source::Origin;
use crate::events::timeline::{Timeline, extent};
use crate::state::arrangement::Arrangement;
use crate::state::bookmarks::Bookmarks;
use crate::state::viewport::Viewport;

/// The requested view. Sizes and positions are in CSS pixels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sight {
    /// Start and end of the range, in picoseconds from the start of the capture. `None` for everything.
    pub range_ps: Option<(i64, i64)>,
    /// Width of the area with the events.
    pub width: u32,
    /// Height of the area with the events, including the axis.
    pub height: u32,
    /// Width of the names next to the events.
    pub names_width: u32,
    /// Number of screen pixels per CSS pixel.
    pub scale: f64,
    /// Vertical scroll position.
    pub scroll: u32,
    /// True for the dark theme.
    pub dark: bool,
    /// Position of the pointer, from the upper left corner of the events.
    pub pointer: Option<(f64, f64)>,
    /// True while the user drags a range. During the drag, no event is highlighted or described.
    pub is_dragging: bool,
    /// The selected event.
    pub selected: Option<EventRef>,
    /// Filter text. Events that do not pass the filter are pale.
    pub filter: String,
    /// Arrangement of the tracks: the text of an [`Arrangement`].
    pub arrangement: String,
    /// Flags and bookmarked ranges: the text of [`Bookmarks`].
    pub bookmarks: String,
    /// Index of the selected bookmark.
    pub bookmark: Option<u32>,
    /// Start and end of the range in which the user can scroll. The range is set only if another run is shown below
    /// this run, because the range can then exceed the capture.
    pub extent_ps: Option<(i64, i64)>,
    /// True if [`Stage::changes`] determines the colours of ops.
    pub by_change: bool,
}

/// Data that is kept from one picture to the next.
#[derive(Debug, Default)]
pub struct Stage {
    /// Text of the latest arrangement, with the parsed arrangement and its layout.
    layout: Option<(String, Arrangement, Layout)>,
    /// Text of the latest bookmarks, with the parsed bookmarks.
    bookmarks: Option<(String, Bookmarks)>,
    /// Text of the latest filter, with the recorded events that pass, and true for each kind of derived event that
    /// passes.
    passing: Option<(String, Found, Vec<bool>)>,
    /// Colour of each kind of recorded event, which shows the change in comparison with another run.
    pub changes: Option<Vec<Option<Paint>>>,
    /// Selected event, with the events that are linked to it.
    linked: Option<(EventRef, Vec<Linked>)>,
}

impl Stage {
    /// Returns the scene of a run. `passes` returns true for the kinds of event that pass the filter of `sight`.
    pub fn scene<'a>(
        &'a mut self,
        timeline: &'a Timeline,
        context: Context<'a>,
        sight: &Sight,
        passes: &dyn Fn(&Trace, &EventKind) -> bool,
    ) -> Scene<'a> {
        let sources = [Origin::Captured, Origin::Derived].map(|origin| timeline.source(context, origin));
        let processes = timeline.processes(context);
        self.layout.take_if(|(known, ..)| *known != sight.arrangement);
        let (_, arrangement, layout) = self.layout.get_or_insert_with(|| {
            let arrangement = Arrangement::parse(&sight.arrangement);
            let layout = Layout::new(processes, &arrangement);
            (sight.arrangement.clone(), arrangement, layout)
        });
        self.bookmarks.take_if(|(known, _)| *known != sight.bookmarks);
        let known = || (sight.bookmarks.clone(), Bookmarks::parse(&sight.bookmarks));
        let (_, bookmarks) = self.bookmarks.get_or_insert_with(known);
        self.passing.take_if(|(known, ..)| *known != sight.filter);
        let passing = (!sight.filter.is_empty()).then(|| {
            let (_, found, derived) = self.passing.get_or_insert_with(|| {
                let of = |source: crate::Source<'_>| {
                    let kinds = source.trace.events.kinds().iter();
                    kinds.map(|kind| passes(source.trace, kind)).collect::<Vec<bool>>()
                };
                let [captured, derived] = sources;
                (sight.filter.clone(), Found::of_kinds(captured, of(captured)), of(derived))
            });
            (&*found, &*derived)
        });
        self.linked.take_if(|(event, _)| sight.selected != Some(*event));
        let linked = sight.selected.map(|event| {
            let (_, linked) = self.linked.get_or_insert_with(|| (event, timeline.linked(context, event)));
            linked.as_slice()
        });
        let own = extent(context);
        let zero = own.start;
        let range = |(start, end): (i64, i64)| Interval::new(zero + Ps::new(start), zero + Ps::new(end));
        let all = Viewport::new(sight.extent_ps.map_or(own, range));
        let scene = Scene {
            sources,
            flames: timeline.flames(context),
            processes,
            layout,
            arrangement,
            bookmarks,
            bookmark: sight.bookmark,
            viewport: sight.range_ps.map_or(all, |it| all.show(range(it))),
            zero,
            size: (sight.width, sight.height),
            scale: sight.scale.clamp(0.5, 4.0),
            scroll: sight.scroll,
            dark: sight.dark,
            named: None,
            selected: sight.selected,
            linked: linked.unwrap_or_default(),
            found: passing.map(|(found, _)| found),
            passing: [passing.map(|(found, _)| found.kinds()), passing.map(|(_, derived)| derived.as_slice())],
            changes: self.changes.as_deref().filter(|_| sight.by_change),
        };
        Scene { named: scene.pointed(sight).and_then(|event| scene.name_of(event)), ..scene }
    }
}

impl Scene<'_> {
    /// Converts a range to picoseconds from the start of the capture, as [`Sight`] requires.
    pub fn from_zero(&self, range: Interval) -> (i64, i64) {
        ((range.start - self.zero).as_ps(), (range.end - self.zero).as_ps())
    }

    /// Returns the event below the pointer.
    pub fn pointed(&self, sight: &Sight) -> Option<EventRef> {
        let (x, y) = sight.pointer.filter(|(x, _)| *x >= 0.0 && !sight.is_dragging)?;
        match self.hit(x, y)? {
            Hit::Track(_, event) => event,
            Hit::Heading(_) | Hit::Name(_) | Hit::Bookmark(_) => None,
        }
    }

    /// Returns the time to which the edge of a dragged range snaps at the pointer, in picoseconds from the start of the
    /// capture.
    pub fn snapped_ps(&self, sight: &Sight) -> Option<i64> {
        let (x, y) = sight.pointer.filter(|(x, _)| *x >= 0.0)?;
        Some((self.edge_near(x, y)? - self.zero).as_ps())
    }

    /// Returns the name of an event.
    pub fn name_of(&self, event: EventRef) -> Option<(Origin, StrId)> {
        let (_, name, _) = self.source(event.origin).event(event.id())?;
        Some((event.origin, name))
    }
}
