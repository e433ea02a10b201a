//! Draws the events of one lane.

use base::Ps;
use trace::StrId;

use crate::draw::labels::Labels;
use crate::draw::paint::{Paint, Rgb};
use crate::draw::scene::Scene;
use crate::events::coverage::{Columns, Mark, for_each_mark};
use crate::events::lane::Lane;
use crate::events::source::{Origin, Source};
use crate::surface::canvas::{Canvas, Rect};

/// Draws one lane.
pub(crate) struct LanePainter<'s, 'a, 'c> {
    scene: &'s Scene<'a>,
    canvas: &'c mut dyn Canvas,
    source: Source<'a>,
    origin: Origin,
    lane: &'a Lane,
    y: i32,
    height: i32,
    labels: Labels<'s, 'a>,
}

impl<'s, 'a, 'c> LanePainter<'s, 'a, 'c> {
    pub(crate) fn new(
        scene: &'s Scene<'a>,
        canvas: &'c mut dyn Canvas,
        source: Source<'a>,
        origin: Origin,
        lane: &'a Lane,
        y: i32,
        lane_height: u32,
    ) -> LanePainter<'s, 'a, 'c> {
        let height = scene.px(lane_height as i32 - 1).max(1);
        let labels = Labels::new(scene, y, height);
        LanePainter { scene, canvas, source, origin, lane, y, height, labels }
    }

    pub(crate) fn draw(mut self, columns: &Columns) {
        // Column at which the last whole mark ended. An edge next to this column is the edge of a bar.
        let mut whole_until = usize::MAX;
        let (trace, lane) = (self.source.trace, self.lane);
        for_each_mark(trace, lane, columns, |mark| match mark {
            Mark::Whole { place, first, end } => {
                let (x, right) = self.scene.column_edges(columns, first, end);
                let Some((name, paint, fill)) = self.look(place) else { return };
                self.fill(x, right - x, 0, fill, 256);
                // A hairline separates adjacent events of the same colour.
                if right - x >= 4 {
                    self.fill(right - 1, 1, 0, self.scene.theme().surface, 110);
                }
                self.name(name, paint, (x, right), true);
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
                    // Events of length 0 have no busy time that would determine a height.
                    self.fill(x, right - x, 0, fill, 200);
                } else {
                    let filled = (self.height * share / 256).max(1);
                    self.fill(x, right - x, self.height - filled, fill, 256);
                }
                self.name(name, paint, (x, right), share >= 128);
            }
        });
        let trace = self.source.trace;
        self.labels.write(self.canvas, &|name| trace.text(name));
    }

    fn name(&mut self, name: StrId, paint: Paint, at: (i32, i32), is_filled: bool) {
        let trace = self.source.trace;
        self.labels.add(self.canvas, &|name| trace.text(name), name, paint, at, is_filled);
    }

    fn fill(&mut self, x: i32, width: i32, down: i32, colour: Rgb, opacity: u32) {
        let rect = Rect { x, y: self.y + down, width, height: self.height - down };
        self.canvas.fill(rect, colour, opacity);
    }

    /// Returns the name and the colours of an event.
    fn look(&self, place: usize) -> Option<(StrId, Paint, Rgb)> {
        let (kind, name, _) = self.source.event(self.lane.event(place)?)?;
        let paint = self.scene.paint(self.origin, kind);
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
}
