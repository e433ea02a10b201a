//! Merges findings about the same loss, so that each is reported once.
//!
//! A finding names a cause or a symptom. If the causes that fire explain at least half of a symptom's impact, the symptom is
//! omitted. If they explain less, all are reported, because there is another cause to find. A finding about a part of a loss is
//! merged into the finding about the whole loss.

use report::Finding;

/// `(symptom, causes)`: a rule whose finding is omitted, and the rules that explain it: its causes, or more specific rules. The
/// causes of idle time are exclusive parts of a step, so their shares add up.
const EXPLAINED: &[(&str, &[&str])] = &[
    // Idle time: prefer the cause to the amount, and shares of the steps to shares of the capture.
    ("host_overhead", &["many_small_kernels"]),
    (
        "low_device_utilization",
        &[
            "data_loading",
            "compilation",
            "host_overhead",
            "barrier_cores",
            "many_programs",
            "python_threads",
            "uneven_devices",
        ],
    ),
    ("tensor_core_idle", &["low_device_utilization", "data_loading", "compilation", "host_overhead", "barrier_cores"]),
    (
        "idle_gaps",
        &[
            "low_device_utilization",
            "tensor_core_idle",
            "data_loading",
            "compilation",
            "host_overhead",
            "barrier_cores",
            "many_programs",
            "python_threads",
            "uneven_devices",
        ],
    ),
    (
        "short_mean_kernel",
        &["many_small_kernels", "low_device_utilization", "data_loading", "compilation", "host_overhead"],
    ),
    // Each of many small programs has arguments, such as Python numbers.
    ("host_arguments", &["many_programs"]),
    // Callbacks are ops on the host.
    ("host_executed_ops", &["debug_print"]),
    // Compilation: prefer compilation inside steps to all compilation.
    ("compilation", &["recompilation"]),
    ("compile_time", &["recompilation", "compilation"]),
    ("warm_up_in_window", &["recompilation"]),
    // Communication: prefer the finding with specific advice to the amount.
    // Devices that wait for a slow one do so in collectives.
    ("unhidden_collectives", &["gradient_synchronization", "straggler_device"]),
    ("collective_bound", &["gradient_synchronization", "unhidden_collectives", "straggler_device"]),
    // One op or kind of op: prefer the kind to the amount.
    ("data_shuffle", &["unfused_data_formatting"]),
    (
        "dominant_op",
        &["unfused_data_formatting", "data_shuffle", "sorting", "gather_scatter", "one_hot_lookup", "low_flop_rate"],
    ),
    ("tensor_cores_unused", &["bf16_in_fp32"]),
    // Faults of the capture.
    ("no_hlo", &["cut_capture"]),
];

/// `(whole, part)`: a rule about a loss, and a rule about a part of it. If the part does not explain the whole, its finding is
/// merged into that of the whole.
const PARTS: &[(&str, &str)] = &[
    ("host_overhead", "many_small_kernels"),
    ("low_device_utilization", "many_small_kernels"),
    ("compilation", "recompilation"),
    ("unhidden_collectives", "gradient_synchronization"),
];

/// `(evidence, rules)`: the part of a step that grows most in long steps, and the rules about that part. Their findings then
/// describe the long steps.
const LONG_STEPS: &[(&str, &[&str])] = &[
    ("input_bound_us", &["data_loading"]),
    ("host_bound_us", &["host_overhead", "many_small_kernels"]),
    ("compile_us", &["compilation", "recompilation"]),
    ("other_idle_us", &["many_programs", "python_threads", "uneven_devices", "low_device_utilization", "idle_gaps"]),
    ("communication_us", &["gradient_synchronization", "straggler_device", "unhidden_collectives"]),
];

/// The share of a symptom that its causes must account for.
const MOST: f64 = 0.5;

/// Omits findings that others explain. `findings` contains those that fired, in any order.
pub(super) fn merge(findings: &mut Vec<Finding>) {
    let stakes: Vec<(String, Option<f64>)> =
        findings.iter().map(|finding| (finding.id.clone(), finding.time_at_stake_percent)).collect();
    add_long_steps(findings, &stakes);
    findings.retain(|finding| {
        let known = EXPLAINED.iter().find(|(symptom, _)| *symptom == finding.id);
        let causes = known.map_or(&[][..], |(_, causes)| causes);
        let fired: Vec<Option<f64>> =
            stakes.iter().filter(|(id, _)| causes.contains(&id.as_str())).map(|&(_, stake)| stake).collect();
        !explain(&fired, finding.time_at_stake_percent) && !is_covered_by_all_steps(finding, &stakes)
    });
    for (whole, part) in PARTS {
        absorb(findings, whole, part);
    }
}

/// Returns true if a finding about long steps repeats, for some steps, a finding about all steps.
fn is_covered_by_all_steps(finding: &Finding, fired: &[(String, Option<f64>)]) -> bool {
    rule_of_all_steps(finding, fired).is_some()
}

/// Returns the rule that fired on the part of a step that grows most in the long steps of a finding.
fn rule_of_all_steps(finding: &Finding, fired: &[(String, Option<f64>)]) -> Option<&'static str> {
    let rules = LONG_STEPS.iter().filter(|(name, _)| finding.evidence.iter().any(|it| it.name == *name));
    let is_fired = |rule: &&str| {
        let cause = fired.iter().find(|(id, _)| id == rule);
        cause.is_some_and(|(_, stake)| explain(&[*stake], finding.time_at_stake_percent))
    };
    let is_of_long_steps = finding.id == "step_time_variation";
    rules.flat_map(|(_, rules)| rules.iter().copied()).find(|rule| is_of_long_steps && is_fired(rule))
}

