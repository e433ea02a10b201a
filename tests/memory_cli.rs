//! Tests the command line on memory files that are alone or next to profiles.

use std::path::Path;

use crate::support::{cli, samples};
use serde_json::Value;

/// Returns the programs that `crossprof table program-memory` prints for a folder.
fn programs(folder: &Path) -> Vec<Value> {
    let output = cli::crossprof(folder, &["table", "program-memory", "--format", "json", "."]);
    assert!(output.status.success(), "{}", cli::stderr(&output));
    // Several runs would print one line each.
    let table: Value = serde_json::from_str(&cli::stdout(&output)).unwrap();
    table.as_array().unwrap().clone()
}

#[test]
fn budgets_hold_memory_to_limits() {
    let folder = cli::scratch("memory_cli", "budget");
    // A device whose peak is 75 % of its memory.
    let mut profile = crossprof::report::example::profile();
    profile.metadata.schema_version = Some(crossprof::report::SCHEMA_VERSION.to_owned());
    std::fs::write(folder.join("run.json"), crossprof::export::json::profile(&profile)).unwrap();
    let check = |limit: &str| cli::crossprof(&folder, &["check", "run.json", "--limit", limit]).status.code();
    assert_eq!(check("memory.devices[*].peak_percent < 90"), Some(0));
    assert_ne!(check("memory.devices[*].peak_percent < 70"), Some(0));
    assert_eq!(check("memory.devices[0].by_class[class=parameter].bytes <= 24 GiB"), Some(0));
}

#[test]
fn programs_of_a_folder_are_read_unless_profiles_are_there() {
    let dump = samples::root().join("tests/data/jax-cpu-memory");
    assert_eq!(programs(&dump).len(), 5);
    let folder = cli::scratch("memory_cli", "beside");
    let profile = samples::root().join("tests/data/jax-cpu-train");
    let xplane = samples::files(&profile, &[".xplane.pb", ".xplane.pb.gz"]).remove(0);
    for file in samples::files(&dump, &[".hlo.pb.gz"]).iter().chain([&xplane]) {
        std::fs::copy(file, folder.join(file.file_name().unwrap())).unwrap();
    }
    let named = |row: &Value| row["module"].as_str().unwrap().starts_with("jit_train_step");
    assert!(programs(&folder).iter().any(named), "the profile's own programs");
}
