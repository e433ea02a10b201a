//! Sums over ops: their values, their messages if nothing matches, and their syntax.

use serde_json::{Value, json};

use super::super::*;
use super::limit;

fn op(
    name: &str,
    framework_op: Option<&str>,
    self_time_us: f64,
    exposed_time_us: Option<f64>,
    occurrences: f64,
) -> Value {
    let mut op = json!({"name": name, "family": "fusion", "self_time_us": self_time_us, "occurrences": occurrences});
    if let Some(path) = framework_op {
        op["framework_op"] = json!(path);
    }
    if let Some(time) = exposed_time_us {
        op["exposed_time_us"] = json!(time);
    }
    op
}

/// Returns a run with two attention layers and one gradient reduction. Three unlisted ops take 40 us.
fn run() -> Value {
    json!({"step_ops": {
        "device_steps": 8, "op_time_us": 1040.0, "num_ops": 8,
        "families": [
            {"family": "matmul", "self_time_us": 700.0, "occurrences": 6.0},
            {"family": "fused attention", "self_time_us": 240.0, "occurrences": 2.0},
            {"family": "communication", "self_time_us": 100.0, "occurrences": 1.0},
        ],
        "ops": [
            op("dot.1", Some("jit(f)/layer_0/attn/qk"), 300.0, None, 1.0),
            op("dot.2", Some("jit(f)/layer_1/attn/qk"), 290.0, None, 1.0),
            op("fusion.3", Some("jit(f)/layer_0/mlp/relu"), 210.0, None, 2.0),
            op("all-reduce.4", Some("jit(f)/grads/psum"), 100.0, Some(60.0), 1.0),
            op("copy.5", None, 100.0, None, 4.0),
        ],
    }})
}

fn verdict(rule: &str) -> LimitReport {
    judge(&limit(rule), &run(), &[])
}

#[test]
fn sums_are_those_added_by_hand() {
    for (sum, value) in [
        ("scope[*attn*].self_time_us", 590.0),
        ("scope[*/layer_0/*].self_time_us", 510.0),
        ("scope[*attn*|*mlp*].self_time_us", 800.0),
        // An op that matches twice is counted once.
        ("scope[*attn*|*qk].self_time_us", 590.0),
        ("scope[jit(f)/layer_?/attn/qk].occurrences", 2.0),
        ("scope[*layer_1*].self_time_us", 290.0),
        // Every op with a scope. The copy has none.
        ("scope[*].self_time_us", 900.0),
        ("scope[*].exposed_time_us", 60.0),
        ("family[matmul].self_time_us", 700.0),
        ("family[matmul|fused*].self_time_us", 940.0),
        ("family[*].occurrences", 9.0),
    ] {
        let report = verdict(&format!("{sum} == {value}"));
        assert_eq!((report.status, report.value), (Status::Pass, Some(value)), "{sum}: {}", report.message);
        assert_eq!(report.path.as_deref(), Some(sum));
        let unit = if sum.ends_with("_us") { Some("us") } else { None };
        assert_eq!(report.unit.as_deref(), unit, "{sum}");
    }
    assert_eq!(verdict("scope[\"*layer_1*\" | '*mlp*'].self_time_us == 500").status, Status::Pass);
    let report = verdict("scope[*attn*].self_time_us < 0.5 ms");
    let told = "scope[*attn*].self_time_us is 590 µs (dot.1, dot.2) and must be below 500 µs: 18.0 % too much.";
    assert_eq!((report.status, report.message.as_str()), (Status::Fail, told));
}

#[test]
fn a_sum_is_compared_with_that_of_the_baseline() {
    let mut baseline = run();
    baseline["step_ops"]["ops"][0]["self_time_us"] = json!(210.0);
    // 590, and the baseline has 500: 18 % more.
    for (rule, status) in [
        ("scope[*attn*].self_time_us <= baseline + 18 %", Status::Pass),
        ("scope[*attn*].self_time_us <= 117 % of baseline", Status::Fail),
        ("scope[*attn*].self_time_us <= baseline + 0.1 ms", Status::Pass),
        ("family[matmul].self_time_us == baseline", Status::Pass),
    ] {
        assert_eq!(judge(&limit(rule), &run(), &[&baseline]).status, status, "{rule}");
    }
    let report = judge(&limit("scope[*attn*].self_time_us < baseline"), &run(), &[&json!({"metadata": {}})]);
    assert_eq!((report.status, report.message.as_str()), (Status::Missing, "The baseline has no step_ops."));
}

