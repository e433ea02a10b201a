//! Paths to the numbers of a profile.
//!
//! ```text
//! path     = name { "." name | "." "*" | "[" entry "]" }
//! name     = letters, digits, "_" and "-", or a text in quotation marks
//! entry    = number | "*" | name "=" value { "|" value }
//! ```
//!
//! A name is a field of a section or a key of a map. A number is the index of a list entry, starting at 0. `*` selects every
//! entry, and `direction=h2d` selects the entries whose field has this value.

use std::ops::Range;

use expression::combinator::{alt, delimited, opt, preceded, repeat, separated, terminated};
use expression::tokens::take_while;
use expression::{Error, Input, Parsed, Parser, blank, expected, failure, is_word, name, parse, quoted};

/// One part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathPart {
    /// `name`: a field of a section, or a key of a map.
    Key(String),
    /// `.*`: every key of a map.
    EveryKey,
    /// `[3]`: an entry of a list, starting at 0.
    Index(u64),
    /// `[*]`: every entry of a list.
    EveryEntry,
    /// `[key=value]`: the entries whose field `key` is one of `values`.
    Where {
        /// The field.
        key: String,
        /// Values of the field.
        values: Vec<String>,
    },
}

/// The path of a number in a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// Parts, starting at the root.
    pub parts: Vec<PathPart>,
    /// Position of each part in the parsed text. Empty for paths that were not parsed.
    spans: Vec<Range<usize>>,
}

impl Path {
    /// Creates a path that was not parsed from text.
    pub fn of(parts: Vec<PathPart>) -> Path {
        Path { parts, spans: Vec::new() }
    }

    /// Reads a path and requires the text to end after it.
    ///
    /// # Errors
    ///
    /// Fails if the text is not a path. The error contains the position.
    pub fn parse(text: &str) -> Result<Path, Error> {
        parse(text, path, "The path ends here, but more text follows.")
    }

    /// Returns the position of a part in the text. Empty if the path was not parsed.
    pub fn span(&self, part: usize) -> Range<usize> {
        self.spans.get(part).cloned().unwrap_or(0..0)
    }

    /// Returns the position of the whole path in the text.
    pub fn whole_span(&self) -> Range<usize> {
        match (self.spans.first(), self.spans.last()) {
            (Some(first), Some(last)) => first.start..last.end,
            _ => 0..0,
        }
    }

    /// Returns the path with `part` added at its end.
    pub fn with(&self, part: PathPart) -> Path {
        let mut parts = self.parts.clone();
        parts.push(part);
        Path::of(parts)
    }
}

/// Writes the path in the syntax of rules.
impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, part) in self.parts.iter().enumerate() {
            let dot = if index > 0 { "." } else { "" };
            match part {
                PathPart::Key(name) => write!(f, "{dot}{}", in_quotes(name, is_word))?,
                PathPart::EveryKey => write!(f, "{dot}*")?,
                PathPart::Index(index) => write!(f, "[{index}]")?,
                PathPart::EveryEntry => f.write_str("[*]")?,
                PathPart::Where { key, values } => {
                    let values: Vec<String> = values.iter().map(|value| quoted_value(value)).collect();
                    write!(f, "[{}={}]", in_quotes(key, is_word), values.join("|"))?;
                }
            }
        }
        Ok(())
    }
}

