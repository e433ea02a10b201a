//! Repairs events with unescaped Windows paths in strings: `"name":"D:\proj\","pid":1`.
//!
//! In JSON, the last backslash of this path escapes the quote that should end the string, so the rest of the event is
//! misread. This module ends a string at a quote if the text after the quote can follow a string.

use super::lexer::skip_space;

/// Maximum length of an event to repair, in bytes.
const LONGEST: usize = 64 << 10;

/// Result of trying to repair an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The event with escaped backslashes, and the position after the event in the original text.
    Escaped(Vec<u8>, usize),
    /// The text ends inside the event.
    Incomplete,
    /// The event has another problem.
    Other,
}

/// Escapes the backslashes of the event at `start`. The JSON parser has read the text up to `until`.
pub(super) fn escaped(buf: &[u8], start: usize, until: usize) -> Outcome {
    let read = buf.get(start..until.max(start)).unwrap_or_default();
    if memchr::memmem::find(read, b"\\\"").is_none() {
        return Outcome::Other;
    }
    let mut text = Vec::new();
    let (mut depth, mut in_string, mut pos) = (0usize, false, start);
    while let Some(&byte) = buf.get(pos) {
        if pos - start > LONGEST {
            return Outcome::Other;
        }
        pos += 1;
        text.push(byte);
        match byte {
            b'\\' if in_string => match (buf.get(pos), ends_string(buf, pos + 1)) {
                (None, _) | (Some(b'"'), None) => return Outcome::Incomplete,
                (Some(b'"'), Some(false)) => {
                    text.push(b'"');
                    pos += 1;
                }
                _ => text.push(b'\\'),
            },
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Outcome::Escaped(text, pos);
                }
            }
            _ => {}
        }
    }
    Outcome::Incomplete
}

/// Returns true if the text at `pos` can follow the end of a string, or `None` if too little text is available to
/// decide.
fn ends_string(buf: &[u8], pos: usize) -> Option<bool> {
    let pos = skip_space(buf, pos);
    match buf.get(pos)? {
        b'}' | b']' | b':' => Some(true),
        b',' => Some(*buf.get(skip_space(buf, pos + 1))? == b'"'),
        _ => Some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_before_a_closing_quote_is_a_backslash() {
        let text = br#"{"name":"D:\proj\","args":{"say":"\"hi\", he","dir":"\\host\a\"}},{"#;
        let fixed = br#"{"name":"D:\\proj\\","args":{"say":"\"hi\", he","dir":"\\\\host\\a\\"}}"#;
        assert_eq!(escaped(text, 0, 20), Outcome::Escaped(fixed.to_vec(), text.len() - 2));
        for cut in 20..text.len() - 2 {
            assert_eq!(escaped(&text[..cut], 0, 20), Outcome::Incomplete, "{cut}");
        }
        assert_eq!(escaped(text, 0, 10), Outcome::Other, "no backslash was read");
    }
}
