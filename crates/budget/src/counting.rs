//! Counts the entries that a path leads to, and the findings that are new compared with a baseline.

use serde_json::Value;

use super::baseline::{Reference, UNBOUNDED, is_imported, of_baseline};
use super::limit::Limit;
use super::lookup::{self, Hit, Reached};
use super::measured::Measured;
use super::path::{Path, PathPart};
use report::FindingSeverity;

/// The compared numbers, and for each number that could not be compared, the reason.
type Outcome = (Vec<Measured>, Vec<String>);

/// Counts all entries of a path. The result is a single number. An absent list is treated as empty, unless its content
/// was not measured.
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

/// Counts the findings at the path whose rule fired in the run but in no baseline run. If no baseline run could check a
/// rule, its finding is unknown, not new.
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
        return none(format!(
            "{id} fires, but the baseline did not check it, so crossprof cannot tell whether the finding is new."
        ));
    }
    match limit.bound.at(None) {
        Some(bound) => (vec![Measured::new(limit, path.to_string(), [new.len() as f64, bound], None, new)], Vec::new()),
        None => none(UNBOUNDED.to_owned()),
    }
}

fn has_checked(profile: &Value, id: &str) -> bool {
    let text = |entry: &'_ Value, key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    match profile.get("findings").and_then(Value::as_array) {
        Some(findings) => !findings
            .iter()
            .any(|it| text(it, "id") == id && text(it, "severity") == FindingSeverity::NotChecked.label()),
        None => !is_imported(profile),
    }
}

/// Returns the number of entries that `path` leads to, and their names.
///
/// # Errors
///
/// Fails with the reason if the number is unknown.
fn entries(profile: &Value, path: &Path) -> Result<(f64, Vec<String>), String> {
    // crossprof's own profiles leave out empty lists. Profiles of other tools never have these lists.
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
    // Profiles leave out empty lists, so an absent list or entry is counted as zero. An absent section was not measured.
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

/// Removes rules that were not checked, because their results are unknown.
///
/// # Errors
///
/// Fails with the reason if the path names a rule that was not checked.
fn only_checked(path: &Path, hits: &mut Vec<Hit<'_>>) -> Result<(), String> {
    let chosen_by = path.parts.iter().find_map(|part| match part {
        PathPart::Where { key, .. } => Some(key.as_str()),
        _ => None,
    });
    if chosen_by == Some("severity") {
        return Ok(());
    }
    let is_unchecked =
        |hit: &Hit<'_>| hit.value.get("severity").and_then(Value::as_str) == Some(FindingSeverity::NotChecked.label());
    if let Some(hit) = hits.iter().find(|hit| chosen_by == Some("id") && is_unchecked(hit)) {
        let text = |key| hit.value.get(key).and_then(Value::as_str).unwrap_or_default();
        return Err(format!("{}: {}", text("id"), text("message")));
    }
    hits.retain(|hit| !is_unchecked(hit));
    Ok(())
}
