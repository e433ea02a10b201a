//! What is in sight, and the canvases that show it.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;

use crossprof::pages::PageQuery;
use crossprof::pages::timeline::{Action, Keep, Outcome};
use crossprof::timeline::{EventRef, Sight, Viewport};
use crossprof::trace::Interval;
use leptos::prelude::{GetUntracked, RwSignal, Set, Update, WithUntracked, window};
use wasm_bindgen::JsCast;
use web_sys::{HtmlCanvasElement, HtmlElement, ImageBitmap, ImageBitmapRenderingContext};

use crate::blocks::Blocks;
use crate::protocol::timeline::{Frame, PictureForm, Seen};
use crate::protocol::wire::Document;
use crate::state::{Run, State};
use crate::{ask, browser};

/// Height of the axis above the rows.
pub const AXIS_HEIGHT: f64 = crossprof::timeline::AXIS_HEIGHT as f64;

/// An event that was searched for and is narrower is shown with this many times its length around it.
const MIN_FOUND_PX: f64 = 3.0;
const AROUND_FOUND: i64 = 40;

/// Width of the tracks' names, on wide and on narrow screens.
const NAMES_WIDTH: [u32; 2] = [200, 96];

/// What the page shows beside the picture, as signals.
#[derive(Clone, Copy)]
pub struct Said {
    /// The latest answer to something that was done.
    pub outcome: RwSignal<Option<Outcome>>,
    /// What the answer says in blocks.
    pub blocks: Blocks,
    /// What the latest picture shows.
    pub seen: RwSignal<Seen>,
    /// The range in sight: ahead of the picture while one is drawn.
    pub range_ps: RwSignal<(i64, i64)>,
    /// The selected range.
    pub area: RwSignal<Option<Area>>,
    /// Why there is no picture.
    pub failed: RwSignal<Option<String>>,
}

/// Hears a range in picoseconds from the start of the capture, if there is one.
type HeardRange = Box<dyn FnOnce(Option<(i64, i64)>)>;

/// A selected range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Start and end of the range in picoseconds from the start of the capture.
    pub range_ps: (i64, i64),
    /// From which height among the rows to which; all where absent.
    pub rows: Option<(u32, u32)>,
}

/// A range that is being dragged.
#[derive(Clone, Copy)]
pub struct Dragged {
    /// Where the range was begun.
    pub from_ps: i64,
    /// At which height the range was begun.
    pub from_y: f64,
    /// Where the pointer is.
    pub at: (f64, f64),
    /// Whether the range does not snap to the edges of events.
    pub is_free: bool,
}

/// The timeline of a run. Cheap to copy by reference.
pub struct Surface {
    state: State,
    run: Run,
    /// What the page shows of it.
    pub said: Said,
    sight: RefCell<Sight>,
    viewport: Cell<Option<Viewport>>,
    is_waiting: Cell<bool>,
    dragged: Cell<Option<Dragged>>,
    is_dropped: Cell<bool>,
    is_stale: Cell<bool>,
    /// Upper edge and height of the lane that is wanted in sight, until somebody scrolls, and how far the rows were scrolled for it.
    wanted: Cell<Option<(u32, u32)>>,
    scrolled_to: Cell<i32>,
    /// The timeline of another run that is moved with this one, and how much later its times are, in picoseconds.
    tied: RefCell<Option<(Weak<Surface>, i64)>>,
    /// Start and end of the capture, once they are known.
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
    /// The surface of a run, showing this part of it at first.
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

    /// Takes the elements to draw on, which are children of `scroll`.
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

    /// The view was left.
    pub fn detach(&self) {
        self.elements.borrow_mut().take();
    }

    /// The size, the scale or the theme may have changed.
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

    /// Width of the events in CSS pixels.
    pub fn width(&self) -> f64 {
        f64::from(self.sight.borrow().width)
    }

    /// Width of the names.
    pub fn names_width(&self) -> f64 {
        f64::from(self.sight.borrow().names_width)
    }

    /// What is seen, once that is known.
    pub fn viewport(&self) -> Option<Viewport> {
        self.viewport.get()
    }

