//! Tests inputs, outputs and errors of `crossprof compare` on the command line.

mod folders;
mod gates;

use crate::support;
use std::path::{Path, PathBuf};

use crate::support::chrome::ChromeTrace;
use crate::support::cli::{crossprof, stderr, stdout};
use crate::support::samples;
use serde_json::Value;

const GPU: &str = "www/assets/examples/gpu-training.trace.json.gz";
const TPU: &str = "www/assets/examples/tpu-training.trace.json.gz";
const MS: u64 = 1_000_000_000;

/// Runs `crossprof compare` with JSON output. The command must succeed.
fn json(folder: &Path, arguments: &[&str]) -> Value {
    let output = crossprof(folder, &[&["compare"], arguments, &["--format", "json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

fn scratch(name: &str) -> PathBuf {
    support::cli::scratch("compare", name)
}

/// Writes five steps of `step_ms` on one chip. Each step is an op of `busy_ms` whose name is markup in HTML.
fn trace(path: &Path, step_ms: u64, busy_ms: u64) {
    trace_on(path, 1, step_ms, busy_ms);
}

/// Writes the same trace for this many chips.
fn trace_on(path: &Path, devices: u32, step_ms: u64, busy_ms: u64) {
    let mut json = ChromeTrace::new();
    for device in 0..devices {
        let pid = 3 + device;
        json.process(pid, &format!("/device:TPU:{device}"));
        json.thread(pid, 1, "Steps");
        json.thread(pid, 3, "XLA Ops");
        for step in 0..5 {
            let start = step * step_ms * MS;
            json.event((pid, 1), &step.to_string(), start, step_ms * MS, &[]);
            json.event((pid, 3), "<script>alert(1)</script>", start, busy_ms * MS, &[("hlo_category", "loop fusion")]);
        }
    }
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, json.finish()).unwrap();
}

/// Writes `main` with 100 ms per step and `new` with 50 ms.
fn two(name: &str) -> PathBuf {
    let folder = scratch(name);
    trace(&folder.join("main.trace.json"), 100, 80);
    trace(&folder.join("new.trace.json"), 50, 40);
    folder
}

const MAIN: &str = "main.trace.json";
const NEW: &str = "new.trace.json";

fn metric<'a>(comparison: &'a Value, path: &str) -> &'a Value {
    comparison["metrics"].as_array().unwrap().iter().find(|it| it["metric"] == path).expect(path)
}

#[test]
fn a_factor_of_two_is_reported_and_swapping_inverts_it() {
    let folder = two("twice");
    let output = crossprof(&folder, &["compare", MAIN, NEW]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("▲ 2.00x faster (−50.0 ms)") && text.contains("main (baseline)"), "{text}");
    assert!(text.lines().count() <= 60, "{text}");
    assert!(stdout(&crossprof(&folder, &["compare", NEW, MAIN])).contains("▼ 2.00x slower (+50.0 ms)"));

    let there = json(&folder, &[MAIN, NEW]);
    let time = metric(&there, "step_time.typical_us");
    // One capture per side does not show how much each program varies.
    assert_eq!((time["ratios"][1].as_f64(), time["winner"].as_u64()), (Some(2.0), None), "{time}");
    let other = json(&folder, &[MAIN, NEW, "--baseline", "1"]);
    let time = metric(&other, "step_time.typical_us");
    assert_eq!((time["ratios"][0].as_f64(), time["winner"].as_u64()), (Some(0.5), None), "{time}");
    assert_eq!(other, json(&folder, &[MAIN, NEW, "--baseline", "new"]));
}

/// The captures of each side form one run. The report keeps both the single captures and the groups.
#[test]
fn groups_of_captures_are_compared_by_their_spread() {
    let folder = scratch("groups");
    for (name, step_ms) in [("a0", 100), ("a1", 102), ("a2", 98), ("b0", 90), ("b1", 91), ("b2", 89)] {
        trace(&folder.join(format!("{name}.trace.json")), step_ms, 80);
    }
    let side = |letter: &str| {
        let files: Vec<String> = (0..3).map(|at| format!("{letter}{at}.trace.json")).collect();
        format!("{letter}={}", files.join(","))
    };
    let (main, new) = (side("a"), side("b"));
    let groups = ["--group", &main, "--group", &new];
    let found = json(&folder, &[&groups[..], &["--output", "report.html"]].concat());
    let names: Vec<&str> = found["runs"].as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(found["runs"][1]["captures"].as_array().unwrap().len(), 3);
    let change = &found["step_time"][0];
    assert_eq!((change["verdict"].as_str(), change["basis"].as_str()), (Some("faster"), Some("captures")));
    assert_eq!((change["captures"][0].as_u64(), change["typical_delta_us"].as_f64()), (Some(3), Some(-10_000.0)));
    // scipy.stats.ttest_ind([90, 91, 89], [100, 102, 98]): half of the 95 % interval is 3.584 ms. The margin here is 1.17 times
    // that.
    let margin = change["margin_us"].as_f64().unwrap();
    assert!((margin - 1.17 * 3584.0).abs() < 5.0, "{margin}");
    let time = metric(&found, "step_time.typical_us");
    assert_eq!((time["winner"].as_u64(), &time["spreads"][0]), (Some(1), &serde_json::json!([98_000.0, 102_000.0])));
    assert_eq!(json(&folder, &["report.html"]), found);
    // The difference is the same after swapping the runs.
    let swapped = json(&folder, &["--group", &new, "--group", &main]);
    assert_eq!(swapped["step_time"][0]["verdict"], "slower");
    // A threshold above the difference hides it.
    let lax = json(&folder, &[&groups[..], &["--threshold", "15", "--output", "lax.html"]].concat());
    assert_eq!((&lax["step_time"][0]["verdict"], &lax["threshold"]), (&"same".into(), &0.15.into()));
    assert_eq!(json(&folder, &["lax.html"]), lax);
    for wrong in ["a", "=x", "a="] {
        let output = crossprof(&folder, &["compare", "--group", wrong, "--group", &new]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    }
}

#[test]
fn a_file_against_itself_has_no_winner() {
    let folder = two("itself");
    let same = json(&folder, &[MAIN, MAIN]);
    assert_eq!(same["runs"].as_array().unwrap().len(), 2);
    assert_ne!(same["runs"][0]["name"], same["runs"][1]["name"]);
    assert!(same["metrics"].as_array().unwrap().iter().all(|metric| metric["winner"].is_null()), "{same}");
}

/// A report is also an input. Whether the report is read alone or together with another file, the comparison and the
/// bytes are the same.
#[test]
fn a_report_gives_the_comparison_again() {
    let folder = two("again");
    let outputs = ["--output", "report.html", "--output", "summary.md", "--output-json", "c.json"];
    let output = crossprof(&folder, &[&["compare", MAIN, NEW][..], &outputs].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let again = crossprof(&folder, &["compare", "report.html", "--output", "again.html", "--output", "again.json"]);
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert!(read("report.html") == read("again.html"));
    assert_eq!(read("c.json"), read("again.json"));
    assert_eq!(stdout(&output), stdout(&again));
    assert_eq!(json(&folder, &["report.html", MAIN])["runs"].as_array().unwrap().len(), 3);
    // A compressed report is read, but a truncated report is rejected.
    std::fs::write(folder.join("report.gz"), support::gzip(read("report.html").as_bytes())).unwrap();
    assert_eq!(json(&folder, &["report.gz"])["metrics"], json(&folder, &["report.html"])["metrics"]);
    let page = read("report.html");
    std::fs::write(folder.join("cut.html"), &page[..page.len() - 2000]).unwrap();
    let cut = crossprof(&folder, &["compare", "cut.html", MAIN]);
    assert_eq!(cut.status.code(), Some(2));
    assert!(stderr(&cut).contains("a crossprof report"), "{}", stderr(&cut));

    assert!(read("summary.md").starts_with("## main and new\n"));
    assert!(!read("summary.md").contains("<script"), "{}", read("summary.md"));
    // The only script elements are the profiles, the pictures of their median steps, and the script of the button.
    assert_eq!(page.matches("<script").count(), 3);
    assert!(page.contains("&lt;script&gt;alert(1)"));
}

/// The script of the report's button saves the same list of profiles that `analyze` writes.
#[test]
fn the_profiles_of_a_report_are_those_of_analyze() {
    let folder = two("profiles");
    assert!(crossprof(&folder, &["compare", MAIN, NEW, "--output", "report.html"]).status.success());
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    let list = page.split_once("id=\"crossprof-profiles\">").unwrap().1.split_once("</script>").unwrap().0;
    let found: Value = serde_json::from_str(list).unwrap();
    let analysed: Value =
        serde_json::from_str(&stdout(&crossprof(&folder, &["analyze", MAIN, NEW, "--format", "json"]))).unwrap();
    assert_eq!(found, analysed);
}

/// The median steps are drawn below each other on one scale. The pictures are drawn from the events of a trace, or come
/// from a report. A profile JSON has no picture.
#[test]
fn a_report_draws_the_median_steps() {
    let folder = two("steps");
    let outputs = ["--output", "report.html", "--output-json", "c.json"];
    assert!(crossprof(&folder, &[&["compare", MAIN, NEW][..], &outputs].concat()).status.success());
    let picture = |name: &str| {
        let page = std::fs::read_to_string(folder.join(name)).unwrap();
        let section = page.split_once("<section id=\"median-steps\">").unwrap().1;
        section.split_once("</section>").unwrap().0.to_owned()
    };
    let drawn = picture("report.html");
    assert!(
        drawn.contains("main</tspan>: step 1, 100 ms") && drawn.contains("new</tspan>: step 1, 50.0 ms"),
        "{drawn}"
    );
    // The op runs for 80 of 100 ms and for 40 of 50 ms.
    for width in ["505.6", "252.8"] {
        let shape = format!("h{:.1}v16.0H128.0z", width.parse::<f64>().unwrap() - 0.7);
        assert!(drawn.contains(&shape), "{shape} {drawn}");
    }
    assert!(drawn.contains("faster in new") && drawn.contains("class=\"c-gained\" d="), "{drawn}");
    assert!(!drawn.contains("<script") && drawn.contains("&lt;script&gt;"), "{drawn}");
    // A profile has no events, but the other input, a report, still has its pictures.
    let analyzed = crossprof(&folder, &["analyze", MAIN, "--output-json", "main.json"]);
    assert!(analyzed.status.success());
    assert!(crossprof(&folder, &["compare", "report.html", "main.json", "--output", "three.html"]).status.success());
    let three = picture("three.html");
    assert_eq!(three.matches("</tspan>: step 1").count(), 2, "{three}");
    assert!(three.contains("No picture of "), "{three}");
    assert!(crossprof(&folder, &["compare", "main.json", "main.json", "--output", "none.html"]).status.success());
    assert!(!picture("none.html").contains("<svg"));
}

/// The report contains the user's options: names, baseline, power, price, and the kind of scaling.
#[test]
fn a_report_keeps_the_users_options() {
    let folder = scratch("kept");
    trace(&folder.join("one.trace.json"), 100, 80);
    trace_on(&folder.join("two.trace.json"), 2, 50, 40);
    let said = ["--name", "mine", "--baseline", "1", "--power", "300,400", "--price", "2", "--scaling", "weak"];
    let outputs = ["--output", "report.html", "--output-json", "c.json"];
    let first = crossprof(&folder, &[&["compare", "one.trace.json", "two.trace.json"][..], &said, &outputs].concat());
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    assert!(crossprof(&folder, &["compare", "report.html", "--output", "again.html"]).status.success());
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert!(read("report.html") == read("again.html"));
    let found = json(&folder, &["report.html"]);
    assert_eq!(found, serde_json::from_str::<Value>(&read("c.json")).unwrap());
    assert_eq!((&found["baseline"], &found["runs"][0]["name"]), (&1.into(), &"mine".into()));
    assert_eq!(found["scaling"]["mode"], "weak");
    assert_eq!(
        (&found["runs"][1]["watts_per_device"], &found["runs"][0]["dollars_per_device_hour"]),
        (&400.0.into(), &2.0.into())
    );
    // If the runs have the same number of devices, the option has no effect and is not stored.
    trace(&folder.join("three.trace.json"), 90, 80);
    let equal = ["compare", "one.trace.json", "three.trace.json", "--scaling", "weak", "--output", "equal.html"];
    assert!(crossprof(&folder, &equal).status.success());
    assert!(!read("equal.html").contains("comparison_scaling") && read("report.html").contains("comparison_scaling"));
    // New options override the stored ones.
    let other = json(&folder, &["report.html", "--baseline", "mine", "--power", "100"]);
    assert_eq!((&other["baseline"], &other["runs"][1]["watts_per_device"]), (&0.into(), &100.0.into()));
}

#[test]
fn a_gpu_and_a_tpu_by_name() {
    let folder = scratch("platforms");
    let out = folder.join("comparison_report.html").display().to_string();
    let output = crossprof(&samples::root(), &["compare", "--tpu", TPU, "--gpu", GPU, "--output", &out]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    let page = std::fs::read_to_string(&out).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.len() < 500_000, "{}", page.len());
    let comparison = json(&samples::root(), &["--gpu", GPU, "--tpu", TPU, "--power", "700,250", "--price", "2.5"]);
    assert_eq!(comparison["runs"][0]["platform"], "GPU");
    assert_eq!(comparison["runs"][1]["watts_per_device"], 250.0);
    assert_eq!(comparison["runs"][1]["dollars_per_device_hour"], 2.5);
    // A swapped pair is compared, with a message.
    let output = crossprof(&samples::root(), &["compare", "--gpu", TPU, "--tpu", GPU]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("its platform is TPU (TPU), not GPU"), "{}", stderr(&output));
}

#[test]
fn profiles_folders_and_lists_are_mixed() {
    let folder = two("mixed");
    trace(&folder.join("more/a.trace.json"), 70, 40);
    trace(&folder.join("more/b.trace.json"), 60, 40);
    assert!(crossprof(&folder, &["analyze", MAIN, NEW, "--output-json", "list.json"]).status.success());
    let comparison = json(&folder, &["list.json", "more", NEW, "--name", "first"]);
    let names: Vec<&str> =
        comparison["runs"].as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap()).collect();
    assert_eq!(names[..4], ["first", "new", "a", "b"]);
    assert!(names.len() == 5 && names[4].starts_with("new"), "{names:?}");
    let text = stdout(&crossprof(&folder, &["compare", "list.json", "more", NEW]));
    assert!(text.lines().count() <= 60 && text.contains("faster"), "{text}");
}

/// Runs that do not fit into columns are shown over time, if their names contain their order.
#[test]
fn checkpoints_are_a_trend_and_device_counts_a_scaling() {
    let folder = scratch("trend");
    for run in 0..18 {
        let step_ms = if run < 9 { 50 } else { 60 };
        trace(&folder.join(format!("runs/step_{:08}.trace.json", (run + 1) * 100)), step_ms, 40);
    }
    let output = crossprof(&folder, &["compare", "runs", "--output", "trend.html", "--output-json", "trend.json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("From training step 1000 on") && text.contains("Step time of each run, in order"), "{text}");
    let comparison: Value = serde_json::from_slice(&std::fs::read(folder.join("trend.json")).unwrap()).unwrap();
    assert_eq!(comparison["trend"]["change_points"][0]["run"], 9);
    let page = std::fs::read_to_string(folder.join("trend.html")).unwrap();
    assert!(page.contains("<section id=\"trend\">") && page.contains("class=\"change\""));

    // One chip, then two chips with half the step time.
    trace(&folder.join("one.trace.json"), 100, 80);
    trace_on(&folder.join("two.trace.json"), 2, 50, 40);
    for (mode, speedup) in [("strong", 2.0), ("weak", 4.0)] {
        let comparison = json(&folder, &["one.trace.json", "two.trace.json", "--scaling", mode]);
        let scaling = &comparison["scaling"];
        assert_eq!(
            (scaling["mode"].as_str(), scaling["mode_source"].as_str()),
            (Some(mode), Some("given")),
            "{scaling}"
        );
        assert_eq!(scaling["points"][1]["speedup"], speedup, "{scaling}");
    }
}

#[test]
fn wrong_arguments_give_advice() {
    let folder = two("wrong");
    for (arguments, said) in [
        (&[MAIN][..], "needs at least two runs, but there is one run"),
        (&[MAIN, "absent.json"], "absent.json: nothing was compared"),
        (&[MAIN, NEW, "--baseline", "7"], "there is no run 7; the runs are 0 main, 1 new"),
        (&[MAIN, NEW, "--power", "1,2,3"], "--power: 3 values are given for 2 runs"),
        (&[MAIN, NEW, "--price=-1"], "a number above 0"),
        (&[MAIN, NEW, "--name", "a", "--name", "b", "--name", "c"], "3 names are given for 2 runs"),
        (&[MAIN, NEW, "--output", "report.pdf"], "must end in .html, .md, .json or .txt"),
        (&[MAIN, NEW, "--output", "no/such/folder/report.html"], "cannot be written"),
        (&[MAIN, NEW, "--format", "html"], "invalid value 'html'"),
        (&[], "required"),
    ] {
        let output = crossprof(&folder, &[&["compare"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(said), "{arguments:?}: {}", stderr(&output));
    }
    let many = vec![MAIN; 17];
    let output = crossprof(&folder, &[&["compare"][..], &many].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("There are 17 runs, but at most 16"), "{}", stderr(&output));
}

#[test]
fn a_damaged_run_is_compared_and_sets_the_exit_status() {
    let folder = two("damaged");
    let bytes = std::fs::read(folder.join(MAIN)).unwrap();
    std::fs::write(folder.join("cut.trace.json"), &bytes[..bytes.len() - 30]).unwrap();
    let output = crossprof(&folder, &["compare", "cut.trace.json", NEW]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("damage"), "{}", stderr(&output));
    assert!(!stdout(&output).is_empty());
}

#[test]
fn the_schema_is_printed_and_true() {
    let root = samples::root();
    let schema: Value = serde_json::from_str(&stdout(&crossprof(&root, &["schema", "comparison"]))).unwrap();
    let validator = jsonschema::draft202012::new(&schema).expect("the schema is one");
    for arguments in [&[GPU, TPU][..], &[GPU, GPU], &[TPU, GPU, TPU, "--baseline", "1"]] {
        let comparison = json(&root, arguments);
        let errors: Vec<String> = validator.iter_errors(&comparison).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{arguments:?}: {errors:?}");
    }
    assert!(!validator.is_valid(&serde_json::json!({"runs": []})));
    assert_ne!(stdout(&crossprof(&root, &["schema"])), stdout(&crossprof(&root, &["schema", "comparison"])));
}

/// The tests in `comparison.rs` check the content of the section.
#[test]
#[ignore = "reads real profiles"]
fn the_report_of_two_real_runs_is_small() {
    let folder = samples::traces().join("tpu-qwen3-runs");
    let out = scratch("qwen3").join("report.html");
    let arguments = ["compare", "run-a.trace.json.gz", "run-b.trace.json.gz", "--output", out.to_str().unwrap()];
    let output = crossprof(&folder, &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let size = std::fs::metadata(&out).unwrap().len();
    assert!(size < 500_000, "{size}");
}
