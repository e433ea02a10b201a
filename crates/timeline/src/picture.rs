//! Draws the rows in sight.
//!
//! What is wider than a pixel is a bar with its name; what is narrower is as high as its pixel is busy, in the colour of what takes the most
//! of it, so that an idle device looks idle and a busy one busy. Marks of one name beside each other share one label.

use base::Ps;
use base::format::{printable, shorten};
use serde::{Deserialize, Serialize};
use trace::{EventId, Interval, StrId};

use crate::canvas::{Canvas, Rect, TextStyle};
use crate::coverage::{Columns, Mark, for_each_mark};
use crate::lane::Lane;
use crate::layout::{LANE_HEIGHT, Layout, Row, RowContent};
use crate::paint::{Paint, Rgb};
use crate::source::{Origin, Source};
use crate::ticks::ticks;
use crate::tracks::{Process, Shows};
use crate::viewport::Viewport;
use crate::walk::place_in;

/// Height of the axis of time above the rows, in CSS pixels.
pub const AXIS_HEIGHT: u32 = 24;

/// Width of a letter of an event's name, in hundredths of a CSS pixel.
const LETTER_WIDTH: i32 = 665;

/// Marks of one name closer than this, in CSS pixels, share a label.
const SAME_LABEL: i32 = 3;

/// An event of one origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventRef {
    /// Which trace it is of.
    pub origin: Origin,
    /// Its index there.
    pub index: u32,
}

impl EventRef {
    /// Which event of its trace.
    pub fn id(self) -> EventId {
        EventId::new(self.index)
    }
}

