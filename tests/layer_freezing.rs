//! Tests which parameters a training step trains. The expected results come from JAX, which compared the arrays before
//! and after a step (tests/data/freezing).

use std::io::Read;
use std::path::PathBuf;

use crossprof::hlo;
use crossprof::metrics::layer_freezing_of;
use serde_json::Value;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/freezing")
}

fn module(case: &str) -> hlo::Module {
    let file = std::fs::File::open(folder().join(format!("{case}.pb.gz"))).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    hlo::read_module(&bytes)
}

#[test]
fn trained_parameters_are_those_that_the_step_changes() {
    let truth: Value = serde_json::from_str(&std::fs::read_to_string(folder().join("truth.json")).unwrap()).unwrap();
    let truth = truth.as_object().unwrap();
    assert!(truth.len() >= 10);
    for (case, expected) in truth {
        let found = layer_freezing_of(&module(case));
        if expected.is_null() {
            // A program without gradients trains nothing, whatever it changes.
            assert_eq!(found, None, "{case}");
            continue;
        }
        let found = found.unwrap_or_else(|| panic!("{case}: nothing was found"));
        let count = |key: &str| expected[key].as_u64();
        if case == "sharded" {
            // Not everything is known about partial programs, but nothing wrong is reported.
            assert!(found.trained_arrays >= 2 && Some(found.trained_arrays) <= count("trained_arrays"), "{found:?}");
            assert!(found.frozen.iter().all(|name| name.starts_with("params['embed']")), "{found:?}");
            assert_eq!((found.trained_params, found.frozen_params), (None, None));
            continue;
        }
        assert_eq!(Some(found.trained_arrays), count("trained_arrays"), "{case}: {found:?}");
        assert_eq!(Some(found.frozen_arrays), count("frozen_arrays"), "{case}: {found:?}");
        assert_eq!(found.trained_params, count("trained_params"), "{case}");
        assert_eq!(found.frozen_params, count("frozen_params"), "{case}");
        let scopes: Vec<&str> = expected["frozen"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
        // An argument that is completely frozen stands for all its scopes.
        if case == "separate_donated" {
            assert_eq!(found.frozen, ["frozen"]);
        } else {
            let names: Vec<String> =
                found.frozen.iter().map(|name| name.split('\'').nth(1).unwrap().to_owned()).collect();
            assert_eq!(names, scopes, "{case}: {found:?}");
        }
        let confidence = if case == "separate_donated" { "medium" } else { "high" };
        assert_eq!(found.confidence, confidence, "{case}");
    }
}

/// The module shares a buffer between an argument and a result only if it was compiled to do so.
#[test]
fn shared_buffers_are_read() {
    let all = |case: &str| {
        let module = module(case);
        (0..8).map(|argument| (0..8usize).filter(|&output| module.is_aliased(output, argument)).count()).sum::<usize>()
    };
    assert_eq!((all("sgd_stopped"), all("sgd_stopped_donated"), all("separate_donated")), (0, 4, 1));
}

#[test]
fn a_damaged_module_gives_no_wrong_results() {
    let file = std::fs::File::open(folder().join("several_steps.pb.gz")).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    for cut in (0..bytes.len()).step_by(97) {
        let _ = layer_freezing_of(&hlo::read_module(&bytes[..cut]));
    }
}
