//! Findings: what to do about a run. One rule, one file, the same name in code, tests, docs/findings.md and addresses.
//!
//! A rule looks at measured numbers only. Where it lacks one it says so ([`Verdict::NotChecked`]) rather than "fine", and
//! where a number could be read in another way the confidence says so.

use crate::analysis::{Analysis, Context};
use crate::metrics::{Run, Settings};
use crate::report::{Confidence, Finding, FindingSeverity};
use crate::sort;

/// What a rule says.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It applies.
    Fires(Box<Finding>),
    /// It was checked and does not apply.
    Fine,
    /// It has no meaning for this kind of run (GPU kernels on a TPU): nobody misses it.
    Irrelevant,
    /// It lacks an input: which, and how to capture it, as a sentence.
    NotChecked(String),
}

/// A rule.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Its name.
    pub id: &'static str,
    /// One line: what it looks for.
    pub title: &'static str,
    /// Looks at a run.
    pub check: fn(&Context<'_>) -> Verdict,
}

/// All rules, in the order of docs/findings.md.
pub const RULES: &[Rule] = &[];

/// A run, measured and judged.
pub fn examine(run: &Run, settings: &Settings) -> Analysis {
    let mut analysis = Analysis::new(run, settings);
    analysis.profile.findings = findings(&Context { run, analysis: &analysis });
    analysis
}

/// What all rules say of a run: the most severe first, then what is most at stake, then in the order of the rules.
pub fn findings(context: &Context<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().filter_map(|rule| finding(rule, context)).collect();
    sort::sort_by(&mut findings, |a, b| {
        let stake = |finding: &Finding| finding.time_at_stake_percent.unwrap_or(0.0);
        b.severity.cmp(&a.severity).then_with(|| stake(b).total_cmp(&stake(a)))
    });
    findings
}

fn finding(rule: &Rule, context: &Context<'_>) -> Option<Finding> {
    match (rule.check)(context) {
        Verdict::Fires(finding) => Some(*finding),
        Verdict::Fine | Verdict::Irrelevant => None,
        Verdict::NotChecked(lacking) => Some(Finding {
            id: rule.id.to_owned(),
            severity: FindingSeverity::NotChecked,
            confidence: Confidence::High,
            title: rule.title.to_owned(),
            message: format!("Not checked: {lacking}"),
            remedy: String::new(),
            evidence: Vec::new(),
            time_at_stake_percent: None,
            view: None,
            filter: None,
        }),
    }
}
