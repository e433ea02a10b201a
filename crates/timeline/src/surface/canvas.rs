//! The surface on which a picture is drawn: pixels in memory, or a vector graphic.

use crate::draw::paint::Rgb;

/// A rectangle, in canvas pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rect {
    /// Left edge.
    pub x: i32,
    /// Upper edge.
    pub y: i32,
    /// Width, in pixels.
    pub width: i32,
    /// Height, in pixels.
    pub height: i32,
}

/// Style of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStyle {
    /// Name of an event, in a monospaced font.
    Event,
    /// Name of a track, or a time.
    Plain,
    /// Name of a process.
    Heading,
}

/// An arrow along a cubic Bézier curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrow {
    /// Start, two control points, and end.
    pub points: [(i32, i32); 4],
    /// Width of the line.
    pub width: i32,
    /// Length of the head, which points to the right. Zero if the arrow has no head.
    pub head: i32,
}

/// A target that can draw the shapes of a picture.
pub trait Canvas {
    /// Fills a rectangle. `opacity` is between 0 and 256.
    fn fill(&mut self, rect: Rect, colour: Rgb, opacity: u32);

    /// Draws an arrow.
    fn arrow(&mut self, arrow: &Arrow, colour: Rgb);

    /// Writes a text with the left edge `x` and the vertical centre `y`. The text is at most `width` wide.
    fn write(&mut self, x: i32, y: i32, width: i32, text: &str, ink: Rgb, style: TextStyle);
}
