//! Errors in expressions.

use std::ops::Range;

use base::suggest;
use winnow::error::ParserError;

use crate::token::{Input, ahead};

/// A problem in an expression, with its position and the names that the user may have meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Byte range of the problem in the text. If something is missing, the range is empty and at the end of the text.
    pub span: Range<usize>,
    /// The problem and how to fix it, in one or more sentences.
    pub message: String,
    /// Known names that resemble the unknown name, nearest first.
    pub similar: Vec<String>,
}

impl Error {
    /// Creates an error for `span`.
    pub fn new(span: Range<usize>, message: impl Into<String>) -> Error {
        Error { span, message: message.into(), similar: Vec::new() }
    }

    /// Adds the names that the user may have meant.
    pub fn suggest(self, similar: Vec<String>) -> Error {
        Error { similar, ..self }
    }

    /// Adds the sentence `help` to the message if there are no similar names.
    pub fn or_help(mut self, help: &str) -> Error {
        if self.similar.is_empty() {
            self.message.push(' ');
            self.message.push_str(help);
        }
        self
    }

    /// Shifts the error's position by `bytes`, for an expression that begins that many bytes into a longer text.
    pub fn moved(self, bytes: usize) -> Error {
        let span = self.span.start.saturating_add(bytes)..self.span.end.saturating_add(bytes);
        Error { span, ..self }
    }
}

/// Writes the message. If there are similar names, adds `Did you mean a or b?`.
impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.message, suggest::question(&self.similar))
    }
}

impl std::error::Error for Error {}

/// Creates the error of a parser that did not find its construct. Callers replace this error with an error that names
/// the expected construct.
impl<'t> ParserError<Input<'t>> for Error {
    type Inner = Error;

    fn from_input(input: &Input<'t>) -> Error {
        Error::new(ahead(input), "This is not expected here.")
    }

    fn into_inner(self) -> Result<Error, Error> {
        Ok(self)
    }
}
