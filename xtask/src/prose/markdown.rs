//! Extracts the prose of Markdown files.

use super::{Passage, without_code};

/// Returns the part of a changelog that precedes the section of the second version. Older sections are history, and
/// must not change.
pub(super) fn newest_section(text: &str) -> &str {
    let second = text.match_indices("\n## ").nth(1).map(|(at, _)| at);
    second.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// Returns the text of a Markdown file without code, URLs and HTML comments, as one passage.
pub(super) fn passages(text: &str) -> Vec<Passage> {
    let mut is_code = false;
    let mut prose = String::with_capacity(text.len());
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        if is_fence {
            is_code = !is_code;
        }
        if !is_fence && !is_code && !line.trim_start().starts_with("<!--") {
            prose.push_str(line);
        }
        prose.push('\n');
    }
    vec![Passage { line: 1, text: without_code(&prose), is_comment: false }]
}
