//! The `prose` check, which reports phrases that make the project's prose hard to read.
//!
//! The check reads the Markdown files and the comments of the Rust files that git tracks. The check skips code spans,
//! code blocks, URLs and strings. The list of phrases is [`PHRASES`].

mod comments;
mod markdown;

use crate::{Result, cache, process};
use std::collections::BTreeMap;
use std::process::Command;

/// Part of a comment or document in which a phrase is not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Beginning of a comment.
    Start,
    /// All of a comment or Markdown file.
    Anywhere,
}

use Place::{Anywhere, Start};

/// A phrase in lower case, the place in which the phrase is not allowed, and the advice that the check prints.
type Phrase = (&'static str, Place, &'static str);

/// All phrases. The check has no exceptions. If the check reports a sentence, rewrite the sentence, or put names from
/// the code into backticks.
const PHRASES: &[Phrase] = &[
    ("what", Start, "start with a verb or with the thing itself"),
    ("whether", Start, "write \"Returns true if\" or \"True if\""),
    ("of which", Start, "start with a verb or with the thing itself"),
    ("that of", Start, "name the thing"),
    ("where", Start, "write \"If\" or \"Place of\""),
    ("who", Start, "name the actor"),
    ("by what", Start, "start with a verb or with the thing itself"),
    ("in which", Start, "start with a verb or with the thing itself"),
    ("the reverse", Start, "repeat the noun"),
    ("whoever", Anywhere, "name the actor: the user, the caller, the worker"),
    ("nobody", Anywhere, "write \"no user\" or \"no caller\", or the passive"),
    ("somebody", Anywhere, "write \"the user\" or \"the caller\""),
    ("at hand", Anywhere, "write \"available\""),
    ("in sight", Anywhere, "write \"visible\""),
    ("beside", Anywhere, "write \"next to\" or \"in addition to\""),
    ("lies", Anywhere, "write \"is\""),
    ("is of", Anywhere, "write \"belongs to\" or \"covers\" or \"comes from\""),
    ("are of", Anywhere, "write \"belong to\" or \"cover\" or \"come from\""),
    ("is told", Anywhere, "write \"receives\" or \"is reported\""),
    ("are told", Anywhere, "write \"receive\" or \"are reported\""),
    ("tells apart", Anywhere, "write \"distinguishes\""),
    ("tell apart", Anywhere, "write \"distinguish\""),
    ("told apart", Anywhere, "write \"distinguished\""),
    ("not told by", Anywhere, "write \"not in the trace\""),
    ("goes on", Anywhere, "write \"continues\""),
    ("go on", Anywhere, "write \"continue\""),
    ("one after the other", Anywhere, "write \"in order\""),
    ("as far as", Anywhere, "write \"if\", or name the part"),
    ("made up", Anywhere, "write \"synthetic\" or \"consists of\""),
    ("made-up", Anywhere, "write \"synthetic\""),
    ("what it rests on", Anywhere, "write \"evidence\""),
    ("at stake", Anywhere, "write \"impact\""),
    ("communication hidden", Anywhere, "write \"overlapped communication\""),
    ("under the roofs", Anywhere, "write \"roofline\""),
    ("g parameters", Anywhere, "write \"B parameters\""),
];

/// A piece of prose: a Markdown file, or a comment.
#[derive(Debug, PartialEq, Eq)]
struct Passage {
    /// Number of the first line, from 1.
    line: usize,
    /// Text with its line breaks. Spaces replace code and URLs.
    text: String,
    /// True for comments, to which the phrases of [`Start`] apply.
    is_comment: bool,
}

/// A banned phrase that was found in a passage.
#[derive(Debug, PartialEq, Eq)]
struct Hit {
    line: usize,
    phrase: &'static str,
    instead: &'static str,
}

