//! Baselines of several runs, and findings that a baseline lacks.

use serde_json::{Value, json};

use super::super::*;
use super::{limit, run};

fn of_speed(steps_per_sec: f64) -> Value {
    json!({"throughput": {"steps_per_sec": steps_per_sec}})
}

#[test]
fn the_baseline_of_a_group_is_its_median() {
    let rule = "throughput.steps_per_sec >= 97 % of baseline";
    for (speeds, median, status) in [
        (&[9.0, 7.0, 8.0][..], 8.0, Status::Pass),
        // The median is the mean of the middle two: 8.5.
        (&[9.0, 7.0, 8.0, 20.0], 8.5, Status::Fail),
        // A single slow run does not lower the bound.
        (&[1.0, 9.0, 9.0], 9.0, Status::Fail),
    ] {
        let runs: Vec<Value> = speeds.iter().copied().map(of_speed).collect();
        let report = judge(&limit(rule), &run(), &runs.iter().collect::<Vec<_>>());
        assert_eq!((report.baseline, report.status), (Some(median), status), "{speeds:?}");
        assert!((report.bound.unwrap() - 0.97 * median).abs() < 1e-12);
        let range = (speeds.iter().copied().reduce(f64::min), speeds.iter().copied().reduce(f64::max));
        assert_eq!((report.baseline_least, report.baseline_most), range);
    }
    let runs = [9.0, 9.0, 1.0].map(of_speed);
    let report = judge(&limit(rule), &run(), &[&runs[0], &runs[1], &runs[2]]);
    let told = "throughput.steps_per_sec is 8.00 /s and must be at least 8.73 /s (0.97 * baseline; the median of the \
                baseline's 3 runs is 9.00 /s, from 1.00 /s to 9.00 /s): 8.4 % too little.";
    assert_eq!(report.message, told);
    // A median of the other runs would describe a different group.
    let report = judge(&limit(rule), &run(), &[&runs[0], &json!({"metadata": {}}), &runs[1]]);
    assert_eq!((report.status, report.message.as_str()), (Status::Missing, "The baseline has no throughput."));
    let alone = judge(&limit(rule), &run(), &[&runs[0]]);
    assert_eq!((alone.baseline_least, alone.baseline_most), (None, None));
}

fn findings(entries: &[(&str, &str)]) -> Value {
    let entry = |&(id, severity): &(&str, &str)| json!({"id": id, "severity": severity, "message": "Said."});
    json!({"metadata": {"source_format": "xplane"}, "findings": entries.iter().map(entry).collect::<Vec<_>>()})
}

#[test]
fn findings_are_new_where_no_run_of_the_baseline_has_them() {
    // input_bound is a warning, idle_gaps is a note, and recompilation could not be checked.
    let one = findings(&[("input_bound", "note")]);
    let other = findings(&[("idle_gaps", "note"), ("straggler_device", "warning")]);
    let blind = findings(&[("input_bound", "not_checked"), ("idle_gaps", "not_checked")]);
    let imported = json!({"metadata": {"source_format": "unified_profile"}});
    for (rule, baselines, status, value) in [
        ("count(new findings) == 1", &[&one][..], Status::Pass, Some(1.0)),
        ("new findings absent", &[&one], Status::Fail, Some(1.0)),
        // Each finding is in one of the two runs.
        ("new findings absent", &[&one, &other], Status::Pass, Some(0.0)),
        // A note that became a warning is a new warning.
        ("new findings[severity=warning|critical] absent", &[&one], Status::Fail, Some(1.0)),
        ("new findings[severity=critical] absent", &[&one], Status::Pass, Some(0.0)),
        ("new findings[id=idle_gaps] absent", &[&one], Status::Fail, Some(1.0)),
        ("new findings[id=idle_gaps] absent", &[&other], Status::Pass, Some(0.0)),
        ("new findings[id=recompilation] absent", &[&one], Status::Missing, None),
        ("new findings absent", &[&blind], Status::Missing, None),
        ("new findings absent if measured", &[&blind], Status::Pass, Some(0.0)),
        // Both rules were checked in one of the two runs.
        ("count(new findings) == 2", &[&blind, &findings(&[])], Status::Pass, Some(2.0)),
        ("new findings absent", &[&imported], Status::Missing, None),
        ("new findings absent", &[], Status::Missing, None),
    ] {
        assert!(limit(rule).needs_baseline());
        let report = judge(&limit(rule), &run(), baselines);
        assert_eq!((report.status, report.value), (status, value), "{rule}: {}", report.message);
    }
    let message = |rule: &str, baseline: &Value| judge(&limit(rule), &run(), &[baseline]).message;
    assert_eq!(message("new findings absent", &one), "There must be no new findings[*], and there is 1: idle_gaps.");
    assert_eq!(
        message("count(new findings) <= 0", &one),
        "count(new findings[*]) is 1 (idle_gaps) and must be at most 0."
    );
    assert_eq!(
        message("new findings absent", &blind),
        "input_bound fires, but the baseline did not check it, so crossprof cannot tell whether the finding is new."
    );
}

#[test]
fn wrong_rules_about_new_findings_are_refused() {
    let catalogue = Catalogue::of_profile();
    for (text, told) in [
        ("new steps absent", "Only findings can be new"),
        ("count(new findings) <= baseline", "relative to the baseline"),
        ("count(new findings[sevrity=warning]) < 1", "Did you mean severity?"),
        ("new < 3", "A path is expected here"),
    ] {
        let error = Limit::parse(text, &catalogue).unwrap_err();
        assert!(error.to_string().contains(told), "{text}: {error}");
    }
}
