//! Tests captures of pipeline-parallel programs that ran with JAX on the CPU (tests/data/pipelines). The expected
//! values are the times for which the recording script let each stage sleep, and the step times by the script's own
//! clock.

use crate::support::{samples, xprof};

use crossprof::report::{Confidence, Pipeline};
use crossprof::{Settings, TableName};
use serde_json::Value;

fn open(case: &str) -> (Pipeline, Vec<xprof::Row>, Value) {
    let root = samples::root().join("tests/data/pipelines");
    let truth = serde_json::from_slice(&std::fs::read(root.join(format!("{case}.truth.json"))).unwrap()).unwrap();
    let mut session = xprof::open(&root.join(format!("{case}.xplane.pb.gz")));
    let settings = Settings::default();
    let pipeline = session.report(0, &settings).unwrap().pipeline.unwrap();
    (pipeline, xprof::ours(&mut session, &settings, TableName::Pipeline), truth)
}

#[test]
fn bubbles_are_the_time_without_work() {
    for case in ["gpipe", "1f1b", "equal_names", "loop", "loop_without_skips"] {
        let (found, rows, truth) = open(case);
        let number = |key: &str| truth[key].as_f64().unwrap();
        assert_eq!(found.num_stages as f64, number("stages"), "{case}");
        assert_eq!(rows.len() as u64, found.num_stages, "{case}");
        assert_eq!(found.num_microbatches.map(|count| count as f64), Some(number("microbatches")), "{case}");
        assert_eq!(found.num_steps as f64, number("steps"), "{case}");
        // A stage also works while a callback begins and ends.
        let step = 100.0 * (found.span_us / number("step_us") - 1.0);
        assert!(step.abs() < 1.0, "{case}: step {step} %");
        let bubble = found.bubble_percent - number("bubble_percent");
        assert!((-2.5..0.2).contains(&bubble), "{case}: bubble {bubble}");
        for row in &rows {
            let work = 100.0 * (xprof::number(row, "work_us") / number("work_us") - 1.0);
            assert!((-0.5..3.5).contains(&work), "{case}: work {work} %");
        }
    }
}

#[test]
fn the_form_of_the_pipeline_and_its_confidence() {
    let of = |case: &str| {
        let (found, ..) = open(case);
        (found.kind, found.schedule.unwrap_or_default(), found.confidence)
    };
    let expect = |kind: &str, schedule: &str, confidence| (kind.to_owned(), schedule.to_owned(), confidence);
    assert_eq!(of("gpipe"), expect("programs", "gpipe", Confidence::High));
    assert_eq!(of("equal_names"), expect("programs", "gpipe", Confidence::High));
    assert_eq!(of("1f1b"), expect("programs", "1f1b", Confidence::High));
    assert_eq!(of("loop"), expect("loop", "", Confidence::High));
    assert_eq!(of("loop_without_skips"), expect("loop", "", Confidence::Medium));
}

#[test]
fn the_steps_of_a_run_without_markers_are_those_of_its_pipeline() {
    for case in ["gpipe", "1f1b", "equal_names"] {
        let root = samples::root().join("tests/data/pipelines");
        let (_, _, truth) = open(case);
        let mut session = xprof::open(&root.join(format!("{case}.xplane.pb.gz")));
        let timing = session.report(0, &Settings::default()).unwrap().step_timing.clone();
        assert_eq!(timing.step_count_source, "pipeline", "{case}");
        assert_eq!(Some(timing.num_steps), truth["steps"].as_u64(), "{case}");
        assert_eq!(timing.devices_in_step.as_deref(), Some("together"), "{case}");
        // The script prepares a step after it has ended the previous one.
        let error = 100.0 * (timing.avg_step_time_us.unwrap() / truth["step_us"].as_f64().unwrap() - 1.0);
        assert!((-0.5..1.5).contains(&error), "{case}: {error} %");
    }
}
