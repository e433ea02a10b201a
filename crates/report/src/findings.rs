//! The findings section: causes of lost time or memory, with evidence and remedy.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::views::{View, known};

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, Fields)]
#[serde(rename_all = "snake_case")]
pub enum FindingSeverity {
    /// The rule was not checked, because its input is missing.
    NotChecked,
    /// Useful to know, but the remedy saves little or no time.
    Note,
    /// The run loses time that the remedy may save.
    Warning,
    /// The run loses most of its time to the cause, or its numbers cannot be trusted.
    Critical,
}

impl FindingSeverity {
    /// Returns the word for the severity in reports.
    pub fn label(self) -> &'static str {
        match self {
            FindingSeverity::NotChecked => "not_checked",
            FindingSeverity::Note => "note",
            FindingSeverity::Warning => "warning",
            FindingSeverity::Critical => "critical",
        }
    }
}

/// Confidence in the cause that a finding names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, Fields)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The numbers only suggest the cause. There may be another cause.
    Low,
    /// The numbers show the cause under an assumption that the finding names.
    Medium,
    /// The numbers show the cause.
    High,
}

impl Confidence {
    /// Returns the word for the confidence in reports.
    pub fn label(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

/// One number that supports a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Evidence {
    /// Name of the number, ending with its unit (`idle_percent`, `step_time_us`).
    pub name: String,
    /// Value of the number.
    pub value: f64,
    /// Limit that the number exceeds. Absent if the number has no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
}

/// Result of one rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Finding {
    /// Name of the rule. Code, tests, docs/findings.md and URLs use the same name.
    pub id: String,
    /// `critical`, `warning`, `note`, or `not_checked` if the rule lacks its input.
    pub severity: FindingSeverity,
    /// Confidence in the cause: `high` if the numbers show the cause, `medium` if they show it under an assumption that
    /// the message names, `low` if they only suggest it.
    pub confidence: Confidence,
    /// The finding in one line.
    pub title: String,
    /// Cause with its cost, then the evidence. For `not_checked`, the missing input.
    pub message: String,
    /// Advice, as an instruction.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remedy: String,
    /// Numbers that support the finding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// Share of the step that the finding affects. The share is an upper bound for the time that the remedy can save.
    /// If the window does not consist of steps, this is a share of the window. Absent if the finding is not about time.
    /// Findings of the same severity are sorted by this share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_at_stake_percent: Option<f64>,
    /// View that shows the evidence.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "known")]
    pub view: Option<View>,
    /// Filter to set in `view`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_of_a_newer_version_is_read_without_its_unknown_view() {
        let read = |view: &str| {
            let text =
                format!(r#"{{"id": "a", "severity": "note", "confidence": "low", "title": "", "message": ""{view}}}"#);
            serde_json::from_str::<Finding>(&text).unwrap().view
        };
        assert_eq!(read(r#", "view": "ops""#), Some(View::Ops));
        assert_eq!([read(r#", "view": "holograms""#), read(r#", "view": null"#), read("")], [None; 3]);
    }
}
