//! The kernel table against XProf's `kernel_stats`, row by row, for every real profile that has one. Skipped, visibly,
//! where the profiles are absent.

#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use crossprof::{Cell, Query, Session, Settings, Table, TableName};
use serde_json::Value;
use support::samples;

/// What tells a row of XProf's from another, and its numbers.
type Key = (String, String, String, String);

#[derive(Debug, PartialEq)]
struct Row {
    registers: f64,
    shared_bytes: f64,
    occupancy: f64,
    eligible: bool,
    uses: bool,
    occurrences: f64,
    total: f64,
    mean: f64,
    min: f64,
    max: f64,
}

fn xprof(path: &Path) -> Vec<(Key, Row)> {
    let json: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let ids: Vec<&str> = json["cols"].as_array().unwrap().iter().map(|column| column["id"].as_str().unwrap()).collect();
    let rows = json["rows"].as_array().unwrap().iter().map(|row| {
        let cell = |id: &str| &row["c"][ids.iter().position(|it| *it == id).unwrap()]["v"];
        let text = |id| cell(id).as_str().unwrap().to_owned();
        let number = |id| cell(id).as_f64().unwrap();
        let flag = |id| cell(id).as_bool().unwrap();
        let key = (text("kernel_name"), text("grid_dim"), text("block_dim"), text("op_name"));
        let row = Row {
            registers: number("registers_per_thread"),
            shared_bytes: number("shmem_bytes"),
            occupancy: number("occupancy_pct"),
            eligible: flag("is_op_tensor_core_eligible"),
            uses: flag("is_kernel_using_tensor_core"),
            occurrences: number("occurrences"),
            total: number("total_duration_us"),
            mean: number("avg_duration_us"),
            min: number("min_duration_us"),
            max: number("max_duration_us"),
        };
        (key, row)
    });
    rows.collect()
}

fn table(path: &Path, name: TableName) -> Table {
    let mut session = Session::new();
    let bytes = std::fs::read(path).unwrap();
    let file = session.begin(&path.to_string_lossy(), Some(bytes.len() as u64));
    session.push(file, &bytes);
    assert_eq!(session.finish(file).error, None);
    let run = session.runs()[0].index;
    session.table(run, &Settings::default(), name, "", &Query::default()).unwrap()
}

fn ours(table: &Table) -> BTreeMap<Key, Row> {
    let column = |id: &str| table.columns.iter().position(|column| column.key == id).unwrap_or_else(|| panic!("{id}"));
    let row = |row: &Vec<Cell>| {
        let text = |id| match &row[column(id)] {
            Cell::Text(text) => text.clone(),
            _ => String::new(),
        };
        let number = |id| match row[column(id)] {
            Cell::Int(value) => value as f64,
            Cell::Float(value) => value,
            _ => 0.0,
        };
        let flag = |id| row[column(id)] == Cell::Flag(true);
        let key = (text("kernel_name"), text("grid_dim"), text("block_dim"), text("op_name"));
        let row = Row {
            registers: number("registers_per_thread"),
            shared_bytes: number("shmem_bytes"),
            occupancy: number("occupancy_pct"),
            eligible: flag("is_op_tensor_core_eligible"),
            uses: flag("is_kernel_using_tensor_core"),
            occurrences: number("occurrences"),
            total: number("total_duration_us"),
            mean: number("avg_duration_us"),
            min: number("min_duration_us"),
            max: number("max_duration_us"),
        };
        (key, row)
    };
    let rows: BTreeMap<Key, Row> = table.rows.iter().map(row).collect();
    assert_eq!(rows.len(), table.rows.len(), "rows that cannot be told apart");
    rows
}

/// XProf cuts means to whole nanoseconds.
fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 0.001 || (a - b).abs() <= 1e-6 * b.abs()
}

#[test]
fn every_row_of_xprofs_kernel_stats() {
    let Some(folder) = samples::traces() else { return };
    let expected = samples::files(&folder, &["kernel_stats.json"]);
    assert!(expected.len() >= 5, "{expected:?}");
    let mut compared = 0;
    for path in expected {
        let run = path.parent().unwrap().parent().unwrap();
        let name = run.file_name().unwrap().to_string_lossy().into_owned();
        let profile = samples::files(run, &[".xplane.pb"]).remove(0);
        let table = table(&profile, TableName::Kernels);
        let mut ours = ours(&table);
        for (key, theirs) in xprof(&path) {
            let row = ours.remove(&key).unwrap_or_else(|| panic!("{name}: no row {key:?}"));
            if row.shared_bytes != theirs.shared_bytes {
                // ROCm states group_mem, which XProf does not read.
                assert!(theirs.shared_bytes == 0.0 && theirs.registers == 0.0, "{name}: {key:?}");
                eprintln!(
                    "{name}: {}: shared memory {} bytes by group_mem, XProf 0",
                    &key.0[..20.min(key.0.len())],
                    row.shared_bytes
                );
            }
            assert_eq!((row.registers, row.occupancy), (theirs.registers, theirs.occupancy), "{name}: {key:?}");
            assert_eq!((row.eligible, row.uses), (theirs.eligible, theirs.uses), "{name}: {key:?}");
            for (ours, theirs) in [
                (row.occurrences, theirs.occurrences),
                (row.total, theirs.total),
                (row.mean, theirs.mean),
                (row.min, theirs.min),
                (row.max, theirs.max),
            ] {
                assert!(close(ours, theirs), "{name}: {key:?}: {ours} is not {theirs}");
            }
            compared += 1;
        }
        assert!(ours.is_empty(), "{name}: XProf has no such rows: {ours:?}");
    }
    eprintln!("{compared} rows of kernel_stats compared");
    assert_eq!(compared, 40);
}
