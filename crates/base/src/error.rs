//! What can go wrong so that there is nothing to show. Everything less is a [`Warning`](crate::warning::Warning) beside
//! the part that could be read.
//!
//! The `Display` of an error is the sentence that people read, after the name of the file: it says what the file is and
//! what to do. What it quotes of the file is shortened.

use crate::format::cut;

/// Characters of what a sentence quotes at most: a file may hold a value of any length.
const QUOTED: usize = 300;

/// Why a file gives no profile.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The file is something else.
    #[error("This is {what}, not a profile. {remedy}", what = cut(what, QUOTED))]
    NotAProfile {
        /// What the file is, with its article (`an HTML page`).
        what: String,
        /// What to do, as a sentence.
        remedy: String,
    },
    /// The file has no bytes, or its archive holds none for it.
    #[error("The file is empty. Check that the capture had finished when the file was copied, and copy it again.")]
    Empty,
    /// The file is a profile or an archive of one, but of a kind that cannot be read.
    #[error("{what} cannot be read. {remedy}", what = cut(what, QUOTED))]
    Unsupported {
        /// What the file is, as the start of a sentence (`A unified profile of version 2.0.0`).
        what: String,
        /// What to do, as a sentence.
        remedy: String,
    },
    /// The file, or a part of it, is larger than a stated limit.
    #[error("{what} is larger than the limit of {limit}. {remedy}")]
    LimitExceeded {
        /// What is too large, as the start of a sentence.
        what: String,
        /// The limit, with its unit.
        limit: String,
        /// What to do, as a sentence.
        remedy: String,
    },
    /// The file says that it is a profile, and its content contradicts that.
    #[error("This is {what}, but it cannot be read: {reason}. {remedy}", reason = cut(reason, QUOTED))]
    Malformed {
        /// What the file claims to be, with its article.
        what: String,
        /// What is wrong, as the rest of a sentence.
        reason: String,
        /// What to do, as a sentence.
        remedy: String,
    },
}

impl Error {
    /// Shorthand for [`Error::NotAProfile`].
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
