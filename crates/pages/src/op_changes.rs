//! Changes of a run's ops relative to the matching ops of another run. The changes determine the colours of ops if both
//! runs are shown.

use std::collections::BTreeMap;

use compare::{ChangeKind, Comparison, ComparisonKind};
use serde::{Deserialize, Serialize};
use timeline::Change;

/// Changes of the ops of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpChanges {
    by_name: BTreeMap<String, Change>,
    /// Changes by op name without its number, for ops that represent the corresponding ops of all layers.
    /// [`Change::Same`] if several ops have this name and their changes differ.
    by_stem: BTreeMap<String, Change>,
}

impl OpChanges {
    /// Returns the changes of the ops of the run with this index. For the baseline, returns the changes against the first
    /// other run.
    pub fn new(comparison: &Comparison, run: u32) -> OpChanges {
        let is_baseline = run == comparison.baseline;
        let of = compared_with(comparison, run);
        let mut changes = OpChanges::default();
        for op in comparison.ops.iter().filter(|op| Some(op.run) == of) {
            let name = if is_baseline { op.baseline_name.as_ref().unwrap_or(&op.name) } else { &op.name };
            let [time, baseline] = op.time_us;
            let change = match op.change {
                ChangeKind::New if is_baseline => continue,
                ChangeKind::Gone if !is_baseline => continue,
                ChangeKind::New | ChangeKind::Gone => Change::Alone,
                ChangeKind::Same => Change::Same,
                _ if time > baseline => Change::Lost,
                _ if time < baseline => Change::Gained,
                _ => Change::Same,
            };
            changes.by_name.insert(name.clone(), change);
            let [of_run, of_baseline] = op.ops;
            if (if is_baseline { of_baseline } else { of_run }) > 1 {
                let known = changes.by_stem.entry(stem(name).to_owned()).or_insert(change);
                *known = if *known == change { change } else { Change::Same };
            }
        }
        changes
    }

    /// Returns the changes of the ops if they distinguish the two runs. Returns `None` if ops were not compared, if they
    /// belong to different programs, or if most of their time is unmatched.
    pub fn telling(comparison: &Comparison, run: u32) -> Option<OpChanges> {
        // Ops of two platforms are matched by scope and class, never individually.
        if comparison.kind == ComparisonKind::AcrossPlatforms {
            return None;
        }
        let of = compared_with(comparison, run)?;
        let matching = comparison.matching.iter().find(|it| it.run == of)?;
        let matched: f64 = matching.matched_us.iter().map(|it| it.time_us).sum();
        let [ours, theirs] = matching.unmatched_us;
        let has_partners = matched > ours && matched > theirs;
        (has_partners && !comparison.is_of_other_work(of)).then(|| OpChanges::new(comparison, run))
    }

    /// Returns the change of an event that runs the HLO instruction `op`. If the event has no instruction, returns the
    /// change of the op `name`. Returns `None` for events that are not ops. `is_op` states whether the event is an op,
    /// because the comparison lists only ops that differ.
    pub fn of(&self, op: &str, name: &str, is_op: bool) -> Option<Change> {
        let of_layers = || self.by_stem.get(stem(if op.is_empty() { name } else { op }));
        let known = self.by_name.get(op).or_else(|| self.by_name.get(name)).or_else(of_layers);
        known.copied().or((is_op || !op.is_empty()).then_some(Change::Same))
    }
}

/// Returns the run whose changes apply to `run`: `run` itself, or the first other run if it is the baseline.
fn compared_with(comparison: &Comparison, run: u32) -> Option<u32> {
    let mut runs = (0..).zip(&comparison.runs).map(|(index, _)| index);
    if run == comparison.baseline { runs.find(|index| *index != run) } else { Some(run) }
}

/// Returns a name without its number: `fusion` for `fusion.27`.
fn stem(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use compare::{ComparedRun, MatchedBy, MatchedTime, Matching};

    #[test]
    fn an_op_has_its_change_in_both_runs() {
        let op = |name: &str, change, time_us| compare::Change {
            run: 1,
            name: name.to_owned(),
            change,
            time_us,
            ..compare::Change::default()
        };
        let renamed =
            compare::Change { baseline_name: Some("old".to_owned()), ..op("fast", ChangeKind::Faster, [1.0, 2.0]) };
        let comparison = Comparison {
            runs: vec![ComparedRun::default(); 2],
            ops: vec![op("slow", ChangeKind::Slower, [3.0, 2.0]), renamed, op("new", ChangeKind::New, [1.0, 0.0])],
            ..Comparison::default()
        };
        let of = |run| {
            let changes = OpChanges::new(&comparison, run);
            ["slow", "fast", "new", "old"].map(|name| changes.of("", name, false))
        };
        let (lost, gained, alone) = (Some(Change::Lost), Some(Change::Gained), Some(Change::Alone));
        assert_eq!(of(1), [lost, gained, alone, None]);
        assert_eq!(of(0), [lost, None, None, gained]);
        let changes = OpChanges::new(&comparison, 1);
        // The instruction takes precedence over the name. An op without a listed difference is unchanged.
        assert_eq!(changes.of("slow", "kernel", true), lost);
        assert_eq!([changes.of("else", "else", false), changes.of("", "else", true)], [Some(Change::Same); 2]);
        assert_eq!(changes.of("", "else", false), None);
    }

    #[test]
    fn an_op_of_all_layers_colours_each_layer() {
        let op = |name: &str, change, time_us, ops| compare::Change {
            run: 1,
            name: name.to_owned(),
            change,
            time_us,
            ops,
            ..compare::Change::default()
        };
        let comparison = Comparison {
            runs: vec![ComparedRun::default(); 2],
            ops: vec![
                op("attention.3", ChangeKind::Slower, [3.0, 2.0], [64, 64]),
                op("fusion.1", ChangeKind::Slower, [3.0, 2.0], [64, 64]),
                op("fusion.2", ChangeKind::Faster, [1.0, 2.0], [64, 64]),
                op("copy.1", ChangeKind::Faster, [1.0, 2.0], [1, 1]),
            ],
            ..Comparison::default()
        };
        let changes = OpChanges::new(&comparison, 1);
        let of = |name| changes.of(name, "", true);
        assert_eq!(of("attention.77"), Some(Change::Lost));
        // Ops in two kinds of layers have this name, so the name does not distinguish them.
        assert_eq!([of("fusion.2"), of("fusion.77")], [Some(Change::Gained), Some(Change::Same)]);
        assert_eq!(of("copy.77"), Some(Change::Same));
    }

    #[test]
    fn runs_without_matching_ops_have_no_changes() {
        let with = |matched: f64, unmatched_us| Comparison {
            runs: vec![ComparedRun::default(); 2],
            matching: vec![Matching {
                run: 1,
                matched_us: vec![MatchedTime { matched_by: MatchedBy::Name, time_us: matched }],
                unmatched_us,
                ..Matching::default()
            }],
            ..Comparison::default()
        };
        let is_telling = |comparison: &Comparison| [0, 1].map(|run| OpChanges::telling(comparison, run).is_some());
        assert_eq!(is_telling(&with(9.0, [1.0, 1.0])), [true; 2]);
        assert_eq!(is_telling(&with(9.0, [1.0, 20.0])), [false; 2]);
        assert_eq!(is_telling(&Comparison { matching: Vec::new(), ..with(9.0, [1.0, 1.0]) }), [false; 2]);
    }
}
