//! How many entries a path leads to, and which findings are new against a baseline.

use serde_json::Value;

use super::baseline::{Reference, UNBOUNDED, is_imported, of_baseline};
use super::limit::Limit;
use super::lookup::{self, Hit, Reached};
use super::measured::Measured;
use super::path::{Path, PathPart};

/// What was compared, and why something could not be.
type Outcome = (Vec<Measured>, Vec<String>);

/// How many there are, which is one number; an absent list is an empty one, unless what it would list was not looked at.
pub(super) fn all(limit: &Limit, path: &Path, profile: &Value, baselines: &[&Value]) -> Outcome {
    let none = |reason: String| (Vec::new(), vec![reason]);
    let (value, counted) = match entries(profile, path) {
        Ok(counted) => counted,
        Err(reason) => return none(reason),
    };
    let mut reference = None;
    if limit.bound.factor.is_some() {
        let number = |it: &&Value| entries(it, path).map(|(number, _)| number).map_err(|reason| of_baseline(&reason));
        match Reference::of(baselines, number) {
            Ok(number) => reference = Some(number),
            Err(reason) => return none(reason),
        }
    }
    match limit.bound.at(reference.map(|it| it.median)) {
        Some(bound) => (vec![Measured::new(limit, path.to_string(), [value, bound], reference, counted)], Vec::new()),
        None => none(UNBOUNDED.to_owned()),
    }
}

/// How many findings the path leads to in the run and in no run of the baseline, distinguished by their rules. A rule that fires and
/// that no run of the baseline could check may be new or old.
pub(super) fn new(limit: &Limit, path: &Path, profile: &Value, baselines: &[&Value]) -> Outcome {
    let none = |reason: String| (Vec::new(), vec![reason]);
    if baselines.is_empty() {
        return none("No baseline was given.".to_owned());
    }
    let fired = match entries(profile, path) {
        Ok((_, fired)) => fired,
        Err(reason) => return none(reason),
    };
    let known: Vec<String> =
        baselines.iter().filter_map(|it| entries(it, path).ok()).flat_map(|(_, ids)| ids).collect();
    let (new, unknown): (Vec<String>, Vec<String>) = fired
        .into_iter()
        .filter(|id| !known.contains(id))
        .partition(|id| baselines.iter().any(|baseline| has_checked(baseline, id)));
    if let Some(id) = unknown.first()
        && !limit.optional
    {
        return none(format!("{id} fires, and the baseline did not check it: whether it is new is unknown."));
    }
    match limit.bound.at(None) {
        Some(bound) => (vec![Measured::new(limit, path.to_string(), [new.len() as f64, bound], None, new)], Vec::new()),
        None => none(UNBOUNDED.to_owned()),
    }
}

/// Whether this rule could be checked in a profile.
fn has_checked(profile: &Value, id: &str) -> bool {
    let text = |entry: &'_ Value, key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    match profile.get("findings").and_then(Value::as_array) {
        Some(findings) => !findings.iter().any(|it| text(it, "id") == id && text(it, "severity") == "not_checked"),
        None => !is_imported(profile),
    }
}

/// How many entries `path` leads to, and what they are called.
///
/// # Errors
///
/// The reason why that is not known.
fn entries(profile: &Value, path: &Path) -> Result<(f64, Vec<String>), String> {
    // Our own profiles leave empty lists out; those of other tools never had them.
    let first = path.parts.first();
    if let Some(PathPart::Key(list)) = first
        && is_imported(profile)
        && profile.get(list).is_none()
        && list != "warnings"
    {
        return Err(format!("This run was imported from a profile without {list}."));
    }
    let is_findings = first == Some(&PathPart::Key("findings".to_owned()));
    let Reached { mut hits, lacks } = lookup::find(profile, path);
    // An empty list is left out of a profile, so an absent one, or an absent entry, is none. An absent section was not measured.
    let is_none = |depth: usize| {
        let chooses = |part: Option<&PathPart>| part.is_some_and(|part| !matches!(part, PathPart::Key(_)));
        depth == path.parts.len() || chooses(path.parts.get(depth)) || chooses(path.parts.get(depth.wrapping_sub(1)))
    };
    if let Some(lack) = lacks.iter().find(|lack| !is_none(lack.path.parts.len())) {
        return Err(lack.reason.clone());
    }
    if is_findings {
        only_checked(path, &mut hits)?;
    }
    Ok((hits.len() as f64, hits.iter().filter_map(|hit| lookup::name_of(hit.value)).collect()))
}

/// Takes away the rules that were not checked, since they say nothing about the run.
///
/// # Errors
///
/// Why a rule that the path names was not checked.
fn only_checked(path: &Path, hits: &mut Vec<Hit<'_>>) -> Result<(), String> {
    let chosen_by = path.parts.iter().find_map(|part| match part {
        PathPart::Where { key, .. } => Some(key.as_str()),
        _ => None,
    });
    if chosen_by == Some("severity") {
        return Ok(());
    }
    let is_unchecked = |hit: &Hit<'_>| hit.value.get("severity").and_then(Value::as_str) == Some("not_checked");
    if let Some(hit) = hits.iter().find(|hit| chosen_by == Some("id") && is_unchecked(hit)) {
        let text = |key| hit.value.get(key).and_then(Value::as_str).unwrap_or_default();
        return Err(format!("{}: {}", text("id"), text("message")));
    }
    hits.retain(|hit| !is_unchecked(hit));
    Ok(())
}
