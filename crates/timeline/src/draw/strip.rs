//! A slim picture of the whole capture, which shows the load of each device over time, and the steps. If no device ran,
//! the picture shows the busiest threads.
//!
//! ```text
//! steps     |    |    |    |    |    |    |    |
//! device 0  ####.####.####.####.####.####.####.      the height shows the load
//! device 1  ####.####.####.####.####.####.####.
//! ```

use base::{Ps, sort};
use metrics::Context;
use trace::{Interval, IntervalSet};

use crate::draw::paint::{Paint, Rgb};
use crate::events::coverage::{Columns, Mark, for_each_mark};
use crate::events::source::Origin;
use crate::events::timeline::{Timeline, extent};
use crate::surface::canvas::{Canvas, Rect};

/// Maximum number of rows. If there are more devices, each row shows the mean load of several devices.
const MAX_ROWS: usize = 8;

/// Maximum number of threads that are shown if no device ran.
const MAX_THREADS: usize = 3;

/// The row of steps takes `1 / STEPS_SHARE` of the height.
const STEPS_SHARE: i32 = 5;

/// The slim picture of a capture.
#[derive(Clone, Copy, Debug)]
pub struct Strip<'a> {
    /// Events of the run and their measurements.
    pub context: Context<'a>,
    /// Timeline of the run.
    pub timeline: &'a Timeline,
    /// Size in canvas pixels.
    pub size: (u32, u32),
    /// True for the dark theme.
    pub dark: bool,
}

