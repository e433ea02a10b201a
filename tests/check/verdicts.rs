//! Checks which limits hold and which fail, on traces whose numbers are known by construction.

use serde_json::json;

use super::{MS, check, json, scratch, stderr, stdout, trace, two_traces};
use crate::support::chrome::ChromeTrace;

#[test]
fn one_line_is_a_regression_assertion() {
    let folder = two_traces("one_line");
    let holds = check(&folder, &["new.trace.json", "--limit", "step_timing.avg_step_time_us < 150 ms"]);
    assert_eq!(holds.status.code(), Some(0), "{}", stderr(&holds));
    assert!(stdout(&holds).contains("100 ms  < 150 ms  +33.3 %  pass"), "{}", stdout(&holds));
    assert_eq!(stderr(&holds), "");
    let fails = check(&folder, &["new.trace.json", "--limit", "step_timing.avg_step_time_us < 99 ms"]);
    assert_eq!(fails.status.code(), Some(1));
    let sentence = "step_timing.avg_step_time_us is 100 ms and must be below 99.0 ms: 1.0 % too much.";
    assert!(stdout(&fails).contains(sentence), "{}", stdout(&fails));
}

#[test]
fn numbers_are_those_of_the_trace() {
    let folder = two_traces("numbers");
    for (rule, code) in [
        ("step_timing.avg_step_time_us == 100 ms", 0),
        ("step_timing.avg_step_time_us == 100000", 0),
        ("step_timing.num_steps == 5", 0),
        ("throughput.steps_per_sec == 10 /s", 0),
        ("throughput.ms_per_step <= 0.1 s", 0),
        // The devices are busy for 80 and 60 of 100 ms.
        ("compute_utilization.compute_util_percent == 70 %", 0),
        ("compute_utilization.compute_util_percent > 70 %", 1),
        ("steps[*].busy_us == 70 ms", 0),
        ("steps[index=2].start_us == 200 ms", 0),
        ("count(steps) == 5", 0),
        ("kernels.kernels_by_category.\"loop fusion\".percent == 100", 0),
        // The counted steps are all but the last. They have 2 x 4 ops, which take 320 and 240 of 400 ms.
        ("kernels.kernels_by_category.*.count == 8", 0),
        ("multi_device.device_stats[device_name=/device:TPU:1].actual_busy_time_us == 0.24 s", 0),
        ("multi_device.device_stats[*].utilization_percent >= 60", 0),
        ("multi_device.device_stats[*].utilization_percent > 60", 1),
        ("multi_device.device_stats[0].utilization_percent == 80", 0),
        ("kernels.kernels_by_category.communication absent", 0),
        ("count(warnings[severity=damage]) == 0", 0),
    ] {
        let output = check(&folder, &["new.trace.json", "--limit", rule]);
        assert_eq!(output.status.code(), Some(code), "{rule}\n{}{}", stdout(&output), stderr(&output));
    }
}

#[test]
fn a_baseline_is_found_from_the_budget_and_from_the_call() {
    let folder = two_traces("baseline");
    std::fs::create_dir_all(folder.join("ci")).unwrap();
    let budget = "baseline = \"../main.trace.json\"\nlimits = [\"throughput.steps_per_sec >= 0.97 * baseline\"]\n";
    std::fs::write(folder.join("ci/budget.toml"), budget).unwrap();
    let (code, result) = json(&folder, &["new.trace.json", "--budget", "ci/budget.toml"]);
    let limit = &result["runs"][0]["limits"][0];
    // The run does 10 steps per second. `main` does 12.5, so at least 12.125 are required.
    assert_eq!((code, &limit["status"]), (1, &json!("fail")));
    assert_eq!((&limit["value"], &limit["baseline"]), (&json!(10.0), &json!(12.5)));
    assert!((limit["bound"].as_f64().unwrap() - 12.125).abs() < 1e-9);
    assert!((limit["margin_percent"].as_f64().unwrap() - -100.0 * 2.125 / 12.125).abs() < 1e-9);
    assert_eq!(result["runs"][0]["baseline"]["run_name"], "main");
    let (code, result) =
        json(&folder, &["new.trace.json", "--budget", "ci/budget.toml", "--baseline", "new.trace.json"]);
    let margin = result["runs"][0]["limits"][0]["margin_percent"].as_f64().unwrap();
    assert!(code == 0 && (margin - 100.0 * 0.3 / 9.7).abs() < 1e-9, "{result}");
    for (rule, code) in [
        ("step_timing.avg_step_time_us <= baseline + 20 ms", 0),
        ("step_timing.avg_step_time_us <= baseline + 25 %", 0),
        ("step_timing.avg_step_time_us <= baseline + 19.9 ms", 1),
        ("step_timing.avg_step_time_us <= 124 % of baseline", 1),
        // The run is 70 % busy, and `main` is 87.5 % busy. The difference is in percentage points.
        ("compute_utilization.compute_util_percent >= baseline - 17.5 %", 0),
        ("compute_utilization.compute_util_percent >= baseline - 17.4", 1),
        ("multi_device.device_stats[*].actual_busy_time_us == baseline", 0),
    ] {
        let output = check(&folder, &["new.trace.json", "--baseline", "main.trace.json", "--limit", rule]);
        assert_eq!(output.status.code(), Some(code), "{rule}\n{}{}", stdout(&output), stderr(&output));
    }
}

