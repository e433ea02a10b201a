//! Pictures of drawings.

use std::fmt::Write as _;

use base::format::printable;

use crate::drawing::Drawing;
use crate::layout::Point;
use crate::visible::Visible;

/// Returns an SVG. `title` is the name of the picture for screen readers.
pub fn svg(title: &str, visible: &Visible, drawing: &Drawing) -> String {
    let (width, height) = (drawing.size.0.max(1.0), drawing.size.1.max(1.0));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} \
         {height:.0}\" font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"11\">\n<title>"
    );
    escape(title, &mut out);
    out.push_str(
        "</title>\n<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" \
         markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#667085\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
    );
    for (node, drawn) in visible.nodes.iter().zip(&drawing.nodes) {
        let (fill, border) = drawn.class.colours();
        let stroke = match (node.is_centre, node.is_root) {
            (true, _) => "stroke-width=\"3\"",
            (_, true) => "stroke-width=\"2\"",
            _ => "stroke-width=\"1\"",
        };
        let dashes = if node.is_open { " stroke-dasharray=\"5 3\"" } else { "" };
        let _ = write!(out, "<g class=\"{}\"><title>", drawn.class.name());
        escape(&node.id, &mut out);
        let _ = write!(
            out,
            "</title><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"5\" fill=\"{fill}\" \
             stroke=\"{border}\" {stroke}{dashes}/>",
            drawn.x, drawn.y, drawn.width, drawn.height
        );
        let (x, anchor) = match node.is_open {
            true => (drawn.x + 10.0, "start"),
            false => (drawn.x + drawn.width / 2.0, "middle"),
        };
        for (number, line) in drawn.lines.iter().enumerate() {
            let y = drawn.y + 17.0 + number as f64 * 15.0;
            let weight = if number == 0 { " font-weight=\"600\"" } else { "" };
            let _ = write!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"{weight} fill=\"#101828\">");
            escape(line, &mut out);
            out.push_str("</text>");
        }
        out.push_str("</g>\n");
    }
    for (edge, route) in visible.edges.iter().zip(&drawing.routes).filter(|(_, route)| route.len() > 1) {
        let width = if edge.count > 1 { 2.0 } else { 1.2 };
        let _ = write!(
            out,
            "<path d=\"{}\" fill=\"none\" stroke=\"#667085\" stroke-width=\"{width}\" marker-end=\"url(#arrow)\"/>",
            path(route)
        );
        if let (true, Some(at)) = (edge.count > 1, middle(route)) {
            let _ = write!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"#475467\" font-size=\"10\">{}</text>",
                at.0 + 4.0,
                at.1,
                edge.count
            );
        }
        out.push('\n');
    }
    out.push_str("</svg>\n");
    out
}

/// Returns the SVG path data of a route. Corners are rounded.
pub fn path(route: &[Point]) -> String {
    const RADIUS: f64 = 8.0;
    let mut out = String::new();
    for (index, &point) in route.iter().enumerate() {
        let neighbours = index.checked_sub(1).and_then(|before| route.get(before)).zip(route.get(index + 1));
        match neighbours {
            Some((&before, &after)) => {
                let (a, b) = (towards(point, before, RADIUS), towards(point, after, RADIUS));
                let _ = write!(out, "L{:.1} {:.1}Q{:.1} {:.1} {:.1} {:.1}", a.0, a.1, point.0, point.1, b.0, b.1);
            }
            None => {
                let _ = write!(out, "{}{:.1} {:.1}", if index == 0 { 'M' } else { 'L' }, point.0, point.1);
            }
        }
    }
    out
}

/// Returns the point on the way from `from` to `to` that is `distance` away from `from`, but at most halfway.
fn towards(from: Point, to: Point, distance: f64) -> Point {
    let (x, y) = (to.0 - from.0, to.1 - from.1);
    let length = (x * x + y * y).sqrt();
    let part = if length > 0.0 { (distance / length).min(0.5) } else { 0.0 };
    (from.0 + part * x, from.1 + part * y)
}

/// Returns the middle of a route's first segment, where the edge's number of operands is written.
pub(crate) fn middle(route: &[Point]) -> Option<Point> {
    let (a, b) = (route.first()?, route.get(1)?);
    Some(((a.0 + b.0) / 2.0, (a.1 + b.1) / 2.0))
}

/// Appends `text`, with the special characters of XML escaped.
fn escape(text: &str, out: &mut String) {
    for c in printable(text).chars() {
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
