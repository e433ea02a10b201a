//! Tool `compare`: gives the verdict on a change with its causes, and checks limits.

use std::path::PathBuf;

use crossprof::UnifiedProfile;
use crossprof::compare::{Comparison, FairnessStatus, Subject};
use crossprof::export::digest::{ids, rounded};
use crossprof::report::{FindingSeverity, Naming, distinct_names};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::answer::{Answer, text};
use super::captures::Captures;
use crate::cli::baseline;
use crate::cli::compare::{Said, of_subjects};
use crate::cli::open::{Asked, checked};

/// Largest number of ops that are listed.
const MOST_OPS: usize = 30;

/// Arguments of `compare`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    /// Path of the capture after the change, or of a folder with several captures of it.
    capture: String,
    /// Path of the capture before the change, or the name of a baseline (`crossprof baseline set`). May be absent if limits are
    /// given.
    #[serde(default)]
    baseline: Option<String>,
    /// Limits on the numbers of the capture: `step_timing.avg_step_time_us < 150 ms`.
    #[serde(default)]
    limits: Vec<String>,
    /// Smallest difference that is treated as a change, in percent. 1 if absent.
    #[serde(default)]
    threshold_percent: Option<f64>,
    /// Part of both captures to measure: `main`, `all`, `active`, `steps:3-5` or `10ms-20ms`. `main` if absent.
    #[serde(default)]
    window: Option<String>,
    /// Largest size of the answer in bytes. 4000 if absent.
    #[serde(default)]
    max_bytes: Option<usize>,
}

/// Answers a request.
pub(super) fn call(captures: &mut Captures, request: &Request) -> Result<(Answer, Option<usize>), String> {
    if request.baseline.is_none() && request.limits.is_empty() {
        return Err("Specify a baseline to compare with, or limits to check.".to_owned());
    }
    let mut answer = Answer::of("compare");
    let window = request.window.as_deref();
    if let Some(base) = &request.baseline {
        let before = subject(captures, &before(captures, base)?, window, "baseline")?;
        let after = subject(captures, std::slice::from_ref(&request.capture), window, "capture")?;
        let new = findings(&before, &after);
        let said = Said { threshold: request.threshold_percent.map(|percent| percent / 100.0), ..Said::default() };
        let mut subjects = [before, after];
        let comparison = of_subjects(&said, &mut subjects)?;
        add_comparison(&mut answer, &comparison);
        let [appeared, disappeared] = new;
        answer.fact("new_findings", appeared);
        answer.fact("gone_findings", disappeared);
    }
    if !request.limits.is_empty() {
        add_limits(&mut answer, captures, request)?;
    }
    Ok((answer, request.max_bytes))
}

/// Returns the paths of a baseline. `base` is the name of a baseline, or a path itself.
fn before(captures: &Captures, base: &str) -> Result<Vec<String>, String> {
    let folder = captures.folders().and_then(<[PathBuf]>::first).cloned().unwrap_or_default();
    if std::path::Path::new(base).exists() || !baseline::exists(&folder, base) {
        return Ok(vec![base.to_owned()]);
    }
    let paths = baseline::paths(&folder, base)?;
    Ok(paths.into_iter().map(|path| path.to_string_lossy().into_owned()).collect())
}

/// Returns the runs at some paths as one side of the comparison.
fn subject(captures: &mut Captures, paths: &[String], window: Option<&str>, side: &str) -> Result<Subject, String> {
    let (mut profiles, mut programs) = (Vec::new(), Vec::new());
    for path in paths {
        let opened = captures.open_window(path, window)?;
        for run in 0..opened.profiles.len() {
            if profiles.is_empty() {
                programs = opened.compared_programs(run);
            }
            profiles.extend(opened.profiles.get(run).cloned());
        }
    }
    let namings: Vec<Naming<'_>> = profiles.iter().map(|it: &UnifiedProfile| it.metadata.naming()).collect();
    let name = distinct_names(&namings).into_iter().next().unwrap_or_default();
    let name = format!("{side} {name}");
    let subject = Subject::of_captures(&name, profiles);
    let subject = subject.ok_or_else(|| format!("The {side} contains no run."))?;
    Ok(Subject { programs, ..subject })
}

/// Returns the findings that only the capture has, and the findings that only the baseline has.
fn findings(before: &Subject, after: &Subject) -> [Vec<String>; 2] {
    let of = |subject: &Subject| -> Vec<String> {
        let fired = subject.profile.findings.iter().filter(|it| it.severity > FindingSeverity::NotChecked);
        fired.map(|finding| format!("finding:{}", ids::of_text(&finding.id))).collect()
    };
    let (before, after) = (of(before), of(after));
    let only = |these: &[String], others: &[String]| these.iter().filter(|it| !others.contains(it)).cloned().collect();
    [only(&after, &before), only(&before, &after)]
}

