//! Budgets from rule to result: outcomes, contents of the outputs, and properties of every rule.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use expression::{Error, Relation};

mod conditions;
mod groups;
mod op_sums;

fn limit(rule: &str) -> Limit {
    Limit::parse(rule, &Catalogue::of_profile()).unwrap()
}

fn run() -> Value {
    json!({
        "metadata": {"source_format": "xplane"},
        "step_timing": {"avg_step_time_us": 120_000.0, "num_steps": 10},
        "throughput": {"steps_per_sec": 8.0},
        "kernels": {"kernels_by_category": {"copy": {"count": 1, "percent": 10.0}, "matmul": {"count": 2, "percent": 90.0}}},
        "multi_device": {"device_stats": [
            {"device_name": "/device:GPU:0", "utilization_percent": 90.0, "parallelism": 1.5},
            {"device_name": "/device:GPU:1", "utilization_percent": 60.0},
        ]},
        "findings": [
            {"id": "input_bound", "severity": "warning", "message": "Waits."},
            {"id": "idle_gaps", "severity": "note", "message": "Gaps."},
            {"id": "recompilation", "severity": "not_checked", "message": "Not checked: no host events."},
        ],
        "not_measured": [{"field": "throughput.tokens_per_sec", "reason": "It needs the batch size."}],
    })
}

fn baseline() -> Value {
    json!({
        "step_timing": {"avg_step_time_us": 100_000.0},
        "throughput": {"steps_per_sec": 10.0},
        // The devices are in a different order than in the run, and there is one more.
        "multi_device": {"device_stats": [
            {"device_name": "/device:GPU:1", "utilization_percent": 50.0},
            {"device_name": "/device:GPU:0", "utilization_percent": 95.0},
        ]},
        "kernels": {"kernels_by_category": {"matmul": {"percent": 80.0}}},
    })
}

fn verdict(rule: &str) -> LimitReport {
    judge(&limit(rule), &run(), &[&baseline()])
}

#[test]
fn verdicts_are_those_worked_out_by_hand() {
    use Status::{Fail, Missing, Pass, Skipped};
    for (rule, status, value, bound, margin) in [
        ("step_timing.avg_step_time_us < 150 ms", Pass, Some(120_000.0), Some(150_000.0), Some(20.0)),
        ("step_timing.avg_step_time_us < 120 ms", Fail, Some(120_000.0), Some(120_000.0), Some(0.0)),
        ("step_timing.avg_step_time_us <= 120 ms", Pass, Some(120_000.0), Some(120_000.0), Some(0.0)),
        ("step_timing.avg_step_time_us <= 100 ms", Fail, Some(120_000.0), Some(100_000.0), Some(-20.0)),
        ("throughput.steps_per_sec >= 10", Fail, Some(8.0), Some(10.0), Some(-20.0)),
        ("throughput.steps_per_sec > 4", Pass, Some(8.0), Some(4.0), Some(100.0)),
        ("step_timing.num_steps == 10", Pass, Some(10.0), Some(10.0), Some(0.0)),
        ("step_timing.num_steps == 8", Fail, Some(10.0), Some(8.0), Some(-25.0)),
        ("step_timing.num_steps != 10", Fail, Some(10.0), Some(10.0), None),
        ("step_timing.num_steps > 0", Pass, Some(10.0), Some(0.0), None),
        ("throughput.steps_per_sec >= 0.75 * baseline", Pass, Some(8.0), Some(7.5), Some(100.0 * 0.5 / 7.5)),
        ("throughput.steps_per_sec >= baseline - 1", Fail, Some(8.0), Some(9.0), Some(-100.0 / 9.0)),
        ("step_timing.avg_step_time_us <= baseline + 20 ms", Pass, Some(120_000.0), Some(120_000.0), Some(0.0)),
        ("throughput.tokens_per_sec >= 1", Missing, None, Some(1.0), None),
        ("throughput.tokens_per_sec >= 1 if measured", Skipped, None, Some(1.0), None),
        ("throughput.tokens_per_sec >= baseline", Missing, None, None, None),
        ("step_timing.num_steps >= baseline", Missing, None, None, None),
    ] {
        let report = verdict(rule);
        let found = (report.status, report.value, report.bound, report.margin_percent);
        assert_eq!(found, (status, value, bound, margin), "{rule}: {}", report.message);
    }
}

