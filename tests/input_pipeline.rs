//! Tests captures of input pipelines with a stage that is slow on purpose (tests/data/input-pipelines/record.py). The
//! expected values for the stages of each step come from the script's own clock. The expected values for the ops come
//! from XProf's `input_pipeline_analyzer`.

use crate::support;
use crate::support::xprof::{Row, number, text};
use crossprof::report::{InputPipeline, UnifiedProfile};
use crossprof::table::Cell;
use crossprof::{Query, Session, Settings, TableName};
use serde_json::Value;

/// Captures, each with the end of the slow op's name.
const CASES: [(&str, &str); 13] = [
    ("annotated_preprocess.xplane.pb", "preprocess"),
    ("annotated_transfer.xplane.pb", "transfer"),
    ("grain_loader_preprocess.xplane.pb", "_MapDatasetIterator.__next__"),
    ("grain_preprocess.xplane.pb", "Prefetch._getitem"),
    ("grain_read.xplane.pb", "SourceMapDataset.__getitem__"),
    ("tfdata_preprocess.xplane.pb", "::MapAndBatch"),
    ("tfdata_read.xplane.pb", "::Generator"),
    ("tfdata_second_map.xplane.pb", "Iterator::Root::Prefetch::Map"),
    ("threads_fast.xplane.pb", ""),
    ("threads_read.xplane.pb", "read"),
    ("torch_preprocess.json", "preprocess"),
    ("torch_workers.json", ""),
    ("unannotated_batch.xplane.pb", "call (record.py:47)"),
];

fn data(name: &str) -> std::path::PathBuf {
    support::samples::root().join("tests/data/input-pipelines").join(name)
}

fn json(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(data(name)).unwrap()).unwrap()
}

fn open(name: &str) -> Session {
    support::xprof::open(&data(&format!("{name}.gz")))
}

fn case(name: &str) -> &str {
    name.split('.').next().unwrap()
}

fn profile(name: &str) -> UnifiedProfile {
    open(name).report(0, &Settings::default()).unwrap()
}

fn rows(session: &mut Session, settings: &Settings, name: TableName, form: &str) -> Vec<Row> {
    let table = session.table(0, settings, name, form, &Query::default()).unwrap();
    let value = |cell: &Cell| serde_json::to_value(cell).unwrap();
    let row = |row: &Vec<Cell>| {
        table.columns.iter().zip(row).map(|(column, cell)| (column.key.to_owned(), value(cell))).collect()
    };
    table.rows.iter().map(row).collect()
}

fn pipeline(name: &str) -> InputPipeline {
    profile(name).input_pipeline.expect(name)
}

#[test]
fn the_slow_stage_limits() {
    let mut checked = 0;
    for (name, op) in CASES {
        let truth = json(&format!("{}.truth.json", case(name)));
        let Some(slow) = truth["slow"].as_str() else { continue };
        let found = pipeline(name);
        let (stage, limiting) = (found.limiting_stage.unwrap(), found.limiting_op.unwrap());
        // The trace does not contain the work of worker processes.
        if name.starts_with("torch_workers") {
            assert_eq!((stage.as_str(), found.stages.len()), ("wait", 1), "{name}");
            assert!(limiting.starts_with("enumerate(DataLoader)"), "{limiting}");
            continue;
        }
        assert_eq!(stage, slow, "{name}: {limiting}");
        assert!(limiting.ends_with(op), "{name}: {limiting}");
        assert!(found.chain.len() > 1 || slow == "transfer", "{name}: {:?}", found.chain);
        checked += 1;
    }
    assert_eq!(checked, 11);
}

