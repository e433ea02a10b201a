//! Tests captures of JAX on the CPU that contain mixtures of experts with a planted imbalance (tests/data/experts). The
//! expected values are the number of tokens of each expert, or the work of each device by the recording script's clock.

use crate::support::{samples, xprof};

use crossprof::report::{Confidence, Experts};
use crossprof::{Settings, TableName};
use serde_json::Value;

fn open(case: &str) -> (Experts, Vec<xprof::Row>, Vec<f64>) {
    let root = samples::root().join("tests/data/experts");
    let truth: Value =
        serde_json::from_slice(&std::fs::read(root.join(format!("{case}.truth.json"))).unwrap()).unwrap();
    let truth = truth["tokens"].as_array().or(truth["work_us"].as_array()).unwrap();
    let mut session = xprof::open(&root.join(format!("{case}.xplane.pb.gz")));
    let settings = Settings::default();
    let experts = session.report(0, &settings).unwrap().experts.unwrap();
    let rows = xprof::ours(&mut session, &settings, TableName::Experts);
    (experts, rows, truth.iter().map(|it| it.as_f64().unwrap()).collect())
}

fn imbalance(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().copied().fold(0.0, f64::max) / mean
}

#[test]
fn shapes_give_the_tokens_of_each_expert() {
    let (experts, rows, truth) = open("shapes");
    let tokens: Vec<f64> = rows.iter().map(|row| xprof::number(row, "tokens")).collect();
    assert_eq!(tokens, truth);
    assert_eq!(experts.num_experts, Some(truth.len() as u64));
    let found = experts.token_max_to_mean.unwrap();
    assert!((found - imbalance(&truth)).abs() < 1e-9, "{found}");
    assert_eq!((experts.confidence, experts.device_max_to_mean), (Confidence::High, None));
    // The expert with three times the tokens takes most of the time.
    assert!(experts.expert_max_to_mean.unwrap() > 1.6, "{experts:?}");
}

#[test]
fn times_give_the_work_of_each_device() {
    let (experts, rows, truth) = open("devices");
    assert_eq!((rows.len(), experts.confidence), (truth.len(), Confidence::High));
    // Each tile also takes the time that a callback needs to begin and end.
    for (row, truth) in rows.iter().zip(&truth) {
        let more = xprof::number(row, "time_us") / truth;
        assert!((1.0..1.5).contains(&more), "{row:?}: {more}");
    }
    let found = experts.device_max_to_mean.unwrap();
    assert!((found - imbalance(&truth)).abs() < 0.2, "{found} instead of {}", imbalance(&truth));
    assert!(experts.evidence.contains("CPU:3"), "{}", experts.evidence);
}
