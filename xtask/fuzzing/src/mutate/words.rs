//! Mutations of one line or word of a text that is not JSON.

use super::{bytes, hostile_text};
use crate::Random;

/// Mutates one line or word of the text.
pub(super) fn changed(text: &[u8], random: &mut Random) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(text) else { return bytes::changed(text, text, random) };
    if text.is_empty() {
        return hostile_text(random).into_bytes();
    }
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let (at, other) = (random.below(lines.len()), random.below(lines.len()));
    match random.below(5) {
        0 => drop(lines.remove(at)),
        1 => {
            let copy = lines[at].clone();
            lines.insert(other, copy);
        }
        2 => lines.swap(at, other),
        _ => {
            let from = lines[other].clone();
            lines[at] = with_other_word(&lines[at], &from, random);
        }
    }
    lines.join("\n").into_bytes()
}

fn with_other_word(line: &str, other: &str, random: &mut Random) -> String {
    const WORDS: [&str; 28] = [
        "baseline",
        "-",
        "+",
        "*",
        "%",
        "==",
        "!=",
        "<=",
        ">",
        "1e308",
        "1e999",
        "-1",
        "0",
        "NaN",
        "99999999999999999999",
        "ms",
        "GiB",
        "[*]",
        "[0]",
        "[name=\"",
        "count(",
        ")",
        "if measured",
        "\"",
        "'''",
        "= [",
        "\u{7f}",
        "of",
    ];
    let mut words: Vec<&str> = line.split_inclusive([' ', '.', '[', ']', '(', ')', '"', '=']).collect();
    let at = random.below(words.len());
    let hostile = hostile_text(random);
    let others: Vec<&str> = other.split_inclusive([' ', '.', '[', ']', '"']).collect();
    let word = match random.below(4) {
        0 => hostile.as_str(),
        1 if !others.is_empty() => random.pick(&others),
        _ => random.pick(&WORDS),
    };
    if random.once_in(2) && !words.is_empty() {
        words[at] = word;
    } else {
        words.insert(at, word);
    }
    words.concat()
}
