//! Tests `--fail-on`, which sets the exit status for CI jobs.

use super::{MAIN, NEW, scratch, trace, two};
use crate::support::cli::{crossprof, stderr};

#[test]
fn a_run_that_is_slower_fails_the_job() {
    let folder = two("gate");
    for (arguments, status, said) in [
        (&[NEW, MAIN, "--fail-on", "slower > 3 %"][..], 3, "--fail-on 'slower > 3 %' fails: main is slower than new"),
        (&[MAIN, NEW, "--fail-on", "slower > 3 %"], 0, "--fail-on 'slower > 3 %' passes: new is faster than main"),
        (&[NEW, MAIN, "--fail-on", "slower > 150 %"], 0, "passes: main is slower than new"),
        (&[NEW, MAIN, "--fail-on", "new critical finding", "--fail-on", "capture slower > 5 %"], 3, "capture of main"),
        (&[NEW, MAIN, "--fail-on", "slower > 3 %", "--output", "no/such/folder/c.md"], 2, "cannot be written"),
        (&[NEW, MAIN, "--fail-on", "slowr > 3 %"], 2, "There is no condition slowr. Did you mean slower?"),
    ] {
        let output = crossprof(&folder, &[&["compare"], arguments].concat());
        let complaints = stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {complaints}");
        assert!(complaints.contains(said), "{arguments:?}: {complaints}");
    }
}

#[test]
fn groups_that_vary_fail_only_where_that_is_asked() {
    let folder = scratch("gate_groups");
    for (name, step_ms) in [("a0", 100), ("a1", 140), ("b0", 120), ("b1", 160)] {
        trace(&folder.join(format!("{name}.trace.json")), step_ms, 80);
    }
    let groups = ["--group", "a=a0.trace.json,a1.trace.json", "--group", "b=b0.trace.json,b1.trace.json"];
    for (condition, status, said) in [
        ("slower > 3 %", 0, "passes: the captures of one run differ too much from each other to compare b with a"),
        ("unstable", 3, "fails: the captures of one run differ too much"),
    ] {
        let output = crossprof(&folder, &[&["compare"], &groups[..], &["--fail-on", condition]].concat());
        assert_eq!(output.status.code(), Some(status), "{condition}: {}", stderr(&output));
        assert!(stderr(&output).contains(said), "{condition}: {}", stderr(&output));
    }
}

/// A pull request shows the summary of a pair of runs.
#[test]
fn the_summary_of_a_pair_fits_one_screen() {
    let folder = two("screen");
    assert!(crossprof(&folder, &["compare", MAIN, NEW, "--output", "summary.md"]).status.success());
    let text = std::fs::read_to_string(folder.join("summary.md")).unwrap();
    let (mut depth, mut shown) = (0, Vec::new());
    for line in text.lines() {
        depth += usize::from(line == "<details>");
        if depth == 0 || line.starts_with("<summary>") {
            shown.push(line);
        }
        depth -= usize::from(line == "</details>");
    }
    assert!(depth == 0 && shown.len() <= 45, "{}", shown.join("\n"));
    let all = shown.join("\n");
    for said in [
        "new is 2.00x faster than main",
        "| Typical step, lower is better | 100 ms |",
        "Fairness: ",
        "All scored numbers",
    ] {
        assert!(all.contains(said), "{said}: {all}");
    }
}
