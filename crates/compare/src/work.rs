//! Decides whether two runs do the same work in a step. A shorter step means a faster run only if both runs do the same
//! work.
//!
//! ```text
//! differs   if a condition of the work differs (batch size, shapes, types), or if the runs have no op in common
//! same      otherwise if the program, its parameter shapes or the batch size are the same on both sides,
//!           or if both ran the same ops equally often
//! unknown   otherwise
//! ```

use super::fairness::{WORKLOAD, fairness};
use super::{Change, FairnessStatus, MatchedBy, Matching, Subject};
use report::StepOps;

/// Minimum share of the op time that must belong to ops that both runs have.
const ALIKE: f64 = 0.99;

/// Fairness checks that can prove that the work is the same. A single passing check is enough, unless something else
/// differs.
const EVIDENCE: [&str; 3] = ["program", "parameter_shapes", "batch_size"];

/// Decides whether a run does the same work as the baseline. Also returns the names of the fairness checks that prove
/// the result (`ops` if the ops prove it).
pub(crate) fn work(subject: &Subject, baseline: &Subject, ops: OpsAlike) -> (FairnessStatus, Vec<String>) {
    let checks = fairness(&[baseline.clone(), subject.clone()]);
    let with = |names: &[&str], status: FairnessStatus| -> Vec<String> {
        let found = checks.iter().filter(|it| it.status == status && names.contains(&it.check.as_str()));
        found.map(|it| it.check.clone()).collect()
    };
    let of_ops = || vec!["ops".to_owned()];
    let differing = with(&WORKLOAD, FairnessStatus::Differs);
    let same = with(&EVIDENCE, FairnessStatus::Same);
    match ops {
        _ if !differing.is_empty() => (FairnessStatus::Differs, differing),
        OpsAlike::None => (FairnessStatus::Differs, of_ops()),
        _ if !same.is_empty() => (FairnessStatus::Same, same),
        OpsAlike::All => (FairnessStatus::Same, of_ops()),
        OpsAlike::Unknown => (FairnessStatus::Unknown, Vec::new()),
    }
}

/// Agreement of the ops of two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpsAlike {
    /// Both runs have the same ops, which run the same number of times.
    All,
    /// No op has a match.
    None,
    /// Some ops differ, or the ops are unknown.
    Unknown,
}

impl OpsAlike {
    /// Compares the ops of two runs. `changes` must contain all changes, because the shortened list lacks some ops.
    pub(crate) fn of(changes: &[Change], matching: &Matching, ops: [&StepOps; 2]) -> OpsAlike {
        if matching.is_of_strangers() {
            return OpsAlike::None;
        }
        // An op with another shape may have the same name, but has a different expression.
        let told = |ops: &StepOps| ops.ops.iter().any(|op| op.fingerprint.is_some());
        let is_told = ops.into_iter().all(told);
        let is_alike = |change: &&Change| {
            let is_same_op = match change.matched_by {
                MatchedBy::Name | MatchedBy::Fingerprint => true,
                MatchedBy::FrameworkPath | MatchedBy::SimilarName => !is_told,
                _ => false,
            };
            let [ours, theirs] = change.per_step;
            is_same_op && (ours - theirs).abs() <= (1.0 - ALIKE) * ours.max(theirs)
        };
        let time = |change: &Change| change.time_us.iter().copied().fold(0.0, f64::max);
        let all: f64 = changes.iter().map(time).sum();
        let alike: f64 = changes.iter().filter(is_alike).map(time).sum();
        if all > 0.0 && alike >= ALIKE * all { OpsAlike::All } else { OpsAlike::Unknown }
    }
}
