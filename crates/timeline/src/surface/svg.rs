//! A canvas that creates an SVG, so that documents can contain the same picture as the page.

use std::fmt::Write as _;

use crate::draw::paint::Rgb;
use crate::surface::canvas::{Arrow, Canvas, Rect, TextStyle};

/// A vector graphic that is being drawn. Adjacent rectangles with the same colour and height are merged.
#[derive(Clone, Debug, Default)]
pub struct Svg {
    body: String,
    last: Option<(Rect, Rgb, u32)>,
}

impl Svg {
    /// Returns the complete graphic with this size. Screen readers read `title` aloud.
    pub fn finish(mut self, width: u32, height: u32, title: &str) -> String {
        self.flush();
        let mut name = String::new();
        escape(title, &mut name);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             role=\"img\" aria-label=\"{name}\" font-size=\"11\">{}</svg>\n",
            self.body
        )
    }

    fn flush(&mut self) {
        if let Some((rect, Rgb(red, green, blue), opacity)) = self.last.take() {
            let Rect { x, y, width, height } = rect;
            // This fails only if memory is exhausted.
            let _ = write!(
                self.body,
                "<path fill=\"#{red:02x}{green:02x}{blue:02x}\" d=\"M{x} {y}h{width}v{height}h-{width}z\""
            );
            if opacity < 256 {
                let _ = write!(self.body, " opacity=\"{:.2}\"", f64::from(opacity) / 256.0);
            }
            self.body.push_str("/>");
        }
    }
}

impl Canvas for Svg {
    fn fill(&mut self, rect: Rect, colour: Rgb, opacity: u32) {
        if rect.width <= 0 || rect.height <= 0 {
            return;
        }
        if let Some((last, same, as_opaque)) = &mut self.last
            && (*same, *as_opaque, last.y, last.height) == (colour, opacity, rect.y, rect.height)
            && last.x + last.width == rect.x
        {
            last.width += rect.width;
            return;
        }
        self.flush();
        self.last = Some((rect, colour, opacity));
    }

    fn arrow(&mut self, arrow: &Arrow, Rgb(red, green, blue): Rgb) {
        self.flush();
        let [(ax, ay), (bx, by), (cx, cy), (x, y)] = arrow.points;
        let colour = format!("#{red:02x}{green:02x}{blue:02x}");
        // This fails only if memory is exhausted.
        let _ = write!(
            self.body,
            "<path fill=\"none\" stroke=\"{colour}\" stroke-width=\"{}\" d=\"M{ax} {ay}C{bx} {by} {cx} {cy} {x} {y}\"/>",
            arrow.width
        );
        if arrow.head > 0 {
            let (head, side) = (arrow.head, arrow.head / 2 + 1);
            let _ = write!(self.body, "<path fill=\"{colour}\" d=\"M{x} {y}l-{head} -{side}v{}z\"/>", 2 * side);
        }
    }

    fn write(&mut self, x: i32, y: i32, _width: i32, text: &str, Rgb(red, green, blue): Rgb, style: TextStyle) {
        self.flush();
        let family = match style {
            TextStyle::Event => "font-family=\"monospace\"",
            TextStyle::Plain => "font-family=\"sans-serif\"",
            TextStyle::Heading => "font-family=\"sans-serif\" font-weight=\"600\"",
        };
        // This fails only if memory is exhausted.
        let _ = write!(
            self.body,
            "<text x=\"{x}\" y=\"{y}\" dominant-baseline=\"central\" fill=\"#{red:02x}{green:02x}{blue:02x}\" {family}>"
        );
        escape(text, &mut self.body);
        self.body.push_str("</text>");
    }
}

/// Escapes a text from a trace, so that it is never interpreted as markup.
fn escape(text: &str, out: &mut String) {
    for c in base::format::printable(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_markup_and_touching_marks_are_one() {
        let mut svg = Svg::default();
        let rect = |x| Rect { x, y: 0, width: 2, height: 5 };
        [0, 2, 4].into_iter().for_each(|x| svg.fill(rect(x), Rgb(1, 2, 3), 256));
        svg.fill(rect(9), Rgb(1, 2, 3), 64);
        svg.write(0, 5, 9, "<script>&'\"", Rgb(0, 0, 0), TextStyle::Event);
        let text = svg.finish(20, 10, "a<b");
        assert!(text.contains("d=\"M0 0h6v5h-6z\"/>") && text.contains("M9 0h2v5h-2z\" opacity=\"0.25\"/>"), "{text}");
        assert!(
            text.contains("&lt;script&gt;&amp;&#39;&quot;</text>") && text.contains("aria-label=\"a&lt;b\""),
            "{text}"
        );
    }
}