fn add_comparison(answer: &mut Answer, comparison: &Comparison) {
    if let Some(change) = comparison.step_time.first() {
        answer.fact("verdict", change.verdict.label());
        answer.define(
            "verdict",
            "",
            "faster or slower beyond the noise and the threshold; same; within_noise; unstable; equal; unknown.",
        );
        let typical = "Mean of the counted steps without the fastest and the slowest quarter.";
        answer.number("capture_typical_us", change.typical_us, "µs", typical);
        answer.number("baseline_typical_us", change.baseline_typical_us, "µs", typical);
        answer.number(
            "delta_us",
            change.typical_delta_us,
            "µs",
            "Typical step of the capture minus the typical step of the baseline.",
        );
        answer.number(
            "margin_us",
            change.margin_us,
            "µs",
            "Half the width of the 95 % confidence interval of delta_us.",
        );
        let least =
            "Smallest difference that captures like these would prove in four out of five attempts (80 % power).";
        answer.number("least_provable_us", change.least_provable_us, "µs", least);
        answer.fact("noise_from", change.basis.label());
        answer.fact("same_work", change.work.label());
        answer.fact("num_steps", change.steps.to_vec());
        answer.fact("num_captures", change.captures.to_vec());
        if change.margin_us.is_none() {
            let remedy = "Capture at least two steps for each side or, better, make three captures of each.";
            answer.missing("margin_us", "The noise of the step time is unknown.", Some(remedy));
        }
    }
    for check in comparison.fairness.iter().filter(|check| check.status != FairnessStatus::Same) {
        let values: Vec<String> =
            check.values.iter().map(|it| it.clone().unwrap_or_else(|| "unknown".to_owned())).collect();
        let line = format!("{} {}: {}. {}", check.title, check.status.label(), values.join(" and "), check.note);
        match check.status {
            FairnessStatus::Unknown => answer.missing(&format!("fairness:{}", check.check), &line, None),
            _ => answer.lines.push(text(&line)),
        }
    }
    let sentences = comparison.answer.verdict.iter().chain(&comparison.answer.causes).chain(&comparison.answer.caveats);
    let mut lines: Vec<String> = sentences.map(|sentence| text(sentence)).collect();
    lines.append(&mut answer.lines);
    lines.extend(comparison.warnings.iter().map(|warning| text(warning)));
    answer.lines = lines;
    let columns = ["id", "num_ops", "change", "baseline_us", "capture_us", "delta_us", "margin_us", "source"];
    answer.columns = columns.map(str::to_owned).to_vec();
    for key in ["baseline_us", "capture_us", "delta_us", "margin_us"] {
        answer.define(key, "µs", "");
    }
    answer
        .definitions
        .insert("rows".to_owned(), "Ops by self time per step per device, largest difference first.".to_owned());
    answer.define("num_ops", "", "Number of similar ops that are compared together. The id names one of them.");
    let changed: Vec<_> = comparison.ops.iter().filter(|it| it.delta_us_per_step != 0.0).collect();
    answer.leave_out("rows", changed.len().saturating_sub(MOST_OPS) as u64);
    for it in changed.into_iter().take(MOST_OPS) {
        let [run, before] = it.time_us;
        answer.rows.push(vec![
            format!("op:{}", ids::of_text(&it.name)).into(),
            it.ops.iter().max().copied().into(),
            it.change.label().into(),
            rounded(before).into(),
            rounded(run).into(),
            rounded(it.delta_us_per_step).into(),
            it.margin_us.map(rounded).into(),
            it.source.as_deref().map(text).into(),
        ]);
    }
    answer.evidence.push("document:comparison".to_owned());
}

/// Adds the result of each limit.
fn add_limits(answer: &mut Answer, captures: &mut Captures, request: &Request) -> Result<(), String> {
    let named = |captures: &mut Captures, path: &str| -> Result<Vec<(UnifiedProfile, String)>, String> {
        let opened = captures.open_window(path, request.window.as_deref())?;
        Ok(opened.profiles.iter().map(|profile| (profile.clone(), path.to_owned())).collect())
    };
    let runs = named(captures, &request.capture)?;
    let mut baselines = Vec::new();
    if let Some(base) = &request.baseline {
        for path in before(captures, base)? {
            baselines.extend(named(captures, &path)?);
        }
    }
    let asked = Asked { limits: request.limits.clone(), ..Asked::default() };
    let given = request.baseline.is_some().then_some(baselines.as_slice());
    let report: Value = serde_json::from_str(&checked(&runs, &asked, given)?).map_err(|error| error.to_string())?;
    answer.fact("limits_hold", report.get("holds").cloned().unwrap_or_default());
    let runs = report.get("runs").and_then(Value::as_array).cloned().unwrap_or_default();
    for limit in runs.iter().filter_map(|run| run.get("limits")?.as_array()).flatten() {
        let part = |key: &str| match limit.get(key) {
            Some(Value::String(word)) => text(word),
            Some(other) => other.to_string(),
            None => String::new(),
        };
        answer.lines.push(text(&format!("{}: {} ({})", part("status"), part("rule"), part("message"))));
    }
    Ok(())
}
