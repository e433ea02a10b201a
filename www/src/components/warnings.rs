//! Warnings, and functions that limit the length of text.

use crossprof::text::format;
use crossprof::{Severity, Warning};
use leptos::prelude::*;

use crate::table::cell::WHOLE_CHARS;

/// A warning: severity, message and remedy.
#[component]
pub fn WarningRow(
    /// The warning to show.
    warning: Warning,
) -> impl IntoView {
    let (word, class) = match warning.severity {
        Severity::Note => ("note", "note"),
        Severity::Caution => ("caution", "warning"),
        Severity::Damage => ("damage", "bad"),
    };
    let place = match (&warning.file, warning.byte_offset) {
        (Some(file), Some(offset)) => Some(format!("{}, byte {}", bounded(file), format::count(offset))),
        (Some(file), None) => Some(bounded(file)),
        (None, Some(offset)) => Some(format!("byte {}", format::count(offset))),
        (None, None) => None,
    };
    view! {
        <div class=format!("warning-row {class}") data-code=warning.code>
            <span class=format!("badge {class}")>{word}</span>
            <p><bdi>{bounded(&warning.message)}</bdi>
                {warning.remedy.map(|remedy| view! { " "<span class="remedy">{remedy}</span> })}
                {place.map(|place| view! { <bdi class="place quiet">{place}</bdi> })}
            </p>
        </div>
    }
}

/// Limits the length of text from a trace. Also replaces control characters and all characters that change the
/// direction of text.
pub fn bounded(text: &str) -> String {
    format::printable(&format::shorten(text, WHOLE_CHARS))
}

/// Like [`bounded`], but also keeps numbers and their units on one line.
pub fn tied(text: &str) -> String {
    let text = bounded(text);
    let mut out = String::with_capacity(text.len());
    // True if the word before the space is a number. A name may also end with a digit.
    let mut is_number = false;
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        // A unit is `%`, or begins with a letter or `µ`. A non-breaking space before other words is harmless.
        let is_unit = rest.peek().is_some_and(|next| matches!(*next, '%' | 'µ') || next.is_ascii_alphabetic());
        out.push(if c == ' ' && is_number && before.is_ascii_digit() && is_unit { '\u{a0}' } else { c });
        let is_figure = c.is_ascii_digit() || matches!(c, '.' | ',' | '\u{202f}');
        is_number = is_figure && (is_number || before == ' ');
        before = c;
    }
    out
}

/// Renders text without line breaks inside command-line flags, which contain hyphens.
pub fn with_whole_flags(text: &str) -> AnyView {
    if !text.contains("--") {
        return text.to_owned().into_any();
    }
    let word = |(at, word): (usize, &str)| {
        let space = if at == 0 { "" } else { " " };
        match word.contains("--") {
            true => view! { {space}<span class="word">{word.to_owned()}</span> }.into_any(),
            false => format!("{space}{word}").into_any(),
        }
    };
    text.split(' ').enumerate().map(word).collect_view().into_any()
}

/// Joins facts about a mark of a chart, one per line. Removes line breaks inside a fact.
pub fn bounded_lines(facts: &[&str]) -> String {
    let lines = facts.iter().filter(|fact| !fact.is_empty()).map(|fact| bounded(fact));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::tied;

    #[test]
    fn a_number_stays_with_its_unit() {
        assert_eq!(tied("Of each 46.8 ms, 56.5 % is"), "Of each 46.8\u{a0}ms, 56.5\u{a0}% is");
        assert_eq!(tied("a 1 2, b c"), "a 1 2, b c");
        assert_eq!(tied("/device:GPU:0 uses 24.0 GiB"), "/device:GPU:0 uses 24.0\u{a0}GiB");
        assert_eq!(tied(""), "");
    }
}
