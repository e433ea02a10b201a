//! Level that a rule assigns to a number.

use serde::{Deserialize, Serialize};

use super::FindingSeverity;

/// Level that a rule assigns to a number. The best level is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Nothing to do.
    Good,
    /// Useful to know, but the remedy saves little or no time.
    Note,
    /// Worth examining.
    Warning,
    /// To examine first.
    Bad,
}

impl Level {
    /// Returns the word for the level that tables and style sheets use.
    pub fn label(self) -> &'static str {
        match self {
            Level::Good => "good",
            Level::Note => "note",
            Level::Warning => "warning",
            Level::Bad => "bad",
        }
    }
}

impl FindingSeverity {
    /// Returns the level that the rule assigned to its number. Returns `None` if the rule lacked its input.
    pub fn level(self) -> Option<Level> {
        match self {
            FindingSeverity::NotChecked => None,
            FindingSeverity::Note => Some(Level::Note),
            FindingSeverity::Warning => Some(Level::Warning),
            FindingSeverity::Critical => Some(Level::Bad),
        }
    }
}
