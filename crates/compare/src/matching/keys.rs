//! What ops have in common that are compared with each other: the passes of the matching, one after the other.

use super::Item;
use crate::MatchedBy;
use base::framework_path;

/// What both sides know of their ops: what only one knows is no witness.
#[derive(Clone, Copy)]
pub(super) struct Witnesses {
    /// Whether the ops of both sides have framework paths.
    pub paths: bool,
    /// Whether the ops of both sides have fingerprints.
    pub fingerprints: bool,
}

impl Witnesses {
    pub fn of(sides: &[Vec<Item<'_>>; 2]) -> Witnesses {
        let both = |has: fn(&Item<'_>) -> bool| sides.iter().all(|side| side.iter().any(has));
        Witnesses {
            paths: both(|item| item.framework_op.is_some()),
            fingerprints: both(|item| item.fingerprint.is_some()),
        }
    }
}

/// The key of an op in one pass; `None` where the pass is not for it.
pub(super) type MatchKey = fn(&Item<'_>, Witnesses) -> Option<String>;

/// The passes on one platform.
pub(super) const PASSES: [(MatchedBy, MatchKey); 7] = [
    (MatchedBy::Name, |item, witnesses| {
        let detail = detail(item, witnesses);
        // A bare number after a general name is no evidence without a second witness.
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
    // What is left on both sides of a scope is the same work written in another way.
    (MatchedBy::Scope, |item, _| {
        let scope = scope(item.framework_op?);
        (!scope.is_empty()).then(|| format!("{}\n{scope}", part(item.family)))
    }),
];

/// The passes across platforms.
pub(super) const ACROSS: [(MatchedBy, MatchKey); 2] = [
    (MatchedBy::FrameworkPath, |item, _| {
        let scope = scope(item.framework_op?);
        (!scope.is_empty()).then(|| format!("{scope}\n{}", item.family))
    }),
    (MatchedBy::Class, |item, _| Some(item.family.to_owned())),
];

/// What an op computes and where it stands, as far as both sides have it: an op whose path or expression contradicts
/// its name is another op.
fn detail(item: &Item<'_>, witnesses: Witnesses) -> String {
    let fingerprint = item.fingerprint.filter(|_| witnesses.fingerprints).unwrap_or_default();
    let path = item.framework_op.filter(|_| witnesses.paths).unwrap_or_default();
    if fingerprint.is_empty() && path.is_empty() { String::new() } else { format!("{fingerprint}\n{path}") }
}

/// The scopes that an op stands in, with the pass of the training step; the layers of a model are one.
pub(super) fn scope(path: &str) -> String {
    let scopes = framework_path::layered(&framework_path::scopes(path).join("/"));
    match framework_path::training_pass(path) {
        Some(pass) if !scopes.is_empty() => format!("{scopes} ({pass})"),
        _ => scopes,
    }
}

/// Communication and data movement are separate parts of a step: none is the rewrite of computation.
fn part(family: &str) -> &str {
    if matches!(family, "communication" | "data_movement") { family } else { "compute" }
}