/// Puts the name in quotation marks unless every character is `bare`.
fn in_quotes(name: &str, bare: fn(char) -> bool) -> String {
    if !name.is_empty() && name.chars().all(bare) && name.trim().len() == name.len() && !name.starts_with('=') {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns a value as a selector in brackets spells it.
pub(super) fn quoted_value(value: &str) -> String {
    in_quotes(value, is_bare_value)
}

/// Returns true for a character that needs no quotation marks in brackets.
fn is_bare_value(c: char) -> bool {
    !matches!(c, ']' | '|' | '"' | '\'' | '\\') && !c.is_control()
}

/// Reads a path up to the first character that cannot belong to it.
pub(super) fn path(input: &mut Input<'_>) -> Parsed<Path> {
    let first = expected(name, "A path is expected here, such as step_timing.avg_step_time_us.");
    let (first, span) = first.map(PathPart::Key).with_span().parse_next(input)?;
    let others: Vec<(PathPart, Range<usize>)> = repeat(0.., part).parse_next(input)?;
    let (parts, spans) = std::iter::once((first, span)).chain(others).unzip();
    Ok(Path { parts, spans })
}

/// Reads any part of a path but the first, with its position. The position excludes the preceding dot.
fn part(input: &mut Input<'_>) -> Parsed<(PathPart, Range<usize>)> {
    let key = expected(name, "A name is expected after the dot; names with blanks need quotation marks.");
    let field = alt(('*'.value(PathPart::EveryKey), key.map(PathPart::Key)));
    let close = (blank, expected(']', "A ] is expected here to close the bracket."));
    alt((preceded('.', field.with_span()), delimited('[', entry, close).with_span())).parse_next(input)
}

/// Reads the selector inside brackets.
fn entry(input: &mut Input<'_>) -> Parsed<PathPart> {
    const EXPECTED: &str = "Which entry? Write its number from 0 ([0]), [*] for every one, or [field=value].";
    blank(input)?;
    if opt('*').parse_next(input)?.is_some() {
        return Ok(PathPart::EveryEntry);
    }
    let (key, span) = expected(name, EXPECTED).with_span().parse_next(input)?;
    blank(input)?;
    if opt(('=', opt('='))).parse_next(input)?.is_some() {
        return Ok(PathPart::Where { key, values: values(input)? });
    }
    key.parse().map(PathPart::Index).map_err(|_| failure(span, EXPECTED))
}

/// Reads values with `|` between them.
pub(super) fn values(input: &mut Input<'_>) -> Parsed<Vec<String>> {
    separated(1.., value, '|').parse_next(input)
}

/// Reads a value up to the next `|` or `]`.
fn value(input: &mut Input<'_>) -> Parsed<String> {
    blank(input)?;
    let bare = take_while(1.., is_bare_value).map(|text: &str| text.trim().to_owned());
    let value = alt((terminated(quoted, blank), bare.verify(|text: &String| !text.is_empty())));
    expected(value, "A value is expected here, as in [direction=h2d].").parse_next(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> PathPart {
        PathPart::Key(name.to_owned())
    }

    #[test]
    fn every_kind_of_part_is_read_and_written_back() {
        for (text, parts) in [
            ("step_timing.avg_step_time_us", vec![key("step_timing"), key("avg_step_time_us")]),
            ("steps[3].idle_us", vec![key("steps"), PathPart::Index(3), key("idle_us")]),
            ("steps[*]", vec![key("steps"), PathPart::EveryEntry]),
            ("a.*.b", vec![key("a"), PathPart::EveryKey, key("b")]),
            ("a.\"data movement\".b", vec![key("a"), key("data movement"), key("b")]),
            (
                "t[direction=h2d|p2p].n",
                vec![
                    key("t"),
                    PathPart::Where { key: "direction".into(), values: vec!["h2d".into(), "p2p".into()] },
                    key("n"),
                ],
            ),
            (
                "d[device_name=/device:GPU:0].n",
                vec![
                    key("d"),
                    PathPart::Where { key: "device_name".into(), values: vec!["/device:GPU:0".into()] },
                    key("n"),
                ],
            ),
            (
                "d[name=\"a]b|c\\\"\"]",
                vec![key("d"), PathPart::Where { key: "name".into(), values: vec!["a]b|c\"".into()] }],
            ),
        ] {
            let path = Path::parse(text).unwrap();
            assert_eq!(path.parts, parts, "{text}");
            assert_eq!(path.to_string(), text);
        }
        let loose = Path::parse(" t[ direction == 'h2d' | p2p ].n ").unwrap();
        assert_eq!(loose.to_string(), "t[direction=h2d|p2p].n");
    }

    #[test]
    fn a_part_knows_its_place() {
        let text = " a.bc[0].\"d e\"";
        let path = Path::parse(text).unwrap();
        let places: Vec<&str> = (0..4).map(|part| &text[path.span(part)]).collect();
        assert_eq!(places, ["a", "bc", "[0]", "\"d e\""]);
        assert_eq!(&text[path.whole_span()], "a.bc[0].\"d e\"");
    }

    #[test]
    fn invalid_paths_are_refused_with_their_position() {
        for (text, at) in [
            ("", 0),
            ("a.", 2),
            ("a..b", 2),
            ("a[", 2),
            ("a[]", 2),
            ("a[x]", 2),
            ("a[-1]", 2),
            ("a[0", 3),
            ("a[b=]", 4),
            ("a[b=c|]", 6),
            ("a b", 2),
            ("a.\"b", 2),
            ("a[99999999999999999999]", 2),
        ] {
            let error = Path::parse(text).unwrap_err();
            assert_eq!(error.span.start, at, "{text}: {error}");
        }
    }
}
