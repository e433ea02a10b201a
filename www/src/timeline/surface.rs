//! The visible part of the timeline, and the canvases that show it.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;

use crossprof::pages::PageQuery;
use crossprof::pages::timeline::{Action, Keep, Outcome};
use crossprof::session::Interval;
use crossprof::timeline::{EventRef, Sight, Viewport};
use leptos::prelude::{GetUntracked, RwSignal, Set, Update, WithUntracked, window};
use wasm_bindgen::JsCast;
use web_sys::{HtmlCanvasElement, HtmlElement, ImageBitmap, ImageBitmapRenderingContext};

use crate::blocks::Blocks;
use crate::protocol::timeline::{Frame, PictureForm, Seen};
use crate::protocol::wire::Document;
use crate::state::{Run, State};
use crate::{ask, browser};

/// Height of the axis above the rows, in CSS pixels.
pub(super) const AXIS_HEIGHT: f64 = crossprof::timeline::AXIS_HEIGHT as f64;

/// Minimum width of a search result in pixels. For a narrower result, the view zooms in until it shows `AROUND_FOUND`
/// times the length of the result.
const MIN_FOUND_PX: f64 = 3.0;
const AROUND_FOUND: i64 = 40;

/// Width of the track names on wide and on narrow screens, in CSS pixels.
const NAMES_WIDTH: [u32; 2] = [200, 96];

/// Signals for the parts of the page around the picture.
#[derive(Clone, Copy)]
pub struct Said {
    /// Response to the latest action.
    pub outcome: RwSignal<Option<Outcome>>,
    /// Blocks of the latest response.
    pub blocks: Blocks,
    /// Description of the latest picture.
    pub seen: RwSignal<Seen>,
    /// Visible range in picoseconds. After a change, the picture shows the earlier range until a new picture arrives.
    pub range_ps: RwSignal<(i64, i64)>,
    /// Selected range.
    pub area: RwSignal<Option<Area>>,
    /// Error of the latest request, if it failed.
    pub failed: RwSignal<Option<String>>,
}

/// Callback that receives the range of a step, in picoseconds from the start of the capture. The callback receives
/// `None` if there is no such step.
type HeardRange = Box<dyn FnOnce(Option<(i64, i64)>)>;

/// A selected range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Start and end of the range, in picoseconds from the start of the capture.
    pub range_ps: (i64, i64),
    /// Top and bottom of the range in CSS pixels, measured from the first row. `None` if the range covers all rows.
    pub rows: Option<(u32, u32)>,
}

/// A range that the user is dragging.
#[derive(Clone, Copy)]
pub struct Dragged {
    /// Time at which the drag began, in picoseconds.
    pub from_ps: i64,
    /// Vertical position at which the drag began, in CSS pixels.
    pub from_y: f64,
    /// Position of the pointer.
    pub at: (f64, f64),
    /// True if the range does not snap to the edges of events.
    pub is_free: bool,
}

/// The timeline of a run. Shared by reference.
pub struct Surface {
    state: State,
    run: Run,
    /// Signals for the page.
    pub said: Said,
    sight: RefCell<Sight>,
    viewport: Cell<Option<Viewport>>,
    is_waiting: Cell<bool>,
    dragged: Cell<Option<Dragged>>,
    is_dropped: Cell<bool>,
    is_stale: Cell<bool>,
    /// Top and height of the lane that an action brings into view, until the user scrolls.
    wanted: Cell<Option<(u32, u32)>>,
    /// Scroll position that shows the lane `wanted`.
    scrolled_to: Cell<i32>,
    /// Timeline of another run that moves with this timeline, and the time offset between the two in picoseconds.
    tied: RefCell<Option<(Weak<Surface>, i64)>>,
    /// Start and end of the capture, once known.
    extent: Cell<Option<(i64, i64)>>,
    elements: RefCell<Option<Elements>>,
}

#[derive(Clone)]
struct Elements {
    scroll: HtmlElement,
    space: HtmlElement,
    names: HtmlCanvasElement,
    events: HtmlCanvasElement,
}

