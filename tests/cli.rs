//! Checks the output of the built command line on each stream, and its exit status.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::samples;

fn crossprof(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_crossprof"))
        .args(arguments)
        .current_dir(samples::root())
        .output()
        .expect("the tool starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("the result is UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    folder
}

const TPU: &str = "www/assets/examples/tpu-training.trace.json.gz";
const CPU: &str = "tests/data/jax-cpu-train";

#[test]
fn analyze_prints_one_screen() {
    let output = crossprof(&["analyze", TPU]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.lines().count() <= 60, "{text}");
    assert!(text.contains("Step time") && text.contains("4 devices"), "{text}");
    assert_eq!(stderr(&output), "");
}

#[test]
fn json_is_the_profile_and_nothing_else() {
    let output = crossprof(&["analyze", TPU, "--format", "json", "--batch-size", "8", "--seq-length", "100"]);
    let profile: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("standard output is one document");
    let rate = |name: &str| profile["throughput"][name].as_f64().expect("a rate");
    assert!((rate("tokens_per_sec") - 800.0 * rate("steps_per_sec")).abs() < 1e-6 * rate("tokens_per_sec"));
}

#[test]
fn the_old_spellings_work() {
    let out = scratch("old_spellings").join("profile.json");
    let out = out.to_str().expect("a plain path");
    let output = crossprof(&["--trace_file", TPU, "--num_steps", "5", "--output_json", out]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let written = std::fs::read_to_string(out).expect("the profile was written");
    let profile: serde_json::Value = serde_json::from_str(&written).expect("JSON");
    assert_eq!(profile["step_timing"]["num_steps"], 5);
    assert_eq!(profile["step_timing"]["step_count_source"], "user");
    assert!(stdout(&output).contains("Step time"), "the report is still printed");
}

#[test]
fn the_report_of_a_run_is_a_page_that_is_read_like_the_profile() {
    let folder = scratch("run_report");
    let (page, text) = (folder.join("report.html"), folder.join("summary.md"));
    let [page, text] = [&page, &text].map(|path| path.to_str().expect("a plain path"));
    let first = crossprof(&["analyze", TPU, "--format", "json", "--output", page, "--output", text]);
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    assert!(std::fs::read_to_string(text).expect("Markdown").starts_with("## "));
    let again = crossprof(&["analyze", page, "--format", "json"]);
    assert_eq!(stdout(&first), stdout(&again), "the profile in the page is the profile");
    let wrong = crossprof(&["analyze", TPU, "--output", "report.pdf"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains(".html, .md, .json or .txt"), "{}", stderr(&wrong));
    let several = crossprof(&["analyze", TPU, CPU, "--output", page]);
    assert_eq!(several.status.code(), Some(2));
    assert!(stderr(&several).contains("crossprof compare"), "{}", stderr(&several));
}

#[test]
fn a_result_can_be_analysed_again() {
    let out = scratch("again").join("profile.json");
    let out = out.to_str().expect("a plain path");
    let first = crossprof(&["analyze", TPU, "--format", "json", "--output-json", out]);
    let second = crossprof(&["analyze", out, "--format", "json"]);
    assert_eq!(stdout(&first), stdout(&second));
}

#[test]
fn a_folder_is_walked_and_the_xplane_preferred() {
    let output = crossprof(&["analyze", CPU, "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let profile: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("one run, one document");
    assert_eq!(profile["metadata"]["source_format"], "xplane");
    assert_eq!(profile["metadata"]["platform"], "CPU");
    let codes: Vec<_> = profile["warnings"].as_array().into_iter().flatten().map(|w| w["code"].clone()).collect();
    assert!(!codes.contains(&"repeated_file_not_read".into()), "{codes:?}");
    // Giving the same JSON twice leads to a warning.
    let folder = scratch("repeated_json").join("plugins/profile/2026_01_05_10_00_00");
    std::fs::create_dir_all(&folder).expect("a folder");
    for name in ["host.trace.json.gz", "host.trace.json"] {
        std::fs::copy(samples::root().join(TPU), folder.join(name)).expect("a copy");
    }
    let warnings =
        stdout(&crossprof(&["table", "warnings", folder.to_str().expect("a plain path"), "--format", "json"]));
    assert!(warnings.contains("repeated_file_not_read"), "{warnings}");
}

#[test]
fn a_table_prints_the_selected_columns() {
    let select = |columns: &str, format: &str| {
        stdout(&crossprof(&["table", "ops", TPU, "--select", columns, "--top", "2", "--format", format]))
    };
    let csv = select("Category, hlo_op_name", "csv");
    assert_eq!(csv.lines().next(), Some("category,hlo_op_name"), "{csv}");
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert!(select("leading", "text").starts_with("Op  "), "{}", select("leading", "text"));
    // Programs get all columns, unless they request only some.
    let all = stdout(&crossprof(&["table", "ops", TPU, "--format", "csv"]));
    assert!(all.lines().next().is_some_and(|head| head.split(',').count() > 30), "{all}");
}

#[test]
fn tables_in_three_shapes() {
    let csv = stdout(&crossprof(&["table", "steps", TPU, "--format", "csv"]));
    assert!(csv.starts_with("index,name,start_us,duration_us,"), "{csv}");
    assert_eq!(csv.lines().count(), 9);
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&crossprof(&["table", "devices", TPU, "--format", "json"]))).expect("JSON");
    assert_eq!(json.as_array().map(Vec::len), Some(4));
    let text = stdout(&crossprof(&["table", "top-kernels", TPU]));
    assert!(text.starts_with("Kernel"), "{text}");
    let none = crossprof(&["table", "warnings", TPU]);
    assert_eq!(stdout(&none), "No warnings in the measured part of this run.\n");
    let filtered = stdout(&crossprof(&["table", "steps", TPU, "--filter", "nothing"]));
    assert_eq!(filtered, "No row of steps matches --filter 'nothing'.\n");
}

#[test]
fn an_empty_table_of_hosts_names_the_tables_to_read_instead() {
    for (table, instead) in [("host-threads", "range --by line"), ("host-programs", "op-groups --by program")] {
        let text = stdout(&crossprof(&["table", table, TPU]));
        assert!(text.starts_with(&format!("The table {table} covers only captures without device ops")), "{text}");
        assert!(text.contains(instead), "{text}");
        let json = crossprof(&["table", table, TPU, "--format", "json"]);
        assert!(stdout(&json).starts_with("[]") && String::from_utf8_lossy(&json.stderr).contains(instead));
    }
}

#[test]
fn a_reader_that_stops_early_is_no_error() {
    use std::io::Read;
    use std::process::{Command, Stdio};
    for arguments in [&["table", "events", TPU, "--format", "json"][..], &["analyze", TPU], &["schema"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crossprof"));
        command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = command.spawn().expect("the tool starts");
        let mut start = [0; 10];
        let mut reader = running.stdout.take().expect("a pipe");
        reader.read_exact(&mut start).expect("a result");
        drop(reader);
        let ended = running.wait_with_output().expect("the tool ends");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(
            ended.status.success() && !said.contains("panicked") && !said.contains("pipe"),
            "{arguments:?}: {said}"
        );
    }
}

#[test]
fn the_schema_is_printed() {
    let output = crossprof(&["schema"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("\"$schema\": \"https://json-schema.org/draft/2020-12/schema\""));
}

#[test]
fn the_licences_of_the_program_are_printed() {
    let output = crossprof(&["notices"]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    for words in ["serde_json 1.", "Apache License", "Permission is hereby granted, free of charge"] {
        assert!(text.contains(words), "{words}");
    }
}

#[test]
fn damage_exits_with_1_and_names_its_location() {
    let folder = scratch("damage");
    let path = folder.join("cut.trace.json.gz");
    let whole = std::fs::read(samples::root().join(TPU)).expect("the example is there");
    std::fs::write(&path, &whole[..whole.len() / 2]).expect("a cut file");
    let output = crossprof(&["analyze", path.to_str().expect("a plain path")]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = stdout(&output);
    let warnings = text.split("\nWarnings (").nth(1).expect("warnings come last");
    assert!(warnings.contains("cut.trace.json.gz, byte "), "{text}");
}

#[test]
fn files_without_a_profile_exit_with_2_and_other_files_still_load() {
    let folder = scratch("no_profile");
    let html = folder.join("page.json");
    std::fs::write(&html, "<!DOCTYPE html><html><body>Sign in</body></html>").expect("a file");
    let html = html.to_str().expect("a plain path");
    let output = crossprof(&["analyze", html, TPU]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("page.json: This is an HTML page"), "{}", stderr(&output));
    assert!(stdout(&output).contains("4 devices"));

    let empty = folder.join("empty.json");
    std::fs::write(&empty, "").expect("a file");
    let output = crossprof(&["analyze", empty.to_str().expect("a plain path")]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""));
    assert!(stderr(&output).contains("empty.json: The file is empty"), "{}", stderr(&output));
}

#[test]
fn wrong_calls_exit_with_2() {
    let empty = scratch("empty_folder");
    let empty = empty.to_str().expect("a plain path");
    for (arguments, sentence) in [
        (&["analyze", "absent.json"][..], "absent.json: cannot be read"),
        (&["analyze", empty], "This folder contains no profile"),
        (&["analyze"], "Usage"),
        (&["table", "nonsense", TPU], "the tables are steps, "),
        (&["table", "ops", TPU, "--sort", "total_self_time"], "Did you mean total_self_time_us"),
        (&["table", "kernel", TPU], "Did you mean kernels?"),
        (&["table", "ops", TPU, "--select", "category,total_self_time"], "Did you mean total_self_time_us"),
        (&["analyze", TPU, "--device", "mi301x"], "Did you mean mi300x"),
        (&["compare", TPU, TPU, "--device", "abacus"], "The devices are tpu-v2"),
        (&["anlyze", TPU], "anlyze is neither a command nor a file. Did you mean analyze?"),
        (&["completions", "tcsh"], "[possible values: bash,"),
        (&["table", "--columns", "opps"], "Did you mean ops"),
        (&["analyze", TPU, "--num-steps", "0"], "num-steps"),
        (&["analyze", TPU, "--model-config", "Cargo.toml"], "Cargo.toml: "),
    ] {
        let output = crossprof(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(stdout(&output), "", "{arguments:?}");
        assert!(stderr(&output).contains(sentence), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn columns_of_a_table_are_listed_without_a_file() {
    let list = |arguments: &[&str]| -> Vec<serde_json::Value> {
        let output = crossprof(&[&["table"], arguments, &["--format", "json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_str(&stdout(&output)).expect("JSON")
    };
    let ops = list(&["--columns", "ops"]);
    assert_eq!(list(&["ops", "--columns"]), ops);
    let keys: Vec<&str> = ops.iter().filter_map(|row| row["key"].as_str()).collect();
    let rows = stdout(&crossprof(&["table", "ops", TPU, "--top", "1", "--format", "csv"]));
    assert_eq!(rows.lines().next().expect("a header").split(',').collect::<Vec<_>>(), keys);
    let time = ops.iter().find(|row| row["key"] == "total_self_time_us").expect("the column");
    assert_eq!((time["unit"].as_str(), time["type"].as_str()), (Some("µs"), Some("double")));
    assert_eq!(time["heading"], "Self time");
    assert!(time["description"].as_str().is_some_and(|text| text.ends_with('.')));
    let tables: std::collections::BTreeSet<String> =
        list(&["--columns"]).iter().map(|row| row["table"].as_str().expect("a table").to_owned()).collect();
    assert_eq!(tables.len(), crossprof::TableName::ALL.len());
    // Each form of a table has its own columns.
    assert!(list(&["--columns", "collectives", "--by", "run"]).iter().any(|row| row["key"] == "device_name"));
    let text = stdout(&crossprof(&["table", "--columns", "steps"]));
    assert!(text.starts_with("Table") && text.contains("duration_us"), "{text}");
    let both = crossprof(&["table", "ops", TPU, "--columns"]);
    assert_eq!(both.status.code(), Some(2), "{}", stdout(&both));
}

#[test]
fn colours_are_used_on_terminals_and_on_request() {
    let colours = |variables: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crossprof"));
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        let output =
            command.envs(variables.iter().copied()).args(["analyze", TPU]).current_dir(samples::root()).output();
        stdout(&output.expect("the tool starts"))
    };
    let plain = colours(&[]);
    assert!(!plain.contains('\x1b'));
    let forced = colours(&[("CLICOLOR_FORCE", "1")]);
    assert!(
        forced.contains("\x1b[33mwarning\x1b[0m") && forced.contains("\x1b[1mDevices, busy share\x1b[0m"),
        "{forced}"
    );
    assert_eq!(colours(&[("NO_COLOR", "1")]), plain);
}

#[test]
fn shells_complete_commands_tables_and_devices() {
    for shell in ["bash", "zsh", "fish"] {
        let output = crossprof(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let script = stdout(&output);
        for word in ["crossprof", "timeline", "op-tree", "h100-sxm", "batch-size"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn help_has_examples_on_standard_output() {
    let output = crossprof(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("crossprof analyze host.xplane.pb"));
}

#[test]
fn a_table_is_filtered_ordered_and_cut() {
    let arguments =
        ["table", "ops", TPU, "--filter", "category:fusion", "--sort=-occurrences", "--top", "2", "--format", "json"];
    let rows: Vec<serde_json::Value> = serde_json::from_str(&stdout(&crossprof(&arguments))).expect("JSON");
    assert_eq!(rows.len(), 2);
    let counts: Vec<u64> = rows.iter().map(|row| row["occurrences"].as_u64().expect("a count")).collect();
    assert!(counts[0] >= counts[1], "{counts:?}");
    assert!(rows.iter().all(|row| row["category"].as_str().is_some_and(|it| it.contains("fusion"))), "{rows:?}");
    let wrong = crossprof(&["table", "ops", TPU, "--sort", "nothing"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("the table ops has no column nothing; it has rank, "), "{}", stderr(&wrong));
}

#[test]
fn every_table_has_rows_and_the_tree_its_forms() {
    for table in
        ["steps", "step-breakdown", "ops", "op-tree", "roofline", "kernels", "collectives", "devices", "findings"]
    {
        let rows: Vec<serde_json::Value> =
            serde_json::from_str(&stdout(&crossprof(&["table", table, TPU, "--format", "json"]))).expect("JSON");
        assert!(!rows.is_empty(), "{table}");
    }
    let first = |form| {
        let text = stdout(&crossprof(&["table", "op-tree", TPU, "--by", form, "--format", "json"]));
        let rows: Vec<serde_json::Value> = serde_json::from_str(&text).expect("JSON");
        rows[1]["name"].as_str().expect("a name").to_owned()
    };
    assert_ne!(first("program"), first("category"));
    for (table, by, said) in [
        (
            "op-tree",
            "colour",
            "--by: the table op-tree cannot be grouped by colour; it has program, category, scope, source",
        ),
        ("ops", "scope", "the table ops cannot be grouped by scope; it has one form only"),
    ] {
        let wrong = crossprof(&["table", table, TPU, "--by", by]);
        assert_eq!((wrong.status.code(), stderr(&wrong).contains(said)), (Some(2), true), "{}", stderr(&wrong));
    }
}

#[test]
fn findings_can_fail_a_job() {
    let gpu = "www/assets/examples/gpu-training.trace.json.gz";
    let output = crossprof(&["analyze", gpu, "--format", "json"]);
    let profile: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let severities: Vec<&str> =
        profile["findings"].as_array().expect("findings").iter().filter_map(|it| it["severity"].as_str()).collect();
    assert_eq!(output.status.code(), Some(0));
    for (flag, counted) in [
        ("note", &["note", "warning", "critical"][..]),
        ("warning", &["warning", "critical"]),
        ("critical", &["critical"]),
    ] {
        let fires = severities.iter().any(|severity| counted.contains(severity));
        let output = crossprof(&["analyze", gpu, "--fail-on", flag]);
        assert_eq!(output.status.code(), Some(if fires { 3 } else { 0 }), "{flag}: {severities:?}");
    }
}
