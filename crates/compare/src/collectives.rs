//! Compares the communication of runs. If a run lacks a kind of collective, it runs a different program, even if the
//! times are the same.

use super::{CollectiveChange, Subject};
use base::sort;
use report::CommunicationKind;

/// Returns the kinds of collectives of all runs, sorted by time, largest first. Counts cover each
/// run's window.
pub(crate) fn collectives(subjects: &[Subject]) -> Vec<CollectiveChange> {
    let mut kinds: Vec<CollectiveChange> = Vec::new();
    for (run, subject) in subjects.iter().enumerate() {
        for kind in subject.profile.communication.iter().flat_map(|it| &it.kinds) {
            let at = match kinds.iter().position(|it| it.kind == kind.kind) {
                Some(at) => at,
                None => {
                    kinds.push(empty(&kind.kind, subjects.len()));
                    kinds.len() - 1
                }
            };
            if let Some(change) = kinds.get_mut(at) {
                fill(change, run, kind);
            }
        }
    }
    let most = |change: &CollectiveChange| change.total_time_us.iter().fold(0.0_f64, |most, time| most.max(*time));
    sort::sort_by(&mut kinds, |a: &CollectiveChange, b: &CollectiveChange| {
        most(b).total_cmp(&most(a)).then_with(|| a.kind.cmp(&b.kind))
    });
    kinds
}

fn empty(kind: &str, runs: usize) -> CollectiveChange {
    CollectiveChange {
        kind: kind.to_owned(),
        counts: vec![0; runs],
        total_time_us: vec![0.0; runs],
        exposed_time_us: vec![0.0; runs],
    }
}

fn fill(change: &mut CollectiveChange, run: usize, kind: &CommunicationKind) {
    if let Some(count) = change.counts.get_mut(run) {
        *count = kind.count;
    }
    if let Some(time) = change.total_time_us.get_mut(run) {
        *time = kind.total_time_us;
    }
    if let Some(time) = change.exposed_time_us.get_mut(run) {
        *time = kind.exposed_time_us;
    }
}