    /// Shows another range, here and in the run that is moved with this one.
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

    /// Moves another run with this one: what is at a time here is `by_ps` later there. Together they are this long.
    pub fn tie(self: &Rc<Surface>, other: &Rc<Surface>, by_ps: i64, all_ps: (i64, i64)) {
        *self.tied.borrow_mut() = Some((Rc::downgrade(other), by_ps));
        self.sight.borrow_mut().extent_ps = Some(all_ps);
    }

    /// No other run is beside this one any more.
    pub fn alone(self: &Rc<Surface>) {
        self.tied.borrow_mut().take();
        self.update(|sight| (sight.extent_ps, sight.by_change) = (None, false));
        if let Some((extent, viewport)) = self.extent.get().zip(self.viewport.get()) {
            self.show(Viewport::new(interval(extent)).show(viewport.range));
        }
    }

    /// What is in sight, or will be; none for everything.
    pub fn range(&self) -> Option<Interval> {
        let seen = self.viewport.get().map(|viewport| viewport.range);
        seen.or_else(|| self.sight.borrow().range_ps.map(interval))
    }

    /// Start and end of the capture, once they are known.
    pub fn extent(&self) -> Option<(i64, i64)> {
        self.extent.get()
    }

    /// When the selected event starts.
    pub fn selected_start(&self) -> Option<i64> {
        self.said.outcome.with_untracked(|outcome| Some(outcome.as_ref()?.range_ps?.0))
    }

    /// Asks when a step is, of the median duration where none is named; the answer is nothing where there is no such step.
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

    /// Shows what `change` makes of what is seen.
    pub fn change(self: &Rc<Surface>, change: impl FnOnce(Viewport) -> Viewport) {
        if let Some(viewport) = self.viewport.get() {
            self.show(change(viewport));
        }
    }

    /// Changes what is seen but for the range.
    pub fn update(self: &Rc<Surface>, change: impl FnOnce(&mut Sight)) {
        change(&mut self.sight.borrow_mut());
        self.refresh();
    }

    /// The selected event.
    pub fn selected(&self) -> Option<EventRef> {
        self.sight.borrow().selected
    }

    /// An event, a range or a flag is selected.
    pub fn has_selection(&self) -> bool {
        let sight = self.sight.borrow();
        sight.selected.is_some() || sight.bookmark.is_some() || self.said.area.with_untracked(Option::is_some)
    }

    /// The rows were scrolled.
    pub fn scrolled(self: &Rc<Surface>) {
        let Some(elements) = self.elements.borrow().clone() else { return };
        if elements.scroll.scroll_top() != self.scrolled_to.get() {
            self.wanted.set(None);
        }
        self.update(|sight| sight.scroll = u32::try_from(elements.scroll.scroll_top()).unwrap_or(0));
    }

    /// Scrolls the rows `pixels` pixels down.
    pub fn scroll_by(&self, pixels: f64) {
        if let Some(elements) = &*self.elements.borrow() {
            elements.scroll.scroll_by_with_x_and_y(0.0, pixels);
        }
    }

    /// Asks for a picture of what is to be seen now; until it comes, the last one is moved and scaled.
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

    /// The time that an edge of a range at a place of the picture means: where an event of the lane there begins or ends, unless it is free.
    pub fn edge_at(&self, x: f64, is_free: bool) -> i64 {
        let Some(viewport) = self.viewport.get() else { return 0 };
        let width = self.width();
        let near = |edge: &i64| {
            !is_free && (viewport.share_of(crossprof::Ps::new(*edge)) * width - x).abs() <= crossprof::timeline::SNAP
        };
        let edge = self.said.seen.with_untracked(|seen| seen.edge_ps).filter(near);
        edge.unwrap_or_else(|| viewport.time_at(x / width).as_ps())
    }

    /// A range is dragged.
    pub fn drag(self: &Rc<Surface>, dragged: Dragged) {
        self.dragged.set(Some(dragged));
        self.snap();
        self.update(|sight| (sight.pointer, sight.is_dragging) = (Some(dragged.at), true));
    }

