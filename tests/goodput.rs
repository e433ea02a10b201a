//! Tests the capture of a training loop on the CPU that loses time in known ways (tests/data/goodput). The expected
//! value is the lost time by the recording script's clock.

use crate::support::{samples, xprof};

use crossprof::{Settings, TableName};
use serde_json::Value;

#[test]
fn lost_time_has_its_causes() {
    let root = samples::root().join("tests/data/goodput");
    let truth: Value = serde_json::from_slice(&std::fs::read(root.join("losses.truth.json")).unwrap()).unwrap();
    let truth = |key: &str| truth[key].as_f64().unwrap();
    let mut session = xprof::open(&root.join("losses.xplane.pb.gz"));
    let settings = Settings { dollars_per_device_hour: Some(3.0), ..Settings::default() };
    let rows = xprof::ours(&mut session, &settings, TableName::Goodput);
    let time =
        |part: &str| rows.iter().find(|row| xprof::text(row, "part") == part).map(|row| xprof::number(row, "time_us"));
    for part in ["checkpoint", "input", "stall"] {
        let (found, truth) = (time(part).unwrap(), truth(&format!("{part}_us")));
        assert!((found / truth - 1.0).abs() < 0.03, "{part}: {found} instead of {truth}");
    }
    // The script's clock includes tracing and lowering, which are not compilation.
    let compilation = time("compilation").unwrap() + time("outside_steps").unwrap();
    assert!((compilation / truth("compilation_us") - 1.0).abs() < 0.03, "{compilation}");
    assert!(time("compilation").unwrap() > 0.7 * truth("compilation_us"));
    let all: f64 = rows.iter().map(|row| xprof::number(row, "time_us")).sum();
    assert!((all / truth("elapsed_us") - 1.0).abs() < 0.01, "{all}");
    let goodput = session.report(0, &settings).unwrap().goodput.unwrap();
    assert!((goodput.covered_us - all).abs() < 1e-3);
    let lost = all - time("productive").unwrap();
    assert!((goodput.lost_dollars_per_hour.unwrap() - 3.0 * lost / all).abs() < 1e-9);
}
