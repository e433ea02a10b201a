//! Draws the rows in sight.
//!
//! What is wider than a pixel is a bar with its name; what is narrower is as high as its pixel is busy, in the colour of what takes the most
//! of it, so that an idle device looks idle and a busy one busy. Marks of one name beside each other share one label.

use base::Ps;
use base::format::printable;
use serde::{Deserialize, Serialize};
use trace::{EventId, Interval, LineId, StrId};

use crate::canvas::{Canvas, Rect, TextStyle};
use crate::coverage::Columns;
use crate::labels::Labels;
use crate::lane::Lane;
use crate::lane_painter::LanePainter;
use crate::layout::{LANE_HEIGHT, Layout, Row, RowContent};
use crate::paint::Rgb;
use crate::scopes::Scopes;
use crate::source::{Origin, Source};
use crate::ticks::ticks;
use crate::tracks::{Process, Shows};
use crate::viewport::Viewport;
use crate::walk::place_in;

/// Height of the axis of time above the rows, in CSS pixels.
pub const AXIS_HEIGHT: u32 = 24;

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
    /// The name scopes of the recorded ops.
    pub scopes: &'a Scopes,
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
pub(crate) struct Theme {
    pub surface: Rgb,
    band: Rgb,
    line: Rgb,
    pub ink: Rgb,
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

    pub(crate) fn theme(&self) -> &'static Theme {
        if self.dark { &DARK } else { &LIGHT }
    }

    /// Pixels of the canvas.
    pub(crate) fn px(&self, css: i32) -> i32 {
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
                        Some(Shows::Scopes(line)) => self.draw_scopes(canvas, line, &columns, y, lane_height),
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

    /// The scopes of the ops of a line, one level below the other.
    fn draw_scopes(&self, canvas: &mut dyn Canvas, line: LineId, columns: &Columns, y: i32, lane_height: u32) {
        let height = self.px(lane_height as i32 - 1).max(1);
        for (level, cells) in self.scopes.cells(self.source(Origin::Captured), line, columns).into_iter().enumerate() {
            let y = y + self.px((lane_height as usize).saturating_mul(level) as i32);
            let mut labels = Labels::new(self, y, height);
            for (column, cell) in cells.into_iter().enumerate().filter(|(_, cell)| cell.share > 0) {
                let (x, right) = self.column_edges(columns, column, column + 1);
                let paint = self.scopes.paint(cell.name);
                let (fill, _) = paint.colours(self.dark);
                let filled = (height * cell.share.min(256) as i32 / 256).max(1);
                let rect = Rect { x, y: y + height - filled, width: right - x, height: filled };
                canvas.fill(rect, fill, 256);
                let text = &|name| self.scopes.name(name);
                labels.add(canvas, text, cell.name, paint, (x, right), cell.share >= 128);
            }
            labels.write(canvas, &|name| self.scopes.name(name));
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
    pub(crate) fn column_edges(&self, columns: &Columns, first: usize, end: usize) -> (i32, i32) {
        let width = self.px(self.size.0 as i32);
        if columns.len() as i64 >= i64::from(width) {
            return (first as i32, end as i32);
        }
        let x = |column: usize| (column as i64 * i64::from(width) / columns.len().max(1) as i64) as i32;
        (x(first), x(end))
    }
}
