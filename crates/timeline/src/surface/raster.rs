//! A canvas of pixels.

use crate::draw::paint::Rgb;
use crate::surface::canvas::{Arrow, Canvas, Rect, TextStyle};

/// A text to write onto the pixels. The caller writes the text, because only the browser has fonts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lettering {
    /// Left edge.
    pub x: i32,
    /// Vertical centre of the text.
    pub y: i32,
    /// Maximum width of the text.
    pub width: i32,
    /// Text to write.
    pub text: String,
    /// Colour of the text.
    pub ink: Rgb,
    /// Style of the text.
    pub style: TextStyle,
}

/// Pixels, row by row from the top, and the texts to write onto them.
#[derive(Clone, Debug, Default)]
pub struct Raster {
    width: usize,
    /// Red, green, blue and opacity of each pixel. Each pixel is one number, in the byte order that browsers use.
    pixels: Vec<u32>,
    /// Texts to write onto the pixels, in order.
    pub letterings: Vec<Lettering>,
}

impl Raster {
    /// Gives the picture a new size, and fills it with one colour. Reuses the memory of the previous picture.
    pub fn clear(&mut self, width: u32, height: u32, colour: Rgb) {
        self.width = width as usize;
        self.pixels.clear();
        self.pixels.resize(self.width.saturating_mul(height as usize), word(colour));
        self.letterings.clear();
    }

    /// Returns the width of the picture in pixels.
    pub fn width(&self) -> u32 {
        u32::try_from(self.width).unwrap_or(u32::MAX)
    }

    /// Returns the height of the picture in pixels.
    pub fn height(&self) -> u32 {
        u32::try_from(self.pixels.len().checked_div(self.width).unwrap_or(0)).unwrap_or(u32::MAX)
    }

    /// Returns the pixels. On a little-endian machine, the bytes of each pixel in memory are red, green, blue and
    /// opacity.
    pub fn pixels(&self) -> &[u32] {
        &self.pixels
    }
}

fn word(Rgb(red, green, blue): Rgb) -> u32 {
    u32::from_le_bytes([red, green, blue, 255])
}

impl Canvas for Raster {
    fn fill(&mut self, rect: Rect, colour: Rgb, opacity: u32) {
        let height = self.pixels.len().checked_div(self.width).unwrap_or(0);
        let span = |from: i32, length: i32, end: usize| {
            let clip = |at: i32| usize::try_from(at).unwrap_or(0).min(end);
            clip(from)..clip(from.saturating_add(length))
        };
        let (columns, rows) = (span(rect.x, rect.width, self.width), span(rect.y, rect.height, height));
        let lines = self.pixels.chunks_exact_mut(self.width.max(1)).skip(rows.start).take(rows.len());
        for line in lines {
            let Some(pixels) = line.get_mut(columns.clone()) else { continue };
            if opacity >= 256 {
                pixels.fill(word(colour));
            } else {
                for pixel in pixels {
                    let [red, green, blue, _] = pixel.to_le_bytes();
                    *pixel = word(Rgb(red, green, blue).towards(colour, opacity));
                }
            }
        }
    }

    /// Draws a square for every pixel of the curve.
    fn arrow(&mut self, arrow: &Arrow, colour: Rgb) {
        let [a, b, c, d] = arrow.points.map(|(x, y)| (f64::from(x), f64::from(y)));
        let legs = arrow.points.windows(2).map(|leg| match leg {
            [from, to] => from.0.abs_diff(to.0).max(from.1.abs_diff(to.1)),
            _ => 0,
        });
        let steps = legs.fold(1u32, u32::saturating_add).min(1 << 14);
        let half = arrow.width / 2;
        let mut last = None;
        for step in 0..=steps {
            let t = f64::from(step) / f64::from(steps);
            let rest = 1.0 - t;
            let [wa, wb, wc, wd] = [rest * rest * rest, 3.0 * rest * rest * t, 3.0 * rest * t * t, t * t * t];
            let at = |a: f64, b: f64, c: f64, d: f64| (wa * a + wb * b + wc * c + wd * d) as i32;
            let point = (at(a.0, b.0, c.0, d.0), at(a.1, b.1, c.1, d.1));
            if last.replace(point) != Some(point) {
                let (x, y) = (point.0 - half, point.1 - half);
                self.fill(Rect { x, y, width: arrow.width, height: arrow.width }, colour, 256);
            }
        }
        let (x, y) = (d.0 as i32, d.1 as i32);
        for back in 0..arrow.head {
            let side = back / 2 + 1;
            self.fill(Rect { x: x - back, y: y - side, width: 1, height: 2 * side }, colour, 256);
        }
    }

    fn write(&mut self, x: i32, y: i32, width: i32, text: &str, ink: Rgb, style: TextStyle) {
        self.letterings.push(Lettering { x, y, width, text: text.to_owned(), ink, style });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_outside_is_cut_off() {
        let (black, white) = (Rgb(0, 0, 0), Rgb(255, 255, 255));
        let mut raster = Raster::default();
        raster.clear(3, 2, black);
        raster.fill(Rect { x: -5, y: 1, width: 6, height: 9 }, white, 256);
        raster.fill(Rect { x: 2, y: -1, width: i32::MAX, height: 2 }, white, 128);
        raster.fill(Rect { x: 7, y: 7, width: 1, height: 1 }, white, 256);
        raster.fill(Rect { x: 0, y: 0, width: -1, height: 1 }, white, 256);
        let red: Vec<u8> = raster.pixels().iter().map(|pixel| pixel.to_le_bytes()[0]).collect();
        assert_eq!(red, [0, 0, 127, 255, 0, 0]);
        raster.clear(0, 0, black);
        raster.fill(Rect { x: 0, y: 0, width: 1, height: 1 }, white, 256);
    }
}
