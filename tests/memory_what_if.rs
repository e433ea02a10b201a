//! Compares what-if estimates with XLA's numbers for a program that was actually changed, and with brute-force counts.

use std::sync::Arc;

use crate::support::{gunzip, samples};
use crossprof::memory::{Change, ChangeError, Classifier, MAIN, ProgramMemory, Taken, WhatIf};
use crossprof::{Query, Session, Settings, TableName};
use serde_json::Value;

/// Calls `look` with a program of the fixture.
fn with<T>(name: &str, look: impl FnOnce(&ProgramMemory, &WhatIf) -> T) -> T {
    let folder = samples::root().join("tests/data/jax-cpu-memory-findings");
    let suffix = format!(".jit_{name}.cpu_after_optimizations.hlo.pb.gz");
    let [path] = samples::files(&folder, &[&suffix]).try_into().unwrap();
    let program = Arc::new(ProgramMemory::read(&gunzip(&std::fs::read(path).unwrap())).unwrap());
    look(&program, &WhatIf::new(&Arc::new(Classifier::new(&program))).unwrap())
}

/// Returns the bytes that XLA reports for arguments, results without a shared buffer, and temporary values.
fn xla(name: &str) -> f64 {
    let path = samples::root().join("tests/data/jax-cpu-memory-findings/expected.json");
    let all: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let figure = |key: &str| all[name][key].as_f64().unwrap();
    figure("argument_size_in_bytes") + figure("output_size_in_bytes") + figure("temp_size_in_bytes")
        - figure("alias_size_in_bytes")
}

/// Returns the error of an estimate in percent.
fn error(estimate: u64, truth: f64) -> f64 {
    100.0 * (estimate as f64 - truth).abs() / truth
}

const SCOPES: [&str; 4] = ["first", "second", "third", "fourth"];

#[test]
fn the_estimate_for_a_larger_batch_matches_the_compiler() {
    with("train", |_, what_if| {
        assert_eq!(what_if.batch_size(), Some(2048));
        let change = Change { batch: Some((2048, 4096)), ..Change::default() };
        let estimate = what_if.peak_with(&change);
        assert!(error(estimate, xla("train_twice")) < 1.0, "{estimate} against {}", xla("train_twice"));
    });
    with("train_twice", |_, what_if| {
        let estimate = what_if.peak_with(&Change::parse("batch=2048", what_if.batch_size()).unwrap());
        assert!(error(estimate, xla("train")) < 1.0, "{estimate} against {}", xla("train"));
    });
}

#[test]
fn estimates_for_donated_parameters_are_close_to_the_compiler() {
    with("train", |_, what_if| {
        let change = Change { donated: (0..8).collect(), ..Change::default() };
        let estimate = what_if.peak_with(&change);
        // The compiler keeps four gradients longer, which the estimate cannot predict.
        assert!(error(estimate, xla("donate")) < 10.0, "{estimate} against {}", xla("donate"));
        assert_eq!(what_if.peak_bytes() - estimate, 8 << 20, "eight parameters of a mebibyte");
    });
}

#[test]
fn estimates_for_rematerialised_blocks_are_close_to_the_compiler() {
    with("train", |_, what_if| {
        let change = Change { rematerialized: SCOPES.map(str::to_owned).to_vec(), ..Change::default() };
        let estimate = what_if.peak_with(&change);
        assert!(error(estimate, xla("remat")) < 5.0, "{estimate} against {}", xla("remat"));
        assert!(estimate < what_if.peak_bytes() / 4 * 3);
        // A single block saves less than all blocks together, and the savings add up.
        for scope in SCOPES {
            let one = what_if.peak_with(&Change { rematerialized: vec![scope.to_owned()], ..Change::default() });
            assert!(one <= what_if.peak_bytes() && one >= estimate, "{scope}: {one}");
        }
    });
}

/// Computes the peak in bytes from every buffer at every event.
fn by_brute_force(taken: &[Taken], events: usize) -> u64 {
    let at = |event: usize| taken.iter().filter(|it| it.start <= event && event < it.end).map(|it| it.bytes).sum();
    (0..events).map(at).max().unwrap()
}

#[test]
fn peaks_are_those_of_a_count_by_brute_force() {
    let mut compared = 0;
    for name in ["train", "train_twice", "remat", "donate", "replicated", "sharded", "baked", "given"] {
        with(name, |program, what_if| {
            let events = program.space(MAIN).unwrap().heap.as_ref().map_or(0, |heap| heap.points.len() - 1).max(1);
            let largest = what_if.largest().into_iter().take(3).map(|live| program.name(live.buffer)).collect();
            let changes = [
                Change::default(),
                Change { without: largest, ..Change::default() },
                Change { rematerialized: vec!["second".to_owned()], ..Change::default() },
                Change { donated: vec![0, 3], batch: Some((2048, 512)), ..Change::default() },
            ];
            for change in changes {
                let peak = what_if.peak_with(&change);
                assert_eq!(peak, by_brute_force(&what_if.taken_with(&change), events), "{name}: {change:?}");
                compared += 1;
            }
            assert_eq!(what_if.peak_with(&Change::default()), what_if.peak_bytes(), "{name}: nothing changed");
        });
    }
    assert_eq!(compared, 32);
}

#[test]
fn changes_are_understood_or_refused() {
    let change = Change::parse(" rematerialize=a, b; donate=1;batch=64 ;without=fusion.3", Some(32)).unwrap();
    assert_eq!(
        (change.rematerialized.len(), change.donated.as_slice(), change.batch),
        (2, [1].as_slice(), Some((32, 64)))
    );
    for text in ["remat=a", "batch", "batch=", "batch=0", "batch=x", "donate=-1", "donate=x"] {
        let refused = Change::parse(text, Some(32)).unwrap_err().to_string();
        assert!(refused.ends_with('.') && !refused.is_empty(), "{text}: {refused}");
    }
    assert_eq!(Change::parse("batch=8", None), Err(ChangeError::UnknownBatch));
}

#[test]
fn the_table_has_a_row_a_change() {
    let folder = samples::root().join("tests/data/jax-cpu-memory-findings");
    let mut session = Session::new();
    for path in samples::files(&folder, &[".hlo.pb.gz"]) {
        let file = session.begin(&format!("dump/{}", path.file_name().unwrap().to_string_lossy()), None);
        session.push(file, &std::fs::read(path).unwrap());
        assert_eq!(session.finish(file).error, None);
    }
    session.runs();
    let mut rows = |form: &str| -> Vec<Value> {
        let table = session.table(0, &Settings::default(), TableName::MemoryWhatIf, form, &Query::default()).unwrap();
        let rows = serde_json::to_value(&table).unwrap().as_array().unwrap().clone();
        rows.into_iter().filter(|row| row["module"].as_str().unwrap().starts_with("jit_train(")).collect()
    };
    let names = |rows: &[Value]| rows.iter().map(|row| row["change"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&rows("argument")).len(), 9, "each of eight parameters, and all of them");
    assert_eq!(names(&rows("batch")), ["batch=512", "batch=1024", "batch=4096", "batch=8192"]);
    assert!(names(&rows("")).contains(&"rematerialize=second".to_owned()));
    // Four results of tanh, three sums, two products, and the gradient of the loss.
    assert_eq!(rows("buffer").len(), 10);
    let both = rows("rematerialize=first,second,third,fourth; donate=0");
    assert_eq!(names(&both), ["rematerialize=first,second,third,fourth; donate=0"]);
    assert!(both[0]["saved_percent"].as_f64().unwrap() > 25.0);
}
