//! Pictures for documents: the names and the events of one run, or of several above each other, as one SVG.

use crate::canvas::{Canvas, Rect, TextStyle};
use crate::paint::Rgb;
use crate::picture::{AXIS_HEIGHT, Scene};
use crate::svg::Svg;

/// Height of a run's title.
const TITLE_HEIGHT: u32 = 26;

/// An SVG of these scenes, each with its title. Every scene is drawn at its own size, with its names in `names_width` pixels left of it.
pub fn svg(scenes: &[(String, Scene<'_>)], names_width: u32) -> String {
    let mut svg = Svg::default();
    let (mut width, mut top) = (0, 0);
    for (title, scene) in scenes {
        let (events_width, height) = scene.size;
        width = width.max(names_width.saturating_add(events_width));
        let title_box = Rect { x: 0, y: top as i32, width: width as i32, height: TITLE_HEIGHT as i32 };
        svg.fill(title_box, scene.background(), 256);
        let middle = title_box.y + title_box.height / 2;
        svg.write(8, middle, title_box.width, &base::format::shorten(title, 160), scene.ink(), TextStyle::Heading);
        top += TITLE_HEIGHT;
        let mut part = |x: u32, width: u32, draw: &dyn Fn(&mut dyn Canvas)| {
            let frame = Rect { x: x as i32, y: top as i32, width: width as i32, height: height as i32 };
            svg.fill(frame, scene.background(), 256);
            draw(&mut Framed { canvas: &mut svg, frame });
        };
        part(0, names_width, &|canvas| scene.draw_names(canvas, names_width));
        part(names_width, events_width, &|canvas| scene.draw(canvas));
        top = top.saturating_add(height);
    }
    let names: Vec<&str> = scenes.iter().map(|(title, _)| title.as_str()).collect();
    svg.finish(width, top, &format!("Timeline of {}", names.join(" and ")))
}

impl Scene<'_> {
    /// The height that shows all rows.
    pub fn full_height(&self) -> u32 {
        self.layout.height.saturating_add(AXIS_HEIGHT)
    }
}

/// A part of another canvas: what lies outside is cut off.
struct Framed<'c> {
    canvas: &'c mut dyn Canvas,
    frame: Rect,
}

impl Canvas for Framed<'_> {
    fn fill(&mut self, rect: Rect, colour: Rgb, opacity: u32) {
        let frame = self.frame;
        let span = |from: i32, length: i32, end: i32| {
            let (from, to) = (from.clamp(0, end), from.saturating_add(length).clamp(0, end));
            (from, to - from)
        };
        let ((x, width), (y, height)) =
            (span(rect.x, rect.width, frame.width), span(rect.y, rect.height, frame.height));
        self.canvas.fill(Rect { x: frame.x + x, y: frame.y + y, width, height }, colour, opacity);
    }

    fn write(&mut self, x: i32, y: i32, width: i32, text: &str, ink: Rgb, style: TextStyle) {
        let room = width.min(self.frame.width - x);
        if y >= 0 && y <= self.frame.height && room > 0 {
            // Letters of a plain text are about as wide as those of an event.
            let text = base::format::shorten(text, (room / 6).max(1) as usize);
            self.canvas.write(self.frame.x + x, self.frame.y + y, room, &text, ink, style);
        }
    }
}
