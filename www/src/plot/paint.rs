//! Converts colours computed by a browser to a form that all SVG readers accept, and escapes text for XML.

use crossprof::text::number::decimal;

/// Converts a computed colour (`rgb(1, 2, 3)`, `rgba(1, 2, 3, 0.5)`, `color(srgb 0.1 0.2 0.3 / 0.5)`) to `#rrggbb` and
/// an opacity. Returns `None` if the text is not a colour, or if the colour is fully transparent.
pub fn paint(text: &str) -> Option<(String, f64)> {
    let (kind, rest) = text.split_once('(')?;
    let unit = match kind {
        "rgb" | "rgba" => 1.0,
        "color" => 255.0,
        _ => return None,
    };
    let mut numbers = rest.split([' ', ',', '/', ')']).filter_map(decimal);
    let mut channel = || numbers.next().map(|value| (value * unit).round().clamp(0.0, 255.0) as u8);
    let (red, green, blue) = (channel()?, channel()?, channel()?);
    let strength = numbers.next().unwrap_or(1.0);
    (strength > 0.0).then(|| (format!("#{red:02x}{green:02x}{blue:02x}"), strength))
}

/// Escapes text for XML elements and attributes. Characters that XML forbids become U+FFFD.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computed_colours_are_read() {
        assert_eq!(paint("rgb(0, 104, 180)"), Some(("#0068b4".to_owned(), 1.0)));
        assert_eq!(paint("rgba(0, 104, 180, 0.5)"), Some(("#0068b4".to_owned(), 0.5)));
        assert_eq!(paint("rgba(0, 0, 0, 0)"), None);
        assert_eq!(paint("color(srgb 1 0.5 0)"), Some(("#ff8000".to_owned(), 1.0)));
        assert_eq!(paint("color(srgb 0 0 0 / 0.62)"), Some(("#000000".to_owned(), 0.62)));
        assert_eq!(paint("none"), None);
        assert_eq!(paint("url(#a)"), None);
    }

    #[test]
    fn text_from_a_trace_is_escaped() {
        assert_eq!(escaped("<a b=\"c\">&\u{1}"), "&lt;a b=&quot;c&quot;&gt;&amp;\u{fffd}");
    }
}