impl Surface {
    /// Creates the timeline of a run. `sight` determines what the timeline shows at first.
    pub fn new(state: State, run: Run, sight: Sight) -> Rc<Surface> {
        let said = Said {
            outcome: RwSignal::new(None),
            blocks: RwSignal::new(Vec::new()),
            seen: RwSignal::new(Seen::default()),
            range_ps: RwSignal::new(sight.range_ps.unwrap_or_default()),
            area: RwSignal::new(None),
            failed: RwSignal::new(None),
        };
        Rc::new(Surface {
            state,
            run,
            said,
            sight: RefCell::new(sight),
            viewport: Cell::new(None),
            is_waiting: Cell::new(false),
            dragged: Cell::new(None),
            is_dropped: Cell::new(false),
            is_stale: Cell::new(false),
            wanted: Cell::new(None),
            scrolled_to: Cell::new(0),
            tied: RefCell::new(None),
            extent: Cell::new(None),
            elements: RefCell::new(None),
        })
    }

    /// Attaches the timeline to the elements on which it is drawn, which are children of `scroll`.
    pub fn attach(self: &Rc<Surface>, scroll: HtmlElement) {
        let find = |selector: &str| scroll.query_selector(selector).ok().flatten();
        let canvas = |selector: &str| find(selector).map(JsCast::unchecked_into::<HtmlCanvasElement>);
        let (Some(space), Some(names), Some(events)) =
            (find(".timeline-space"), canvas(".timeline-names"), canvas(".timeline-events"))
        else {
            return;
        };
        let space = space.unchecked_into();
        *self.elements.borrow_mut() = Some(Elements { scroll, space, names, events });
        self.measure();
    }

    /// Detaches the timeline when the user leaves the view.
    pub fn detach(&self) {
        self.elements.borrow_mut().take();
    }

    /// Updates the picture after a change of size, scale or theme.
    pub fn measure(self: &Rc<Surface>) {
        let Some(elements) = self.elements.borrow().clone() else { return };
        let size = |css: i32| u32::try_from(css).unwrap_or(0);
        {
            let mut sight = self.sight.borrow_mut();
            let width = size(elements.scroll.client_width());
            let [wide, narrow] = NAMES_WIDTH;
            sight.names_width = if width < 600 { narrow } else { wide };
            sight.width = width.saturating_sub(sight.names_width).max(1);
            sight.height = size(elements.scroll.client_height()).max(1);
            sight.scale = window().device_pixel_ratio();
            sight.dark = self.state.dark.get_untracked();
        }
        self.reveal();
        self.refresh();
    }

    /// Returns the width of the area with the events, in CSS pixels.
    pub fn width(&self) -> f64 {
        f64::from(self.sight.borrow().width)
    }

    /// Returns the width of the area with the track names, in CSS pixels.
    pub fn names_width(&self) -> f64 {
        f64::from(self.sight.borrow().names_width)
    }

    /// Returns the visible range, once known.
    pub fn viewport(&self) -> Option<Viewport> {
        self.viewport.get()
    }

    /// Shows another range, and moves the other run, if two runs move together.
    pub fn show(self: &Rc<Surface>, viewport: Viewport) {
        self.show_here(viewport);
        if let Some((other, by_ps)) = &*self.tied.borrow()
            && let Some(other) = other.upgrade()
        {
            let moved = |it: Interval| {
                Interval::new(it.start + crossprof::Ps::new(*by_ps), it.end + crossprof::Ps::new(*by_ps))
            };
            other.show_here(Viewport { all: moved(viewport.all), range: moved(viewport.range) });
        }
    }

    /// Makes another run move with this run. Each time in this run then matches the time in the other run that is
    /// `by_ps` later. `all_ps` is the range that covers both runs.
    pub fn tie(self: &Rc<Surface>, other: &Rc<Surface>, by_ps: i64, all_ps: (i64, i64)) {
        *self.tied.borrow_mut() = Some((Rc::downgrade(other), by_ps));
        self.sight.borrow_mut().extent_ps = Some(all_ps);
    }