#[test]
fn the_worst_of_several_numbers_is_reported() {
    let report = verdict("multi_device.device_stats[*].utilization_percent >= 70");
    assert_eq!((report.status, report.value, report.matches), (Status::Fail, Some(60.0), 2));
    let path = "multi_device.device_stats[device_name=/device:GPU:1].utilization_percent";
    assert_eq!(report.path.as_deref(), Some(path));
    assert!(report.message.ends_with("It is the worst of 2 numbers; the others hold."), "{}", report.message);
    // Each device is compared with its own number in the baseline, regardless of its place in the list: 90 >= 94 fails,
    // 60 >= 49 holds.
    let report = verdict("multi_device.device_stats[*].utilization_percent >= baseline - 1");
    assert_eq!((report.value, report.baseline, report.bound), (Some(90.0), Some(95.0), Some(94.0)));
    // If one device lacks the number, the result is missing, unless the other numbers already decide it.
    assert_eq!(verdict("multi_device.device_stats[*].parallelism >= 1").status, Status::Missing);
    assert_eq!(verdict("multi_device.device_stats[*].parallelism >= 1 if measured").status, Status::Pass);
    assert_eq!(verdict("multi_device.device_stats[*].parallelism >= 2").status, Status::Fail);
    // A category that the baseline lacks.
    let report = verdict("kernels.kernels_by_category.*.percent <= 2 * baseline");
    assert_eq!(report.status, Status::Missing);
    assert_eq!(report.message, "The baseline has no kernels.kernels_by_category.copy; it has matmul.");
}

#[test]
fn entries_are_counted_and_unchecked_rules_are_not_absent() {
    for (rule, status, value) in [
        ("count(findings[severity=warning]) <= 0", Status::Fail, Some(1.0)),
        ("count(findings[severity=critical]) == 0", Status::Pass, Some(0.0)),
        ("count(findings[severity=warning|critical]) <= 1", Status::Pass, Some(1.0)),
        ("count(findings[severity=not_checked]) == 0", Status::Fail, Some(1.0)),
        ("count(findings) == 2", Status::Pass, Some(2.0)),
        ("findings[id=idle_gaps] absent", Status::Fail, Some(1.0)),
        ("findings[id=straggler_device] absent", Status::Pass, Some(0.0)),
        ("findings[id=recompilation] absent", Status::Missing, None),
        ("findings[id=recompilation] absent if measured", Status::Skipped, None),
        ("count(warnings[severity=damage]) == 0", Status::Pass, Some(0.0)),
        ("count(kernels.kernels_by_category) == 2", Status::Pass, Some(2.0)),
        ("kernels.kernels_by_category.communication absent", Status::Pass, Some(0.0)),
        ("kernels.kernels_by_category.copy absent", Status::Fail, Some(1.0)),
        ("count(multi_device.device_stats) >= 2", Status::Pass, Some(2.0)),
        ("count(communication.kinds[kind=all-to-all]) == 0", Status::Missing, None),
    ] {
        let report = verdict(rule);
        assert_eq!((report.status, report.value), (status, value), "{rule}: {}", report.message);
    }
    let report = verdict("findings[id=idle_gaps] absent");
    assert_eq!(report.message, "There must be no findings[id=idle_gaps], and there is 1: idle_gaps.");
    let report = verdict("findings[id=recompilation] absent");
    assert_eq!(report.message, "recompilation: Not checked: no host events.");
    let imported = json!({"metadata": {"source_format": "unified_profile"}});
    let report = judge(&limit("count(findings) == 0"), &imported, &[]);
    assert_eq!(report.status, Status::Missing, "a profile of other tools was not looked at by any rule");
}

