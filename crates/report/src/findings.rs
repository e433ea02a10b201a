//! The findings section: what to do about a run, with the numbers that it rests on.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, Fields)]
#[serde(rename_all = "snake_case")]
pub enum FindingSeverity {
    /// The rule lacks its input: nothing is said about the run.
    NotChecked,
    /// Worth knowing; little or no time is to be won.
    Note,
    /// Time is lost that the remedy may win back.
    Warning,
    /// Most of the time is lost to it, or the numbers of the run cannot be trusted.
    Critical,
}

impl FindingSeverity {
    /// The report's spelling.
    pub fn label(self) -> &'static str {
        match self {
            FindingSeverity::NotChecked => "not_checked",
            FindingSeverity::Note => "note",
            FindingSeverity::Warning => "warning",
            FindingSeverity::Critical => "critical",
        }
    }
}

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, Fields)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The numbers hint at it; there may be another reason.
    Low,
    /// The numbers say so under an assumption that the finding names.
    Medium,
    /// The numbers say so.
    High,
}

impl Confidence {
    /// The report's spelling.
    pub fn label(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

/// One number of the evidence of a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Evidence {
    /// Name of the number, with its unit at the end (`idle_percent`, `step_time_us`).
    pub name: String,
    /// Value of that number.
    pub value: f64,
    /// The limit that the number passed, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
}

/// What one rule says of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Finding {
    /// Name of the rule: the same in code, tests, docs/findings.md and addresses.
    pub id: String,
    /// `critical`, `warning`, `note`, or `not_checked` where the rule lacks its input.
    pub severity: FindingSeverity,
    /// `high` where the numbers say so, `medium` where they say so under an assumption that the message names, `low` where they
    /// only hint at it.
    pub confidence: Confidence,
    /// The finding in one line.
    pub title: String,
    /// What was seen, with numbers; for `not_checked` what is missing.
    pub message: String,
    /// What to do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remedy: String,
    /// The numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// Share of the step that the finding is about; an upper bound of what the remedy can win. Of the window where that is none
    /// of steps; absent where the finding is about no share of time. The order among equal severities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_at_stake_percent: Option<f64>,
    /// The view that shows the evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
    /// The filter of that view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
}