    /// Makes this timeline move independently of the other run again.
    pub fn alone(self: &Rc<Surface>) {
        self.tied.borrow_mut().take();
        self.update(|sight| (sight.extent_ps, sight.by_change) = (None, false));
        if let Some((extent, viewport)) = self.extent.get().zip(self.viewport.get()) {
            self.show(Viewport::new(interval(extent)).show(viewport.range));
        }
    }

    /// Returns the range that is visible, or will be visible after pending changes. Returns `None` for the whole
    /// capture.
    pub fn range(&self) -> Option<Interval> {
        let seen = self.viewport.get().map(|viewport| viewport.range);
        seen.or_else(|| self.sight.borrow().range_ps.map(interval))
    }

    /// Returns the start and the end of the capture, once known.
    pub fn extent(&self) -> Option<(i64, i64)> {
        self.extent.get()
    }

    /// Returns the start of the selected event, in picoseconds.
    pub fn selected_start(&self) -> Option<i64> {
        self.said.outcome.with_untracked(|outcome| Some(outcome.as_ref()?.range_ps?.0))
    }

    /// Requests the time range of a step. If `step` is `None`, requests the step with the median duration. The callback
    /// receives `None` if there is no such step.
    pub fn when_is(self: &Rc<Surface>, step: Option<u32>, heard: HeardRange) {
        let surface = self.clone();
        let heard = move |outcome: Result<Outcome, String>| {
            if let Ok(outcome) = outcome {
                surface.extent.set(outcome.extent_ps);
                heard(outcome.range_ps);
            }
        };
        ask::timeline(
            &self.run,
            self.sight.borrow().clone(),
            Action::WhenIs { step },
            PageQuery::default(),
            Box::new(heard),
        );
    }

    fn show_here(self: &Rc<Surface>, viewport: Viewport) {
        if self.viewport.get() != Some(viewport) {
            self.viewport.set(Some(viewport));
            let range_ps = (viewport.range.start.as_ps(), viewport.range.end.as_ps());
            self.sight.borrow_mut().range_ps = Some(range_ps);
            self.said.range_ps.set(range_ps);
            self.refresh();
        }
    }

    /// Changes the visible range.
    pub fn change(self: &Rc<Surface>, change: impl FnOnce(Viewport) -> Viewport) {
        if let Some(viewport) = self.viewport.get() {
            self.show(change(viewport));
        }
    }

    /// Changes everything except the visible range.
    pub fn update(self: &Rc<Surface>, change: impl FnOnce(&mut Sight)) {
        change(&mut self.sight.borrow_mut());
        self.refresh();
    }

    /// Returns the selected event.
    pub fn selected(&self) -> Option<EventRef> {
        self.sight.borrow().selected
    }

    /// Returns true if an event, a range or a flag is selected.
    pub fn has_selection(&self) -> bool {
        let sight = self.sight.borrow();
        sight.selected.is_some() || sight.bookmark.is_some() || self.said.area.with_untracked(Option::is_some)
    }

    /// Called after the user scrolls the rows.
    pub fn scrolled(self: &Rc<Surface>) {
        let Some(elements) = self.elements.borrow().clone() else { return };
        if elements.scroll.scroll_top() != self.scrolled_to.get() {
            self.wanted.set(None);
        }
        self.update(|sight| sight.scroll = u32::try_from(elements.scroll.scroll_top()).unwrap_or(0));
    }

    /// Scrolls the rows down by this many pixels.
    pub fn scroll_by(&self, pixels: f64) {
        if let Some(elements) = &*self.elements.borrow() {
            elements.scroll.scroll_by_with_x_and_y(0.0, pixels);
        }
    }

    /// Requests a picture of the current state. Until that picture arrives, the last picture is moved and scaled.
    pub fn refresh(self: &Rc<Surface>) {
        self.move_picture();
        if self.elements.borrow().is_none() || self.is_waiting.replace(true) {
            self.is_stale.set(true);
            return;
        }
        self.is_stale.set(false);
        let surface = self.clone();
        let heard = move |frame: Result<Frame, String>| {
            surface.is_waiting.set(false);
            if surface.elements.borrow().is_none() {
                return;
            }
            match frame {
                Ok(frame) => surface.shown(frame),
                Err(reason) => surface.said.failed.set(Some(reason)),
            }
            if surface.is_stale.get() {
                surface.refresh();
            }
            if surface.dragged.get().is_some() {
                surface.snap();
            }
        };
        ask::frame(&self.run, self.sight.borrow().clone(), Box::new(heard));
    }

