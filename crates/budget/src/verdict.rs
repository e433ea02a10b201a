//! Decides whether a limit holds for a run.
//!
//! A path can lead to several numbers (`[*]`). The limit holds if it holds for each of these numbers. The result
//! describes the worst number: a failure if there is one, otherwise the number with the smallest margin.

use std::collections::BTreeMap;

use serde_json::Value;

use super::baseline::{Reference, UNBOUNDED, of_baseline};
use super::check_report::{LimitReport, Status};
use super::counting;
use super::limit::Limit;
use super::lookup::{self, Reached};
use super::measured::{self, Measured};
use super::message;
use super::op_sum::OpSum;
use super::path::Path;
use super::rule::Subject;
use super::slowdown::SlowdownOf;
use base::sort;

/// Checks a limit for a run's document. Limits that need a baseline also use the documents of the baseline's runs.
pub fn judge(limit: &Limit, profile: &Value, baselines: &[&Value]) -> LimitReport {
    let (measured, absent) = match &limit.subject {
        Subject::Number(path) => numbers(limit, path, profile, baselines),
        Subject::Ops(sum) => ops(limit, sum, profile, baselines),
        Subject::Count(path) => counting::all(limit, path, profile, baselines),
        Subject::New(path) => counting::new(limit, path, profile, baselines),
        Subject::Slower(of) => slower(limit, *of, profile, baselines),
    };
    let failed = measured.iter().any(|it| !it.holds);
    // An optional limit ignores absent numbers if at least one number is present.
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
    let reference = worst.and_then(|worst| worst.baseline);
    let group = reference.filter(|it| it.runs > 1);
    LimitReport {
        rule: limit.text.clone(),
        name: limit.name.clone(),
        why: limit.why.clone(),
        status,
        path: worst.filter(|_| limit.subject.has_path()).map(|worst| worst.path.clone()),
        unit: limit.unit.map(|unit| unit.symbol.to_owned()),
        value: worst.map(|worst| worst.value),
        relation: limit.relation.symbol().to_owned(),
        bound: worst.map(|worst| worst.bound).or_else(|| limit.bound.at(None)),
        baseline: reference.map(|it| it.median),
        baseline_least: group.map(|it| it.least),
        baseline_most: group.map(|it| it.most),
        margin_percent: worst.and_then(|worst| worst.margin_percent),
        matches: measured.len() as u64,
        optional: limit.optional,
        message,
    }
}

fn numbers(limit: &Limit, path: &Path, profile: &Value, baselines: &[&Value]) -> (Vec<Measured>, Vec<String>) {
    let Reached { hits, lacks } = lookup::find(profile, path);
    let mut absent: Vec<String> = lacks.into_iter().map(|lack| lack.reason).collect();
    let is_relative = limit.bound.factor.is_some();
    let known: Vec<KnownNumbers> =
        baselines.iter().filter(|_| is_relative).map(|baseline| KnownNumbers::new(baseline, path)).collect();
    let mut measured = Vec::new();
    for hit in hits {
        // The schema requires a number here, but an imported document may contain something else.
        let Some(value) = hit.value.as_f64() else {
            absent.push(format!("This run has no number at {}.", hit.path));
            continue;
        };
        let reference = is_relative.then(|| Reference::of(&known, |it| it.number(&hit.path)));
        match against(limit, hit.path.to_string(), value, reference) {
            Ok(it) => measured.push(it),
            Err(reason) => absent.push(reason),
        }
    }
    (measured, absent)
}

/// Judges a sum over ops. The sum is a single number, so there is at most one result.
fn ops(limit: &Limit, sum: &OpSum, profile: &Value, baselines: &[&Value]) -> (Vec<Measured>, Vec<String>) {
    let judged = sum.of(profile).and_then(|summed| {
        let of_baseline = |it: &&Value| sum.of(it).map(|it| it.value).map_err(|reason| of_baseline(&reason));
        let reference = limit.bound.factor.is_some().then(|| Reference::of(baselines, of_baseline));
        let measured = against(limit, sum.to_string(), summed.value, reference)?;
        Ok(Measured { counted: summed.names, unlisted: summed.unlisted, ..measured })
    });
    match judged {
        Ok(measured) => (vec![measured], Vec::new()),
        Err(reason) => (Vec::new(), vec![reason]),
    }
}

/// Judges the run's slowdown relative to its baseline. The slowdown is a single number, so there is at most one result.
fn slower(limit: &Limit, of: SlowdownOf, profile: &Value, baselines: &[&Value]) -> (Vec<Measured>, Vec<String>) {
    let judged = of.of_documents(profile, baselines).and_then(|slowdown| {
        let measured = against(limit, of.to_string(), slowdown.percent, None)?;
        Ok(Measured { sentence: Some(slowdown.sentence), ..measured })
    });
    match judged {
        Ok(measured) => (vec![measured], Vec::new()),
        Err(reason) => (Vec::new(), vec![reason]),
    }
}

/// Compares a number with its bound, which may depend on the baseline's number.
///
/// # Errors
///
/// Fails with the reason if there is no bound.
fn against(
    limit: &Limit,
    path: String,
    value: f64,
    reference: Option<Result<Reference, String>>,
) -> Result<Measured, String> {
    let reference = reference.transpose()?;
    let bound = limit.bound.at(reference.map(|it| it.median)).ok_or(UNBOUNDED)?;
    Ok(Measured::new(limit, path, [value, bound], reference, Vec::new()))
}

/// The numbers that a rule's path leads to in the baseline run, by their exact paths. The numbers are collected once,
/// because searching a long list for each number would take quadratic time.
struct KnownNumbers<'a> {
    baseline: &'a Value,
    known: BTreeMap<String, &'a Value>,
}

impl<'a> KnownNumbers<'a> {
    fn new(baseline: &'a Value, path: &Path) -> KnownNumbers<'a> {
        let hits = lookup::find(baseline, path).hits;
        KnownNumbers { baseline, known: sort::map(hits.into_iter().map(|hit| (hit.path.to_string(), hit.value))) }
    }

    /// Returns the number at `path`.
    ///
    /// # Errors
    ///
    /// Fails with the reason if there is no number.
    fn number(&self, path: &Path) -> Result<f64, String> {
        let nothing = || format!("The baseline has no number at {path}.");
        if let Some(value) = self.known.get(&path.to_string()) {
            return value.as_f64().ok_or_else(nothing);
        }
        // The baseline names the entry differently, or lacks it.
        let found = lookup::find(self.baseline, path);
        match (found.hits.as_slice(), found.lacks.first()) {
            ([only], _) => only.value.as_f64().ok_or_else(nothing),
            ([], Some(lack)) => Err(of_baseline(&lack.reason)),
            ([], None) => Err(nothing()),
            (several, _) => {
                Err(format!("The baseline has {} values for {path}, but exactly one is needed.", several.len()))
            }
        }
    }
}
