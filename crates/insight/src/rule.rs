//! The record of a rule. A rule's file contains its record, its check and, as the doc comment of the file, its documentation.

use super::Verdict;
use super::numbers::Numbers;
use metrics::StepPart;

/// A rule.
///
/// Fields name other rules by a path to their record, so that a wrong name does not compile.
pub struct Rule {
    /// Name of the rule, of its file, and of its heading in docs/findings.md.
    pub id: &'static str,
    /// Problem that the rule detects, in one line.
    pub title: &'static str,
    /// Part of the capture without which the numbers of the rule are wrong.
    pub needs: Needs,
    /// Lists of the rules that explain a finding of this rule: its causes, or more specific rules.
    pub explained_by: &'static [&'static [&'static Rule]],
    /// Rules about a part of the lost time that this rule covers. If a part explains less than half of the lost time,
    /// the finding about this part is merged into the finding of this rule.
    pub parts: &'static [&'static Rule],
    /// For a rule about some steps: the rules about the same part of all steps. If one of the listed rules fires, its
    /// finding also reports the steps.
    pub of_all_steps: &'static [(StepPart, &'static [&'static Rule])],
    pub(super) check: Check,
}

/// Function that checks a run.
pub(super) type Check = fn(&Numbers<'_>) -> Verdict;

/// Part of a capture that a rule needs. Each variant also requires everything that the variants before it require.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Needs {
    /// The rule's result is correct whichever events are missing.
    Any,
    /// All ops that ran. Rules about rates over device time, or about the ops that take most of this time, are wrong if
    /// ops were not recorded.
    AllOps,
    /// The events of all devices, streams and threads up to some time. Missing events look like idle time, and change the
    /// overlap.
    AllLines,
    /// The whole capture. Rules with this need compare devices, or look for missing devices or steps.
    Whole,
}

impl Rule {
    /// Returns a record without id and title, for a rule that needs no particular part of the capture and refers to no other
    /// rule.
    pub(super) const fn checked_by(check: Check) -> Rule {
        Rule { id: "", title: "", needs: Needs::Any, explained_by: &[], parts: &[], of_all_steps: &[], check }
    }

    /// Returns the rules that explain a finding of this rule.
    pub fn causes(&self) -> impl Iterator<Item = &'static Rule> {
        self.explained_by.iter().copied().flatten().copied()
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        self.id == other.id
    }
}
