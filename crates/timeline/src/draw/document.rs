//! Pictures for documents. Each picture is an SVG with the track names and events of one run, or of several runs below
//! each other.

use base::home::shared;

use crate::draw::paint::{Change, Paint, Rgb};
use crate::draw::scene::{AXIS_HEIGHT, Scene};
use crate::surface::canvas::{Arrow, Canvas, Rect, TextStyle};
use crate::surface::svg::Svg;

/// Height of a run's title, in CSS pixels.
const TITLE_HEIGHT: u32 = 26;

/// Width of a letter, in CSS pixels.
const LETTER: i32 = 6;

/// An SVG that shows several scenes from top to bottom.
#[derive(Debug, Default)]
pub struct Document {
    svg: Svg,
    titles: Vec<String>,
    width: u32,
    height: u32,
}

impl Document {
    /// Adds a scene below the existing scenes, at its own size. The title is above the scene. The track names are to
    /// the left of the scene and take `names_width` pixels.
    pub fn add(&mut self, title: &str, scene: &Scene<'_>, names_width: u32) {
        let (events_width, height) = scene.size;
        let width = names_width.saturating_add(events_width);
        let title_box = Rect { x: 0, y: self.height as i32, width: width as i32, height: TITLE_HEIGHT as i32 };
        self.svg.fill(title_box, scene.background(), 256);
        let middle = title_box.y + title_box.height / 2;
        let shown = base::format::shorten(title, 160);
        self.svg.write(8, middle, title_box.width, &shown, scene.ink(), TextStyle::Heading);
        let top = self.height.saturating_add(TITLE_HEIGHT);
        scene.draw_beside_names(&mut self.svg, top, names_width);
        self.titles.push(title.to_owned());
        self.width = self.width.max(width);
        self.height = top.saturating_add(height);
    }

    /// Adds a legend at the bottom that explains the colours of changes. The legend has the background of `scene`.
    pub fn add_changes_legend(&mut self, scene: &Scene<'_>, width: u32) {
        let line = Rect { x: 0, y: self.height as i32, width: width as i32, height: TITLE_HEIGHT as i32 };
        self.svg.fill(line, scene.background(), 256);
        let (mut x, middle) = (8, line.y + line.height / 2);
        for (change, text) in Change::LEGEND {
            let (fill, _) = Paint::of_change(change).colours(scene.dark);
            self.svg.fill(Rect { x, y: middle - 5, width: 10, height: 10 }, fill, 256);
            self.svg.write(x + 15, middle, line.width, text, scene.ink(), TextStyle::Plain);
            x += 15 + LETTER * (text.len() as i32 + 5);
        }
        self.width = self.width.max(width);
        self.height = self.height.saturating_add(TITLE_HEIGHT);
    }

    /// Returns the SVG.
    pub fn finish(self) -> String {
        shared(self.svg.finish(self.width, self.height, &format!("Timeline of {}", self.titles.join(" and "))))
    }
}

impl Scene<'_> {
    /// Draws the track names, and the events to the right of them, at the distance `top` below the upper edge. Sizes
    /// are in CSS pixels.
    pub fn draw_beside_names(&self, canvas: &mut dyn Canvas, top: u32, names_width: u32) {
        let (width, height) = self.size;
        let mut part = |x: u32, width: u32, draw: &dyn Fn(&mut dyn Canvas)| {
            let px = |css: u32| self.px(css as i32);
            let frame = Rect { x: px(x), y: px(top), width: px(width), height: px(height) };
            canvas.fill(frame, self.background(), 256);
            draw(&mut Framed { canvas, frame, letter: self.px(LETTER).max(1) });
        };
        part(0, names_width, &|canvas| self.draw_names(canvas, names_width));
        part(names_width, width, &|canvas| self.draw(canvas));
    }

    /// Returns the height of the scene at which all rows are visible, in CSS pixels.
    pub fn full_height(&self) -> u32 {
        self.layout.height.saturating_add(AXIS_HEIGHT)
    }
}

/// A canvas that draws on a part of another canvas, and clips everything outside of that part.
struct Framed<'c> {
    canvas: &'c mut dyn Canvas,
    frame: Rect,
    letter: i32,
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

    /// Draws an arrow. Clips the four points of the curve. A curve is inside the hull of its points, so the whole curve
    /// stays inside the frame.
    fn arrow(&mut self, arrow: &Arrow, colour: Rgb) {
        let frame = self.frame;
        let place = |(x, y): (i32, i32)| (frame.x + x.clamp(0, frame.width), frame.y + y.clamp(0, frame.height));
        self.canvas.arrow(&Arrow { points: arrow.points.map(place), ..*arrow }, colour);
    }

    fn write(&mut self, x: i32, y: i32, width: i32, text: &str, ink: Rgb, style: TextStyle) {
        let room = width.min(self.frame.width - x);
        if y >= 0 && y <= self.frame.height && room > 0 {
            // Letters in the plain style are about as wide as letters in the event style.
            let text = base::format::shorten(text, (room / self.letter).max(1) as usize);
            self.canvas.write(self.frame.x + x, self.frame.y + y, room, &text, ink, style);
        }
    }
}