    /// The range is let go: it is measured as soon as what it snaps to is known.
    pub fn let_go(self: &Rc<Surface>) {
        self.is_dropped.set(self.dragged.get().is_some());
        self.snap();
    }

    /// Selects what is dragged.
    fn snap(self: &Rc<Surface>) {
        if let Some(Dragged { from_ps, from_y, at: (x, y), is_free }) = self.dragged.get() {
            let to = self.edge_at(x, is_free);
            let rows = self.row_at(from_y).zip(self.row_at(y)).map(|(a, b)| (a.min(b), a.max(b)));
            self.said.area.set(Some(Area { range_ps: (from_ps.min(to), from_ps.max(to)), rows }));
        }
        if !self.is_waiting.get() && self.is_dropped.replace(false) {
            self.dragged.set(None);
            self.sight.borrow_mut().is_dragging = false;
            // Before the next picture, which can wait.
            self.measure_area();
            self.refresh();
        }
    }

    /// Moves and scales the picture to where its range would be.
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

    /// Does something and hears what came of it.
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
            // What is selected stays.
            self.said.outcome.update(|known| known.get_or_insert_default().kept = outcome.kept);
            return;
        }
        if let Action::Area { range_ps, rows, .. } = action
            && self.said.area.get_untracked() != Some(Area { range_ps, rows })
        {
            // Something else was selected since.
            return;
        }
        let (is_area, is_kept) = (matches!(action, Action::Area { .. }), matches!(action, Action::Keep(_)));
        if let Some(bookmarks) = outcome.bookmarks.take() {
            self.update(|sight| sight.bookmarks = bookmarks);
        }
        let bookmark = outcome.bookmark.as_ref().map(|(bookmark, _)| *bookmark);
        if is_kept && bookmark.is_none() && self.sight.borrow().bookmark.is_none() {
            // There is none, and what is selected stays.
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

    /// Shows what a key or a search has selected; one that was searched for is made large enough to be seen. Without knowing of that, at its
    /// best size.
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

    /// Scrolls the rows to the lane that is wanted in sight, where it is not: also once there are rows, and when what is said of an event
    /// has taken room from them.
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

    /// Asks for what is in the selected range.
    pub fn measure_area(self: &Rc<Surface>) {
        if let Some(Area { range_ps, rows }) = self.said.area.get_untracked() {
            self.act(Action::Area { range_ps, rows, first_look: true });
        }
    }

    /// Keeps the selected range.
    pub fn keep_area(self: &Rc<Surface>) {
        if let Some(Area { range_ps, rows }) = self.said.area.get_untracked() {
            self.act(Action::Keep(Keep::Range { range_ps, rows }));
        }
    }

    /// The height among the rows of a point of the picture; none on the axis.
    pub fn row_at(&self, y: f64) -> Option<u32> {
        (y >= AXIS_HEIGHT).then(|| (y - AXIS_HEIGHT) as u32 + self.sight.borrow().scroll)
    }

    /// Asks for a document of what is seen, with this title; a trace is of the selected range, where there is one.
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

    /// What is kept and how the tracks are shown, for the address; nothing where it would be empty.
    pub fn kept(&self) -> [Option<String>; 2] {
        let sight = self.sight.borrow();
        [&sight.bookmarks, &sight.arrangement].map(|text| Some(text.clone()).filter(|text| !text.is_empty()))
    }

    /// Zooms to the selected range, else to the selected event; again, to everything.
    pub fn focus(self: &Rc<Surface>) {
        let area = self.said.area.get_untracked().map(|area| area.range_ps);
        let event = self.said.outcome.with_untracked(|outcome| outcome.as_ref().and_then(|outcome| outcome.range_ps));
        let Some(range) = area.or(event) else { return };
        self.change(|viewport| viewport.fit(interval(range)));
    }

    /// Nothing is selected any more.
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

/// A time of the capture.
pub fn interval((start, end): (i64, i64)) -> Interval {
    Interval::new(crossprof::Ps::new(start), crossprof::Ps::new(end))
}

/// Shows a bitmap on a canvas, which it covers.
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