/// Compares each step that the script measured, with its stages. In tf.data, a function waits for Python's lock before the
/// script's clock starts.
#[test]
fn stages_of_each_step_equal_the_scripts_clock() {
    let mut compared = 0;
    for (name, _) in CASES.into_iter().filter(|(name, _)| !name.starts_with("torch")) {
        let mut session = open(name);
        let steps = rows(&mut session, &Settings::default(), TableName::InputPipeline, "steps");
        let truth = json(&format!("{}.truth.json", case(name)));
        // A stage that began before the capture is not in the trace.
        for (index, row) in truth["steps"].as_array().unwrap().iter().enumerate().skip(1) {
            let step = steps.iter().find(|step| text(step, "step_name") == index.to_string()).unwrap();
            let ms = |key: &str| row[key].as_f64();
            let near = |what: &str, found_us: f64, truth_ms: f64| {
                let (found, slack) = (found_us / 1e3, if name.starts_with("tfdata") { 2.5 } else { 0.75 });
                assert!((found - truth_ms).abs() < slack, "{name} step {index}: {what} {found} is not {truth_ms}");
            };
            // The devices, and not the host, end the last step.
            if index + 1 < truth["steps"].as_array().unwrap().len() {
                for stage in ["read", "preprocess", "batch", "transfer"] {
                    // tf.data classifies the second map as preprocessing.
                    let is_second = name.contains("second") && (stage == "batch" || stage == "preprocess");
                    // Nothing marks this stage.
                    let is_bare = name.starts_with("unannotated") && stage == "transfer";
                    let Some(time) = ms(&format!("{stage}_ms")).filter(|_| !is_second && !is_bare) else { continue };
                    // The runtime also copies the batch.
                    let found = number(step, &format!("{stage}_us"));
                    near(stage, if stage == "transfer" { found.min(1e3 * time) } else { found }, time);
                    compared += 1;
                }
            }
            // The step table and the breakdown have the same value.
            let wait = number(step, "input_bound_us");
            assert!(wait <= number(step, "held_us") + 1e-6, "{name} step {index}");
        }
    }
    assert!(compared > 150, "{compared}");
}

#[test]
fn the_wait_is_that_of_the_step_breakdown() {
    for (name, _) in CASES.into_iter().filter(|(name, _)| !name.starts_with("torch")) {
        let mut session = open(name);
        let steps = rows(&mut session, &Settings::default(), TableName::InputPipeline, "steps");
        let breakdown = rows(&mut session, &Settings::default(), TableName::StepBreakdown, "");
        let mut of_one_device = breakdown.iter().filter(|row| text(row, "kind") == "step");
        for step in &steps {
            let row = of_one_device.next().unwrap();
            assert_eq!(number(step, "input_bound_us"), number(row, "input_bound_us"), "{name}");
            assert_eq!(number(step, "duration_us"), number(row, "duration_us"), "{name}");
        }
        assert!(steps.len() >= 8, "{name}");
    }
}

/// If devices get their batches in time, they do not wait.
#[test]
fn a_fast_pipeline_is_no_finding() {
    let found = profile("threads_fast.xplane.pb");
    let breakdown = found.step_breakdown.as_ref().unwrap();
    let share = 100.0 * breakdown.parts.input_bound_us.unwrap() / breakdown.duration_us;
    assert!(share < 2.0, "{share}");
    assert!(found.findings.iter().all(|it| it.id != "data_loading"), "{:?}", found.findings);
    let slow = profile("threads_read.xplane.pb");
    let finding = slow.findings.iter().find(|it| it.id == "data_loading").unwrap();
    assert!(finding.message.contains("The slowest stage is read"), "{}", finding.message);
}

/// Compares the count, the times and the category of each op that XProf lists, over the whole capture.
#[test]
fn ops_equal_xprofs() {
    let mut compared = 0;
    for (name, _) in CASES {
        let Ok(file) = std::fs::read_to_string(data(&format!("{}.xprof.json", case(name)))) else { continue };
        let golden: Value = serde_json::from_str(&file).unwrap();
        let mut session = open(name);
        let ops = rows(&mut session, &support::xprof::all(), TableName::InputPipeline, "ops");
        let mut of_category: std::collections::BTreeMap<String, f64> = std::collections::BTreeMap::new();
        for row in golden["rows"].as_array().unwrap() {
            let (name_of_op, self_ms) = (row["opName"].as_str().unwrap(), row["selfTimeInMs"].as_f64().unwrap());
            // Several places in the program have the same name.
            let distance = |op: &Row| (number(op, "self_time_us") / 1e3 - self_ms).abs();
            let same = ops.iter().filter(|op| text(op, "name") == name_of_op);
            let op = same.min_by(|a, b| distance(a).total_cmp(&distance(b))).expect(name_of_op);
            for (theirs, ours, factor) in [
                ("count", "count", 1.0),
                ("timeInMs", "total_time_us", 1e-3),
                ("selfTimeInMs", "self_time_us", 1e-3),
                ("timeInPercent", "total_time_percent", 1e-2),
                ("selfTimeInPercent", "self_time_percent", 1e-2),
            ] {
                let (theirs_value, ours_value) = (row[theirs].as_f64().unwrap(), factor * number(op, ours));
                let near = (theirs_value - ours_value).abs() <= 1e-6 * theirs_value.abs().max(1e-3);
                assert!(near, "{name} {name_of_op}: {theirs} {theirs_value} is not {ours_value}");
                compared += 1;
            }
            assert_eq!(text(op, "category"), row["category"].as_str().unwrap(), "{name} {row}");
            *of_category.entry(text(op, "category").to_owned()).or_insert(0.0) += number(op, "self_time_us");
        }
        let report = session.report(0, &support::xprof::all()).unwrap();
        for (category, key, ours) in sums(report.input_pipeline.as_ref().unwrap()) {
            let (theirs, ours): (f64, f64) = (golden["p"][key].as_str().unwrap().parse().unwrap(), ours.unwrap());
            assert!((theirs - ours).abs() < 0.01, "{name}: {key} {theirs} is not {ours}");
            let listed = of_category.get(category).copied().unwrap_or(0.0);
            assert!((listed - ours).abs() < 0.01, "{name}: {category} {listed} is not {ours}");
        }
    }
    assert!(compared > 100, "{compared}");
}

