//! Folders with several captures of one program. Each folder is one run, unless its captures show that they belong to
//! different runs.

use std::path::Path;

use super::{json, scratch, trace, trace_on};
use crate::support::cli::{crossprof, stderr};

fn names(folder: &Path, arguments: &[&str]) -> Vec<String> {
    let runs = json(folder, arguments)["runs"].as_array().unwrap().clone();
    runs.iter().map(|run| run["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn folders_of_captures_are_groups() {
    let folder = scratch("folders");
    for (name, step_ms) in [("main/0", 100), ("main/1", 102), ("main/2", 98), ("new/0", 90), ("new/1", 91)] {
        trace(&folder.join(format!("{name}.trace.json")), step_ms, 80);
    }
    let found = json(&folder, &["main/", "new"]);
    assert_eq!(names(&folder, &["main/", "new"]), ["main", "new"]);
    assert_eq!(found["step_time"][0]["captures"], serde_json::json!([2, 3]));
    assert_eq!(found["step_time"][0]["basis"], "captures");
    let output = crossprof(&folder, &["compare", "main/", "new"]);
    let said = "main/: its 3 captures are compared as one run, main; --no-groups makes each capture a run.";
    assert!(stderr(&output).contains(said), "{}", stderr(&output));
    // The result is the same as for groups given by hand, except for the names of the runs.
    let by_hand = json(
        &folder,
        &[
            "--group",
            "a=main/0.trace.json,main/1.trace.json,main/2.trace.json",
            "--group",
            "b=new/0.trace.json,new/1.trace.json",
        ],
    );
    assert_eq!(json(&folder, &["main", "new", "--name", "a", "--name", "b"])["step_time"], by_hand["step_time"]);
    assert_eq!(names(&folder, &["main", "new", "--no-groups"]).len(), 5);
    assert_eq!(names(&folder, &["main", "new", "main/0.trace.json"]).len(), 6);
    assert_eq!(names(&folder, &["main"]).len(), 3);
}

#[test]
fn checkpoints_benchmarks_and_device_counts_stay_runs() {
    let folder = scratch("no_folders");
    for name in ["main/0", "main/1", "checkpoints/step_100", "checkpoints/step_200", "methods/lcam", "methods/tad"] {
        trace(&folder.join(format!("{name}.trace.json")), 100, 80);
    }
    trace(&folder.join("mixed/0.trace.json"), 100, 80);
    trace_on(&folder.join("mixed/1.trace.json"), 2, 100, 80);
    trace_on(&folder.join("two/0.trace.json"), 2, 100, 80);
    trace_on(&folder.join("two/1.trace.json"), 2, 100, 80);
    for other in ["checkpoints", "methods", "mixed", "two"] {
        assert_eq!(names(&folder, &["main", other]).len(), 4, "{other}");
    }
}

/// A CI job captures into the same file each time, and keeps the exported profiles.
#[test]
fn exported_profiles_of_one_path_are_called_by_their_own_files() {
    let folder = scratch("exported");
    for (step_ms, profile) in [(100, "main.json"), (90, "new.json")] {
        trace(&folder.join("vm.trace.json"), step_ms, 80);
        assert!(crossprof(&folder, &["analyze", "vm.trace.json", "--output-json", profile]).status.success());
    }
    assert_eq!(names(&folder, &["main.json", "new.json"]), ["main", "new"]);
    assert_eq!(names(&folder, &["main.json", "vm.trace.json"]), ["main", "vm"]);
    assert_eq!(names(&folder, &["main.json", "main.json"]), ["vm", "vm (2)"]);
}
