//! Conditions of `--fail-on`, and `slower` as a limit.

use serde_json::{Value, json};

use super::super::*;
use super::limit;

use compare::{Options, Subject as Side, compare};
use report::{Step, UnifiedProfile};

/// Returns a run with steps of these lengths. All steps are counted.
fn steps(lengths_us: &[f64]) -> Value {
    let step = |(index, &duration_us): (usize, &f64)| Step {
        index: index as u64,
        duration_us,
        counted: true,
        ..Step::default()
    };
    let mut profile =
        UnifiedProfile { steps: lengths_us.iter().enumerate().map(step).collect(), ..UnifiedProfile::default() };
    profile.step_timing.avg_step_time_us = Some(lengths_us.iter().sum::<f64>() / lengths_us.len() as f64);
    profile.step_timing.num_steps_counted = Some(lengths_us.len() as u64);
    json!(profile)
}

/// Returns a run with twelve steps. Every second step takes `us`, and the others take a tenth of a percent longer.
fn steady(us: f64) -> Value {
    let lengths: Vec<f64> = (0..12).map(|at| us * (1.0 + 0.001 * f64::from(at % 2))).collect();
    steps(&lengths)
}

/// Returns a run with twelve steps of this length. One step has a stall that lasts as long as all other steps together.
fn stalled(us: f64) -> Value {
    let mut lengths = vec![us; 12];
    lengths[7] = 12.0 * us;
    steps(&lengths)
}

fn side(name: &str, profile: &Value) -> Side {
    let profile: UnifiedProfile = serde_json::from_value(profile.clone()).unwrap();
    Side { name: name.to_owned(), ..Side::new(profile) }
}

fn judged(condition: &str, main: &Value, new: &Value) -> ConditionReport {
    let sides = [side("main", main), side("new", new)];
    let comparison = compare(&sides, &Options::default());
    let mut reports = Condition::parse(condition).unwrap().judge(&comparison, &sides);
    assert_eq!(reports.len(), 1);
    reports.remove(0)
}

#[test]
fn slower_is_beyond_the_noise_and_the_bound() {
    let main = steady(100.0);
    let wild: Vec<f64> = (0..12).map(|at| 105.0 + 40.0 * f64::from(at % 2)).collect();
    for (condition, new, is_met, said) in [
        ("slower > 3 %", steady(110.0), true, "new is slower than main: a typical step takes"),
        ("slower > 3", steady(110.0), true, "(+10.0 %, 95 % interval +"),
        ("slower > 10 %", steady(110.0), false, "new is slower than main"),
        ("slower >= 3 %", steady(102.0), false, "new is slower than main"),
        ("slower > 0 %", steady(100.5), false, "take the same time"),
        ("slower > 3 %", steady(90.0), false, "new is faster than main"),
        // The typical step is 25 % longer, but this may be by chance.
        (
            "slower > 3 %",
            steps(&wild),
            false,
            "no proven difference between new and main; captures like these can only show differences of",
        ),
        (
            "slower > 3 %",
            json!(UnifiedProfile::default()),
            true,
            "it cannot be checked, since the steps of new are unknown",
        ),
        ("unstable", steady(110.0), false, "new is slower than main"),
    ] {
        let report = judged(condition, &main, &new);
        assert!(report.is_met == is_met && report.message.contains(said), "{condition}: {report:?}");
    }
}

#[test]
fn interruptions_make_a_capture_slower() {
    let main = steady(100.0);
    let report = judged("slower > 3 %", &main, &stalled(100.0));
    assert!(!report.is_met, "{report:?}");
    let report = judged("capture slower > 5 %", &main, &stalled(100.0));
    let said = "the capture of new is slower than that of main: a step takes 192 µs against 100 µs, interruptions included \
                (+91.6 %); new loses time to stalls.";
    assert_eq!((report.is_met, report.message.as_str()), (true, said));
    assert!(!judged("capture slower > 95 %", &main, &stalled(100.0)).is_met);
    assert!(!judged("capture slower > 5 %", &stalled(100.0), &main).is_met);
}

