//! Compares XProf's `pod_viewer` with the `step-breakdown` table, for each activity in each step of each host's GPU.
//!
//! XProf has one row per host. XProf measures a step from its first op to its last. Like our device work, it includes
//! the ops that the host launched in the step. XProf treats every copy that it does not recognise (`MEMCPYPtoP`, all
//! copies of JAX) as compute. In crossprof, these copies are listed by direction.

use std::collections::BTreeMap;

use crate::support::samples;
use crate::support::xprof::{self, Row, number, text};

use crossprof::{Session, TableName};
use serde_json::Value;

/// Numbers of XProf's activities.
const COMPUTE: &str = "1";
const DEVICE_TO_DEVICE: &str = "2";
const COLLECTIVES: &str = "3";
const INPUT: &str = "6";
const OUTPUT: &str = "7";
const OTHERS: &str = "9";

fn golden() -> Value {
    let path = samples::root().join("tests/data/pod/pod_viewer.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Returns our row for each host and step. The number of a host is the position of its file.
fn rows(files: &[&str]) -> BTreeMap<(u64, u64), Row> {
    let mut session = Session::new();
    for (host, file) in files.iter().enumerate() {
        let bytes = std::fs::read(samples::root().join("tests/data").join(file)).unwrap();
        let name = format!("plugins/profile/run1/host{host}.xplane.pb.gz");
        let number = session.begin(&name, Some(bytes.len() as u64));
        session.push(number, &bytes);
        assert_eq!(session.finish(number).error, None);
    }
    assert_eq!(session.runs().len(), 1);
    let steps = xprof::ours(&mut session, &xprof::all(), TableName::StepBreakdown).into_iter();
    let steps = steps.filter(|row| text(row, "kind") == "step");
    let host = |row: &Row| u64::from(text(row, "device_name").starts_with("host1"));
    steps.map(|row| ((host(&row), row["step"].as_u64().unwrap()), row)).collect()
}

/// Returns the sum of some of our columns, in microseconds.
fn sum(row: &Row, columns: &[&str]) -> f64 {
    columns.iter().map(|column| row[*column].as_f64().unwrap_or(0.0)).sum()
}

/// Compares every step of every host. `knows_copies` is true if XProf recognises the names of the copies from and to
/// the host.
fn compare(case: &str, files: &[&str], knows_copies: bool) {
    let (golden, ours) = (golden(), rows(files));
    let theirs = golden[case].as_array().unwrap();
    assert!(theirs.len() >= 5 * files.len(), "{case}: {}", theirs.len());
    for theirs in theirs {
        let place = (theirs["core"].as_u64().unwrap() / 1000, theirs["step"].as_u64().unwrap());
        let ours = &ours[&place];
        let activity = |number: &str| theirs["stepBreakdownUs"][number].as_f64().unwrap();
        let same = |what: &str, theirs: f64, ours: f64| {
            // XProf rounds times to nanoseconds.
            assert!((theirs - ours).abs() < 0.002, "{case} {place:?} {what}: {theirs} is not {ours}");
        };
        same("collectives", activity(COLLECTIVES), sum(ours, &["communication_us"]));
        if knows_copies {
            same("input", activity(INPUT), number(ours, "h2d_us"));
            same("output", activity(OUTPUT), number(ours, "d2h_us"));
            same("device to device", activity(DEVICE_TO_DEVICE), number(ours, "d2d_us"));
            same("compute", activity(COMPUTE), sum(ours, &["compute_us", "p2p_us"]));
        }
        let busy = [COMPUTE, DEVICE_TO_DEVICE, COLLECTIVES, INPUT, OUTPUT].into_iter().map(activity).sum();
        same("busy", busy, number(ours, "device_work_us"));
        same("others", activity(OTHERS), theirs["totalDurationUs"].as_f64().unwrap() - busy);
    }
}

#[test]
fn two_hosts_are_equal_by_activity() {
    compare("pod", &["pod/host0.xplane.pb.gz", "pod/host1.xplane.pb.gz"], true);
}

#[test]
fn steps_of_an_h100_are_equal() {
    compare("train", &["jax-h100/train.xplane.pb.gz"], false);
}

/// Each step of this capture copies its own batch, because the script that recorded the capture calls `device_put` in
/// the step. Another thread launches the copy, so XProf adds it to the step before.
#[test]
fn a_copy_belongs_to_the_step_that_asked_for_it() {
    let (golden, ours) = (golden(), rows(&["jax-h100/input_bound.xplane.pb.gz"]));
    let theirs = golden["input_bound"].as_array().unwrap();
    assert_eq!((theirs.len(), ours.len()), (6, 6));
    for step in 0..6 {
        let all: f64 = theirs[step as usize]["stepBreakdownUs"][COMPUTE].as_f64().unwrap();
        let copy_of_next = ours.get(&(0, step + 1)).map_or(0.0, |next| number(next, "h2d_us"));
        let expected = number(&ours[&(0, step)], "compute_us") + copy_of_next;
        assert!((all - expected).abs() < 0.002, "step {step}: {all} is not {expected}");
        assert!(number(&ours[&(0, step)], "h2d_us") > 600.0);
    }
}