#[test]
fn sentences_say_what_happened() {
    for (rule, sentence) in [
        (
            "step_timing.avg_step_time_us < 100 ms",
            "step_timing.avg_step_time_us is 120 ms and must be below 100 ms: 20.0 % too much.",
        ),
        (
            "throughput.steps_per_sec >= 0.97 * baseline",
            "throughput.steps_per_sec is 8.00 /s and must be at least 9.70 /s (0.97 * baseline; the baseline has 10.0 /s): \
             17.5 % too little.",
        ),
        (
            "step_timing.avg_step_time_us < 150 ms",
            "step_timing.avg_step_time_us is 120 ms and is below 150 ms: 20.0 % to spare.",
        ),
        (
            "step_timing.avg_step_time_us <= 119999.9",
            "step_timing.avg_step_time_us is 120\u{202f}000 us and must be at most 119\u{202f}999.9 us: <0.1 % too much.",
        ),
        ("throughput.tokens_per_sec > 1", "throughput.tokens_per_sec was not measured. It needs the batch size."),
        ("step_timing.num_steps > baseline", "The baseline has no step_timing.num_steps."),
    ] {
        assert_eq!(verdict(rule).message, sentence, "{rule}");
    }
}

/// Returns a result whose names contain markup, quotes and control characters.
fn hostile() -> CheckReport {
    let mut limit = limit("step_timing.avg_step_time_us < 100 ms");
    limit.name = Some("<b>&\"'|name\u{1b}[2J".to_owned());
    limit.why = Some("because | `x` ]]> \u{fffe}\u{0}".to_owned());
    let name = RunName { run_name: "<img src=x>\"&".to_owned(), file: "a|b\u{202e}.json".to_owned() };
    let optional = judge(&super::tests::limit("throughput.tokens_per_sec > 1 if measured"), &run(), &[]);
    let reports = vec![judge(&limit, &run(), &[]), optional, verdict("step_timing.num_steps == 10")];
    CheckReport::new(Some("budget.toml".to_owned()), vec![RunReport::new(name.clone(), vec![name], reports)])
}

#[test]
fn junit_is_well_formed_whatever_the_names() {
    let text = to_junit(&hostile());
    assert!(text.contains(
        "<testsuites name=\"crossprof check\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\" time=\"0\">"
    ));
    assert!(text.contains("name=\"&lt;img src=x&gt;&quot;&amp;\""), "{text}");
    assert!(text.contains("name=\"&lt;b&gt;&amp;&quot;&#39;|name\\u{1b}[2J\""), "{text}");
    assert!(text.contains("\nWhy: because | `x` ]]&gt; \\u{fffe}\\u{0}</failure>"), "{text}");
    // Every remaining bracket belongs to one of the elements.
    let mut open: Vec<&str> = Vec::new();
    for tag in text.split('<').skip(2).map(|rest| rest.split('>').next().unwrap()) {
        let name = tag.split([' ', '/']).find(|part| !part.is_empty()).unwrap();
        assert!(
            ["testsuites", "testsuite", "properties", "property", "testcase", "failure", "skipped", "system-out"]
                .contains(&name),
            "{tag}"
        );
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) => assert_eq!(open.pop(), Some(name)),
            (_, true) => {}
            _ => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?}");
    assert!(!text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{fffe}'), "{text:?}");
}

#[test]
fn markdown_escapes_foreign_markup() {
    let text = to_markdown(&hostile());
    assert!(
        text.starts_with("## ❌ The performance budget does not hold\n\n3 limits: 1 holds, 1 fails, 1 was skipped.\n")
    );
    assert!(text.contains("\n| ❌ fail | &lt;b>&amp;\"'\\|name"), "{text}");
    assert!(!text.contains("<img") && !text.contains("<b>") && !text.contains('\u{1b}'), "{text}");
    for row in text.lines().filter(|line| line.starts_with('|')) {
        let bars = row.replace("\\|", "").matches('|').count();
        assert_eq!(bars, 6, "{row}");
    }
}

#[test]
fn json_agrees_with_the_other_formats() {
    let document: Value = serde_json::from_str(&hostile().to_json()).unwrap();
    assert_eq!(document["holds"], false);
    assert_eq!(document["counts"], json!({"pass": 1, "fail": 1, "missing": 0, "skipped": 1}));
    let limit = &document["runs"][0]["limits"][0];
    assert_eq!((&limit["value"], &limit["bound"]), (&json!(120_000.0), &json!(100_000.0)));
    assert_eq!((&limit["status"], &limit["relation"], &limit["unit"]), (&json!("fail"), &json!("<"), &json!("us")));
    assert_eq!(document["runs"][0]["limits"][1]["status"], "skipped");
}

