//! Draws the visible rows.
//!
//! An event wider than a pixel is a bar with its name. Several narrower events can share a pixel. The height of the
//! drawn column shows how much of the pixel's time is busy. The event that covers most of the pixel determines the
//! colour. An idle device therefore looks idle, and a busy device looks busy. Adjacent marks with the same name share a
//! label.

use base::Ps;
use base::format::printable;
use trace::{CounterTrack, LineId};

use crate::draw::labels::Labels;
use crate::draw::lane_painter::LanePainter;
use crate::draw::layout::{LANE_HEIGHT, Row, RowContent};
use crate::draw::scene::{AXIS_HEIGHT, Scene};
use crate::draw::ticks::ticks;
use crate::events::coverage::Columns;
use crate::events::scopes::{Flame, Scopes};
use crate::events::source::Origin;
use crate::events::tracks::Shows;
use crate::surface::canvas::{Canvas, Rect, TextStyle};

impl Scene<'_> {
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
                            // There may be thousands of lanes, but only visible lanes are drawn.
                            let above = (-y / self.px(lane_height as i32).max(1)).max(0) as usize;
                            for (lane, of) in source.lanes(line).iter().enumerate().skip(above) {
                                let y = y + self.px((lane_height as usize).saturating_mul(lane) as i32);
                                if y > height {
                                    break;
                                }
                                LanePainter::new(self, canvas, source, origin, of, y, lane_height).draw(&columns);
                            }
                        }
                        Some(Shows::Scopes(flame, line)) => {
                            let [names, sources] = self.flames;
                            let scopes = if flame == Flame::NameScopes { names } else { sources };
                            self.draw_scopes(canvas, scopes, line, &columns, (y, lane_height));
                        }
                        Some(Shows::Counter(origin, counter)) => {
                            let counters = &self.source(origin).trace.counters;
                            let track = counters.get(counter as usize);
                            track.into_iter().for_each(|track| self.counter(canvas, track, &columns, y, row));
                        }
                        None => {}
                    }
                }
            }
        }
        self.outline(canvas, &x_of);
        self.draw_arrows(canvas);
        self.axis(canvas, width, &marks, &x_of);
        self.draw_bookmarks(canvas, &x_of);
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

    /// Draws the scopes of a line's ops. Each scope is below the scope that contains it.
    fn draw_scopes(
        &self,
        canvas: &mut dyn Canvas,
        scopes: &Scopes,
        line: LineId,
        columns: &Columns,
        (y, lane_height): (i32, u32),
    ) {
        let height = self.px(lane_height as i32 - 1).max(1);
        for (level, cells) in scopes.cells(self.source(Origin::Captured), line, columns).into_iter().enumerate() {
            let y = y + self.px((lane_height as usize).saturating_mul(level) as i32);
            let mut labels = Labels::new(self, y, height);
            for (column, cell) in cells.into_iter().enumerate().filter(|(_, cell)| cell.share > 0) {
                let (x, right) = self.column_edges(columns, column, column + 1);
                let paint = scopes.paint(cell.name);
                let (fill, _) = paint.colours(self.dark);
                let filled = (height * cell.share.min(256) as i32 / 256).max(1);
                let rect = Rect { x, y: y + height - filled, width: right - x, height: filled };
                canvas.fill(rect, fill, 256);
                let text = &|name| scopes.name(name);
                labels.add(canvas, text, cell.name, paint, (x, right), cell.share >= 128);
            }
            labels.write(canvas, &|name| scopes.name(name));
        }
    }

    /// Draws a counter as a step function. The height of each pixel column shows the last value in the column, relative
    /// to the counter's maximum.
    fn counter(&self, canvas: &mut dyn Canvas, track: &CounterTrack, columns: &Columns, y: i32, row: &Row) {
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

    /// Draws a frame around the selected event.
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

    /// Draws the names of the rows, to the left of the events.
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
}
