//! The answer in sentences: the verdict, its largest cause, what only one run does, and what is not fair about it.

use super::fairness::{self, WORKLOAD};
use super::{
    Cause, CauseKind, CollectiveChange, Comparison, ComparisonKind, FairnessStatus, Matching, StepTimeChange,
    StepTimeVerdict, signed,
};
use base::format;

/// The sentences, most important first. For two runs the third is at the latest what one of them does and the other does not.
pub fn summary(comparison: &Comparison) -> Vec<String> {
    let mut sentences = Vec::new();
    let is_trend = comparison.kind == ComparisonKind::Trend;
    for change in comparison.step_time.iter().filter(|_| !is_trend) {
        let mut sentence = verdict(comparison, change);
        let is_different = !matches!(change.verdict, StepTimeVerdict::Equal | StepTimeVerdict::WithinNoise);
        let mut causes = comparison.causes.iter().filter(|cause| is_different && cause.run == change.run);
        let first = causes.next();
        if comparison.runs.len() > 2 {
            // Of several runs each is one sentence: it says whose cause it is.
            sentence.extend(first.map(|cause| format!(" {}", because(cause))));
            sentences.push(sentence);
            continue;
        }
        sentences.push(sentence);
        sentences.extend(first.map(because));
        sentences.extend(only_in_one(comparison, change, first));
        sentences.extend(causes.next().map(because));
    }
    sentences.extend(conditions(comparison));
    sentences
}

fn name(comparison: &Comparison, run: u32) -> String {
    comparison.runs.get(run as usize).map_or(String::new(), |run| {
        // Of different platforms the device matters more than the name of a file.
        if comparison.kind == ComparisonKind::AcrossPlatforms {
            format!("{} ({})", run.name, run.device_type)
        } else {
            run.name.clone()
        }
    })
}

fn verdict(comparison: &Comparison, change: &StepTimeChange) -> String {
    let (ours, theirs) = (name(comparison, change.run), name(comparison, comparison.baseline));
    let (Some(step), Some(base), Some(delta)) = (change.step_time_us, change.baseline_us, change.delta_us) else {
        let lacks = if change.step_time_us.is_none() { &ours } else { &theirs };
        return format!(
            "The step times of {ours} and {theirs} cannot be compared: the steps of {lacks} are unknown. Give their number: --num-steps, or its Model page."
        );
    };
    let times = format!("{} a step against {}", format::time_us(step), format::time_us(base));
    let noise = match change.margin_us {
        Some(margin) => format!(
            "95 % interval of the difference {} to {}, Welch's t over {} and {} steps",
            signed(delta - margin),
            signed(delta + margin),
            change.steps[0],
            change.steps[1]
        ),
        None => "the noise is unknown: a run has fewer than two counted steps".to_owned(),
    };
    let differing: Vec<&str> = WORKLOAD
        .into_iter()
        .filter(|check| comparison.fairness.iter().any(|it| it.check == *check && it.status == FairnessStatus::Differs))
        .map(|check| fairness::title(&comparison.fairness, check))
        .collect();
    let unlike = if differing.is_empty() {
        String::new()
    } else {
        format!(" They do not do the same work: {} differs.", differing.join(", ").to_lowercase())
    };
    let of_run =
        |matching: &&Matching| matching.run == change.run && comparison.kind != ComparisonKind::AcrossPlatforms;
    let strange = comparison.matching.iter().find(of_run).is_some_and(Matching::is_of_strangers);
    let unlike = if strange {
        format!("{unlike} They have no op in common: they look like different programs.")
    } else {
        unlike
    };
    match change.verdict {
        StepTimeVerdict::Equal => format!("{ours} and {theirs} take the same time: {}.{unlike}", times),
        StepTimeVerdict::WithinNoise => {
            format!("{ours} and {theirs} do not differ beyond the noise: {times} ({noise}).{unlike}")
        }
        StepTimeVerdict::Faster => {
            format!("{ours} is {:.2}x faster than {theirs}: {times} ({noise}).{unlike}", base / step)
        }
        _ => format!("{ours} is {:.2}x slower than {theirs}: {times} ({noise}).{unlike}", step / base),
    }
}

fn because(cause: &Cause) -> String {
    match cause.percent_of_difference {
        Some(share) if (5.0..=150.0).contains(&share) => {
            format!("{} That is {} of the difference.", cause.text, format::percent(share))
        }
        _ => cause.text.clone(),
    }
}

/// Communication that one run has and the other has not, unless the first cause has told it.
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

/// What is not fair, and what is not known.
fn conditions(comparison: &Comparison) -> Option<String> {
    let with = |status: FairnessStatus| -> Vec<String> {
        let of = comparison.fairness.iter().filter(|it| it.status == status);
        of.map(|it| {
            let value = |value: &Option<String>| value.clone().unwrap_or_else(|| format::DASH.to_owned());
            let values: Vec<String> = it.values.iter().map(value).collect();
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
        text.push(format!("Not known of every run: {}.", unknown.join(", ")));
    }
    (!text.is_empty()).then(|| text.join(" "))
}
