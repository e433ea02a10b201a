//! Merges findings about the same lost time, so that each loss is reported once.
//!
//! A finding names a cause or a symptom. If the causes that fire explain at least half of a symptom's impact, the
//! symptom is omitted. If the causes explain less, the symptom is reported too, because there is another cause to find.
//! A finding about a part of some lost time is merged into the finding about all of it.

use super::long_steps::evidence_of;
use super::{Fired, Rule, rules};

/// A symptom is omitted if its causes account for at least this share of its impact.
pub(super) const MOST: f64 = 0.5;

/// Omits findings that other findings explain. `findings` contains the findings that fired, in any order.
pub(super) fn merge(findings: &mut Vec<Fired>) {
    let impacts: Vec<Impact> = findings.iter().map(|it| (it.rule, it.finding.time_at_stake_percent)).collect();
    add_long_steps(findings, &impacts);
    findings.retain(|it| {
        let causes = impacts.iter().filter(|(rule, _)| it.rule.causes().any(|cause| cause == *rule));
        let causes: Vec<Option<f64>> = causes.map(|&(_, impact)| impact).collect();
        !explain(&causes, it.finding.time_at_stake_percent) && rule_of_all_steps(it, &impacts).is_none()
    });
    for whole in rules() {
        for part in whole.parts {
            absorb(findings, whole, part);
        }
    }
}

/// A rule that fired, with the affected share of the step.
type Impact = (&'static Rule, Option<f64>);

/// Returns the rule that fired about the part of a step that grows most in the long steps of a finding. That rule's
/// finding covers all steps, so the finding about some steps only repeats it.
fn rule_of_all_steps(it: &Fired, fired: &[Impact]) -> Option<&'static Rule> {
    let has = |name: &str| it.finding.evidence.iter().any(|evidence| evidence.name == name);
    let explains = |rule: &&Rule| {
        let cause = fired.iter().find(|(other, _)| other == rule);
        cause.is_some_and(|&(_, impact)| explain(&[impact], it.finding.time_at_stake_percent))
    };
    let parts = it.rule.of_all_steps.iter().filter(|(part, _)| has(&evidence_of(*part)));
    parts.flat_map(|(_, rules)| rules.iter().copied()).find(explains)
}

/// Adds the long steps to the finding about the part that grows in them, because the mean over all steps hides them.
fn add_long_steps(findings: &mut [Fired], fired: &[Impact]) {
    let found = findings.iter().find_map(|it| Some((it.finding.title.clone(), rule_of_all_steps(it, fired)?)));
    let Some((title, rule)) = found else { return };
    if let Some(of_all) = findings.iter_mut().find(|it| it.rule == rule) {
        of_all.finding.message.push_str(&format!(" {title}."));
    }
}

/// Merges the finding about a part of some lost time into the finding about all of it: message, remedy and evidence are
/// appended.
fn absorb(findings: &mut Vec<Fired>, whole: &Rule, part: &Rule) {
    let place = |rule: &Rule| findings.iter().position(|it| it.rule == rule);
    let (Some(_), Some(part)) = (place(whole), place(part)) else { return };
    let part = findings.remove(part).finding;
    if let Some(Fired { finding: whole, .. }) = findings.iter_mut().find(|it| it.rule == whole) {
        whole.message.push_str(&format!(" {}", part.message));
        whole.remedy.push_str(&format!(" {}", part.remedy));
        whole.severity = whole.severity.max(part.severity);
        whole.evidence.extend(part.evidence);
    }
}

