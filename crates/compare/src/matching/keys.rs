//! Keys by which ops of two runs are matched, one for each pass of the matching.

use super::Item;
use crate::MatchedBy;
use base::framework_path;

/// Data that the ops of both sides record. Data that only one side records is not evidence.
#[derive(Clone, Copy)]
pub(super) struct Witnesses {
    /// True if the ops of both sides have framework paths.
    pub paths: bool,
    /// True if the ops of both sides have fingerprints.
    pub fingerprints: bool,
}

impl Witnesses {
    pub(super) fn of(sides: &[Vec<Item<'_>>; 2]) -> Witnesses {
        let both = |has: fn(&Item<'_>) -> bool| sides.iter().all(|side| side.iter().any(has));
        Witnesses {
            paths: both(|item| item.framework_op.is_some()),
            fingerprints: both(|item| item.fingerprint.is_some()),
        }
    }
}

/// Returns the key of an op in one pass, or `None` if the pass does not apply to the op.
pub(super) type MatchKey = fn(&Item<'_>, Witnesses) -> Option<String>;

/// Passes on one platform.
pub(super) const PASSES: [(MatchedBy, MatchKey); 7] = [
    (MatchedBy::Name, |item, witnesses| {
        let detail = detail(item, witnesses);
        // A generic name with a number is not evidence without a path or a fingerprint.
        let is_general = framework_path::name_without_number(item.name) != item.name;
        (!detail.is_empty() || !is_general).then(|| format!("{}\n{detail}", item.name))
    }),
    (MatchedBy::Fingerprint, |item, witnesses| {
        (item.fingerprint.is_some() && item.framework_op.is_some()).then(|| detail(item, witnesses))
    }),
    (MatchedBy::Fingerprint, |item, witnesses| {
        let path = item.framework_op.filter(|_| witnesses.paths)?;
        Some(format!("{}\n{}", item.fingerprint?, framework_path::layered(path)))
    }),
    (MatchedBy::FrameworkPath, |item, _| Some(format!("{}\n{}", item.framework_op?, item.family))),
    (MatchedBy::Fingerprint, |item, _| item.fingerprint.map(str::to_owned)),
    (MatchedBy::SimilarName, |item, witnesses| {
        let scope = item.framework_op.filter(|_| witnesses.paths).map(scope).unwrap_or_default();
        Some(format!("{}\n{}\n{scope}", framework_path::name_without_number(item.name), item.family))
    }),
    // The remaining ops of a scope do the same work on both sides, but are written differently.
    (MatchedBy::Scope, |item, _| {
        let scope = scope(item.framework_op?);
        (!scope.is_empty()).then(|| format!("{}\n{scope}", part(item.family)))
    }),
];

/// Passes across platforms.
pub(super) const ACROSS: [(MatchedBy, MatchKey); 2] = [
    (MatchedBy::FrameworkPath, |item, _| {
        let scope = scope(item.framework_op?);
        (!scope.is_empty()).then(|| format!("{scope}\n{}", item.family))
    }),
    (MatchedBy::Class, |item, _| Some(item.family.to_owned())),
];

/// Returns the fingerprint and the framework path of an op, if both sides have them. Two ops with the same name but a
/// different path or expression are different ops.
fn detail(item: &Item<'_>, witnesses: Witnesses) -> String {
    let fingerprint = item.fingerprint.filter(|_| witnesses.fingerprints).unwrap_or_default();
    let path = item.framework_op.filter(|_| witnesses.paths).unwrap_or_default();
    if fingerprint.is_empty() && path.is_empty() { String::new() } else { format!("{fingerprint}\n{path}") }
}

/// Returns the scopes of an op and its pass in the training step (forward or backward). All layers of a model are merged into
/// one.
pub fn scope(path: &str) -> String {
    let scopes = framework_path::layered(&framework_path::scopes(path).join("/"));
    match framework_path::training_pass(path) {
        Some(pass) if !scopes.is_empty() => format!("{scopes} ({pass})"),
        _ => scopes,
    }
}

/// Returns the part of the step that a class belongs to. Communication and data movement have their own parts, so an op
/// of computation is never matched to them.
fn part(family: &str) -> &str {
    if matches!(family, "communication" | "data_movement") { family } else { "compute" }
}
