//! A finding while its rule writes it.

use super::Verdict;
use report::{Confidence, Evidence, Finding, FindingSeverity};

/// Collects the parts of a finding; its id is that of the rule, which [`super::findings`] adds.
pub(super) struct Draft(Finding);

impl Draft {
    /// A finding with a headline and what was seen, in sentences.
    pub fn new(severity: FindingSeverity, confidence: Confidence, title: &str, message: String) -> Draft {
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

    /// What to do.
    pub fn remedy(mut self, text: &str) -> Draft {
        self.0.remedy = text.to_owned();
        self
    }

    /// A number that it rests on.
    pub fn evidence(mut self, name: &str, value: f64) -> Draft {
        self.0.evidence.push(Evidence { name: name.to_owned(), value, threshold: None });
        self
    }

    /// A count that it rests on.
    pub fn count(self, name: &str, count: u64) -> Draft {
        self.evidence(name, count as f64)
    }

    /// A number that it rests on, where it is known.
    pub fn evidence_where(self, name: &str, value: Option<f64>) -> Draft {
        match value {
            Some(value) => self.evidence(name, value),
            None => self,
        }
    }

    /// A number that it rests on, with the limit that it passed.
    pub fn passed(mut self, name: &str, value: f64, threshold: f64) -> Draft {
        self.0.evidence.push(Evidence { name: name.to_owned(), value, threshold: Some(threshold) });
        self
    }

    /// Share of the step (of the active span where steps are unknown) that it is about.
    pub fn at_stake(mut self, percent: f64) -> Draft {
        self.0.time_at_stake_percent = Some(percent.clamp(0.0, 100.0));
        self
    }

    /// Where the evidence is: a view and its filter.
    pub fn link(mut self, view: &str, filter: &str) -> Draft {
        self.0.view = Some(view.to_owned());
        self.0.filter = (!filter.is_empty()).then(|| filter.to_owned());
        self
    }

    /// Done.
    pub fn fires(self) -> Verdict {
        Verdict::Fires(Box::new(self.0))
    }
}

/// A rule that lacks an input; `sentence` says which and how to capture it.
pub(super) fn lacks(sentence: &str) -> Verdict {
    Verdict::NotChecked(sentence.to_owned())
}

/// The filter term that a column equals a value. A quote cannot be written in a filter, so the value is cut there.
pub(super) fn equals(column: &str, value: &str) -> String {
    match value.split_once('"') {
        None => format!("{column}=\"{value}\""),
        Some((before, _)) => format!("{column}:\"{before}\""),
    }
}
