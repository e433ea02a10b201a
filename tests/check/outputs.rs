//! Tests the output files of `crossprof check` and their formats.

use serde_json::{Value, json};

use super::{check, stderr, stdout, two_traces};

const BUDGET: &str = r#"
limits = ["step_timing.num_steps == 5", "throughput.tokens_per_sec > 1 if measured"]

[[limit]]
name = "fast <steps> & \"more\""
path = "step_timing.avg_step_time_us"
max = "99 ms"
why = "Agreed | by all."
"#;

#[test]
fn the_text_is_a_table_and_a_sentence_per_failure() {
    let folder = two_traces("text");
    std::fs::write(folder.join("budget.toml"), BUDGET).unwrap();
    let output = check(&folder, &["new.trace.json", "--budget", "budget.toml"]);
    let expected = "\
new (new.trace.json)
  Limit                                       Value      Bound  Margin  Result
  step_timing.num_steps == 5                      5       == 5     0 %  pass
  throughput.tokens_per_sec > 1 if measured       –  > 1.00 /s       –  skipped
  fast <steps> & \"more\"                      100 ms  <= 99.0 ms  -1.0 %  FAIL
";
    // Ignores the widths of the columns.
    let cells = |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    let text = stdout(&output);
    let table = text.split("\n\n").next().unwrap();
    assert_eq!(cells(table), cells(expected), "{text}");
    let ends: Vec<usize> =
        table.lines().skip(1).map(|line| line.find("  Result").or(line.find("  pass")).unwrap_or(0)).collect();
    assert_eq!(ends[0], ends[1], "{text}");
    assert!(text.contains("    Why: Agreed | by all.\n"), "{text}");
    assert!(text.ends_with("The budget does not hold. 3 limits: 1 holds, 1 fails, 1 was skipped.\n"), "{text}");
}

#[test]
fn junit_and_markdown_agree() {
    let folder = two_traces("shapes");
    std::fs::write(folder.join("budget.toml"), BUDGET).unwrap();
    let call = |format| stdout(&check(&folder, &["new.trace.json", "--budget", "budget.toml", "--format", format]));
    let junit = call("junit");
    assert!(junit.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites "), "{junit}");
    let suite = "<testsuite name=\"new\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\" time=\"0\">";
    assert!(junit.contains(suite), "{junit}");
    let case = "<testcase classname=\"new\" name=\"fast &lt;steps&gt; &amp; &quot;more&quot;\" time=\"0\">\n      <failure type=\"fail\" \
                message=\"step_timing.avg_step_time_us is 100 ms and must be at most 99.0 ms: 1.0 % too much.\">";
    assert!(junit.contains(case), "{junit}");
    let markdown = call("markdown");
    assert!(markdown.starts_with("<details><summary>Digest"), "{markdown}");
    assert!(markdown.contains("\n## ❌ The performance budget does not hold\n"), "{markdown}");
    let row = "| ❌ fail | fast &lt;steps> &amp; \"more\" | 100 ms | &lt;= 99.0 ms | -1.0 % |";
    assert!(markdown.contains(row), "{markdown}");
    assert!(markdown.contains("_Why:_ Agreed \\| by all."), "{markdown}");
}

#[test]
fn output_files_have_the_format_of_their_extension() {
    let folder = two_traces("files");
    std::fs::write(folder.join("budget.toml"), BUDGET).unwrap();
    let base = ["new.trace.json", "--budget", "budget.toml"];
    let files = ["--output", "junit.xml", "--output", "summary.md", "--output", "check.json", "--output", "log"];
    let output = check(&folder, &[&base[..], &files[..]].concat());
    assert_eq!(output.status.code(), Some(1));
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert!(stdout(&output).starts_with("new (new.trace.json)\n"));
    assert_eq!(read("log"), stdout(&output));
    assert!(read("junit.xml").starts_with("<?xml"));
    assert!(read("summary.md").contains("\n## "));
    let document: Value = serde_json::from_str(&read("check.json")).unwrap();
    assert_eq!((&document["holds"], &document["budget"]), (&json!(false), &json!("budget.toml")));
    // An explicit format takes precedence over the file's extension.
    let output = check(&folder, &[&base[..], &["--format", "junit", "--output", "results.txt"]].concat());
    assert!(read("results.txt").starts_with("<?xml") && stdout(&output).starts_with("new ("));
    let output = check(&folder, &[&base[..], &["--output", "absent/results.xml"]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("results.xml: cannot be written"), "{}", stderr(&output));
}
