//! Reads the text of a rule from left to right and remembers where it is.

use std::ops::Range;

/// What is wrong with a rule, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// The part of the rule's text that it is about, in bytes; empty at the end of the text where something lacks.
    pub span: Range<usize>,
    /// What is wrong and what to write instead, as a sentence.
    pub message: String,
}

impl RuleError {
    /// A problem with `span`.
    pub fn new(span: Range<usize>, message: impl Into<String>) -> RuleError {
        RuleError { span, message: message.into() }
    }

    /// The error in another text, in which this one begins `bytes` later.
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

/// A place in a text.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, at: 0 }
    }

    /// Bytes before this place.
    pub fn at(&self) -> usize {
        self.at
    }

    /// What is still to be read.
    pub fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub fn is_at_end(&self) -> bool {
        self.rest().is_empty()
    }

    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Takes the next character.
    pub fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Takes `expected` where it comes next.
    pub fn eat(&mut self, expected: &str) -> bool {
        let found = self.rest().starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    /// Takes `word` where it comes next and is not the beginning of a longer word.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let follows = self.rest().strip_prefix(word).and_then(|rest| rest.chars().next());
        let found = self.rest().starts_with(word) && !follows.is_some_and(is_word);
        if found {
            self.at += word.len();
        }
        found
    }

    /// Takes what fits.
    pub fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let taken = rest.find(|c| !fits(c)).and_then(|end| rest.get(..end)).unwrap_or(rest);
        self.at += taken.len();
        taken
    }

    pub fn skip_space(&mut self) {
        self.take_while(char::is_whitespace);
    }

    /// The next word or character, for messages: what stands there instead of what was expected.
    pub fn ahead(&self) -> Range<usize> {
        let mut probe = self.clone();
        if probe.take_while(is_word).is_empty() {
            probe.next();
        }
        self.at..probe.at
    }

    /// A problem with what comes next.
    pub fn fail<T>(&self, message: impl Into<String>) -> Result<T, RuleError> {
        Err(RuleError::new(self.ahead(), message))
    }

    /// A text in quotation marks: `"..."`, in which a backslash takes the next character as it is, or `'...'`. `None`
    /// where no quotation mark comes next.
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
                    let message = format!("A text begins here and does not end: {mark} is missing.");
                    return Err(RuleError::new(start..self.at, message));
                }
            }
        }
    }
}

/// A character of a bare name.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}