/// Fails if a tracked file contains one of the banned phrases.
pub(crate) fn check() -> Result {
    let list =
        process::output(Command::new("git").args(["ls-files", "*.md", "*.rs"]).current_dir(cache::repository()))?;
    let mut folders: BTreeMap<String, usize> = BTreeMap::new();
    let mut count = 0;
    for name in list.lines() {
        let path = cache::repository().join(name);
        // A file that was deleted and not yet committed is still in the list.
        if !path.exists() {
            continue;
        }
        for hit in hits(name, &cache::read(&path)?) {
            eprintln!("{name}:{}: \"{}\": {}", hit.line, hit.phrase, hit.instead);
            *folders.entry(folder(name)).or_default() += 1;
            count += 1;
        }
    }
    if count == 0 {
        return Ok(());
    }
    let parts: Vec<String> = folders.iter().map(|(folder, count)| format!("{folder} {count}")).collect();
    Err(format!("{count} phrases to rewrite: {}.", parts.join(", ")))
}

/// Returns the group to which a file belongs in the summary. The group is a crate or folder, such as `crates/base` or
/// `www`, or the name of a file in the root.
fn folder(name: &str) -> String {
    let parts: Vec<&str> = name.split('/').collect();
    match parts.as_slice() {
        ["crates", name, ..] => format!("crates/{name}"),
        [first, ..] => (*first).to_owned(),
        [] => String::new(),
    }
}

/// Finds the banned phrases in a file.
fn hits(name: &str, text: &str) -> Vec<Hit> {
    let passages = match name {
        "CHANGELOG.md" => markdown::passages(markdown::newest_section(text)),
        _ if name.ends_with(".md") => markdown::passages(text),
        _ => comments::passages(text),
    };
    passages.iter().flat_map(find).collect()
}

/// Finds the banned phrases in a passage. A line break is treated as a space.
fn find(passage: &Passage) -> Vec<Hit> {
    let text = passage.text.to_lowercase();
    let mut found = Vec::new();
    for &(phrase, place, instead) in PHRASES {
        let mut hit = |at: usize| {
            let line = passage.line + text[..at].matches('\n').count();
            found.push(Hit { line, phrase, instead });
        };
        match place {
            Start => {
                let start = text.len() - text.trim_start().len();
                if passage.is_comment && is_at(&text, start, phrase) {
                    hit(start);
                }
            }
            Anywhere => {
                for (at, _) in text.match_indices(phrase.split(' ').next().unwrap_or(phrase)) {
                    if is_at(&text, at, phrase) {
                        hit(at);
                    }
                }
            }
        }
    }
    found.sort_by_key(|hit| hit.line);
    found
}

/// Returns true if the text contains the phrase at the position `at`, as whole words.
fn is_at(text: &str, at: usize, phrase: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    if text[..at].chars().next_back().is_some_and(is_word) {
        return false;
    }
    let mut rest = &text[at..];
    for (index, word) in phrase.split(' ').enumerate() {
        if index > 0 {
            let trimmed = rest.trim_start();
            if trimmed.len() == rest.len() {
                return false;
            }
            rest = trimmed;
        }
        let Some(after) = rest.strip_prefix(word) else { return false };
        rest = after;
    }
    !rest.chars().next().is_some_and(is_word)
}

/// Replaces code spans and URLs with spaces. Line breaks, and the length of the text in bytes, stay the same.
fn without_code(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '`' => code_span(rest),
            'h' => address(rest),
            // The target of a link in Markdown.
            ']' if rest.starts_with("](") => rest.find(')').map(|end| end + 1),
            _ => None,
        };
        let (skipped, after) = rest.split_at(length.unwrap_or(c.len_utf8()));
        match length {
            Some(_) => result.extend(skipped.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' })),
            None => result.push_str(skipped),
        }
        rest = after;
    }
    result
}

/// Returns the length of the code span at the beginning of the text. A code span does not cross an empty line.
fn code_span(text: &str) -> Option<usize> {
    let ticks = text.len() - text.trim_start_matches('`').len();
    let body = &text[ticks..];
    let paragraph = body.split("\n\n").next().unwrap_or(body);
    Some(ticks + paragraph.find(&"`".repeat(ticks))? + ticks)
}

/// Returns the length of the URL at the beginning of the text.
fn address(text: &str) -> Option<usize> {
    if !text.starts_with("http://") && !text.starts_with("https://") {
        return None;
    }
    Some(text.find(|c: char| c.is_whitespace() || ")>\"".contains(c)).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests;
