//! The table `host-ops` against what XProf says of hosts: its `XlaModule` row, which is the calls that launch kernels, and
//! its table of host ops, which has no rows in any of these profiles.

#![allow(clippy::unwrap_used)]

mod support;

use crossprof::{Settings, TableName};
use support::xprof::{Comparison, folders, number, ours, read, rows, text};

/// What the calls have in their names.
const CALLS: [&str; 2] = ["LaunchKernel", "Memset"];

#[test]
fn calls_that_launch_kernels() {
    let mut compared = 0;
    for folder in folders("framework_op_stats") {
        let Some((mut session, expected)) = read(&folder, "framework_op_stats") else { continue };
        let host_ops = ours(&mut session, &Settings::default(), TableName::HostOps);
        let theirs = rows(&expected[0]).into_iter().find(|row| text(row, "operation") == "XlaModule");
        let Some(theirs) = theirs.filter(|row| text(row, "host_or_device") == "Host") else { continue };
        let calls = host_ops.iter().filter(|row| {
            let name = text(row, "host_op_name");
            name.starts_with("hip") && CALLS.iter().any(|word| name.contains(word))
        });
        let sum = |key: &str| calls.clone().map(|row| number(row, key)).sum::<f64>();
        let mut comparison = Comparison::new(format!("XlaModule of {folder}"));
        comparison.rows += 1;
        for (key, our_key) in
            [("occurrences", "occurrences"), ("total_time", "total_time_us"), ("total_self_time", "total_self_time_us")]
        {
            comparison.number(key, number(&theirs, key), sum(our_key), &[]);
        }
        assert_eq!(comparison.on_purpose(), 0, "{folder}");
        compared += comparison.rows;
        comparison.print();
    }
    assert!(compared == 0 || compared >= 3, "{compared}");
}

/// Where XProf had rows, they would have to be compared.
#[test]
fn xprof_has_no_host_ops_of_these_programs() {
    for folder in folders("input_pipeline_analyzer") {
        let Some((_, expected)) = read(&folder, "input_pipeline_analyzer") else { continue };
        let (steps, host_ops) = (rows(&expected[1]), rows(&expected[2]));
        assert_eq!((steps.len(), host_ops.len()), (0, 0), "{folder}");
        eprintln!("input_pipeline_analyzer of {folder}: no steps and no host ops in XProf");
    }
}
