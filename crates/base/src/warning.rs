//! What went wrong while a profile was read, as values: a warning is data of the report, not a log line.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a warning matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; no number is affected (the JSON beside an xplane was not read).
    Note,
    /// The file was read whole, but numbers may not mean what one expects (the writer cut the capture).
    Caution,
    /// Bytes or events were lost: the profile is partial.
    Damage,
}

/// One thing that the reader of a profile should know.
///
/// `code` is stable and short (`json_truncated`); the other fields say where and how much.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// Stable identifier, snake_case: the same in docs, tests and page.
    pub code: String,
    /// How much it matters.
    pub severity: Severity,
    /// A plain sentence: what happened and what was kept.
    pub message: String,
    /// What the reader can do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// The file it is about, as it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Where in that file (bytes from its start, as stored on disk unless the message says otherwise).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub byte_offset: Option<u64>,
    /// How many events or bytes are affected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// How a capture was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cut {
    /// In time: everything up to a moment is there.
    Earliest,
    /// In the file, or while it was recorded: events of some devices or threads are missing.
    Anywhere,
}

/// Codes of what leaves events out, and how.
const CUTS: [(&str, Cut); 8] = [
    ("json_truncated", Cut::Earliest),
    ("json_cut_off", Cut::Anywhere),
    ("gzip_truncated", Cut::Anywhere),
    ("archive_truncated", Cut::Anywhere),
    ("xplane_truncated", Cut::Anywhere),
    ("inflate_limit", Cut::Anywhere),
    ("too_many_events", Cut::Anywhere),
    ("profiler_dropped_events", Cut::Anywhere),
];

/// How the capture was cut that has these warnings; `None` where it is whole.
pub fn cut<'w>(warnings: impl IntoIterator<Item = &'w Warning>) -> Option<Cut> {
    let known = |warning: &Warning| CUTS.iter().find(|(code, _)| *code == warning.code).map(|&(_, cut)| cut);
    warnings.into_iter().filter_map(known).max()
}

impl Warning {
    /// A warning without position; the `with_*` methods add what is known.
    pub fn new(severity: Severity, code: &str, message: impl Into<String>) -> Warning {
        Warning {
            code: code.to_owned(),
            severity,
            message: message.into(),
            remedy: None,
            file: None,
            byte_offset: None,
            count: None,
        }
    }

    /// Shorthand for [`Severity::Note`].
    pub fn note(code: &str, message: impl Into<String>) -> Warning {
        Warning::new(Severity::Note, code, message)
    }

    /// Shorthand for [`Severity::Caution`].
    pub fn caution(code: &str, message: impl Into<String>) -> Warning {
        Warning::new(Severity::Caution, code, message)
    }

    /// Shorthand for [`Severity::Damage`].
    pub fn damage(code: &str, message: impl Into<String>) -> Warning {
        Warning::new(Severity::Damage, code, message)
    }

    /// Says what to do.
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Warning {
        self.remedy = Some(remedy.into());
        self
    }

    /// Names the file.
    pub fn with_file(mut self, file: impl Into<String>) -> Warning {
        self.file = Some(file.into());
        self
    }

    /// Gives the position in the file, in bytes.
    pub fn with_offset(mut self, byte_offset: u64) -> Warning {
        self.byte_offset = Some(byte_offset);
        self
    }

    /// Gives the number of events or bytes concerned.
    pub fn with_count(mut self, count: u64) -> Warning {
        self.count = Some(count);
        self
    }
}