#[test]
fn an_absent_number_fails_unless_the_limit_is_optional() {
    let folder = two_traces("absent");
    let rule = "throughput.tokens_per_sec >= 1000";
    let output = check(&folder, &["new.trace.json", "--limit", rule]);
    assert_eq!(output.status.code(), Some(1));
    let reason = "throughput.tokens_per_sec was not measured. Not in the trace: the batch size and the sequence length";
    assert!(stdout(&output).contains("MISSING") && stdout(&output).contains(reason), "{}", stdout(&output));
    let optional = check(&folder, &["new.trace.json", "--limit", &format!("{rule} if measured")]);
    assert_eq!(optional.status.code(), Some(0));
    assert!(stdout(&optional).contains("skipped"), "{}", stdout(&optional));
    // The run does 10 steps per second, with 8 * 16 tokens each.
    let given =
        ["new.trace.json", "--limit", "throughput.tokens_per_sec == 1280", "--batch-size", "8", "--seq-length", "16"];
    assert_eq!(check(&folder, &given).status.code(), Some(0));
    let toml = "[[limit]]\npath = \"throughput.tokens_per_sec\"\nmin = 1000\noptional = true\n";
    std::fs::write(folder.join("budget.toml"), toml).unwrap();
    assert_eq!(check(&folder, &["new.trace.json", "--budget", "budget.toml"]).status.code(), Some(0));
}

#[test]
fn every_run_is_checked_and_compared_with_its_namesake() {
    let folder = scratch("runs");
    for (side, run, step_ms) in [("new", "a", 100), ("new", "b", 90), ("main", "a", 100), ("main", "b", 80)] {
        trace(&folder.join(format!("{side}/plugins/profile/{run}/host.trace.json")), step_ms);
    }
    let limit = "step_timing.avg_step_time_us <= baseline";
    let (code, result) = json(&folder, &["new", "--baseline", "main", "--limit", limit]);
    let holds: Vec<_> =
        result["runs"].as_array().unwrap().iter().map(|run| (&run["run_name"], &run["holds"])).collect();
    assert_eq!((code, holds), (1, vec![(&json!("a"), &json!(true)), (&json!("b"), &json!(false))]));
    assert_eq!(result["runs"][1]["limits"][0]["bound"], 80_000.0);
    assert_eq!(result["counts"], json!({"pass": 1, "fail": 1, "missing": 0, "skipped": 0}));
    let (code, result) = json(&folder, &["new", "--baseline", "main", "--limit", limit, "--run", "a"]);
    assert_eq!((code, result["runs"].as_array().unwrap().len()), (0, 1));
    let (code, _) =
        json(&folder, &["new", "--baseline", "main", "--limit", limit, "--run", "a", "--baseline-run", "b"]);
    assert_eq!(code, 1);
    // Captures that are named only by their time get the name of the log folder.
    for (side, run, time, step_ms) in
        [("now", "x", "10", 100), ("now", "y", "11", 90), ("then", "y", "12", 80), ("then", "x", "13", 100)]
    {
        let path = format!("{side}/{run}/plugins/profile/2026_01_31_{time}_00_00/host.trace.json");
        trace(&folder.join(path), step_ms);
    }
    let (_, result) = json(&folder, &["now", "--baseline", "then", "--limit", limit]);
    let run = |at: usize| {
        let run = &result["runs"][at];
        [&run["run_name"], &run["baseline"]["run_name"]].map(|name| name.as_str().unwrap().to_owned())
    };
    assert_eq!([run(0), run(1)], [["x", "x"], ["y", "y"]]);
    let time = "2026_01_31_11_00_00";
    let (code, result) = json(&folder, &["now", "--baseline", "then", "--limit", limit, "--run", time]);
    assert_eq!((code, result["runs"][0]["run_name"].as_str()), (1, Some("y")));
    let alone = json(&folder, &["new/plugins/profile/b", "--baseline", "main/plugins/profile/a", "--limit", limit]);
    assert_eq!(alone.0, 0, "one run of the baseline is that of all");
}

