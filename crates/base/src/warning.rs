//! Problems that crossprof found while it read a profile. Warnings are part of the report, and are not written to a
//! log.

mod code;
mod cut;

pub use code::WarningCode;
pub use cut::{Cut, cut};

use crate::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Severity of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, Fields)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// For information only. No number is affected (for example, the JSON next to an xplane file was not read).
    Note,
    /// The file was read completely, but numbers may be misleading (for example, the writer cut the capture).
    Caution,
    /// Bytes or events were lost, so the profile is partial.
    Damage,
}

/// A problem that the reader of a profile should know about.
///
/// `code` is short and stable (`json_truncated`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Warning {
    /// Stable identifier in snake_case. The documentation, the tests and the page use the same identifier.
    pub code: String,
    /// `note` (no number is affected), `caution` (numbers may be misleading) or `damage` (bytes or events were lost).
    pub severity: Severity,
    /// Plain sentence: what happened and what crossprof kept.
    pub message: String,
    /// Advice to the user. Absent if no action is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// Name of the file, as the user gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Position of the problem, in bytes from the start of the file on disk (unless the message states otherwise).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub byte_offset: Option<u64>,
    /// Number of events or bytes that are affected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

impl Warning {
    /// Returns a warning without a position. The `with_*` methods add details.
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

    /// Returns true if the warning has this code. An imported profile may contain codes that this version does not
    /// know.
    pub fn is(&self, code: WarningCode) -> bool {
        self.code == code.label()
    }

    /// Sets the advice to the user.
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Warning {
        self.remedy = Some(remedy.into());
        self
    }

    /// Sets the name of the file.
    pub fn with_file(mut self, file: impl Into<String>) -> Warning {
        self.file = Some(file.into());
        self
    }

    /// Sets the position in the file, in bytes.
    pub fn with_offset(mut self, byte_offset: u64) -> Warning {
        self.byte_offset = Some(byte_offset);
        self
    }

    /// Sets the number of affected events or bytes.
    pub fn with_count(mut self, count: u64) -> Warning {
        self.count = Some(count);
        self
    }
}
