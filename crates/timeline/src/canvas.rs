//! What a picture is drawn on: pixels in memory, or a vector graphic.

use crate::paint::Rgb;

/// A rectangle in the pixels of the canvas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rect {
    /// Left edge.
    pub x: i32,
    /// Upper edge.
    pub y: i32,
    /// Width.
    pub width: i32,
    /// Height.
    pub height: i32,
}

/// How a text looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStyle {
    /// The name of an event: letters of equal width.
    Event,
    /// The name of a track, or a time.
    Plain,
    /// The name of a process.
    Heading,
}

/// An arrow along a cubic Bézier curve: from the first point to the last, by way of the two between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrow {
    /// The four points.
    pub points: [(i32, i32); 4],
    /// Width of the line.
    pub width: i32,
    /// Length of the head, which points to the right; 0 for none.
    pub head: i32,
}

/// Something to draw on.
pub trait Canvas {
    /// Fills a rectangle; `opacity` is 0 to 256.
    fn fill(&mut self, rect: Rect, colour: Rgb, opacity: u32);

    /// Draws an arrow.
    fn arrow(&mut self, arrow: &Arrow, colour: Rgb);

    /// Writes a text whose left edge is `x` and whose middle is at the height `y`, no wider than `width`.
    fn write(&mut self, x: i32, y: i32, width: i32, text: &str, ink: Rgb, style: TextStyle);
}
