//! Real profiles. The expected numbers come from XProf, or follow from how the profiles were made.

use std::path::Path;

use super::{check, stderr, stdout};
use crate::support::samples;

/// Requires that `check` returns the given exit status for each rule on a profile.
fn expect(folder: &Path, arguments: &[&str], rules: &[(&str, i32)]) {
    for (rule, code) in rules {
        let output = check(folder, &[arguments, &["--limit", rule]].concat());
        assert_eq!(output.status.code(), Some(*code), "{rule}\n{}{}", stdout(&output), stderr(&output));
    }
}

#[test]
#[ignore = "reads real profiles"]
fn four_chips_are_as_busy_as_was_measured_elsewhere() {
    let traces = samples::traces();
    // Chip 0 is busy for 85.2 % of its span, the other chips for 87.1 %.
    expect(
        &traces,
        &["tpu-v6e-4chip", "--window", "active"],
        &[
            ("metadata.num_devices == 4", 0),
            ("multi_device.device_stats[*].utilization_percent >= 85.1", 0),
            ("multi_device.device_stats[*].utilization_percent >= 86", 1),
            ("multi_device.device_stats[device_id=1|2|3].utilization_percent >= 87", 0),
            ("count(multi_device.device_stats[device_id=1|2|3]) == 3", 0),
            ("memory_operations.h2d_count >= 0", 1),
        ],
    );
}

#[test]
#[ignore = "reads real profiles"]
fn one_of_two_runs_has_all_to_alls() {
    let traces = samples::traces();
    let folder = traces.join("tpu-qwen3-runs");
    // The first run has 256 all-to-alls, and the second has none.
    let number = "communication.kinds[kind=all-to-all].count";
    expect(&folder, &["run-a.trace.json.gz"], &[(&format!("{number} == 256"), 0), (&format!("{number} < 256"), 1)]);
    let absent = "communication.kinds[kind=all-to-all] absent";
    expect(&folder, &["run-a.trace.json.gz"], &[(absent, 1)]);
    expect(&folder, &["run-b.trace.json.gz"], &[(absent, 0)]);
}