#[test]
fn sums_without_a_match_are_missing_and_suggest_names() {
    for (sum, told) in [
        (
            "scope[*attnn*].self_time_us",
            "No op of this run has a scope that matches *attnn*. Did you mean scope[*attn*]?",
        ),
        ("scope[attn].self_time_us", "No op of this run has a scope that matches attn. Did you mean scope[*attn*]?"),
        ("scope[*MLP*].self_time_us", "No op of this run has a scope that matches *MLP*. Did you mean scope[*mlp*]?"),
        (
            "scope[*embedding*].self_time_us",
            "No op of this run has a scope that matches *embedding*. The names of its scopes include attn, grads, jit(f), layer_0, \
             layer_1, mlp and 3 more.",
        ),
        (
            "family[matmull].self_time_us",
            "No op of this run has a family that matches matmull. Did you mean family[*matmul*]?",
        ),
        ("scope[*attn*].exposed_time_us", "No matching op has exposed_time_us: none of them is communication."),
    ] {
        let report = verdict(&format!("{sum} < 1"));
        assert_eq!((report.status, report.message.as_str()), (Status::Missing, told), "{sum}");
        assert_eq!(verdict(&format!("{sum} < 1 if measured")).status, Status::Skipped, "{sum}");
    }
    let bare = json!({"step_ops": {"ops": [op("copy.5", None, 100.0, None, 4.0)], "families": []}});
    let report = judge(&limit("scope[*].self_time_us < 1"), &bare, &[]);
    assert_eq!(report.message, "No op of this run has a scope.");
}

#[test]
fn unlisted_ops_are_mentioned_if_they_could_change_the_result() {
    let note = " The profile does not list 3 small ops (40.0 µs per step), which could belong to this scope.";
    for (rule, is_told) in [
        // 590, plus up to 40 in unlisted ops.
        ("scope[*attn*].self_time_us < 600", true),
        ("scope[*attn*].self_time_us < 631", false),
        ("scope[*attn*].self_time_us < 500", false),
        ("scope[*attn*].self_time_us > 600", true),
        ("scope[*attn*].occurrences < 3", true),
        ("family[matmul].self_time_us < 701", false),
    ] {
        assert_eq!(verdict(rule).message.ends_with(note), is_told, "{rule}: {}", verdict(rule).message);
    }
}

#[test]
fn wrong_sums_are_refused_with_their_position() {
    let catalogue = Catalogue::of_profile();
    for (text, wrong, told) in [
        ("scope.attn.self_time_us < 1", ".", "Which ops?"),
        ("scope[].self_time_us < 1", "]", "A value is expected here"),
        ("scope[*attn* < 1", "", "A ] is expected here"),
        ("scope[*attn*] < 1", "", "A sum of ops has self_time_us, exposed_time_us, occurrences"),
        ("scope[*attn*].self_time < 1", "self_time", "Did you mean self_time_us?"),
        ("family[matmul].exposed_time_us < 1", "exposed_time_us", "A sum of ops has self_time_us, occurrences."),
        ("scope[*attn*].self_time_us < 1 GiB", "1 GiB", "is in us"),
        ("scope[*attn*].self_time_us absent", "absent", "write scope[*attn*].self_time_us == 0 if measured"),
        ("count(scope[*a*].occurrences) < 1", "scope[*a*].occurrences", "without count()"),
        ("scop[*attn*].self_time_us < 1", "scop", "Did you mean scope[...], as in scope[*attn*].self_time_us?"),
    ] {
        let error = Limit::parse(text, &catalogue).unwrap_err();
        assert!(error.to_string().contains(told), "{text}: {error}");
        assert!(wrong.is_empty() || &text[error.span.clone()] == wrong, "{text}: {:?}", error.span);
    }
}
