//! Text inside markup, of HTML and of XML.

use base::format::printable;

/// Text as text: nothing in it is markup, in an element or in an attribute. Control characters, which XML cannot hold in any
/// spelling, are written out, and so are the two code points that it forbids.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => escaped.extend(c.escape_unicode()),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_markup_and_nothing_is_lost() {
        assert_eq!(escape("a<b & 'c' > \"d\""), "a&lt;b &amp; &#39;c&#39; &gt; &quot;d&quot;");
        let odd = escape("\u{1}\u{fffe}");
        assert!(odd.is_ascii() && odd.contains("fffe"), "{odd}");
    }
}