/// Generates texts that resemble rules.
fn nearly_a_rule() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        Just("step_timing.avg_step_time_us"),
        Just("count("),
        Just("new "),
        Just("findings"),
        Just("scope["),
        Just("*attn*"),
        Just("family["),
        Just("].self_time_us"),
        Just(")"),
        Just("findings"),
        Just("[severity=warning]"),
        Just("[*]"),
        Just("["),
        Just("]"),
        Just("=a|b]"),
        Just(".*"),
        Just("."),
        Just("\""),
        Just("\\"),
        Just("<="),
        Just("=="),
        Just("0.97"),
        Just("1e"),
        Just("_"),
        Just("*"),
        Just("baseline"),
        Just("+"),
        Just("-"),
        Just("%"),
        Just("ms"),
        Just("of"),
        Just("if measured"),
        Just("absent"),
        Just(" "),
        Just("µ"),
        Just("日本"),
    ];
    proptest::collection::vec(token, 0..12).prop_map(|tokens| tokens.concat())
}

/// Checks that the position of an error is inside the text, at character boundaries.
fn check_error(text: &str, error: &Error) {
    assert!(text.get(error.span.clone()).is_some(), "{text:?}: {error:?}");
    assert!(!error.message.is_empty());
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z_][a-z0-9_-]{0,8}", "\\PC{0,6}"]
}

fn path() -> impl Strategy<Value = Path> {
    let part = prop_oneof![
        name().prop_map(PathPart::Key),
        Just(PathPart::EveryKey),
        any::<u64>().prop_map(PathPart::Index),
        Just(PathPart::EveryEntry),
        (name(), proptest::collection::vec(name(), 1..3)).prop_map(|(key, values)| PathPart::Where { key, values }),
    ];
    (name(), proptest::collection::vec(part, 0..5)).prop_map(|(first, mut parts)| {
        parts.insert(0, PathPart::Key(first));
        Path::of(parts)
    })
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,40}") {
        if let Err(error) = Limit::parse(&text, &Catalogue::of_profile()) {
            check_error(&text, &error);
        }
    }

    #[test]
    fn no_near_rule_panics(text in nearly_a_rule()) {
        match Limit::parse(&text, &Catalogue::of_profile()) {
            Ok(limit) => {
                let report = judge(&limit, &run(), &[&baseline()]);
                prop_assert_eq!(report.status == Status::Pass, report.value.is_some() && !report.status.is_failure());
            }
            Err(error) => check_error(&text, &error),
        }
        for error in [Path::parse(&text).err(), Subject::parse(&text).err(), Bound::parse(&text).err()].iter().flatten() {
            check_error(&text, error);
        }
    }

    #[test]
    fn a_path_is_read_as_it_is_written(path in path()) {
        let text = path.to_string();
        prop_assert_eq!(Path::parse(&text).unwrap().parts, path.parts, "{}", text);
    }

    #[test]
    fn the_margin_tells_the_side(value in -1e9..1e9f64, bound in -1e9..1e9f64) {
        for relation in [Relation::Below, Relation::AtMost, Relation::Above, Relation::AtLeast] {
            let Some(margin) = margin_percent(relation, value, bound) else {
                prop_assert_eq!(bound, 0.0);
                continue;
            };
            if value != bound {
                prop_assert_eq!(margin > 0.0, relation.holds(value, bound));
            }
            // Moving the bound by the margin gives the value.
            let sign = if matches!(relation, Relation::Below | Relation::AtMost) { -1.0 } else { 1.0 };
            let back = bound + sign * margin / 100.0 * bound.abs();
            prop_assert!((back - value).abs() <= 1e-6 * (1.0 + value.abs().max(bound.abs())));
        }
        // One of the two relations always holds, and never both.
        prop_assert!(Relation::AtMost.holds(value, bound) != Relation::Above.holds(value, bound));
        prop_assert!(Relation::AtLeast.holds(value, bound) != Relation::Below.holds(value, bound));
    }

    #[test]
    fn a_run_holds_against_itself(factor in 0.5..1.5f64) {
        let rule = limit(&format!("throughput.steps_per_sec >= {factor} * baseline"));
        let report = judge(&rule, &run(), &[&run()]);
        prop_assert_eq!(report.status == Status::Pass, factor <= 1.0);
        let equal = judge(&limit("throughput.steps_per_sec == baseline"), &run(), &[&run()]);
        prop_assert_eq!((equal.status, equal.margin_percent), (Status::Pass, Some(0.0)));
    }
}
