//! Tests captures of three hosts whose clocks are unrelated (tests/data/host-clocks). The script that made the captures
//! chose the offset of each clock.

use crate::support::samples;
use crate::support::xprof::{self, number, text};

use crossprof::{Session, Settings, TableName};
use serde_json::Value;

const HOSTS: [&str; 3] = ["host0", "host1", "host2"];

fn open(case: &str) -> Session {
    let mut session = Session::new();
    for host in HOSTS {
        let path = samples::root().join(format!("tests/data/host-clocks/{case}/{host}.trace.json.gz"));
        let bytes = std::fs::read(path).unwrap();
        let file = session.begin(&format!("plugins/profile/run1/{host}.trace.json.gz"), Some(bytes.len() as u64));
        session.push(file, &bytes);
        assert_eq!(session.finish(file).error, None);
    }
    assert_eq!(session.runs().len(), 1);
    session
}

fn truth(case: &str) -> Value {
    let path = samples::root().join(format!("tests/data/host-clocks/{case}.truth.json"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Returns the alignment errors of the last two hosts in microseconds. The error of a host is how much later its first
/// collective ends than the first host's collective in the same step.
fn errors(case: &str, session: &mut Session) -> [f64; 2] {
    let rows = xprof::ours(session, &xprof::all(), TableName::Events);
    let truth = truth(case);
    let ends = |host: &str| -> Vec<f64> {
        let is_collective = |name: &str| name == "all-reduce.0" || name.starts_with("nccl");
        let own = rows.iter().filter(|row| {
            let device = text(row, "process");
            device.contains(host) && device.ends_with(":0") && is_collective(text(row, "name"))
        });
        let mut ends: Vec<f64> = own.map(|row| number(row, "start_us") + number(row, "duration_us")).collect();
        ends.sort_by(f64::total_cmp);
        ends
    };
    let first = ends(HOSTS[0]);
    [1, 2].map(|host| {
        let per_step = if case == "steps" { 1 } else { 2 };
        let before = per_step * truth["first_step"][host].as_u64().unwrap() as usize;
        ends(HOSTS[host])[0] - first[before]
    })
}

fn warning(session: &mut Session) -> String {
    let report = session.report(0, &Settings::default()).unwrap();
    let found = report.warnings.iter().find(|it| it.code.as_str() == "host_clocks_not_aligned");
    found.expect("the clocks are unrelated").message.clone()
}

#[test]
fn collectives_align_hosts_more_precisely_than_steps() {
    for case in ["steps", "nccl"] {
        let mut session = open(case);
        let message = warning(&mut session);
        assert!(message.contains("shared runs of a collective"), "{case}: {message}");
        // The ends differ by at most the jitter that the script added, and the hosts' steps by up to 580 us.
        let jitter = truth(case)["end_jitter_us"].as_f64().unwrap();
        for error in errors(case, &mut session) {
            assert!(error.abs() <= 2.0 * jitter, "{case}: {error}");
        }
        let stated = message.split("agree within ").nth(1).unwrap().split(' ').next().unwrap();
        let stated: f64 = stated.parse().unwrap();
        assert!(message.contains(" ns (") || (stated > 0.0 && stated <= 2.0 * jitter), "{case}: {message}");
    }
}

#[test]
fn steps_of_equal_length_do_not_show_which_run_is_the_first() {
    let mut session = open("periodic");
    let message = warning(&mut session);
    assert!(message.contains("the first device event of each; the error of this alignment is unknown"), "{message}");
}
