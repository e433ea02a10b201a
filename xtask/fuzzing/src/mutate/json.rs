//! Mutations of one token of a JSON text, or of the value that starts at that token.

use std::ops::Range;

use super::{bytes, hostile_text, repacked};
use crate::Random;

/// Kind of a token, determined by its first byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    /// A number or a literal.
    Word,
    Open,
    Close,
    /// A comma or a colon.
    Between,
}

struct Token {
    kind: Kind,
    range: Range<usize>,
}

/// Mutates one token or value of the text. Compressed text is unpacked first, and compressed again after the mutation.
pub(super) fn changed(text: &[u8], random: &mut Random) -> Vec<u8> {
    if let Some(packed) = repacked(text, |plain| changed(plain, random)) {
        return packed;
    }
    let tokens = tokens(text);
    if tokens.is_empty() {
        return bytes::changed(text, text, random);
    }
    // The position is mostly the start of a value or a key, so that most results are still valid JSON.
    let starts: Vec<usize> =
        (0..tokens.len()).filter(|&at| !matches!(tokens[at].kind, Kind::Close | Kind::Between)).collect();
    let at = if starts.is_empty() || random.once_in(8) { random.below(tokens.len()) } else { *random.pick(&starts) };
    let token = &tokens[at];
    let value = token.range.start..tokens[end_of_value(&tokens, at)].range.end;
    let mut out = text.to_vec();
    match random.below(10) {
        // Removes a member or an element, with the comma after it.
        0 => {
            let key = if at >= 2 && text[tokens[at - 1].range.start] == b':' {
                tokens[at - 2].range.start
            } else {
                value.start
            };
            let comma =
                text[value.end..].iter().position(|byte| !byte.is_ascii_whitespace()).map(|skip| value.end + skip);
            let end = comma.filter(|&comma| text[comma] == b',').map_or(value.end, |comma| comma + 1);
            out.drain(key..end);
        }
        // Repeats an element.
        1 => {
            let mut copy = text[value.clone()].to_vec();
            copy.push(b',');
            copy.truncate(4096);
            out.splice(value.start..value.start, copy.repeat(1 << random.below(9)));
        }
        2 => out.truncate(token.range.start),
        3 => out.splice(value.clone(), nested(random)).for_each(drop),
        // Replaces a value with another one.
        4 => {
            let from = random.below(tokens.len());
            let other = tokens[from].range.start..tokens[end_of_value(&tokens, from)].range.end;
            let piece: Vec<u8> = text[other].iter().copied().take(1 << 16).collect();
            out.splice(value, piece);
        }
        5 => out.splice(value, number(random).bytes()).for_each(drop),
        6 => out.splice(value, quoted(random).bytes()).for_each(drop),
        _ => match token.kind {
            Kind::Text => out.splice(token.range.clone(), quoted(random).bytes()).for_each(drop),
            Kind::Word => out.splice(token.range.clone(), number(random).bytes()).for_each(drop),
            _ => out
                .splice(token.range.clone(), random.pick(&["", "[", "]", "{", "}", ",", ":", "\0", "//"]).bytes())
                .for_each(drop),
        },
    }
    out
}

fn tokens(text: &[u8]) -> Vec<Token> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let start = at;
        let kind = match text[at] {
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'"' => {
                at += 1;
                while at < text.len() && text[at] != b'"' {
                    at += if text[at] == b'\\' { 2 } else { 1 };
                }
                Kind::Text
            }
            b'{' | b'[' => Kind::Open,
            b'}' | b']' => Kind::Close,
            b',' | b':' => Kind::Between,
            _ => {
                let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"{}[],:\"".contains(byte);
                at += text[at..].iter().position(is_end).unwrap_or(text.len() - at) - 1;
                Kind::Word
            }
        };
        at = (at + 1).min(text.len());
        found.push(Token { kind, range: start..at });
    }
    found
}

/// Returns the last token of the value that starts at `start`.
fn end_of_value(tokens: &[Token], start: usize) -> usize {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    start
}

/// Returns a number that no profiler writes. Some of these numbers are not valid JSON.
fn number(random: &mut Random) -> String {
    const NUMBERS: [&str; 20] = [
        "1e308",
        "-1e308",
        "5e-324",
        "-1",
        "-0",
        "0",
        "0.1",
        "1e-7",
        "18446744073709551615",
        "18446744073709551616",
        "9223372036854775807",
        "-9223372036854775808",
        "9007199254740993",
        "1e18",
        "null",
        "true",
        "\"1e308\"",
        "\"-5\"",
        "4503599627370497.5",
        "100000000",
    ];
    const NO_NUMBERS: [&str; 5] = ["NaN", "Infinity", "-Infinity", "1e309", "0x10"];
    match random.below(12) {
        0 => "9".repeat(1 << random.below(14)),
        1 | 2 => (*random.pick(&NO_NUMBERS)).to_owned(),
        _ => (*random.pick(&NUMBERS)).to_owned(),
    }
}

fn nested(random: &mut Random) -> Vec<u8> {
    let depth = 1 << random.below(17);
    let (open, close) = *random.pick(&[("[", "]"), ("{\"a\":", "}")]);
    let mut text = open.repeat(depth);
    text.push('1');
    if !random.once_in(4) {
        text.push_str(&close.repeat(depth));
    }
    text.into_bytes()
}

/// Returns a JSON string. Some of these strings lack the escapes that JSON requires.
fn quoted(random: &mut Random) -> String {
    const RAW: [&str; 6] =
        [r#""\ud800""#, r#""\u202e\u0000""#, r#""\x""#, "\"\u{1}\n\"", r#""\"#, "\"\u{feff}\u{2028}\""];
    if random.once_in(4) {
        (*random.pick(&RAW)).to_owned()
    } else {
        serde_json::Value::String(hostile_text(random)).to_string()
    }
}