    fn shown(self: &Rc<Surface>, Frame { names, events, seen }: Frame) {
        let Some(elements) = self.elements.borrow().clone() else { return };
        put(&elements.names, &names, self.names_width());
        put(&elements.events, &events, self.width());
        if self.viewport.get().is_none() {
            self.viewport.set(Some(Viewport::new(interval(seen.all_ps)).show(interval(seen.range_ps))));
            self.said.range_ps.set(seen.range_ps);
        }
        // Fails only for a malformed value.
        let _ = elements.space.style().set_property("height", &format!("{}px", f64::from(seen.height) + AXIS_HEIGHT));
        self.reveal();
        if self.said.seen.with_untracked(|known| *known != seen) {
            self.said.seen.set(seen);
        }
        self.move_picture();
    }

    /// Returns the time for the edge of a range at the position `x` of the picture. Unless `is_free` is true, snaps to
    /// the start or end of an event in the lane.
    pub fn edge_at(&self, x: f64, is_free: bool) -> i64 {
        let Some(viewport) = self.viewport.get() else { return 0 };
        let width = self.width();
        let near = |edge: &i64| {
            !is_free && (viewport.share_of(crossprof::Ps::new(*edge)) * width - x).abs() <= crossprof::timeline::SNAP
        };
        let edge = self.said.seen.with_untracked(|seen| seen.edge_ps).filter(near);
        edge.unwrap_or_else(|| viewport.time_at(x / width).as_ps())
    }

    /// Updates the range that the user is dragging.
    pub fn drag(self: &Rc<Surface>, dragged: Dragged) {
        self.dragged.set(Some(dragged));
        self.snap();
        self.update(|sight| (sight.pointer, sight.is_dragging) = (Some(dragged.at), true));
    }

    /// Ends the drag. Requests the statistics of the range when the final edges of the range are known.
    pub fn let_go(self: &Rc<Surface>) {
        self.is_dropped.set(self.dragged.get().is_some());
        self.snap();
    }

    /// Selects the dragged range.
    fn snap(self: &Rc<Surface>) {
        if let Some(Dragged { from_ps, from_y, at: (x, y), is_free }) = self.dragged.get() {
            let to = self.edge_at(x, is_free);
            let rows = self.row_at(from_y).zip(self.row_at(y)).map(|(a, b)| (a.min(b), a.max(b)));
            self.said.area.set(Some(Area { range_ps: (from_ps.min(to), from_ps.max(to)), rows }));
        }
        if !self.is_waiting.get() && self.is_dropped.replace(false) {
            self.dragged.set(None);
            self.sight.borrow_mut().is_dragging = false;
            // Sent before the request for the next picture, because the picture is less urgent.
            self.measure_area();
            self.refresh();
        }
    }

    /// Moves and scales the last picture, so that it matches the current range.
    fn move_picture(&self) {
        let (Some(elements), Some(viewport)) = (&*self.elements.borrow(), self.viewport.get()) else { return };
        let (start, end) = self.said.seen.with_untracked(|seen| seen.range_ps);
        let share = |ps: i64| viewport.share_of(crossprof::Ps::new(ps));
        let (from, to) = (share(start), share(end));
        let is_same = from == 0.0 && to == 1.0;
        let transform = if is_same {
            String::new()
        } else {
            format!("translateX({}px) scaleX({})", from * self.width(), to - from)
        };
        // Fails only for a malformed value.
        let _ = elements.events.style().set_property("transform", &transform);
    }

    /// Requests an action from the worker, and applies its outcome.
    pub fn act(self: &Rc<Surface>, action: Action) {
        let (surface, done) = (self.clone(), action.clone());
        let heard = move |outcome: Result<Outcome, String>| {
            if surface.elements.borrow().is_none() {
                return;
            }
            match outcome {
                Ok(outcome) => surface.done(done, outcome),
                Err(reason) => surface.said.failed.set(Some(reason)),
            }
        };
        let query = self.state.route.with_untracked(|route| route.query.clone());
        ask::timeline(&self.run, self.sight.borrow().clone(), action, query, Box::new(heard));
    }

