//! Errors that leave no profile to show. If a part of the file is readable, that part is shown with a
//! [`Warning`](crate::warning::Warning) instead.
//!
//! The `Display` text of an error is the sentence that users read after the file name. The sentence explains what the
//! file is and what the user can do. Quotes from the file are shortened.

use crate::format::cut;

/// Maximum length of a quote from a file, in characters. A file may contain a value of any length.
const QUOTED: usize = 300;

/// Reason why a file yields no profile.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The file is not a profile.
    #[error("This is {what}, not a profile. {remedy}", what = cut(what, QUOTED))]
    NotAProfile {
        /// Kind of file, with its article (`an HTML page`).
        what: String,
        /// Advice to the user, as a sentence.
        remedy: String,
    },
    /// The file, or its entry in an archive, has no bytes.
    #[error("The file is empty. Check that the capture had finished before you copied the file, and copy it again.")]
    Empty,
    /// The file is a profile, or an archive that contains a profile, but crossprof does not support its format.
    #[error("{what} cannot be read. {remedy}", what = cut(what, QUOTED))]
    Unsupported {
        /// Kind of file, as the start of a sentence (`A unified profile of version 2.0.0`).
        what: String,
        /// Advice to the user, as a sentence.
        remedy: String,
    },
    /// The file, or a part of it, exceeds a limit.
    #[error("{what} is larger than the limit of {limit}. {remedy}")]
    LimitExceeded {
        /// The part that is too large, as the start of a sentence.
        what: String,
        /// The limit, with its unit.
        limit: String,
        /// Advice to the user, as a sentence.
        remedy: String,
    },
    /// The file claims to be a profile, but its content does not match.
    #[error("This is {what}, but it cannot be read: {reason}. {remedy}", reason = cut(reason, QUOTED))]
    Malformed {
        /// Kind of file that the file claims to be, with its article (`a unified profile`).
        what: String,
        /// Problem with the content, worded to follow a colon.
        reason: String,
        /// Advice to the user, as a sentence.
        remedy: String,
    },
}

impl Error {
    /// Builds an [`Error::NotAProfile`].
    pub fn not_a_profile(what: impl Into<String>, remedy: impl Into<String>) -> Error {
        Error::NotAProfile { what: what.into(), remedy: remedy.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_sentences() {
        let error = Error::not_a_profile("an HTML page", "Download the file itself.");
        assert_eq!(error.to_string(), "This is an HTML page, not a profile. Download the file itself.");
        let error = Error::LimitExceeded {
            what: "The profile JSON".to_owned(),
            limit: "64 MiB".to_owned(),
            remedy: "Drop the trace instead.".to_owned(),
        };
        assert_eq!(error.to_string(), "The profile JSON is larger than the limit of 64 MiB. Drop the trace instead.");
        let (what, reason) = ("a list".to_owned(), format!("no number: {}", "x".repeat(70_000)));
        let error = Error::Malformed { what, reason, remedy: "Mend it.".to_owned() }.to_string();
        assert!(
            error.contains("read: no number: xxx") && error.ends_with("xx. Mend it.") && error.len() < 400,
            "{error}"
        );
    }
}
