//! The answer in sentences: the verdict, its largest cause, what only one run does, and what is not fair about it.

use super::fairness;
use super::{
    Cause, CauseKind, CollectiveChange, Comparison, ComparisonBasis, ComparisonKind, FairnessStatus, StepTimeChange,
    StepTimeVerdict, Subject, whole_capture,
};
use base::format;

/// The sentences, most important first. For two runs what interrupts their steps, new findings and what only one of them does follow the first cause.
pub fn summary(comparison: &Comparison, subjects: &[Subject]) -> Vec<String> {
    let mut sentences = Vec::new();
    let is_trend = comparison.kind == ComparisonKind::Trend;
    for change in comparison.step_time.iter().filter(|_| !is_trend) {
        let mut sentence = verdict(comparison, change);
        if change.work == FairnessStatus::Differs {
            sentences.push(sentence);
            continue;
        }
        let is_different = matches!(change.verdict, StepTimeVerdict::Faster | StepTimeVerdict::Slower);
        let mut causes = comparison.causes.iter().filter(|cause| is_different && cause.run == change.run);
        let first = causes.next();
        if comparison.runs.len() > 2 {
            // Of several runs each is one sentence: it says whose cause it is.
            sentence.extend(first.map(|cause| format!(" {}", because(cause))));
            sentences.push(sentence);
            continue;
        }
        let whole = whole_capture::sentence(comparison, change);
        // Where typical steps are the same, what interrupts them is the answer.
        let (before, after) = if is_different { (None, whole) } else { (whole, None) };
        sentences.extend(before);
        sentences.push(sentence);
        sentences.extend(first.map(because));
        sentences.extend(after);
        let both = subjects.get(change.run as usize).zip(subjects.get(comparison.baseline as usize));
        sentences.extend(both.and_then(|(subject, baseline)| whole_capture::findings(subject, baseline)));
        sentences.extend(only_in_one(comparison, change, first));
        sentences.extend(causes.next().map(because));
        sentences.extend(unexplained(change));
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
    let (Some(step), Some(base)) = (change.typical_us, change.baseline_typical_us) else {
        let lacks = if change.step_time_us.is_none() { &ours } else { &theirs };
        return format!(
            "The step times of {ours} and {theirs} cannot be compared: the steps of {lacks} are unknown. Give their number: --num-steps, or its Model page."
        );
    };
    if change.work == FairnessStatus::Differs {
        return of_other_work(comparison, change, [step, base]);
    }
    let times = times(change, step, base);
    let limit = format::percent(100.0 * comparison.threshold);
    let [our_captures, their_captures] = change.captures;
    match change.verdict {
        StepTimeVerdict::Equal => format!("{ours} and {theirs} take the same time: {times}."),
        StepTimeVerdict::Same => {
            format!("{ours} and {theirs} take the same time: {times}, which differ by less than {limit}.")
        }
        StepTimeVerdict::WithinNoise => {
            format!("No difference of {ours} and {theirs} is proven: {times}.{}", could_have_shown(change, base))
        }
        StepTimeVerdict::Unstable => format!(
            "The captures of one run differ too much among themselves to compare {ours} with {theirs}: {times}.{} Capture again: \
             more often, or on a machine that does nothing else.",
            could_have_shown(change, base)
        ),
        StepTimeVerdict::Faster | StepTimeVerdict::Slower if change.work == FairnessStatus::Unknown => {
            format!("It is not known whether {ours} and {theirs} do the same work: {times}. {WHAT_TO_GIVE}")
        }
        StepTimeVerdict::Faster | StepTimeVerdict::Slower | StepTimeVerdict::Unknown => {
            let (ratio, word) = if step < base { (base / step, "faster") } else { (step / base, "slower") };
            let scope = if change.basis == ComparisonBasis::Captures || our_captures + their_captures > 2 {
                String::new()
            } else {
                " That is what these two captures differ by; whether the programs do, a second capture of each would tell."
                    .to_owned()
            };
            format!("{ours} is {ratio:.2}x {word} than {theirs}: {times}.{scope}")
        }
    }
}

/// What makes it known whether two runs do the same work.
const WHAT_TO_GIVE: &str =
    "Give the batch size of both: --batch-size, a crossprof.json beside the trace, or the Model page.";

/// Two runs whose work differs: both times, and no winner.
fn of_other_work(comparison: &Comparison, change: &StepTimeChange, [step, base]: [f64; 2]) -> String {
    let (ours, theirs) = (name(comparison, change.run), name(comparison, comparison.baseline));
    let titles: Vec<String> = change
        .work_evidence
        .iter()
        .map(|check| match check.as_str() {
            "ops" => "all ops".to_owned(),
            check => fairness::title(&comparison.fairness, check).to_lowercase(),
        })
        .collect();
    format!(
        "{ours} and {theirs} do not do the same work (they differ in {}), so neither is faster: a typical step takes {} in {ours} and {} in {theirs}.",
        titles.join(" and "),
        format::time_us(step),
        format::time_us(base)
    )
}

/// The typical steps with their difference and its interval.
fn times(change: &StepTimeChange, step: f64, base: f64) -> String {
    let times = format!("a typical step takes {} against {}", format::time_us(step), format::time_us(base));
    let percent = |us: f64| {
        let sign = if us < 0.0 { "\u{2212}" } else { "+" };
        format!("{sign}{}", format::percent(100.0 * us.abs() / base))
    };
    let [ours, theirs] = change.captures;
    let [our_steps, their_steps] = change.steps.map(format::count);
    let of = match change.basis {
        ComparisonBasis::Captures => format!("{ours} and {theirs} captures"),
        ComparisonBasis::Steps | ComparisonBasis::None => format!("{our_steps} and {their_steps} steps"),
    };
    match change.margin_us {
        _ if step == base => format!("{times} ({of})"),
        Some(margin) => format!(
            "{times} ({}, 95 % interval {} to {}, {of})",
            percent(step - base),
            percent(step - base - margin),
            percent(step - base + margin)
        ),
        None => {
            format!("{times} ({}; the noise is unknown: a run has fewer than two counted steps)", percent(step - base))
        }
    }
}

/// What such captures would have shown.
fn could_have_shown(change: &StepTimeChange, base: f64) -> String {
    let least = change.least_provable_us.map(|least| format::percent(100.0 * least / base));
    least.map_or_else(String::new, |least| format!(" Such captures show differences of {least} or more."))
}

fn because(cause: &Cause) -> String {
    match cause.percent_of_difference {
        Some(share) if (5.0..=150.0).contains(&share) => {
            format!("{} That is {} of the difference.", cause.text, format::percent(share))
        }
        _ => cause.text.clone(),
    }
}

/// Where the causes that were found leave much of the difference, or go beyond it.
fn unexplained(change: &StepTimeChange) -> Option<String> {
    let explained = change.explained_percent.filter(|percent| !(90.0..=110.0).contains(percent))?;
    Some(format!(
        "The causes listed add up to {} of the difference: the rest is many small changes, or time of ops that run beside others.",
        format::percent(explained)
    ))
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
        // Another program is what runs are compared for.
        let of = comparison.fairness.iter().filter(|it| it.status == status && it.check != "program");
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
