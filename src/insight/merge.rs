//! Findings that say the same thing are told once.
//!
//! A finding names a cause or a symptom. Where the cause fires and explains at least half of what the symptom has at stake,
//! the symptom is left out; where it explains less, both are told, because there is something else to find.

use crate::report::Finding;

/// `(what explains, what it explains)`: a cause and its symptoms, or the more specific of two rules and the other.
const EXPLAINS: &[(&str, &[&str])] = &[
    // Idle time: why comes before how much, and the share of the steps before that of the whole capture.
    (
        "data_loading",
        &["host_overhead", "low_device_utilization", "idle_gaps", "tensor_core_idle", "short_mean_kernel"],
    ),
    ("compilation", &["low_device_utilization", "idle_gaps", "tensor_core_idle", "short_mean_kernel", "compile_time"]),
    ("many_small_kernels", &["host_overhead", "low_device_utilization", "idle_gaps", "short_mean_kernel"]),
    ("host_overhead", &["low_device_utilization", "idle_gaps", "tensor_core_idle", "short_mean_kernel"]),
    ("barrier_cores", &["low_device_utilization", "idle_gaps", "tensor_core_idle"]),
    ("low_device_utilization", &["idle_gaps", "tensor_core_idle", "short_mean_kernel"]),
    ("tensor_core_idle", &["idle_gaps"]),
    // Compilation: inside the steps before in all.
    ("recompilation", &["compilation", "compile_time", "warm_up_in_window"]),
    // Communication: what is to be done about it before how much there is.
    ("gradient_synchronization", &["unhidden_collectives", "collective_bound"]),
    ("unhidden_collectives", &["collective_bound"]),
    // One op or kind of op: what it is comes before that it is large.
    ("unfused_data_formatting", &["data_shuffle", "dominant_op"]),
    ("data_shuffle", &["dominant_op"]),
    ("tensor_cores_unused", &["bf16_in_fp32"]),
    // Faults of the capture.
    ("cut_capture", &["no_hlo"]),
];

/// The share of a symptom that its cause must account for.
const MOST: f64 = 0.5;

/// Leaves out what another finding explains. `findings` holds those that fired, in any order.
pub(super) fn merge(findings: &mut Vec<Finding>) {
    let stakes: Vec<(String, Option<f64>)> =
        findings.iter().map(|finding| (finding.id.clone(), finding.time_at_stake_percent)).collect();
    findings.retain(|finding| {
        !stakes
            .iter()
            .any(|(cause, stake)| explains(cause, &finding.id) && enough(*stake, finding.time_at_stake_percent))
    });
}

fn explains(cause: &str, symptom: &str) -> bool {
    EXPLAINS.iter().any(|(id, symptoms)| *id == cause && symptoms.contains(&symptom))
}

/// Where one of the two has no share of its own (a note, a count), the cause speaks for both.
fn enough(cause: Option<f64>, symptom: Option<f64>) -> bool {
    match (cause, symptom) {
        (Some(cause), Some(symptom)) => cause >= MOST * symptom,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insight::RULES;
    use crate::report::{Confidence, FindingSeverity};

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
    }

    #[test]
    fn the_table_names_rules_and_has_no_circles() {
        for (cause, symptoms) in EXPLAINS {
            for id in symptoms.iter().chain([cause]) {
                assert!(RULES.iter().any(|rule| rule.id == *id), "{id} is no rule");
            }
            assert!(symptoms.iter().all(|symptom| !explains(symptom, cause)), "{cause}");
        }
    }
}
