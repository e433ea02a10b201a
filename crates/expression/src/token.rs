//! Words, names and quoted texts.

use std::ops::Range;

use winnow::combinator::{alt, not, opt, preceded, repeat};
use winnow::error::ErrMode;
use winnow::stream::{Location, Stream};
use winnow::token::{any, none_of, one_of, take_while};
use winnow::{LocatingSlice, Parser};

use crate::Error;

/// The part of a text that has not been read yet, with its position.
pub type Input<'t> = LocatingSlice<&'t str>;

/// The result of a parser.
pub type Parsed<T> = Result<T, ErrMode<Error>>;

/// Reads a whole text with `parser`, ignoring spaces at both ends. `more` is the error message if more text follows.
///
/// # Errors
///
/// Fails if the parser fails or if more text follows.
pub fn parse<'t, T>(
    text: &'t str,
    mut parser: impl Parser<Input<'t>, T, ErrMode<Error>>,
    more: &str,
) -> Result<T, Error> {
    let mut input = LocatingSlice::new(text);
    let mut read = || {
        blank(&mut input)?;
        let found = parser.parse_next(&mut input)?;
        blank(&mut input)?;
        if input.is_empty() { Ok(found) } else { Err(wrong(&input, more)) }
    };
    read().map_err(|error: ErrMode<Error>| match error {
        ErrMode::Backtrack(error) | ErrMode::Cut(error) => error,
        ErrMode::Incomplete(_) => Error::new(text.len()..text.len(), "This expression is not complete."),
    })
}

/// Returns the byte offset of the next character.
pub fn at(input: &Input<'_>) -> usize {
    input.current_token_start()
}

/// Returns the range of the next word or character, for messages about unexpected text.
pub fn ahead(input: &Input<'_>) -> Range<usize> {
    let text: &str = input.as_ref();
    let word = text.find(|c| !is_word(c)).unwrap_or(text.len());
    let taken = if word > 0 { word } else { text.chars().next().map_or(0, char::len_utf8) };
    at(input)..at(input) + taken
}

/// Returns an error at the next word or character. The parser does not backtrack after this error.
pub fn wrong(input: &Input<'_>, message: impl Into<String>) -> ErrMode<Error> {
    failure(ahead(input), message)
}

/// Returns an error at `span`. The parser does not backtrack after this error.
pub fn failure(span: Range<usize>, message: impl Into<String>) -> ErrMode<Error> {
    ErrMode::Cut(Error::new(span, message))
}

/// Requires `parser` to succeed. If it backtracks, fails with `message` for the next word or character.
pub fn expected<'t, T>(
    mut parser: impl Parser<Input<'t>, T, ErrMode<Error>>,
    message: impl AsRef<str>,
) -> impl Parser<Input<'t>, T, ErrMode<Error>> {
    move |input: &mut Input<'t>| {
        let start = input.checkpoint();
        parser.parse_next(input).map_err(|error| match error {
            ErrMode::Backtrack(_) => {
                input.reset(&start);
                wrong(input, message.as_ref())
            }
            error => error,
        })
    }
}

/// Skips white space.
pub fn blank(input: &mut Input<'_>) -> Parsed<()> {
    take_while(0.., char::is_whitespace).void().parse_next(input)
}

/// Returns true for a character that a name without quotation marks may contain.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

/// Reads `word`, unless it is the start of a longer word.
pub fn keyword<'t>(word: &'static str) -> impl Parser<Input<'t>, &'t str, ErrMode<Error>> {
    winnow::combinator::terminated(word, not(one_of(is_word)))
}

/// Reads a name: a word, or a text in quotation marks.
pub fn name(input: &mut Input<'_>) -> Parsed<String> {
    alt((quoted, take_while(1.., is_word).map(str::to_owned))).parse_next(input)
}

/// Reads a quoted text: `"..."`, in which a backslash escapes the next character, or `'...'`.
pub fn quoted(input: &mut Input<'_>) -> Parsed<String> {
    let start = at(input);
    let mark = one_of(['"', '\'']).parse_next(input)?;
    let escaped = alt((preceded('\\', any), none_of(['"'])));
    let text: String = match mark {
        '"' => repeat(0.., escaped).parse_next(input)?,
        _ => take_while(0.., |c| c != '\'').map(str::to_owned).parse_next(input)?,
    };
    match opt(mark).parse_next(input)? {
        Some(_) => Ok(text),
        None => Err(failure(start..at(input), format!("This text is not closed: {mark} is missing."))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_or_quoted() {
        for (text, expected) in [
            ("avg_step-1", Some("avg_step-1")),
            (" größe ", Some("größe")),
            ("\"a \\\"b\\\" \\\\\"", Some("a \"b\" \\")),
            ("'a \\\"'", Some("a \\\"")),
            ("''", Some("")),
            ("a b", None),
            ("\"a", None),
            ("\"a\\\"", None),
            ("", None),
        ] {
            assert_eq!(parse(text, name, "More.").ok().as_deref(), expected, "{text}");
        }
        let error = parse("  \"ab", name, "More.").unwrap_err();
        assert_eq!((error.span, error.message.as_str()), (2..5, "This text is not closed: \" is missing."));
    }

    #[test]
    fn keywords_are_whole_words() {
        let read = |text| parse(text, keyword("new"), "More.");
        assert!(read("new").is_ok() && read(" new ").is_ok());
        assert!(read("news").is_err() && read("new_").is_err());
        assert_eq!(read("new.x").unwrap_err().span, 3..4);
    }

    #[test]
    fn what_is_expected_is_said_at_its_position() {
        let error = parse(" ä1 x", expected("(", "A ( is expected."), "More.").unwrap_err();
        assert_eq!((error.span, error.message.as_str()), (1..4, "A ( is expected."));
        let error = parse("a b", name, "More.").unwrap_err();
        assert_eq!((error.span, error.message.as_str()), (2..3, "More."));
    }
}
