//! Builder of a finding.

use super::Verdict;
use report::{Confidence, Evidence, Finding, FindingSeverity, View};

/// Collects the parts of a finding. [`super::findings`] adds the id of the rule.
pub(super) struct Draft(Finding);

impl Draft {
    /// Starts a finding with its title, and with a message that states the cause, its cost and the evidence.
    pub(crate) fn new(severity: FindingSeverity, confidence: Confidence, title: &str, message: String) -> Draft {
        Draft(Finding {
            id: String::new(),
            severity,
            confidence,
            title: title.to_owned(),
            message,
            remedy: String::new(),
            evidence: Vec::new(),
            time_at_stake_percent: None,
            view: None,
            filter: None,
        })
    }

    /// Sets the advice, as an instruction.
    pub(crate) fn remedy(mut self, text: &str) -> Draft {
        self.0.remedy = text.to_owned();
        self
    }

    /// Adds a number as evidence.
    pub(crate) fn evidence(mut self, name: &str, value: f64) -> Draft {
        self.0.evidence.push(Evidence { name: name.to_owned(), value, threshold: None });
        self
    }

    /// Adds a count as evidence.
    pub(crate) fn count(self, name: &str, count: u64) -> Draft {
        self.evidence(name, count as f64)
    }

    /// Adds a number as evidence if it is known.
    pub(crate) fn evidence_where(self, name: &str, value: Option<f64>) -> Draft {
        match value {
            Some(value) => self.evidence(name, value),
            None => self,
        }
    }

    /// Adds a number as evidence, with the limit that it exceeds.
    pub(crate) fn passed(mut self, name: &str, value: f64, threshold: f64) -> Draft {
        self.0.evidence.push(Evidence { name: name.to_owned(), value, threshold: Some(threshold) });
        self
    }

    /// Sets the impact: the affected share of the step, or of the active span if steps are unknown.
    pub(crate) fn at_stake(mut self, percent: f64) -> Draft {
        self.0.time_at_stake_percent = Some(percent.clamp(0.0, 100.0));
        self
    }

    /// Sets the view that shows the evidence, and its filter.
    pub(crate) fn link(mut self, view: View, filter: &str) -> Draft {
        self.0.view = Some(view);
        self.0.filter = (!filter.is_empty()).then(|| filter.to_owned());
        self
    }

    /// Returns the finished finding.
    pub(crate) fn fires(self) -> Verdict {
        Verdict::Fires(Box::new(self.0))
    }
}

/// Returns the verdict for a rule that lacks an input. `sentence` names the input and tells the user how to capture it.
pub(super) fn lacks(sentence: &str) -> Verdict {
    Verdict::NotChecked(sentence.to_owned())
}

/// Returns a filter term for rows whose column equals a value. Filters cannot contain a quote, so the value is cut at
/// the first quote.
pub(super) fn equals(column: &str, value: &str) -> String {
    match value.split_once('"') {
        None => format!("{column}=\"{value}\""),
        Some((before, _)) => format!("{column}:\"{before}\""),
    }
}
