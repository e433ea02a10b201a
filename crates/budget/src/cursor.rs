//! Reads the text of a rule from left to right and tracks the position.

use std::ops::Range;

/// A problem in a rule, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// Byte range of the problem in the rule's text. Empty, at the end of the text, if something is missing.
    pub span: Range<usize>,
    /// The problem and how to fix it, as a sentence.
    pub message: String,
}

impl RuleError {
    /// Creates an error for `span`.
    pub fn new(span: Range<usize>, message: impl Into<String>) -> RuleError {
        RuleError { span, message: message.into() }
    }

    /// Shifts the error by `bytes`, for a text in which the rule begins that much later.
    pub fn moved(self, bytes: usize) -> RuleError {
        let span = self.span.start.saturating_add(bytes)..self.span.end.saturating_add(bytes);
        RuleError { span, ..self }
    }
}

impl std::fmt::Display for RuleError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RuleError {}

/// A position in a text.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, at: 0 }
    }

    /// Returns the byte offset of this position.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Returns the text that has not been read yet.
    pub fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub fn is_at_end(&self) -> bool {
        self.rest().is_empty()
    }

    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Consumes the next character.
    pub fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Consumes `expected` if it comes next.
    pub fn eat(&mut self, expected: &str) -> bool {
        let found = self.rest().starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    /// Consumes `word` if it comes next and is not the start of a longer word.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let follows = self.rest().strip_prefix(word).and_then(|rest| rest.chars().next());
        let found = self.rest().starts_with(word) && !follows.is_some_and(is_word);
        if found {
            self.at += word.len();
        }
        found
    }

    /// Consumes characters while `fits` returns true.
    pub fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let taken = rest.find(|c| !fits(c)).and_then(|end| rest.get(..end)).unwrap_or(rest);
        self.at += taken.len();
        taken
    }

    pub fn skip_space(&mut self) {
        self.take_while(char::is_whitespace);
    }

    /// Returns the range of the next word or character, for messages about unexpected text.
    pub fn ahead(&self) -> Range<usize> {
        let mut probe = self.clone();
        if probe.take_while(is_word).is_empty() {
            probe.next();
        }
        self.at..probe.at
    }

    /// Returns an error for the next word or character.
    pub fn fail<T>(&self, message: impl Into<String>) -> Result<T, RuleError> {
        Err(RuleError::new(self.ahead(), message))
    }

    /// Reads a quoted text: `"..."`, in which a backslash escapes the next character, or `'...'`. `None` if no quotation
    /// mark comes next.
    pub fn quoted(&mut self) -> Result<Option<String>, RuleError> {
        let start = self.at;
        let Some(mark @ ('"' | '\'')) = self.peek() else { return Ok(None) };
        self.next();
        let mut text = String::new();
        loop {
            match self.next() {
                Some(c) if c == mark => return Ok(Some(text)),
                Some('\\') if mark == '"' => text.extend(self.next()),
                Some(c) => text.push(c),
                None => {
                    let message = format!("This text is not closed: {mark} is missing.");
                    return Err(RuleError::new(start..self.at, message));
                }
            }
        }
    }
}

/// Returns true for a character that a name may have without quotation marks.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}