/// For each category of XProf, returns its name, XProf's id for its time, and our time.
fn sums(found: &InputPipeline) -> [(&'static str, &'static str, Option<f64>); 4] {
    [
        ("Enqueue", "enqueue_us", found.enqueue_us),
        ("Demanded file read", "demanded_file_read_us", found.demanded_file_read_us),
        ("Advanced file read", "advanced_file_read_us", found.advanced_file_read_us),
        ("Preprocessing", "preprocessing_us", found.preprocessing_us),
    ]
}

/// Compares the input of each step with XProf, on synthetic captures (tests/data/xprof_steps.py). On a GPU, XProf
/// leaves out the first and the last step.
#[test]
fn input_of_each_step_equals_xprofs() {
    for (name, theirs, ours, other, count) in [
        ("steps_gpu", "infeedTimeMs", "input_us", "host_transfer_us", 6),
        ("steps_tpu", "hostTransferTimeMs", "host_transfer_us", "input_us", 8),
    ] {
        let golden = json(&format!("{name}.xprof.json"));
        let mut session = open(&format!("{name}.xplane.pb"));
        let steps = rows(&mut session, &support::xprof::all(), TableName::InputPipeline, "steps");
        let expected = golden["steps"].as_array().unwrap();
        assert_eq!((steps.len(), expected.len()), (8, count), "{name}");
        for row in expected {
            let step = steps.iter().find(|step| text(step, "step_name") == row["stepnum"].as_str().unwrap()).unwrap();
            let (theirs, ours) = (1e3 * row[theirs].as_f64().unwrap(), number(step, ours));
            assert!(theirs > 10.0 && (theirs - ours).abs() < 1e-6, "{name}: {theirs} is not {ours}");
            assert!(step[other].is_null(), "{name}");
        }
        // XProf scales the time of the ops to 0 if devices copy from the host: the capture contains it.
        let report = session.report(0, &support::xprof::all()).unwrap();
        let preprocessing = report.input_pipeline.as_ref().unwrap().preprocessing_us.unwrap();
        let listed = 1e3 * golden["rows"][0]["selfTimeInMs"].as_f64().unwrap();
        assert!((preprocessing - listed).abs() < 1e-3, "{name}: {preprocessing} is not {listed}");
        let scaled: f64 = golden["p"]["preprocessing_us"].as_str().unwrap().parse().unwrap();
        assert_eq!(scaled == 0.0, name == "steps_gpu", "{name}");
    }
}

/// On an H100, JAX names copies from the host `MemcpyH2D`. Each step copies one batch, which takes most of the step's input.
#[test]
fn copies_of_jax_are_input() {
    let path = support::samples::root().join("tests/data/jax-h100/input_bound.xplane.pb.gz");
    let mut session = support::xprof::open(&path);
    let breakdown = rows(&mut session, &Settings::default(), TableName::StepBreakdown, "");
    let steps = rows(&mut session, &Settings::default(), TableName::InputPipeline, "steps");
    assert_eq!(steps.len(), 6);
    for step in &steps {
        let same = |row: &&Row| text(row, "kind") == "step" && row["step"] == step["step"];
        let row = breakdown.iter().find(same).unwrap();
        let expected = number(row, "input_bound_us") + number(row, "h2d_us");
        assert!((number(step, "input_us") - expected).abs() < 1e-6 && number(row, "h2d_us") > 500.0, "{row:?}");
    }
}
