//! Mixtures of experts with a planted imbalance in captures of JAX on the CPU (tests/data/experts). The truth is the number of
//! tokens of each expert, or the work of each device by the recording script's clock.

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
    100.0 * (values.iter().copied().fold(0.0, f64::max) / mean - 1.0)
}

#[test]
fn shapes_give_the_tokens_of_each_expert() {
    for (case, confidence) in [("shapes", Confidence::High), ("padded", Confidence::Low)] {
        let (experts, rows, truth) = open(case);
        let tokens: Vec<f64> = rows.iter().map(|row| xprof::number(row, "tokens")).collect();
        assert_eq!(tokens, truth, "{case}");
        assert_eq!(experts.num_experts, Some(truth.len() as u64));
        let found = experts.token_imbalance_percent.unwrap();
        assert!((found - imbalance(&truth)).abs() < 1e-9, "{case}: {found}");
        assert_eq!((experts.confidence, experts.device_imbalance_percent), (confidence, None), "{case}");
    }
    // The expert with three times the tokens takes most of the time.
    let (experts, ..) = open("shapes");
    assert!(experts.expert_imbalance_percent.unwrap() > 60.0, "{experts:?}");
}

#[test]
fn times_give_the_work_of_each_device() {
    let (experts, rows, truth) = open("devices");
    assert_eq!((rows.len(), experts.confidence), (truth.len(), Confidence::High));
    // Each tile also takes the time in which a callback begins and ends.
    for (row, truth) in rows.iter().zip(&truth) {
        let more = xprof::number(row, "time_us") / truth;
        assert!((1.0..1.5).contains(&more), "{row:?}: {more}");
    }
    let found = experts.device_imbalance_percent.unwrap();
    assert!((found - imbalance(&truth)).abs() < 20.0, "{found} instead of {}", imbalance(&truth));
    assert!(experts.evidence.contains("CPU:3"), "{}", experts.evidence);
}
