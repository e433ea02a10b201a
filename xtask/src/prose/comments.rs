//! Extracts the comments of Rust files.

use super::{Passage, without_code};

/// Returns the comments of a Rust file. Consecutive line comments form one passage, and a comment after code is a
/// separate passage.
pub(super) fn passages(text: &str) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::new();
    let mut last: Option<(usize, &str)> = None;
    let mut is_code = false;
    for (line, start, is_alone) in line_comments(text) {
        let comment = text[start..].split('\n').next().unwrap_or_default().trim_end_matches('\r');
        let (marker, body) = split_marker(comment);
        let continues = is_alone && last == Some((line - 1, marker));
        if !continues {
            is_code = false;
        }
        let is_fence = body.trim_start().starts_with("```");
        if is_fence {
            is_code = !is_code;
        }
        let shown = if is_fence || is_code { "" } else { body };
        match passages.last_mut() {
            Some(passage) if continues => {
                passage.text.push('\n');
                passage.text.push_str(shown);
            }
            _ => passages.push(Passage { line, text: shown.to_owned(), is_comment: true }),
        }
        last = is_alone.then_some((line, marker));
    }
    for passage in &mut passages {
        passage.text = without_code(&passage.text);
    }
    passages
}

/// Splits a comment into its slashes and its text.
fn split_marker(comment: &str) -> (&str, &str) {
    let marker = ["///", "//!"].into_iter().find(|marker| comment.starts_with(marker)).unwrap_or("//");
    comment.split_at(marker.len())
}

/// Finds the line comments of a Rust file. For each comment, returns the line number from 1, the position of the
/// slashes, and true if no code is before the comment on its line.
fn line_comments(text: &str) -> Vec<(usize, usize, bool)> {
    let bytes = text.as_bytes();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let mut found = Vec::new();
    let (mut at, mut line, mut is_alone) = (0, 1, true);
    while at < bytes.len() {
        let end = match (byte(at), byte(at + 1)) {
            (b'/', b'/') => {
                found.push((line, at, is_alone));
                text[at..].find('\n').map_or(bytes.len(), |length| at + length)
            }
            (b'/', b'*') => end_of_block(bytes, at),
            (b'r', b'"' | b'#') if !is_name(byte(at.wrapping_sub(1))) || byte(at.wrapping_sub(1)) == b'b' => {
                end_of_raw_string(text, at)
            }
            (b'"', _) => end_of_string(bytes, at),
            (b'\'', _) => end_of_character(text, at),
            _ => at + 1,
        };
        for passed in &bytes[at..end.min(bytes.len())] {
            match passed {
                b'\n' => (line, is_alone) = (line + 1, true),
                passed if !passed.is_ascii_whitespace() => is_alone = false,
                _ => {}
            }
        }
        at = end;
    }
    found
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns the end of a block comment, which can contain other block comments.
fn end_of_block(bytes: &[u8], start: usize) -> usize {
    let (mut depth, mut at) = (0, start);
    while at + 1 < bytes.len() {
        match (bytes[at], bytes[at + 1]) {
            (b'/', b'*') => (depth, at) = (depth + 1, at + 2),
            (b'*', b'/') => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

/// Returns the end of a raw string. If the letter at `start` does not begin a string, returns the end of the letter.
fn end_of_raw_string(text: &str, start: usize) -> usize {
    let after = &text[start + 1..];
    let hashes = after.len() - after.trim_start_matches('#').len();
    let Some(body) = after[hashes..].strip_prefix('"') else { return start + 1 };
    let end = format!("\"{}", "#".repeat(hashes));
    let from = start + 1 + hashes + 1;
    body.find(&end).map_or(text.len(), |length| from + length + end.len())
}

fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Returns the end of a character in single quotation marks. If the mark at `start` begins a lifetime, returns the end
/// of the mark.
fn end_of_character(text: &str, start: usize) -> usize {
    let after = &text[start + 1..];
    let length = match after.chars().next() {
        Some('\\') => after.get(2..).and_then(|rest| rest.find('\'')).map(|length| length + 2),
        Some(c) => after[c.len_utf8()..].starts_with('\'').then_some(c.len_utf8()),
        None => None,
    };
    length.map_or(start + 1, |length| start + 1 + length + 1)
}
