//! Escaping and rows of tables in Markdown (GitHub's dialect).

use base::format;

/// Appends a row of cells that are already Markdown.
pub fn push_row(text: &mut String, cells: &[String]) {
    text.push_str("| ");
    text.push_str(&cells.join(" | "));
    text.push_str(" |\n");
}

/// Escapes every character that could start markup, so that text from a trace is never markup.
pub fn escape(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    let text = format::printable(name);
    for (at, c) in text.char_indices() {
        // GitHub turns every URL into a link.
        let begins_link = match c {
            ':' => text.get(at..).is_some_and(|rest| rest.starts_with("://")),
            '.' => text.get(..at).is_some_and(|before| before.to_ascii_lowercase().ends_with("www")),
            _ => false,
        };
        match c {
            _ if begins_link => escaped.extend(['\\', c]),
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '\\' | '|' | '*' | '_' | '`' | '[' | ']' | '#' | '~' | '$' | '@' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_never_become_markup() {
        assert_eq!(escape("<img onerror=x>|*a_b*"), "&lt;img onerror=x>\\|\\*a\\_b\\*");
        assert_eq!(escape("[x](javascript:1)\n# h"), "\\[x\\](javascript:1) \\# h");
        assert_eq!(escape("see http://a.b, WWW.a.b: 1.5"), "see http\\://a.b, WWW\\.a.b: 1.5");
    }
}