#[test]
fn new_findings_are_those_that_the_baseline_could_have_had() {
    let with = |entries: &[(&str, &str)]| {
        let mut profile = steady(100.0);
        let entry = |&(id, severity): &(&str, &str)| json!({"id": id, "severity": severity, "confidence": "high", "title": format!("Is {id}."), "message": ""});
        profile["findings"] = entries.iter().map(entry).collect();
        profile
    };
    let main = with(&[("straggler", "warning"), ("recompilation", "not_checked")]);
    for (condition, entries, is_met, said) in [
        ("new finding", &[("straggler", "critical")][..], false, "new has no warning finding that main lacks"),
        ("new critical finding", &[("straggler", "critical")], true, "new has findings that main lacks: Is straggler."),
        ("new findings", &[("input_bound", "warning")], true, "Is input_bound."),
        ("new critical findings", &[("input_bound", "warning")], false, "no critical finding"),
        ("new finding", &[("input_bound", "note")], false, "no warning finding"),
        ("new finding", &[("recompilation", "warning")], true, "that main could not check: Is recompilation."),
    ] {
        let report = judged(condition, &main, &with(entries));
        assert!(report.is_met == is_met && report.message.contains(said), "{condition}: {report:?}");
    }
}

#[test]
fn unknown_conditions_are_refused_with_suggestions() {
    for (text, wrong, said) in [
        ("", "", "A condition is expected here. The conditions are slower > 3 %"),
        ("slowr > 3 %", "slowr", "There is no condition slowr. Did you mean slower?"),
        ("unstabel", "unstabel", "Did you mean unstable?"),
        ("faster > 3 %", "faster", "The conditions are slower > 3 %"),
        ("slower", "", "A comparison is expected here"),
        ("slower < 3 %", "<", "A condition describes a failure: write slower > 3 %."),
        ("slower > 3 ms", "3 ms", "A percentage is expected here"),
        ("slower > much", "much", "A percentage is expected here"),
        ("slower > 3 % now", "now", "The condition ends here"),
        ("capture > 3 %", ">", "The word slower is expected after capture"),
        ("new fnding", "fnding", "Did you mean finding?"),
        ("new critical", "", "The word finding is expected here"),
    ] {
        let error = Condition::parse(text).unwrap_err();
        assert!(error.to_string().contains(said), "{text}: {error}");
        assert_eq!(&text[error.span.clone()], wrong, "{text}");
    }
}

#[test]
fn a_limit_on_slower_holds_unless_it_is_proven() {
    use Status::{Fail, Missing, Pass, Skipped};
    let (main, unknown) = (steady(100.0), json!(UnifiedProfile::default()));
    let captures = [steady(99.0), steady(100.0), steady(101.0)];
    let group: Vec<&Value> = captures.iter().collect();
    for (rule, run, baselines, status) in [
        ("slower <= 3 %", steady(110.0), &[&main][..], Fail),
        ("slower < 10.5 %", steady(110.0), &[&main], Pass),
        ("slower <= 3 %", steady(100.0), &[&main], Pass),
        ("slower <= 0", steady(90.0), &[&main], Pass),
        ("capture slower <= 5 %", stalled(100.0), &[&main], Fail),
        ("slower <= 3 %", stalled(100.0), &[&main], Pass),
        ("slower <= 3 %", unknown.clone(), &[&main], Missing),
        ("slower <= 3 % if measured", unknown, &[&main], Skipped),
        // Captures that differ by 2 % among themselves cannot prove a difference of 3 %, but can prove one of 20 %.
        ("slower <= 1 %", steady(103.0), &group, Pass),
        ("slower <= 1 %", steady(120.0), &group, Fail),
        ("slower <= 3 %", main.clone(), &[], Missing),
    ] {
        assert!(limit(rule).needs_baseline());
        let report = judge(&limit(rule), &run, baselines);
        assert_eq!(report.status, status, "{rule}: {}", report.message);
    }
    let report = judge(&limit("slower <= 3 %"), &steady(110.0), &[&main]);
    assert!((report.value.unwrap() - 10.0).abs() < 0.1 && report.bound == Some(3.0) && report.path.is_none());
    assert!(
        report.message.starts_with("this run is slower than the baseline: a typical step takes 110 µs"),
        "{report:?}"
    );
    assert!(report.message.ends_with("A slowdown of at most 3.0 % is allowed."), "{report:?}");
}

#[test]
fn wrong_limits_on_slower_are_refused() {
    let catalogue = Catalogue::of_profile();
    for (text, told) in [
        ("slower > 3 %", "A limit describes a requirement: write slower <= 3 %."),
        ("capture slower >= 3 %", "write capture slower <= 3 %."),
        ("slower absent", "write slower <= 3 %."),
        ("slower <= 3 ms", "slower is in %"),
        ("slower <= 1.03 * baseline", "This value is already relative to the baseline: write slower <= 3 %."),
        ("slwer <= 3 %", "There is no slwer. Did you mean slower?"),
        ("capture <= 3 %", "The word slower is expected after capture"),
    ] {
        let error = Limit::parse(text, &catalogue).unwrap_err();
        assert!(error.to_string().contains(told), "{text}: {error}");
    }
}
