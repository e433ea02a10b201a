//! Compares host activity in a run of JAX's CPU backend without per-op events with sums that a script computed from the
//! events (tests/data/host_only.py).

use std::path::Path;

use crossprof::report::FindingSeverity;
use crossprof::{Session, Settings, TableName, UnifiedProfile};
use serde_json::Value;

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/host-only")
}

fn session() -> Session {
    let bytes = std::fs::read(folder().join("host.trace.json.gz")).unwrap();
    let mut session = Session::new();
    let file = session.begin("host.trace.json.gz", Some(bytes.len() as u64));
    session.push(file, &bytes);
    assert_eq!(session.finish(file).error, None);
    assert_eq!(session.runs().len(), 1);
    session
}

fn profile() -> UnifiedProfile {
    session().report(0, &Settings::default()).unwrap().clone()
}

/// Tolerates rounding errors, because the script sums floating-point microseconds.
fn close(ours: f64, theirs: &Value) -> bool {
    (ours - theirs.as_f64().unwrap()).abs() < 1e-2
}

#[test]
fn threads_spans_and_calls_are_those_of_the_events() {
    let truth: Value = serde_json::from_slice(&std::fs::read(folder().join("truth.json")).unwrap()).unwrap();
    let profile = profile();
    assert_eq!((profile.metadata.platform.as_str(), profile.metadata.num_devices), ("Unknown", 0));
    let host = profile.host_activity.as_ref().unwrap();
    assert_eq!(truth["threads"].as_u64(), Some(host.num_threads));
    assert_eq!(truth["events"].as_u64(), profile.metadata.num_events);
    let spans = truth["spans"].as_array().unwrap();
    assert!(spans.len() == 12 && host.top_spans.len() >= 12, "{}", host.top_spans.len());
    for (theirs, ours) in spans.iter().zip(&host.top_spans) {
        assert_eq!((theirs[0].as_str(), theirs[1].as_u64()), (Some(ours.name.as_str()), Some(ours.occurrences)));
        assert!(close(ours.total_time_us, &theirs[2]), "{ours:?} {theirs}");
        assert!(close(ours.self_time_us, &theirs[3]), "{ours:?} {theirs}");
    }
    let calls: Vec<_> = host.programs.iter().filter(|program| program.activity == "call").collect();
    let theirs = truth["calls"].as_array().unwrap();
    assert_eq!(calls.len(), theirs.len());
    for (theirs, ours) in theirs.iter().zip(calls) {
        assert_eq!((theirs[0].as_str(), theirs[1].as_u64()), (Some(ours.name.as_str()), Some(ours.calls)));
        assert!(close(ours.total_time_us, &theirs[2]), "{ours:?} {theirs}");
    }
    assert!(host.programs.iter().any(|program| program.name == "jit_step" && program.activity == "compile"));
    // Counted with `grep -o`.
    let waits = host.programs.iter().find(|program| program.name == "ThunkExecutor::Execute (wait for completion)");
    assert_eq!(waits.map(|program| (program.activity.as_str(), program.calls)), Some(("execute", 23)));
}

#[test]
fn nothing_is_a_dash() {
    let profile = profile();
    let fired: Vec<&str> = profile.findings.iter().map(|finding| finding.id.as_str()).collect();
    assert!(fired.contains(&"no_device_ops"), "{fired:?}");
    assert!(profile.findings.iter().all(|finding| finding.severity != FindingSeverity::NotChecked));
    let text = crossprof::export::text::report(&profile);
    assert!(text.lines().next().unwrap().contains("host only"), "{text}");
    assert!(!text.contains('–'), "{text}");
    assert!(text.contains("PjitFunction") || text.contains("backend_compile_and_load"), "{text}");
    let mut session = session();
    for name in [TableName::HostOps, TableName::HostThreads, TableName::HostPrograms] {
        let table = session.table(0, &Settings::default(), name, "", &Default::default()).unwrap();
        assert!(table.matched_rows > 0, "{}", name.key());
    }
    let page = session.page(0, &Settings::default(), crossprof::pages::View::Overview, &Default::default()).unwrap();
    assert!(page.blocks.len() >= 5, "{:?}", page.blocks.len());
}
