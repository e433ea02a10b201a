//! Whether a limit holds for a run.
//!
//! A path may lead to several numbers (`[*]`). The limit holds where it holds for each of them, and the verdict tells of the one that
//! is worst: fails before holds, then by the margin.

use std::collections::BTreeMap;

use serde_json::Value;

use super::check_report::{LimitReport, Status};
use super::limit::Limit;
use super::lookup::{self, Hit, Reached};
use super::measured::{self, Measured};
use super::message;
use super::path::{Path, PathPart};
use super::rule::Subject;
use base::sort;

/// A baseline so large that its multiple is not a number any more.
const UNBOUNDED: &str = "The bound that follows from the baseline is no finite number.";

/// Holds a limit against a run's document and, where it needs one, the baseline's.
pub fn judge(limit: &Limit, profile: &Value, baseline: Option<&Value>) -> LimitReport {
    let (measured, absent) = match &limit.subject {
        Subject::Number(path) => numbers(limit, path, profile, baseline),
        Subject::Count(path) => count(limit, path, profile, baseline),
    };
    let failed = measured.iter().any(|it| !it.holds);
    // What is absent is left out of an optional limit, as long as something is there.
    let status = match (failed, absent.is_empty(), measured.is_empty()) {
        (true, _, _) => Status::Fail,
        (false, true, false) => Status::Pass,
        (false, _, true) if limit.optional => Status::Skipped,
        (false, _, false) if limit.optional => Status::Pass,
        (false, _, _) => Status::Missing,
    };
    let worst = if status == Status::Missing { None } else { measured::worst(&measured) };
    let message = match (worst, absent.first()) {
        (Some(worst), _) => message::measured(limit, worst, &measured),
        (None, Some(reason)) => reason.clone(),
        (None, None) => String::new(),
    };
    LimitReport {
        rule: limit.text.clone(),
        name: limit.name.clone(),
        why: limit.why.clone(),
        status,
        path: worst.filter(|_| matches!(limit.subject, Subject::Number(_))).map(|worst| worst.path.to_string()),
        unit: limit.unit.map(|unit| unit.symbol.to_owned()),
        value: worst.map(|worst| worst.value),
        relation: limit.relation.symbol().to_owned(),
        bound: worst.map(|worst| worst.bound).or_else(|| limit.bound.at(None)),
        baseline: worst.and_then(|worst| worst.baseline),
        margin_percent: worst.and_then(|worst| worst.margin_percent),
        matches: measured.len() as u64,
        optional: limit.optional,
        message,
    }
}

fn numbers(limit: &Limit, path: &Path, profile: &Value, baseline: Option<&Value>) -> (Vec<Measured>, Vec<String>) {
    let Reached { hits, lacks } = lookup::find(profile, path);
    let mut absent: Vec<String> = lacks.into_iter().map(|lack| lack.reason).collect();
    let references = References::new(baseline.filter(|_| limit.needs_baseline()), path);
    let mut measured = Vec::new();
    for hit in hits {
        // The schema says that a number is there; an import may hold something else.
        let Some(value) = hit.value.as_f64() else {
            absent.push(format!("This run has no number at {}.", hit.path));
            continue;
        };
        let reference = if limit.needs_baseline() {
            match references.number(&hit.path) {
                Ok(number) => Some(number),
                Err(reason) => {
                    absent.push(reason);
                    continue;
                }
            }
        } else {
            None
        };
        match limit.bound.at(reference) {
            Some(bound) => measured.push(Measured::new(limit, hit.path, [value, bound], reference, Vec::new())),
            None => absent.push(UNBOUNDED.to_owned()),
        }
    }
    (measured, absent)
}

/// The numbers of the baseline that a rule's path leads to, by the paths that lead to each alone. They are found once: finding each
/// entry of a long list anew would take the square of its length.
struct References<'a> {
    baseline: Option<&'a Value>,
    known: BTreeMap<String, &'a Value>,
}

impl<'a> References<'a> {
    fn new(baseline: Option<&'a Value>, path: &Path) -> References<'a> {
        let hits = baseline.map(|baseline| lookup::find(baseline, path).hits).unwrap_or_default();
        References { baseline, known: sort::map(hits.into_iter().map(|hit| (hit.path.to_string(), hit.value))) }
    }

    /// The number at `path`.
    ///
    /// # Errors
    ///
    /// Why there is none.
    fn number(&self, path: &Path) -> Result<f64, String> {
        let Some(baseline) = self.baseline else { return Err("No baseline was given.".to_owned()) };
        let nothing = || format!("The baseline has no number at {path}.");
        if let Some(value) = self.known.get(&path.to_string()) {
            return value.as_f64().ok_or_else(nothing);
        }
        // Told apart in another way there, or absent.
        let found = lookup::find(baseline, path);
        match (found.hits.as_slice(), found.lacks.first()) {
            ([only], _) => only.value.as_f64().ok_or_else(nothing),
            ([], Some(lack)) => Err(of_baseline(&lack.reason)),
            ([], None) => Err(nothing()),
            (several, _) => Err(format!("The baseline has {} of {path}, and one is needed.", several.len())),
        }
    }
}

/// What was said of a run, said of the baseline.
fn of_baseline(reason: &str) -> String {
    match reason.strip_prefix("This run ") {
        Some(rest) => format!("The baseline {rest}"),
        None => format!("Of the baseline: {reason}"),
    }
}

/// How many there are, which is one number; an absent list is an empty one, unless what it would tell was not looked at.
fn count(limit: &Limit, path: &Path, profile: &Value, baseline: Option<&Value>) -> (Vec<Measured>, Vec<String>) {
    let none = |reason: String| (Vec::new(), vec![reason]);
    let (value, counted) = match entries(profile, path) {
        Ok(counted) => counted,
        Err(reason) => return none(reason),
    };
    let mut reference = None;
    if limit.needs_baseline() {
        let found = baseline
            .ok_or_else(|| "No baseline was given.".to_owned())
            .and_then(|it| entries(it, path).map_err(|reason| of_baseline(&reason)));
        match found {
            Ok((number, _)) => reference = Some(number),
            Err(reason) => return none(reason),
        }
    }
    match limit.bound.at(reference) {
        Some(bound) => (vec![Measured::new(limit, path.clone(), [value, bound], reference, counted)], Vec::new()),
        None => none(UNBOUNDED.to_owned()),
    }
}

/// How many entries `path` leads to, and what they are called.
///
/// # Errors
///
/// The reason why that is not known.
fn entries(profile: &Value, path: &Path) -> Result<(f64, Vec<String>), String> {
    // Our own profiles leave empty lists out; those of other tools never had them.
    let imported = profile.pointer("/metadata/source_format").and_then(Value::as_str) == Some("unified_profile");
    let first = path.parts.first();
    if let Some(PathPart::Key(list)) = first
        && imported
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