#[test]
fn a_damaged_profile_is_checked_and_its_damage_can_fail_it() {
    let folder = two_traces("damage");
    let whole = std::fs::read(folder.join("new.trace.json")).unwrap();
    std::fs::write(folder.join("cut.trace.json"), &whole[..whole.len() - 40]).unwrap();
    let output = check(&folder, &["cut.trace.json", "--limit", "step_timing.num_steps >= 4"]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    assert!(stderr(&output).contains("cut.trace.json"), "{}", stderr(&output));
    let output = check(&folder, &["cut.trace.json", "--limit", "count(warnings[severity=damage]) == 0"]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
}

#[test]
fn profiles_of_older_tools_are_checked_and_are_baselines() {
    let folder = two_traces("older");
    // A profile in the format of the 1.0.0 tools: busy for 50 of 100 ms.
    let old = json!({
        "metadata": {"timestamp": "2025-01-01T00:00:00", "platform": "TPU", "device_type": "TPU v4-8", "framework": "Flax", "num_devices": 1},
        "model_config": {},
        "step_timing": {"num_steps": 5, "avg_step_time_us": 100_000, "total_kernels": 10, "kernels_per_step": 2},
        "throughput": {"steps_per_sec": 10.0, "ms_per_step": 100.0},
        "compute_utilization": {"compute_util_percent": 50.0, "kernel_time_us": 50_000, "overhead_time_us": 50_000},
        "kernels": {"top_kernels": [], "kernels_by_category": {"Fusion": {"time_us": 100.5, "count": 3}}},
    });
    std::fs::write(folder.join("old.json"), old.to_string()).unwrap();
    for (arguments, rule, code) in [
        (&["old.json"][..], "step_timing.avg_step_time_us == 100 ms", 0),
        (&["old.json"], "compute_utilization.compute_util_percent == 50 %", 0),
        (&["old.json"], "kernels.kernels_by_category.Fusion.count == 3", 0),
        // The 1.0.0 tools did not look for findings. That is not the same as finding nothing.
        (&["old.json"], "count(findings[severity=warning]) == 0", 1),
        (&["old.json"], "count(findings[severity=warning]) == 0 if measured", 0),
        (&["new.trace.json", "--baseline", "old.json"], "throughput.steps_per_sec == baseline", 0),
        (
            &["new.trace.json", "--baseline", "old.json"],
            "compute_utilization.compute_util_percent == baseline + 20 %",
            0,
        ),
        (&["new.trace.json", "--baseline", "old.json"], "count(steps) >= baseline", 1),
    ] {
        let output = check(&folder, &[arguments, &["--limit", rule]].concat());
        assert_eq!(output.status.code(), Some(code), "{rule}\n{}{}", stdout(&output), stderr(&output));
    }
}

/// Writes five steps of 100 ms on two chips. Attention takes `attention_ms` on chip 0 and half of that on chip 1. The MLP
/// takes 20 ms.
fn scoped_trace(path: &std::path::Path, attention_ms: u64) {
    let mut json = ChromeTrace::new();
    for device in 0..2 {
        let pid = 3 + device;
        json.process(pid, &format!("/device:TPU:{device}"));
        json.thread(pid, 1, "Steps");
        json.thread(pid, 3, "XLA Ops");
        for step in 0..5 {
            let start = step * 100 * MS;
            json.event((pid, 1), &step.to_string(), start, 100 * MS, &[]);
            let attention = attention_ms * MS / u64::from(1 + device);
            let args = |path| [("hlo_category", "loop fusion"), ("tf_op", path)];
            json.event((pid, 3), "fusion.1", start, attention, &args("jit(f)/layer_0/attn/softmax"));
            json.event((pid, 3), "fusion.2", start + attention, 20 * MS, &args("jit(f)/layer_0/mlp/relu"));
        }
    }
    std::fs::write(path, json.finish()).unwrap();
}

#[test]
fn scopes_and_families_are_limited_against_a_group() {
    let folder = scratch("scopes");
    for (name, attention_ms) in [("new", 48), ("a", 40), ("b", 44), ("c", 60)] {
        scoped_trace(&folder.join(format!("{name}.trace.json")), attention_ms);
    }
    let group =
        ["new.trace.json", "--baseline", "a.trace.json", "--baseline", "b.trace.json", "--baseline", "c.trace.json"];
    for (rule, code) in [
        // The scope takes 48 ms on one chip and 24 ms on the other.
        ("scope[*attn*].self_time_us == 36 ms", 0),
        ("scope[*/layer_0/*].self_time_us == 56 ms", 0),
        ("family[*].self_time_us == 56 ms", 0),
        ("scope[*attn*].occurrences == 1", 0),
        ("scope[*atn*].self_time_us < 1 s", 1),
        // The median run is `b`, with 33 ms.
        ("scope[*attn*].self_time_us == baseline + 3 ms", 0),
        ("scope[*attn*].self_time_us <= 109 % of baseline", 1),
        ("scope[*mlp*].self_time_us == baseline", 0),
        ("new findings absent", 0),
    ] {
        let output = check(&folder, &[&group[..], &["--limit", rule]].concat());
        assert_eq!(output.status.code(), Some(code), "{rule}\n{}{}", stdout(&output), stderr(&output));
    }
    let output = check(&folder, &[&group[..], &["--limit", "scope[*attn*].self_time_us <= baseline"]].concat());
    let text = stdout(&output);
    assert!(text.contains("against the median of 3 runs: a (a.trace.json), b (b.trace.json)"), "{text}");
    assert!(text.contains("the median of the baseline's 3 runs is 33.0 ms, from 30.0 ms to 45.0 ms"), "{text}");
    // The same group can be given in the budget, or by a pattern that matches runs of one folder.
    let budget = "baseline = [\"a.trace.json\", \"b.trace.json\", \"c.trace.json\"]\n\
                  limits = [\"scope[*attn*].self_time_us == baseline + 3 ms\"]\n";
    std::fs::write(folder.join("budget.toml"), budget).unwrap();
    let (code, result) = json(&folder, &["new.trace.json", "--budget", "budget.toml"]);
    let limit = &result["runs"][0]["limits"][0];
    assert_eq!((code, &limit["baseline"]), (0, &json!(33_000.0)), "{result}");
    assert_eq!((&limit["baseline_least"], &limit["baseline_most"]), (&json!(30_000.0), &json!(45_000.0)));
    for run in ["main-1", "main-2", "main-3", "other"] {
        std::fs::create_dir_all(folder.join(format!("main/plugins/profile/{run}"))).unwrap();
    }
    for (run, attention_ms) in [("main-1", 40), ("main-2", 44), ("main-3", 60), ("other", 90)] {
        scoped_trace(&folder.join(format!("main/plugins/profile/{run}/h.trace.json")), attention_ms);
    }
    let rule = "scope[*attn*].self_time_us == baseline + 3 ms";
    let arguments = ["new.trace.json", "--baseline", "main", "--limit", rule, "--baseline-run"];
    assert_eq!(check(&folder, &[&arguments[..], &["main-*"]].concat()).status.code(), Some(0));
    let (_, result) = json(&folder, &[&arguments[..], &["main-2"]].concat());
    assert_eq!(result["runs"][0]["baseline"]["run_name"], "main-2");
    let unknown = check(&folder, &[&arguments[..], &["side-*"]].concat());
    assert!(stderr(&unknown).contains("The baseline has no run side-*"), "{}", stderr(&unknown));
}

/// A limit may use the words of `crossprof compare --fail-on` for a condition that must hold.
#[test]
fn a_limit_on_slower_needs_no_number() {
    let folder = two_traces("slower");
    for (run, baseline, code) in [("new.trace.json", "main.trace.json", 1), ("main.trace.json", "new.trace.json", 0)] {
        let (status, result) = json(&folder, &[run, "--baseline", baseline, "--limit", "slower <= 3 %"]);
        let limit = &result["runs"][0]["limits"][0];
        let percent = if code == 1 { 25.0 } else { 0.0 };
        assert_eq!((status, limit["value"].as_f64(), &limit["unit"]), (code, Some(percent), &json!("%")), "{limit}");
    }
    let output = check(&folder, &["new.trace.json", "--limit", "slower <= 3 %"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("\"slower <= 3 %\" needs a baseline"), "{}", stderr(&output));
}
