//! What went wrong while a profile was read, as values: a warning is data of the report, not a log line.

mod code;
mod cut;

pub use code::WarningCode;
pub use cut::{Cut, cut};

use crate::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a warning matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, Fields)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Warning {
    /// Stable identifier, snake_case: the same in docs, tests and page.
    pub code: String,
    /// `note` (no number is affected), `caution` (numbers may not mean what one expects) or `damage` (bytes or events were
    /// lost).
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

impl Warning {
    /// A warning without position; the `with_*` methods add what is known.
    pub fn new(code: WarningCode, message: impl Into<String>) -> Warning {
        Warning {
            code: code.label().to_owned(),
            severity: code.severity(),
            message: message.into(),
            remedy: None,
            file: None,
            byte_offset: None,
            count: None,
        }
    }

    /// Whether the warning has this code. An imported profile may have codes that this program does not know.
    pub fn is(&self, code: WarningCode) -> bool {
        self.code == code.label()
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