/// What a picture shows.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The events, by [`Origin`].
    pub sources: [Source<'a>; 2],
    /// The tracks.
    pub processes: &'a [Process],
    /// Their rows.
    pub layout: &'a Layout,
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
    /// This event is outlined.
    pub selected: Option<EventRef>,
    /// By origin, whether each kind of event passes the filter: what does not is pale. Without an entry everything passes.
    pub passing: [Option<&'a [bool]>; 2],
}

/// Colours of what is no event.
struct Theme {
    surface: Rgb,
    band: Rgb,
    line: Rgb,
    ink: Rgb,
    soft: Rgb,
    accent: Rgb,
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

    /// The colour behind everything.
    pub fn background(&self) -> Rgb {
        self.theme().surface
    }

    /// The colour of text.
    pub fn ink(&self) -> Rgb {
        self.theme().ink
    }

    fn theme(&self) -> &'static Theme {
        if self.dark { &DARK } else { &LIGHT }
    }

    /// Pixels of the canvas.
    fn px(&self, css: i32) -> i32 {
        (f64::from(css) * self.scale) as i32
    }

    /// Where a row begins on the canvas.
    fn top(&self, row: &Row) -> i32 {
        self.px(i32::try_from(i64::from(row.top) - i64::from(self.scroll) + i64::from(AXIS_HEIGHT)).unwrap_or(i32::MAX))
    }

    /// The rows in sight.
    pub fn rows(&self) -> &'a [Row] {
        self.layout.visible(self.scroll..self.scroll.saturating_add(self.size.1))
    }

    /// Draws the events.
    pub fn draw(&self, canvas: &mut dyn Canvas) {
        let (width, height) = (self.px(self.size.0 as i32), self.px(self.size.1 as i32));
        let theme = self.theme();
        let columns = Columns::new(self.viewport.range, width.max(1) as u32);
        let marks = ticks(self.viewport.range, self.zero, self.size.0 / 110 + 1);
        let x_of = |time: Ps| (self.viewport.share_of(time) * f64::from(width)) as i32;
        for tick in &marks {
            let line = Rect { x: x_of(tick.time), y: 0, width: 1, height };
            canvas.fill(line, theme.line, 256);
        }
        for row in self.rows() {
            let y = self.top(row);
            match row.content {
                RowContent::Heading { .. } => {
                    canvas.fill(Rect { x: 0, y, width, height: self.px(row.height as i32) }, theme.band, 256);
                }
                RowContent::Track { id, lane_height, .. } => {
                    let process = self.processes.get(id.process as usize);
                    match process.and_then(|process| process.tracks.get(id.track as usize)).map(|track| track.shows) {
                        Some(Shows::Events(origin, line)) => {
                            let source = self.source(origin);
                            // Of thousands of lanes only those in sight are looked at.
                            let above = (-y / self.px(lane_height as i32).max(1)).max(0) as usize;
                            for (lane, of) in source.lanes(line).iter().enumerate().skip(above) {
                                let y = y + self.px((lane_height as usize).saturating_mul(lane) as i32);
                                if y > height {
                                    break;
                                }
                                LanePainter::new(self, canvas, source, origin, of, y, lane_height).draw(&columns);
                            }
                        }
                        Some(Shows::Counter(counter)) => self.counter(canvas, counter, &columns, y, row),
                        None => {}
                    }
                }
            }
        }
        self.outline(canvas, &x_of);
        self.axis(canvas, width, &marks, &x_of);
    }

    fn axis(&self, canvas: &mut dyn Canvas, width: i32, marks: &[crate::Tick], x_of: &dyn Fn(Ps) -> i32) {
        let (theme, height) = (self.theme(), self.px(AXIS_HEIGHT as i32));
        canvas.fill(Rect { x: 0, y: 0, width, height }, theme.surface, 256);
        canvas.fill(Rect { x: 0, y: height - 1, width, height: 1 }, theme.line, 256);
        for tick in marks {
            let x = x_of(tick.time);
            canvas.fill(Rect { x, y: height / 2, width: 1, height: height / 2 }, theme.soft, 256);
            canvas.write(x + self.px(4), height / 2, self.px(100), &tick.label, theme.soft, TextStyle::Plain);
        }
    }

    /// The step function of a counter: in each column its last value, as a share of the largest of all.
    fn counter(&self, canvas: &mut dyn Canvas, counter: usize, columns: &Columns, y: i32, row: &Row) {
        let Some(track) = self.source(Origin::Captured).trace.counters.get(counter) else { return };
        let largest = track.values.iter().copied().fold(0.0, f64::max);
        let height = self.px(row.height as i32 - 6);
        let mut at = 0;
        for column in 0..columns.len() {
            let Some(time) = columns.time(column) else { return };
            at += track.times.get(at..).unwrap_or_default().partition_point(|sample| *sample < time.end);
            let value = at.checked_sub(1).and_then(|at| track.values.get(at)).copied().unwrap_or(0.0).max(0.0);
            let filled = if largest > 0.0 { (f64::from(height) * (value / largest)) as i32 } else { 0 };
            let (x, end) = self.column_edges(columns, column, column + 1);
            let rect = Rect { x, y: y + height - filled, width: end - x, height: filled };
            canvas.fill(rect, self.theme().accent, 140);
        }
    }

    /// The selected event gets a frame.
    fn outline(&self, canvas: &mut dyn Canvas, x_of: &dyn Fn(Ps) -> i32) {
        let Some((row, lane, lane_height, time)) = self.selected.and_then(|event| self.place_of(event)) else { return };
        let (left, right) = (x_of(time.start).max(-9), x_of(time.end).min(self.px(self.size.0 as i32) + 9));
        let (y, line) = (self.top(&row) + self.px((lane * lane_height) as i32), self.px(2).max(1));
        let (width, height) = ((right - left).max(self.px(3)), self.px(lane_height as i32 - 1));
        let ink = self.theme().ink;
        for rect in [
            Rect { x: left - line, y: y - line, width: width + 2 * line, height: line },
            Rect { x: left - line, y: y + height, width: width + 2 * line, height: line },
            Rect { x: left - line, y, width: line, height },
            Rect { x: left + width, y, width: line, height },
        ] {
            canvas.fill(rect, ink, 256);
        }
    }

    /// The row and lane of an event, the height of its lanes, and when it is; none where its track is not shown.
    pub fn place_of(&self, event: EventRef) -> Option<(Row, u32, u32, Interval)> {
        let source = self.source(event.origin);
        let (kind, _, time) = source.event(event.id())?;
        let line = source.trace.events.kinds().get(kind)?.line;
        let shows = Shows::Events(event.origin, line);
        let shown = |row: &&Row| match row.content {
            RowContent::Track { id, .. } => {
                let process = self.processes.get(id.process as usize);
                process.and_then(|process| process.tracks.get(id.track as usize)).is_some_and(|it| it.shows == shows)
            }
            RowContent::Heading { .. } => false,
        };
        let row = self.layout.rows.iter().find(shown)?;
        let RowContent::Track { lane_height, .. } = row.content else { return None };
        let holds = |lane: &Lane| place_in(lane, source.trace, event, time.start).is_some();
        let lane = source.lanes(line).iter().position(holds)?;
        Some((*row, u32::try_from(lane).ok()?, lane_height, time))
    }

    /// Draws the names of the rows, left of the events.
    pub fn draw_names(&self, canvas: &mut dyn Canvas, width: u32) {
        let (width, theme) = (self.px(width as i32), self.theme());
        for row in self.rows() {
            let (y, height) = (self.top(row), self.px(row.height as i32));
            match row.content {
                RowContent::Heading { process, folded } => {
                    canvas.fill(Rect { x: 0, y, width, height }, theme.band, 256);
                    let Some(of) = self.processes.get(process as usize) else { continue };
                    let text = format!("{} {}", if folded { "▸" } else { "▾" }, printable(&of.name));
                    canvas.write(self.px(8), y + height / 2, width - self.px(12), &text, theme.ink, TextStyle::Heading);
                }
                RowContent::Track { id, pinned, .. } => {
                    let process = self.processes.get(id.process as usize);
                    let Some(of) = process.and_then(|process| process.tracks.get(id.track as usize)) else { continue };
                    canvas.fill(Rect { x: 0, y: y + height - 1, width, height: 1 }, theme.line, 256);
                    let ink = if of.definition.is_some() { theme.accent } else { theme.soft };
                    let name = printable(&of.name);
                    let text =
                        if pinned { format!("{name} · {}", process.map_or("", |it| it.name.as_str())) } else { name };
                    let middle = y + self.px(LANE_HEIGHT as i32) / 2;
                    canvas.write(self.px(20), middle, width - self.px(24), &text, ink, TextStyle::Plain);
                }
            }
        }
        let axis = Rect { x: 0, y: 0, width, height: self.px(AXIS_HEIGHT as i32) };
        canvas.fill(axis, theme.surface, 256);
        canvas.fill(Rect { y: axis.height - 1, height: 1, ..axis }, theme.line, 256);
    }

    /// Where columns begin and end on the canvas: there are fewer than pixels where a pixel is less than a picosecond.
    fn column_edges(&self, columns: &Columns, first: usize, end: usize) -> (i32, i32) {
        let width = self.px(self.size.0 as i32);
        if columns.len() as i64 >= i64::from(width) {
            return (first as i32, end as i32);
        }
        let x = |column: usize| (column as i64 * i64::from(width) / columns.len().max(1) as i64) as i32;
        (x(first), x(end))
    }
}

