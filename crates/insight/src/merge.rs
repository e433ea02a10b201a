//! Findings that say the same thing are reported once.
//!
//! A finding names a cause or a symptom. Where the causes that fire explain at least half of a symptom's impact, the
//! symptom is left out; where they explain less, all are reported, because there is something else to find.

use report::Finding;

/// `(symptom, causes)`: what is left out, and what explains it: causes of it, or a more specific rule about the same. The
/// causes of idle time are exclusive parts of a step, so that their shares add up.
const EXPLAINED: &[(&str, &[&str])] = &[
    // Idle time: why comes before how much, and the share of the steps before that of the whole capture.
    ("host_overhead", &["many_small_kernels"]),
    ("low_device_utilization", &["data_loading", "compilation", "host_overhead", "barrier_cores"]),
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
        ],
    ),
    (
        "short_mean_kernel",
        &["many_small_kernels", "low_device_utilization", "data_loading", "compilation", "host_overhead"],
    ),
    // Callbacks are ops on the host.
    ("host_executed_ops", &["debug_print"]),
    // Compilation: inside the steps before in all.
    ("compilation", &["recompilation"]),
    ("compile_time", &["recompilation", "compilation"]),
    ("warm_up_in_window", &["recompilation"]),
    // Communication: what is to be done about it before how much there is.
    ("unhidden_collectives", &["gradient_synchronization"]),
    ("collective_bound", &["gradient_synchronization", "unhidden_collectives"]),
    // One op or kind of op: what it is comes before that it is large.
    ("data_shuffle", &["unfused_data_formatting"]),
    ("dominant_op", &["unfused_data_formatting", "data_shuffle", "sorting", "gather_scatter", "low_flop_rate"]),
    ("tensor_cores_unused", &["bf16_in_fp32"]),
    // Faults of the capture.
    ("no_hlo", &["cut_capture"]),
];

/// The share of a symptom that its causes must account for.
const MOST: f64 = 0.5;

/// Leaves out what other findings explain. `findings` holds those that fired, in any order.
pub(super) fn merge(findings: &mut Vec<Finding>) {
    let stakes: Vec<(String, Option<f64>)> =
        findings.iter().map(|finding| (finding.id.clone(), finding.time_at_stake_percent)).collect();
    findings.retain(|finding| {
        let known = EXPLAINED.iter().find(|(symptom, _)| *symptom == finding.id);
        let causes = known.map_or(&[][..], |(_, causes)| causes);
        let fired: Vec<Option<f64>> =
            stakes.iter().filter(|(id, _)| causes.contains(&id.as_str())).map(|&(_, stake)| stake).collect();
        !explain(&fired, finding.time_at_stake_percent)
    });
}

/// Whether causes with these shares explain a symptom. Where one of them has no share of its own (a note, a count), it speaks
/// for all.
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
    fn a_symptom_is_left_out_where_its_cause_explains_most_of_it() {
        let (cause, symptom) = ("host_overhead", "low_device_utilization");
        assert_eq!(merged(&[(symptom, Some(60.0)), (cause, Some(40.0))]), [cause]);
        assert_eq!(merged(&[(symptom, Some(60.0)), (cause, Some(20.0))]), [symptom, cause]);
        assert_eq!(merged(&[(symptom, Some(60.0))]), [symptom]);
        assert_eq!(merged(&[(cause, Some(60.0)), ("short_mean_kernel", None)]), [cause]);
        // Two causes of a fifth each explain what neither does alone.
        let both = [("data_loading", Some(20.0)), (cause, Some(20.0)), (symptom, Some(60.0))];
        assert_eq!(merged(&both), ["data_loading", cause]);
        assert_eq!(merged(&[("data_loading", Some(20.0)), (cause, Some(20.0))]), ["data_loading", cause]);
    }

    #[test]
    fn the_table_names_rules_and_has_no_circles() {
        for (symptom, causes) in EXPLAINED {
            for id in causes.iter().chain([symptom]) {
                assert!(RULES.iter().any(|rule| rule.id == *id), "{id} is no rule");
            }
            let back = EXPLAINED.iter().filter(|(other, by)| causes.contains(other) && by.contains(symptom));
            assert_eq!(back.count(), 0, "{symptom}");
        }
    }
}