/// Adds the long steps to the finding about the part that grows in them, because the mean over all steps hides them.
fn add_long_steps(findings: &mut [Finding], fired: &[(String, Option<f64>)]) {
    let found = findings.iter().find_map(|finding| Some((finding.title.clone(), rule_of_all_steps(finding, fired)?)));
    let Some((title, rule)) = found else { return };
    if let Some(finding) = findings.iter_mut().find(|finding| finding.id == rule) {
        finding.message.push_str(&format!(" {title}."));
    }
}

/// Merges the finding about a part of a loss into the finding about the whole: message, remedy and evidence are appended.
fn absorb(findings: &mut Vec<Finding>, whole: &str, part: &str) {
    let place = |id: &str| findings.iter().position(|finding| finding.id == id);
    let (Some(_), Some(part)) = (place(whole), place(part)) else { return };
    let part = findings.remove(part);
    if let Some(whole) = findings.iter_mut().find(|finding| finding.id == whole) {
        whole.message.push_str(&format!(" {}", part.message));
        whole.remedy.push_str(&format!(" {}", part.remedy));
        whole.severity = whole.severity.max(part.severity);
        whole.evidence.extend(part.evidence);
    }
}

/// Returns true if causes with these shares explain a symptom. A cause without a share (a note, a count) always explains it.
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
    use crate::RULES;
    use report::{Confidence, FindingSeverity};

    fn finding(id: &str, stake: Option<f64>) -> Finding {
        Finding {
            id: id.to_owned(),
            severity: FindingSeverity::Warning,
            confidence: Confidence::High,
            title: String::new(),
            message: String::new(),
            remedy: String::new(),
            evidence: Vec::new(),
            time_at_stake_percent: stake,
            view: None,
            filter: None,
        }
    }

    fn merged(findings: &[(&str, Option<f64>)]) -> Vec<String> {
        let mut list: Vec<Finding> = findings.iter().map(|(id, stake)| finding(id, *stake)).collect();
        merge(&mut list);
        list.into_iter().map(|finding| finding.id).collect()
    }

    #[test]
    fn a_symptom_is_omitted_if_its_cause_explains_most_of_it() {
        let (cause, symptom) = ("host_overhead", "low_device_utilization");
        assert_eq!(merged(&[(symptom, Some(60.0)), (cause, Some(40.0))]), [cause]);
        assert_eq!(merged(&[(symptom, Some(60.0)), (cause, Some(20.0))]), [symptom, cause]);
        assert_eq!(merged(&[(symptom, Some(60.0))]), [symptom]);
        assert_eq!(merged(&[(cause, Some(60.0)), ("short_mean_kernel", None)]), [cause]);
        // Two causes of 20 % each explain a symptom that neither explains alone.
        let both = [("data_loading", Some(20.0)), (cause, Some(20.0)), (symptom, Some(60.0))];
        assert_eq!(merged(&both), ["data_loading", cause]);
        assert_eq!(merged(&[("data_loading", Some(20.0)), (cause, Some(20.0))]), ["data_loading", cause]);
    }

    #[test]
    fn a_part_of_a_loss_is_merged_into_the_whole() {
        let mut list = vec![finding("host_overhead", Some(85.8)), finding("many_small_kernels", Some(31.1))];
        list[0].message = "Devices wait.".to_owned();
        list[1].message = "Kernels are short.".to_owned();
        list[1].severity = FindingSeverity::Critical;
        merge(&mut list);
        assert_eq!(list.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["host_overhead"]);
        let expected = ("Devices wait. Kernels are short.", FindingSeverity::Critical, Some(85.8));
        assert_eq!((list[0].message.as_str(), list[0].severity, list[0].time_at_stake_percent), expected);
        // A part that is most of the loss is its cause.
        assert_eq!(
            merged(&[("host_overhead", Some(50.0)), ("many_small_kernels", Some(31.1))]),
            ["many_small_kernels"]
        );
    }

    #[test]
    fn long_steps_are_reported_once() {
        let mut long = finding("step_time_variation", Some(15.0));
        long.evidence = vec![report::Evidence { name: "input_bound_us".to_owned(), value: 8400.0, threshold: None }];
        let with = |other: &str| {
            let mut list = vec![long.clone(), finding(other, Some(20.0))];
            merge(&mut list);
            list.len()
        };
        assert_eq!((with("data_loading"), with("host_overhead")), (1, 2));
    }

    #[test]
    fn the_table_names_rules_and_has_no_cycles() {
        let is_rule = |id: &str| RULES.iter().any(|rule| rule.id == id);
        assert!(PARTS.iter().all(|(whole, part)| is_rule(whole) && is_rule(part)));
        assert!(LONG_STEPS.iter().flat_map(|(_, rules)| rules.iter()).all(|id| is_rule(id)));
        for (symptom, causes) in EXPLAINED {
            for id in causes.iter().chain([symptom]) {
                assert!(is_rule(id), "{id} is no rule");
            }
            let back = EXPLAINED.iter().filter(|(other, by)| causes.contains(other) && by.contains(symptom));
            assert_eq!(back.count(), 0, "{symptom}");
        }
    }
}
