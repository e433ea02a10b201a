//! Writes the answer in sentences: the verdict, the largest causes, work that only one run does, and conditions that
//! differ.

use super::{
    Answer, Cause, CauseKind, CollectiveChange, Comparison, ComparisonKind, FairnessStatus, MOST_RUNS, StepTimeChange,
    StepTimeVerdict, Subject, whole_capture,
};
use super::{device_work, headline};
use base::format;

/// Number of causes that the answer names for two runs. The list of causes contains all causes.
const MOST_CAUSES: usize = 3;

/// Returns the answer: the verdict on each run and, for two runs, its limits and causes.
pub(crate) fn answer(comparison: &Comparison, subjects: &[Subject]) -> Answer {
    let mut answer = Answer::default();
    let is_trend = comparison.kind == ComparisonKind::Trend;
    let detailed = comparison.detailed();
    for change in comparison.step_time.iter().filter(|change| !is_trend && detailed.contains(&change.run)) {
        let headline::Headline { mut verdict, caveats } = headline::headline(comparison, change);
        // If two runs have the same caveat, it appears once.
        for caveat in caveats {
            if !answer.caveats.contains(&caveat) {
                answer.caveats.push(caveat);
            }
        }
        if change.work == FairnessStatus::Differs {
            answer.verdict.push(verdict);
            answer.causes.extend(headline::largest_part(comparison, change.run));
            continue;
        }
        let of_run = comparison.device_work.iter().filter(|it| it.run == change.run);
        // Devices of two platforms run different ops, so their work is not compared.
        let work = device_work::sentence(&of_run.collect::<Vec<_>>())
            .filter(|_| comparison.kind != ComparisonKind::AcrossPlatforms);
        let is_proven = matches!(change.verdict, StepTimeVerdict::Faster | StepTimeVerdict::Slower);
        let is_different = is_proven || work.is_some();
        let mut causes = comparison.causes.iter().filter(|cause| is_different && cause.run == change.run);
        let first = causes.next();
        if comparison.runs.len() > 2 {
            // With several runs, each has one sentence. The sentence also names the cause.
            verdict.extend(work.map(|work| format!(" {work}")));
            verdict.extend(first.map(|cause| format!(" {}", because(cause, change))));
            answer.verdict.push(verdict);
            continue;
        }
        let whole = whole_capture::sentence(comparison, change);
        // If the typical steps are the same, only interruptions can make the runs differ.
        let (before, after) = if is_different { (None, whole) } else { (whole, None) };
        answer.verdict.extend(before);
        answer.verdict.push(verdict);
        // If the step time is too noisy, the device work comes before the causes. If not, it supplements them.
        let (noisy, work) = if is_proven { (None, work) } else { (work, None) };
        let told = &mut answer.causes;
        told.extend(noisy);
        told.extend(first.map(|cause| because(cause, change)));
        told.extend(after);
        let both = subjects.get(change.run as usize).zip(subjects.get(comparison.baseline as usize));
        told.extend(both.and_then(|(subject, baseline)| whole_capture::findings(subject, baseline)));
        told.extend(only_in_one(comparison, change, first));
        told.extend(work);
        told.extend(causes.take(MOST_CAUSES).map(|cause| because(cause, change)));
        told.truncate(MOST_CAUSES);
        answer.caveats.extend(unexplained(change));
    }
    answer.caveats.extend(conditions(comparison));
    answer.caveats.extend(comparison.warnings.iter().cloned());
    answer
}

/// Describes a cause with its share of the difference.
fn because(cause: &Cause, change: &StepTimeChange) -> String {
    match (cause.percent_of_difference, change.typical_delta_us) {
        (Some(share), Some(delta_us)) if (5.0..=150.0).contains(&share) => format!(
            "{} That is {} of the {} between the typical steps.",
            cause.text,
            format::percent(share),
            format::time_us(delta_us.abs())
        ),
        _ => cause.text.clone(),
    }
}

/// Describes a large difference between the sum of the causes and the measured difference.
fn unexplained(change: &StepTimeChange) -> Option<String> {
    let explained = change.explained_percent.filter(|percent| !(90.0..=110.0).contains(percent))?;
    Some(format!(
        "The listed causes add up to {} of the {} between the typical steps. The remainder consists of many small \
            changes, or of ops that overlap with other ops.",
        format::percent(explained),
        format::time_us(change.typical_delta_us?.abs())
    ))
}

/// Names communication that only one run has, unless the first cause already names it.
fn only_in_one(comparison: &Comparison, change: &StepTimeChange, told: Option<&Cause>) -> Option<String> {
    let (ours, theirs) = (change.run as usize, comparison.baseline as usize);
    let count = |it: &CollectiveChange, run: usize| it.counts.get(run).copied().unwrap_or(0);
    let only: Vec<String> = comparison
        .collectives
        .iter()
        .filter(|it| (count(it, ours) == 0) != (count(it, theirs) == 0))
        .filter(|it| told.is_none_or(|cause| cause.kind != CauseKind::Communication || cause.name != it.kind))
        .map(|it| {
            let (with, without) = if count(it, ours) > 0 { (ours, theirs) } else { (theirs, ours) };
            let runs = |run: usize| comparison.runs.get(run).map_or("", |run| run.name.as_str());
            format!("{} runs {} {}, {} none", runs(with), count(it, with), it.kind, runs(without))
        })
        .collect();
    (!only.is_empty()).then(|| format!("{}.", only.join("; ")))
}

/// Describes the conditions that differ or are unknown.
pub fn conditions(comparison: &Comparison) -> Option<String> {
    let with = |status: FairnessStatus| -> Vec<String> {
        // Programs usually differ, because comparing them is the purpose of the comparison.
        let of = comparison.fairness.iter().filter(|it| it.status == status && it.check != "program");
        of.map(|it| {
            let value = |value: &Option<String>| value.clone().unwrap_or_else(|| format::DASH.to_owned());
            let mut values: Vec<String> = it.values.iter().take(MOST_RUNS).map(value).collect();
            let more = it.values.len() - values.len();
            if more > 0 {
                values.push(format!("{more} more"));
            }
            if status == FairnessStatus::Differs {
                format!("{} ({})", it.title.to_lowercase(), values.join(" / "))
            } else {
                it.title.to_lowercase()
            }
        })
        .collect()
    };
    let (differs, unknown) = (with(FairnessStatus::Differs), with(FairnessStatus::Unknown));
    let mut text = Vec::new();
    if !differs.is_empty() {
        text.push(format!("Conditions that differ: {}.", differs.join(", ")));
    }
    if !unknown.is_empty() {
        text.push(format!("Conditions that are unknown for some runs: {}.", unknown.join(", ")));
    }
    (!text.is_empty()).then(|| text.join(" "))
}