    fn done(self: &Rc<Surface>, action: Action, mut outcome: Outcome) {
        if let Some(arrangement) = outcome.arrangement.take() {
            self.wanted.set(None);
            self.update(|sight| sight.arrangement = arrangement);
            // The selection does not change.
            self.said.outcome.update(|known| known.get_or_insert_default().kept = outcome.kept);
            return;
        }
        if let Action::Area { range_ps, rows, .. } = action
            && self.said.area.get_untracked() != Some(Area { range_ps, rows })
        {
            // The user has selected something else in the meantime.
            return;
        }
        let (is_area, is_kept) = (matches!(action, Action::Area { .. }), matches!(action, Action::Keep(_)));
        if let Some(bookmarks) = outcome.bookmarks.take() {
            self.update(|sight| sight.bookmarks = bookmarks);
        }
        let bookmark = outcome.bookmark.as_ref().map(|(bookmark, _)| *bookmark);
        if is_kept && bookmark.is_none() && self.sight.borrow().bookmark.is_none() {
            // If there is no flag or range to go to, the selection does not change.
            return;
        }
        if outcome.event.is_some() || bookmark.is_some() || is_area || is_kept || matches!(action, Action::Pick { .. })
        {
            self.update(|sight| (sight.selected, sight.bookmark) = (outcome.event, bookmark));
        }
        if bookmark.is_some() || is_kept {
            let range = outcome.range_ps.filter(|(start, end)| start < end);
            self.said.area.set(range.map(|range_ps| Area { range_ps, rows: outcome.rows }));
        }
        if let Some((start, end)) = outcome.range_ps {
            if action.leads_to_range() {
                self.bring_into_sight(start, end, Some(false).filter(|_| start == end));
            } else if let Some((top, height)) = outcome.place.filter(|_| !matches!(action, Action::Pick { .. })) {
                self.bring_into_sight(start, end, Some(matches!(action, Action::Find { .. })));
                self.wanted.set(Some((top, height)));
                self.reveal();
            }
        }
        if let Action::Area { range_ps, rows, .. } = action
            && outcome.has_more_rows
        {
            self.act(Action::Area { range_ps, rows, first_look: false });
        }
        let blocks = std::mem::take(&mut outcome.page.blocks);
        self.said.blocks.set(blocks.into_iter().map(Arc::new).collect());
        self.said.outcome.set(Some(outcome));
    }

    /// Brings the range that an action names into view. `is_found` is true for a search result. The view zooms in if
    /// the result is too narrow to see. If `is_found` is `None`, fits the view to the range.
    fn bring_into_sight(self: &Rc<Surface>, start: i64, end: i64, is_found: Option<bool>) {
        let width = self.width();
        let time = interval((start, end));
        self.change(|viewport| {
            let is_seen = time.start >= viewport.range.start && time.end <= viewport.range.end;
            let (seen, length) = (viewport.range.length().as_ps(), time.length().as_ps());
            let is_small = is_found == Some(true) && length as f64 * width < MIN_FOUND_PX * seen as f64;
            let half =
                crossprof::Ps::new(if is_small { length.saturating_mul(AROUND_FOUND).max(1_000) } else { seen } / 2);
            let middle = crossprof::Ps::new(time.start.as_ps() / 2 + time.end.as_ps() / 2);
            match is_seen {
                _ if is_found.is_none() => viewport.fit(time),
                true if !is_small => viewport,
                false if length > seen => viewport.fit(time),
                _ => viewport.show(Interval::new(middle - half, middle + half)),
            }
        });
    }

    /// Scrolls the rows to the lane `wanted` if that lane is not visible. The function is also called when rows appear,
    /// and when the details of an event leave less space for the rows.
    fn reveal(&self) {
        if let (Some((top, height)), Some(elements)) = (self.wanted.get(), &*self.elements.borrow()) {
            let (top, height) = (f64::from(top), f64::from(height));
            let seen =
                (f64::from(elements.scroll.scroll_top()), f64::from(elements.scroll.client_height()) - AXIS_HEIGHT);
            if top < seen.0 || top + height > seen.0 + seen.1 {
                elements.scroll.set_scroll_top((top - seen.1 / 2.0).max(0.0) as i32);
                self.scrolled_to.set(elements.scroll.scroll_top());
            }
        }
    }