impl Strip<'_> {
    /// Returns the background colour.
    pub fn background(&self) -> Rgb {
        Rgb::hex(if self.dark { 0x22_2731 } else { 0xee_f0f3 })
    }

    /// Draws the overview.
    pub fn draw(&self, canvas: &mut dyn Canvas) {
        let columns = Columns::new(extent(self.context), self.size.0.max(1));
        let used = &self.context.analysis.captured.used;
        let height = self.size.1 as i32;
        let top = if self.steps(canvas, &columns, height / STEPS_SHARE) { height / STEPS_SHARE } else { 0 };
        if used.is_empty() {
            return self.threads(canvas, &columns, top);
        }
        let rows = used.len().min(MAX_ROWS);
        for row in 0..rows {
            let devices = used.get(row * used.len() / rows..(row + 1) * used.len() / rows).unwrap_or_default();
            let mut busy = vec![0.0; columns.len()];
            for device in devices {
                add_shares(&device.busy, &columns, &mut busy);
            }
            let shares = busy.iter().map(|busy| busy / devices.len().max(1) as f64);
            let paint = Paint::of_part(metrics::StepPart::Compute);
            self.row(canvas, &columns, self.place(row, rows, top), shares.map(|share| (share, paint)));
        }
    }

    /// Draws the rows of the busiest host threads.
    fn threads(&self, canvas: &mut dyn Canvas, columns: &Columns, top: i32) {
        let source = self.timeline.source(self.context, Origin::Captured);
        let mut lanes: Vec<(Ps, &crate::Lane)> = Vec::new();
        for line in (0..source.trace.lines.len()).filter_map(|line| source.trace.line_id(line)) {
            let outer = source.lanes(line).first();
            lanes.extend(outer.map(|lane| (lane.covered_before(source.trace, lane.len()), lane)));
        }
        sort::first_by(&mut lanes, MAX_THREADS, |a, b| b.0.cmp(&a.0));
        let rows = lanes.len();
        for (row, (_, lane)) in lanes.into_iter().enumerate() {
            let mut cells = vec![(0.0, Paint::default()); columns.len()];
            for_each_mark(source.trace, lane, columns, |mark| {
                let (place, first, end, busy) = match mark {
                    Mark::Whole { place, first, end } => (place, first, end, None),
                    Mark::Part { column, busy, longest, .. } => (longest, column, column + 1, Some(busy)),
                };
                let kind = lane.event(place).and_then(|id| source.trace.events.kind(id)).unwrap_or(u32::MAX);
                for (at, cell) in (first..).zip(cells.get_mut(first..end).into_iter().flatten()) {
                    let length = columns.time(at).map_or(Ps::ZERO, Interval::length);
                    *cell = (share_of(busy.unwrap_or(length), length), source.paint(kind as usize));
                }
            });
            self.row(canvas, columns, self.place(row, rows, top), cells.into_iter());
        }
    }

    /// Returns the upper edge and the height of a row.
    fn place(&self, row: usize, rows: usize, top: i32) -> (i32, i32) {
        let room = self.size.1 as i32 - top;
        let edge = |row: usize| top + room * row as i32 / rows.max(1) as i32;
        (edge(row) + 1, (edge(row + 1) - edge(row) - 1).max(1))
    }

    fn row(
        &self,
        canvas: &mut dyn Canvas,
        columns: &Columns,
        (y, height): (i32, i32),
        cells: impl Iterator<Item = (f64, Paint)>,
    ) {
        let x = |column: usize| (column * self.size.0 as usize / columns.len().max(1)) as i32;
        for (column, (share, paint)) in cells.enumerate().filter(|(_, (share, _))| *share > 0.0) {
            let filled = ((f64::from(height) * share.min(1.0)) as i32).max(1);
            let rect = Rect { x: x(column), y: y + height - filled, width: x(column + 1) - x(column), height: filled };
            canvas.fill(rect, paint.colours(self.dark).0, 256);
        }
    }

    /// Draws the steps of the first device in alternating shades. Returns false if the device has no steps.
    fn steps(&self, canvas: &mut dyn Canvas, columns: &Columns, height: i32) -> bool {
        let Some(windows) = self.context.analysis.steps.windows.first() else { return false };
        let range = columns.range();
        let length = range.length().as_ps().max(1) as f64;
        let x = |time: Ps| ((time - range.start).as_ps() as f64 / length * f64::from(self.size.0)) as i32;
        let shades = [Rgb::hex(0x8e_99ab), Rgb::hex(if self.dark { 0x5d_6b85 } else { 0xc3_cad3 })];
        for (window, shade) in windows.iter().zip(shades.into_iter().cycle()) {
            let Some(window) = window else { continue };
            let (from, to) = (x(window.interval.start), x(window.interval.end));
            canvas.fill(Rect { x: from, y: 0, width: (to - from).max(1), height: height - 1 }, shade, 256);
        }
        windows.iter().any(Option::is_some)
    }
}

fn share_of(busy: Ps, length: Ps) -> f64 {
    if length > Ps::ZERO { busy.as_ps() as f64 / length.as_ps() as f64 } else { 0.0 }
}

/// For each column, adds the share that `set` covers to the number in `shares`. Walks the columns and the set only
/// once.
fn add_shares(set: &IntervalSet, columns: &Columns, shares: &mut [f64]) {
    let mut column = 0;
    for part in set.parts() {
        column = columns.column_at(part.start).max(column);
        while let Some(pixel) = columns.time(column).filter(|pixel| pixel.start < part.end) {
            let inside = part.clip(pixel).map_or(Ps::ZERO, Interval::length);
            if let Some(share) = shares.get_mut(column) {
                *share += share_of(inside, pixel.length());
            }
            if pixel.end >= part.end {
                break;
            }
            column += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_columns_add_up_to_the_busy_time() {
        let at = |start, end| Interval::new(Ps::new(start), Ps::new(end));
        let set = IntervalSet::union_of([at(0, 5), at(8, 31), at(39, 40), at(90, 100)]);
        let columns = Columns::new(at(0, 100), 10);
        let mut shares = vec![0.0; 10];
        add_shares(&set, &columns, &mut shares);
        assert_eq!(shares, [0.7, 1.0, 1.0, 0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    }
}