/// As much of a name as fits: of a short part only the beginning tells anything.
fn fitting(name: &str, letters: usize) -> String {
    if letters >= 24 || name.chars().count() <= letters {
        return shorten(name, letters);
    }
    name.chars().take(letters.saturating_sub(1)).chain(['…']).collect()
}

/// A label that grows while marks of its name follow each other.
#[derive(Clone, Copy)]
struct Label {
    name: StrId,
    paint: Paint,
    from: i32,
    to: i32,
    /// Pixels that are filled to at least half of the height.
    filled: i32,
}

/// Draws one lane.
struct LanePainter<'s, 'a, 'c> {
    scene: &'s Scene<'a>,
    canvas: &'c mut dyn Canvas,
    source: Source<'a>,
    origin: Origin,
    lane: &'a Lane,
    y: i32,
    height: i32,
    label: Option<Label>,
}

impl<'s, 'a, 'c> LanePainter<'s, 'a, 'c> {
    fn new(
        scene: &'s Scene<'a>,
        canvas: &'c mut dyn Canvas,
        source: Source<'a>,
        origin: Origin,
        lane: &'a Lane,
        y: i32,
        lane_height: u32,
    ) -> LanePainter<'s, 'a, 'c> {
        let height = scene.px(lane_height as i32 - 1).max(1);
        LanePainter { scene, canvas, source, origin, lane, y, height, label: None }
    }

    fn draw(mut self, columns: &Columns) {
        // The column up to which the last mark was whole: what begins or ends beside it is the edge of a bar.
        let mut whole_until = usize::MAX;
        let (trace, lane) = (self.source.trace, self.lane);
        for_each_mark(trace, lane, columns, |mark| match mark {
            Mark::Whole { place, first, end } => {
                let (x, right) = self.scene.column_edges(columns, first, end);
                let Some((name, paint, fill)) = self.look(place) else { return };
                self.fill(x, right - x, 0, fill, 256);
                // A hairline tells events of one colour apart.
                if right - x >= 4 {
                    self.fill(right - 1, 1, 0, self.scene.theme().surface, 110);
                }
                self.name(name, paint, x, right, true);
                whole_until = end;
            }
            Mark::Part { column, busy, longest, events } => {
                let (x, right) = self.scene.column_edges(columns, column, column + 1);
                let Some((name, paint, fill)) = self.look(longest) else { return };
                let pixel = columns.time(column).map_or(1, |pixel| pixel.length().as_ps().max(1));
                let share = (i128::from(busy.as_ps()) * 256 / i128::from(pixel)) as i32;
                let is_edge =
                    events == 1 && self.lane.time(trace, longest).is_some_and(|time| time.length().as_ps() >= pixel);
                if is_edge || whole_until == column && share > 200 {
                    self.fill(x, right - x, 0, fill, share.max(24) as u32);
                } else if busy == Ps::ZERO {
                    // Moments have no height of their own.
                    self.fill(x, right - x, 0, fill, 200);
                } else {
                    let filled = (self.height * share / 256).max(1);
                    self.fill(x, right - x, self.height - filled, fill, 256);
                }
                self.name(name, paint, x, right, share >= 128);
            }
        });
        self.write_label();
    }

    fn fill(&mut self, x: i32, width: i32, down: i32, colour: Rgb, opacity: u32) {
        let rect = Rect { x, y: self.y + down, width, height: self.height - down };
        self.canvas.fill(rect, colour, opacity);
    }

    /// The name and colours of an event.
    fn look(&self, place: usize) -> Option<(StrId, Paint, Rgb)> {
        let (kind, name, _) = self.source.event(self.lane.event(place)?)?;
        let paint = self.source.paint(kind);
        let (fill, _) = paint.colours(self.scene.dark);
        let [captured, derived] = self.scene.passing;
        let passing = if self.origin == Origin::Captured { captured } else { derived };
        let theme = self.scene.theme();
        let fill = match self.scene.named {
            Some(named) if named == (self.origin, name) => fill.towards(theme.ink, 90),
            _ if passing.is_some_and(|passing| passing.get(kind) != Some(&true)) => fill.towards(theme.surface, 200),
            _ => fill,
        };
        Some((name, paint, fill))
    }

    fn name(&mut self, name: StrId, paint: Paint, from: i32, to: i32, is_filled: bool) {
        let filled = if is_filled { to - from } else { 0 };
        match &mut self.label {
            Some(label) if label.name == name && from - label.to <= self.scene.px(SAME_LABEL) => {
                label.to = to;
                label.filled += filled;
            }
            _ => {
                self.write_label();
                self.label = Some(Label { name, paint, from, to, filled });
            }
        }
    }

    /// Writes the name where a few letters of it fit.
    fn write_label(&mut self) {
        let Some(label) = self.label.take() else { return };
        let (scene, from) = (self.scene, label.from.max(0));
        let room = (f64::from(label.to - from) / scene.scale) as i32 - 6;
        let letters = room * 100 / LETTER_WIDTH;
        if letters < 4 || self.height < scene.px(LANE_HEIGHT as i32 - 4) {
            return;
        }
        let text = fitting(&printable(self.source.trace.text(label.name)), letters as usize);
        let is_on_fill = label.filled * 2 >= label.to - label.from;
        let (_, ink) = label.paint.colours(scene.dark);
        let ink = if is_on_fill { ink } else { scene.theme().ink };
        let x = from + scene.px(3);
        self.canvas.write(x, self.y + self.height / 2, label.to - x, &text, ink, TextStyle::Event);
    }
}
