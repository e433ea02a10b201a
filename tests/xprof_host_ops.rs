//! Compares the `host-ops` table with XProf's `XlaModule` row (the calls that launch kernels), and with sums over a
//! trace JSON. XProf's table of host ops has no rows in any of these profiles.

use crate::support;
use crate::support::samples;
use crate::support::xprof::{Comparison, folders, number, open, ours, read, rows, text};
use crossprof::TableName;

/// Parts of the names of calls that launch kernels.
const CALLS: [&str; 2] = ["LaunchKernel", "Memset"];

#[test]
#[ignore = "reads real profiles"]
fn calls_that_launch_kernels() {
    let mut compared = 0;
    for folder in folders("framework_op_stats") {
        let (mut session, expected) = read(&folder, "framework_op_stats");
        let host_ops = ours(&mut session, &support::xprof::all(), TableName::HostOps);
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
    assert_eq!(compared, 3);
}

/// If XProf had rows, this test would have to compare them.
#[test]
#[ignore = "reads real profiles"]
fn xprof_has_no_host_ops_of_these_programs() {
    let folders = folders("input_pipeline_analyzer");
    assert_eq!(folders.len(), 5);
    for folder in folders {
        let (_, expected) = read(&folder, "input_pipeline_analyzer");
        let (steps, host_ops) = (rows(&expected[1]), rows(&expected[2]));
        assert_eq!((steps.len(), host_ops.len()), (0, 0), "{folder}");
        eprintln!("input_pipeline_analyzer of {folder}: no steps and no host ops in XProf");
    }
}

/// `(name, count, total, self time)` of the first rows, in microseconds. A script summed the events of the JSON, using
/// one stack per thread.
const OF_THE_JSON: [(&str, f64, f64, f64); 10] = [
    ("cuStreamSynchronize", 12.0, 26_572.9, 26_572.9),
    ("FlushSummaryWriter", 1.0, 13_020.5, 13_020.5),
    ("EagerKernelExecute 0", 1.0, 5_085.9, 5_066.9),
    ("ExecutorState::Process", 10.0, 7_390.6, 4_230.9),
    ("TFE_DeleteTensorHandle", 105.0, 1_267.0, 1_267.0),
    (" ?? ", 5.0, 1_102.8, 1_102.8),
    ("GatherV2", 2.0, 828.8, 828.8),
    ("_Send", 3.0, 773.5, 773.5),
    ("DestroyResourceOp", 37.0, 516.1, 516.1),
    ("train_function", 1.0, 5_680.1, 467.4),
];

#[test]
#[ignore = "reads real profiles"]
fn sums_over_the_events_of_a_thread() {
    let mut session = open(&samples::real("pascal-tf-laptop/*.trace.json.gz"));
    let host_ops = ours(&mut session, &support::xprof::all(), TableName::HostOps);
    let mut comparison = Comparison::new("host ops of pascal-tf-laptop");
    for (row, (name, occurrences, total, self_time)) in host_ops.iter().zip(OF_THE_JSON) {
        comparison.rows += 1;
        comparison.text("name", name, text(row, "host_op_name"), &[]);
        for (key, theirs) in [("occurrences", occurrences), ("total_time_us", total), ("total_self_time_us", self_time)]
        {
            comparison.number(&format!("{name}: {key}"), theirs, number(row, key), &[]);
        }
    }
    assert_eq!((comparison.rows, comparison.on_purpose()), (OF_THE_JSON.len(), 0));
    comparison.print();
}