/// Returns true if causes with these shares explain a symptom. A cause without a share (a note, a count) always
/// explains the symptom.
fn explain(causes: &[Option<f64>], symptom: Option<f64>) -> bool {
    match symptom {
        _ if causes.is_empty() => false,
        Some(symptom) if causes.iter().all(Option::is_some) => causes.iter().flatten().sum::<f64>() >= MOST * symptom,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compilation, data_loading, host_overhead, low_device_utilization, many_small_kernels, recompilation,
        short_mean_kernel, step_time_variation,
    };
    use metrics::StepPart;
    use report::{Confidence, Evidence, Finding, FindingSeverity};

    fn fired(rule: &'static Rule, impact: Option<f64>) -> Fired {
        let finding = Finding {
            id: rule.id.to_owned(),
            severity: FindingSeverity::Warning,
            confidence: Confidence::High,
            title: String::new(),
            message: String::new(),
            remedy: String::new(),
            evidence: Vec::new(),
            time_at_stake_percent: impact,
            view: None,
            filter: None,
        };
        Fired { rule, finding }
    }

    fn merged(findings: &[(&'static Rule, Option<f64>)]) -> Vec<&'static str> {
        let mut list: Vec<Fired> = findings.iter().map(|&(rule, impact)| fired(rule, impact)).collect();
        merge(&mut list);
        list.into_iter().map(|it| it.rule.id).collect()
    }

    #[test]
    fn a_symptom_is_omitted_if_its_cause_explains_most_of_it() {
        let (cause, symptom, input) = (&host_overhead::RULE, &low_device_utilization::RULE, &data_loading::RULE);
        assert_eq!(merged(&[(symptom, Some(60.0)), (cause, Some(40.0))]), [cause.id]);
        assert_eq!(merged(&[(symptom, Some(60.0)), (cause, Some(20.0))]), [symptom.id, cause.id]);
        assert_eq!(merged(&[(symptom, Some(60.0))]), [symptom.id]);
        assert_eq!(merged(&[(cause, Some(60.0)), (&short_mean_kernel::RULE, None)]), [cause.id]);
        // Two causes of 20 % each explain a symptom that neither explains alone.
        let both = [(input, Some(20.0)), (cause, Some(20.0)), (symptom, Some(60.0))];
        assert_eq!(merged(&both), [input.id, cause.id]);
        assert_eq!(merged(&[(input, Some(20.0)), (cause, Some(20.0))]), [input.id, cause.id]);
    }

    #[test]
    fn a_part_of_a_loss_is_merged_into_the_whole() {
        let (whole, part) = (&host_overhead::RULE, &many_small_kernels::RULE);
        let mut list = vec![fired(whole, Some(85.8)), fired(part, Some(31.1))];
        list[0].finding.message = "Devices wait.".to_owned();
        list[1].finding.message = "Kernels are short.".to_owned();
        list[1].finding.severity = FindingSeverity::Critical;
        merge(&mut list);
        assert_eq!(list.iter().map(|it| it.rule.id).collect::<Vec<_>>(), [whole.id]);
        let expected = ("Devices wait. Kernels are short.", FindingSeverity::Critical, Some(85.8));
        let found = &list[0].finding;
        assert_eq!((found.message.as_str(), found.severity, found.time_at_stake_percent), expected);
        // A part that makes up most of the lost time is its cause.
        assert_eq!(merged(&[(whole, Some(50.0)), (part, Some(31.1))]), [part.id]);
    }

    #[test]
    fn long_steps_are_reported_once() {
        let with = |part: StepPart, other: &'static Rule| {
            let mut long = fired(&step_time_variation::RULE, Some(15.0));
            long.finding.evidence = vec![Evidence { name: evidence_of(part), value: 8400.0, threshold: None }];
            let mut list = vec![long, fired(other, Some(20.0))];
            merge(&mut list);
            list.len()
        };
        assert_eq!(with(StepPart::InputBound, &data_loading::RULE), 1);
        assert_eq!(with(StepPart::InputBound, &host_overhead::RULE), 2);
        assert_eq!(with(StepPart::Compile, &compilation::RULE), 1);
        assert_eq!(with(StepPart::Compile, &recompilation::RULE), 1);
    }

    /// No two rules may explain each other, because both would be omitted.
    #[test]
    fn no_rules_explain_each_other() {
        for rule in rules() {
            let back = rule.causes().filter(|cause| cause.causes().any(|it| it == rule));
            assert_eq!(back.map(|it| it.id).collect::<Vec<_>>(), [""; 0], "{}", rule.id);
        }
    }
}
