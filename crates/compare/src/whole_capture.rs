//! Describes differences of whole captures that the typical steps do not show: time lost in individual steps, and findings that
//! are new or gone.

use super::{CaptureTime, Comparison, StepTimeChange, Subject, TimeLoss, TimeLossKind};
use base::format;
use report::{Finding, FindingSeverity, STEP_PARTS, UnifiedProfile};

/// Returns the relative increase of the mean step over the baseline's mean step, minus the relative increase of the typical step.
pub(crate) fn beyond_typical(comparison: &Comparison, change: &StepTimeChange) -> Option<f64> {
    let (ours, theirs) = times(comparison, change)?;
    Some(ours.us_per_step / theirs.us_per_step - ours.typical_us / theirs.typical_us)
}

/// Describes the time over the whole capture, if individual steps give a different result than the typical step.
pub(crate) fn sentence(comparison: &Comparison, change: &StepTimeChange) -> Option<String> {
    let (ours, theirs) = times(comparison, change)?;
    if beyond_typical(comparison, change)?.abs() < comparison.threshold {
        return None;
    }
    let more = 100.0 * (ours.us_per_step / theirs.us_per_step - 1.0);
    let sign = if more < 0.0 { "\u{2212}" } else { "+" };
    let name = |run: u32| comparison.runs.get(run as usize).map_or("", |run| run.name.as_str());
    let side = |time: &CaptureTime| {
        let losses: Vec<String> = time.losses.iter().map(loss).collect();
        let losses = if losses.is_empty() { "none".to_owned() } else { losses.join(", ") };
        format!("{losses} in {}", name(time.run))
    };
    Some(format!(
        "Over the whole capture, including interruptions, a step takes {} in {} and {} in {} ({sign}{}). \
            Interruptions: {}; {}.",
        format::time_us(ours.us_per_step),
        name(ours.run),
        format::time_us(theirs.us_per_step),
        name(theirs.run),
        format::percent(more.abs()),
        side(ours),
        side(theirs)
    ))
}

/// Describes a loss: `2 stalls of 10.0 ms each (in load_batch; idle: input pipeline)`.
fn loss(loss: &TimeLoss) -> String {
    let word = match (loss.kind, loss.steps) {
        (TimeLossKind::Compilation, 1) => "step that compiles",
        (TimeLossKind::Compilation, _) => "steps that compile",
        (TimeLossKind::WarmUp, 1) => "warm-up step",
        (TimeLossKind::WarmUp, _) => "warm-up steps",
        (TimeLossKind::Stall, 1) => "stall",
        (TimeLossKind::Stall, _) => "stalls",
    };
    let lost = format::time_us(loss.lost_us / loss.steps as f64);
    let each = if loss.steps == 1 { "" } else { " each" };
    let title = |part: &String| STEP_PARTS.iter().find(|(name, _)| name == part).map(|(_, title)| title.to_lowercase());
    let part = loss.part.as_ref().and_then(title).filter(|_| loss.kind == TimeLossKind::Stall);
    let part = part.map_or_else(String::new, |part| match &loss.host_range {
        Some(range) => format!(" (in {}; {part})", format::shorten(range, 60)),
        None => format!(" ({part})"),
    });
    format!("{} {word} of {lost}{each}{part}", format::count(loss.steps))
}

fn times<'c>(comparison: &'c Comparison, change: &StepTimeChange) -> Option<(&'c CaptureTime, &'c CaptureTime)> {
    let of = |run: u32| comparison.capture_time.iter().find(|time| time.run == run);
    of(change.run).zip(of(comparison.baseline))
}

/// Returns findings that every capture of `subject` has and no capture of `baseline` has. Their severity is at least
/// `least`.
pub fn new_findings<'s>(subject: &'s Subject, baseline: &Subject, least: FindingSeverity) -> Vec<&'s Finding> {
    let Some(first) = subject.captures().first() else { return Vec::new() };
    let has =
        |profile: &UnifiedProfile, id: &str| profile.findings.iter().any(|it| it.id == id && it.severity >= least);
    let is_new = |it: &&Finding| {
        it.severity >= least
            && subject.captures().iter().all(|profile| has(profile, &it.id))
            && !baseline.captures().iter().any(|profile| has(profile, &it.id))
    };
    first.findings.iter().filter(is_new).collect()
}

/// Lists the titles of findings that every capture of one side has and no capture of the other has. Returns `None` if
/// there are no such findings.
pub(crate) fn findings(subject: &Subject, baseline: &Subject) -> Option<String> {
    let only = |with: &Subject, without: &Subject| -> Vec<String> {
        let new = new_findings(with, without, FindingSeverity::Warning);
        new.into_iter().map(|it| it.title.trim_end_matches('.').to_owned()).collect()
    };
    let list =
        |what: &str, titles: Vec<String>| (!titles.is_empty()).then(|| format!("{what}: {}.", titles.join("; ")));
    let new = list(&format!("New findings of {}", subject.name), only(subject, baseline));
    let gone = list(&format!("Findings of {} that are gone", baseline.name), only(baseline, subject));
    let parts: Vec<String> = [new, gone].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ComparedRun;
    use report::{Confidence, Finding};

    #[test]
    fn stalls_are_mentioned_if_they_cause_the_difference() {
        let run = |name: &str| ComparedRun { name: name.to_owned(), ..ComparedRun::default() };
        let time = |run: u32, us_per_step: f64, losses: Vec<TimeLoss>| CaptureTime {
            run,
            steps: 20,
            us_per_step,
            typical_us: 10_000.0,
            losses,
            ..CaptureTime::default()
        };
        let stalls = TimeLoss {
            kind: TimeLossKind::Stall,
            part: Some("input_bound".to_owned()),
            host_range: Some("load_batch".to_owned()),
            steps: 2,
            lost_us: 20_000.0,
            longest_us: 10_000.0,
        };
        let mut comparison = Comparison {
            runs: vec![run("main"), run("new")],
            threshold: 0.01,
            capture_time: vec![time(0, 10_000.0, Vec::new()), time(1, 11_000.0, vec![stalls])],
            ..Comparison::default()
        };
        let change = StepTimeChange { run: 1, ..StepTimeChange::default() };
        assert_eq!(
            sentence(&comparison, &change).unwrap(),
            "Over the whole capture, including interruptions, a step takes 11.0 ms in new and 10.0 ms in main (+10.0 %). \
             Interruptions: 2 stalls of 10.0 ms each (in load_batch; idle: input pipeline) in new; none in main."
        );
        comparison.capture_time[1].us_per_step = 10_050.0;
        assert_eq!(sentence(&comparison, &change), None);
    }

    #[test]
    fn findings_of_one_side_only_are_new_or_gone() {
        let subject = |name: &str, ids: &[&str]| {
            let finding = |id: &&str| Finding {
                id: (*id).to_owned(),
                severity: FindingSeverity::Warning,
                confidence: Confidence::High,
                title: format!("It is {id}."),
                message: String::new(),
                remedy: String::new(),
                evidence: Vec::new(),
                time_at_stake_percent: None,
                view: None,
                filter: None,
            };
            let mut profile =
                UnifiedProfile { findings: ids.iter().map(finding).collect(), ..UnifiedProfile::default() };
            profile.metadata.run_name = Some(name.to_owned());
            Subject::new(profile)
        };
        let (main, new) = (subject("main", &["slow", "cold"]), subject("new", &["slow", "late"]));
        assert_eq!(
            findings(&new, &main).unwrap(),
            "New findings of new: It is late. Findings of main that are gone: It is cold."
        );
        assert_eq!(findings(&main, &main), None);
    }
}