    /// Requests the statistics of the selected range.
    pub fn measure_area(self: &Rc<Surface>) {
        if let Some(Area { range_ps, rows }) = self.said.area.get_untracked() {
            self.act(Action::Area { range_ps, rows, first_look: true });
        }
    }

    /// Bookmarks the selected range.
    pub fn keep_area(self: &Rc<Surface>) {
        if let Some(Area { range_ps, rows }) = self.said.area.get_untracked() {
            self.act(Action::Keep(Keep::Range { range_ps, rows }));
        }
    }

    /// Converts the vertical position `y` in the picture to a position that is measured from the first row. Returns
    /// `None` on the axis.
    pub fn row_at(&self, y: f64) -> Option<u32> {
        (y >= AXIS_HEIGHT).then(|| (y - AXIS_HEIGHT) as u32 + self.sight.borrow().scroll)
    }

    /// Requests a document of the visible part, with this title. If a range is selected, a trace covers that range
    /// instead.
    pub fn picture(&self, title: String, form: PictureForm, take: Box<dyn FnOnce(Document)>) {
        let (state, mut sight) = (self.state, self.sight.borrow().clone());
        if let Some(area) = self.said.area.get_untracked().filter(|_| form == PictureForm::Trace) {
            sight.range_ps = Some(area.range_ps);
        }
        let heard = move |picture: Result<Document, String>| match picture {
            Ok(picture) => take(picture),
            Err(reason) => state.say(reason),
        };
        ask::picture(&self.run, sight, title, form, Box::new(heard));
    }

    /// Returns two texts for the URL: flags and bookmarked ranges, and the arrangement of tracks. If a text is empty,
    /// returns `None` instead.
    pub fn kept(&self) -> [Option<String>; 2] {
        let sight = self.sight.borrow();
        [&sight.bookmarks, &sight.arrangement].map(|text| Some(text.clone()).filter(|text| !text.is_empty()))
    }

    /// Zooms to the selected range, or to the selected event.
    pub fn focus(self: &Rc<Surface>) {
        let area = self.said.area.get_untracked().map(|area| area.range_ps);
        let event = self.said.outcome.with_untracked(|outcome| outcome.as_ref().and_then(|outcome| outcome.range_ps));
        let Some(range) = area.or(event) else { return };
        self.change(|viewport| viewport.fit(interval(range)));
    }

    /// Clears the selection.
    pub fn clear(self: &Rc<Surface>) {
        self.said.outcome.update(|known| {
            let kept = known.take().unwrap_or_default().kept;
            *known = Some(Outcome { kept, ..Outcome::default() });
        });
        self.said.blocks.set(Vec::new());
        self.said.area.set(None);
        self.update(|sight| (sight.selected, sight.bookmark) = (None, None));
        browser::focus(".timeline-scroll");
    }
}

/// Converts a range in picoseconds to an [`Interval`].
pub fn interval((start, end): (i64, i64)) -> Interval {
    Interval::new(crossprof::Ps::new(start), crossprof::Ps::new(end))
}

/// Shows a bitmap on a canvas, and gives the canvas the size of the bitmap.
pub fn put(canvas: &HtmlCanvasElement, bitmap: &ImageBitmap, width_css: f64) {
    if canvas.width() != bitmap.width() || canvas.height() != bitmap.height() {
        canvas.set_width(bitmap.width());
        canvas.set_height(bitmap.height());
        // Fails only for a malformed value.
        let _ = canvas.style().set_property("width", &format!("{width_css}px"));
    }
    let context = canvas.get_context("bitmaprenderer").ok().flatten();
    if let Some(context) = context.and_then(|context| context.dyn_into::<ImageBitmapRenderingContext>().ok()) {
        context.transfer_from_image_bitmap(bitmap);
    }
}
