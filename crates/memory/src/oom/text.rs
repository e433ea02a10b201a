//! Restores the original lines of a log: removes terminal colours and the escapes of JSON and Python.

use std::borrow::Cow;

use base::out_of_memory;

/// Number of levels of escapes that are removed, for JSON text inside JSON text.
const LEVELS: usize = 3;

/// Calls `take` with each line of a text. A line of JSON or Python that quotes several lines is split into the quoted
/// lines.
pub(super) fn lines(text: &str, mut take: impl FnMut(&str)) {
    for line in text.lines() {
        let mut plain = without_colours(line);
        for _ in 0..LEVELS {
            if !is_quoted(&plain) {
                break;
            }
            plain = Cow::Owned(unescaped(&plain));
        }
        plain.lines().for_each(&mut take);
    }
}

/// Returns true if a line is a quotation. Windows paths also contain backslashes, but do not occur in lines that report the
/// error.
fn is_quoted(line: &str) -> bool {
    (line.contains("\\n") && !line.contains('\n') && out_of_memory::is_said(line.as_bytes()))
        || (line.contains("\\\"") && line.contains("\":"))
}

fn unescaped(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') | None => {}
            Some('u') => {
                let digits: String = chars.by_ref().take(4).collect();
                text.extend(u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32));
            }
            Some(other) => text.push(other),
        }
    }
    text
}

/// Removes the escape sequences for terminal colours: `ESC [ 3 1 m`.
fn without_colours(line: &str) -> Cow<'_, str> {
    if !line.contains('\u{1b}') {
        return Cow::Borrowed(line);
    }
    let mut text = String::with_capacity(line.len());
    for (index, part) in line.split('\u{1b}').enumerate() {
        let rest = part.strip_prefix('[').filter(|_| index > 0);
        let shown = rest.map(|rest| rest.trim_start_matches(|c: char| !c.is_ascii_alphabetic()));
        text.push_str(shown.and_then(|shown| shown.get(1..)).unwrap_or(if rest.is_some() { "" } else { part }));
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    fn lines(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        super::lines(text, |line| found.push(line.to_owned()));
        found
    }

    #[test]
    fn quoted_lines_are_lines() {
        assert_eq!(lines(r#"{"m":"OOM\n\tSize: \"1\""}"#), ["{\"m\":\"OOM", "\tSize: \"1\"\"}"]);
        assert_eq!(lines(r#"{"m":"{\"n\":\"OOM\\nb\"}"}"#), ["{\"m\":\"{\"n\":\"OOM", "b\"}\"}"]);
        assert_eq!(lines(r#"source_file="C:\new\tall.py""#), [r#"source_file="C:\new\tall.py""#]);
        assert_eq!(lines("\u{1b}[31mOOM\u{1b}[0m x\u{1b}"), ["OOM x"]);
    }
}
