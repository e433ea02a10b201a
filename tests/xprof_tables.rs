//! XProf's own tables against ours, row by row and column by column, for every trace that has them.
//!
//! XProf is right on TPUs: every value that both have must agree. On GPUs its rows are compared where it has a value at all
//! (it knows no cost of library calls), and what differs on purpose is printed with the reason.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crossprof::table::{Cell, Table};
use crossprof::{Query, Session, Settings, TableName};
use serde_json::Value;

/// Largest relative difference.
const TOLERANCE: f64 = 1e-6;

const TRACES: [&str; 5] =
    ["tpu-v6e-4chip", "mi300x-8gpu-conv", "mi300x-elementwise", "gfx950-te-attention", "gtx1080ti-2gpu"];

/// A row by column.
type Row = BTreeMap<String, Value>;

fn traces() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/traces");
    std::env::var_os("CROSSPROF_TRACES").map_or(beside, PathBuf::from)
}

/// A folder's profile as a session, and what XProf's `tool` printed for it; says so and gives `None` where it is absent.
fn read(folder: &str, tool: &str) -> Option<(Session, Value)> {
    let folder = traces().join(folder);
    let Ok(expected) = std::fs::read_to_string(folder.join(format!("xprof/{tool}.json"))) else {
        eprintln!("skipped: no {tool} of XProf in {}", folder.display());
        return None;
    };
    let mut files = std::fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.path());
    let file = files.find(|path| path.to_string_lossy().ends_with(".xplane.pb")).unwrap();
    let mut session = Session::new();
    let id = session.begin("profile.xplane.pb", None);
    session.push(id, &std::fs::read(file).unwrap());
    session.finish(id);
    session.runs();
    Some((session, serde_json::from_str(&expected).unwrap()))
}

/// The rows of one of XProf's data tables.
fn rows(table: &Value) -> Vec<Row> {
    let columns: Vec<&str> = table["cols"].as_array().unwrap().iter().map(|c| c["id"].as_str().unwrap()).collect();
    let row = |row: &Value| {
        let cells = row["c"].as_array().unwrap();
        columns.iter().zip(cells).map(|(&id, cell)| (id.to_owned(), cell["v"].clone())).collect()
    };
    table["rows"].as_array().unwrap().iter().map(row).collect()
}

fn ours(session: &mut Session, name: TableName) -> Vec<Row> {
    let table = session.table(0, &Settings::default(), name, "", &Query::default()).unwrap();
    let Table { columns, rows, .. } = table;
    let value = |cell: &Cell| serde_json::to_value(cell).unwrap();
    rows.iter().map(|row| columns.iter().zip(row).map(|(c, cell)| (c.key.to_owned(), value(cell))).collect()).collect()
}

fn number(row: &Row, key: &str) -> f64 {
    row[key].as_f64().unwrap_or(0.0)
}

fn text<'r>(row: &'r Row, key: &str) -> &'r str {
    row[key].as_str().unwrap_or("")
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= TOLERANCE * a.abs().max(b.abs())
}

/// `(XProf's column, ours)` of the numbers of hlo_stats.
const NUMBERS: [(&str, &str); 14] = [
    ("occurrences", "occurrences"),
    ("total_time", "total_time_us"),
    ("avg_time", "avg_time_us"),
    ("total_self_time", "total_self_time_us"),
    ("avg_self_time", "avg_self_time_us"),
    ("total_self_time_percent", "total_self_time_percent"),
    ("cumulative_total_self_time_percent", "cumulative_total_self_time_percent"),
    ("model_flop_rate", "model_flop_rate_gflops"),
    ("normalized_flop_rate", "measured_flop_rate_gflops"),
    ("measured_memory_bw", "measured_memory_bw_gibps"),
    ("hbm_bw", "hbm_bw_gibps"),
    ("cmem_read_bw", "cmem_read_bw_gibps"),
    ("cmem_write_bw", "cmem_write_bw_gibps"),
    ("operational_intensity", "operational_intensity"),
];

#[test]
fn hlo_stats() {
    for folder in TRACES {
        let Some((mut session, expected)) = read(folder, "hlo_stats") else { continue };
        let ours = ours(&mut session, TableName::Ops);
        let is_tpu = folder.starts_with("tpu");
        let expected: Vec<Row> = rows(&expected).into_iter().filter(|row| text(row, "hlo_op_name") != "IDLE").collect();
        let (mut compared, mut on_purpose) = (0, 0);
        for theirs in &expected {
            let name = text(theirs, "hlo_op_name");
            let same = |row: &&Row| {
                text(row, "program_id") == text(theirs, "program_id")
                    && text(row, "hlo_op_name") == name
                    && (!is_tpu || text(row, "hlo_op_expression") == text(theirs, "hlo_op_expression"))
            };
            let row = ours.iter().find(same).unwrap_or_else(|| panic!("{folder}: no row {name}"));
            let launches = number(row, "occurrences") / number(row, "executions");
            for (key, our_key) in NUMBERS {
                let (wanted, found) = (number(theirs, key), number(row, our_key));
                // Where equal self times can change places, or ops that XProf leaves out come in between.
                let is_order = key.starts_with("cumulative");
                let is_share = key.ends_with("_percent");
                if close(wanted, found) {
                    compared += 1;
                } else if !is_tpu && (is_order || is_share) {
                    on_purpose += 1;
                } else if !is_tpu && launches > 1.0 && close(wanted, found * launches) {
                    // XProf takes each kernel of a library call for the whole call: its rates are too high by so much.
                    on_purpose += 1;
                    println!(
                        "{folder}: {name}: {key} is {wanted} in XProf, which counts {launches} kernels a call: {found}"
                    );
                } else if !is_tpu && key == "hbm_bw" && close(number(theirs, "measured_memory_bw"), found * launches) {
                    // A GPU's operands are all in its main memory; XProf's own total for the same op says so too.
                    on_purpose += 1;
                    println!(
                        "{folder}: {name}: hbm_bw is {wanted} in XProf, less than its measured_memory_bw: {found}"
                    );
                } else if !is_tpu && wanted == 0.0 {
                    // XProf does not look into library calls.
                    assert_eq!(text(row, "cost_source"), "from shapes", "{folder} {name} {key}: {found}");
                    on_purpose += 1;
                    println!("{folder}: {name}: {key} is 0 in XProf, {found} from the shapes of the library call");
                } else if !is_tpu && wanted > 0.0 && text(row, "cost_source") == "from shapes" {
                    on_purpose += 1;
                    println!(
                        "{folder}: {name}: {key} is {wanted} in XProf, {found} from the shapes of the library call"
                    );
                } else {
                    panic!("{folder}: {name}: {key} is {wanted} in XProf and {found} here");
                }
            }
            for key in ["category", "hlo_op_name", "program_id"] {
                assert_eq!(text(theirs, key), text(row, key), "{folder}: {name}");
                compared += 1;
            }
            let path = |row| text(row, "tf_op_name").trim_end_matches(':').to_owned();
            if !is_tpu && path(theirs).is_empty() {
                // XProf shows the path only of kernels whose event carries it; the instruction in the HLO always does.
                on_purpose += u32::from(!path(row).is_empty());
            } else {
                assert_eq!(path(theirs), path(row), "{folder}: {name}");
            }
            let rematerialized = if row["hlo_rematerialization"] == true { "Yes" } else { "No" };
            assert_eq!(text(theirs, "hlo_rematerialization"), rematerialized, "{folder}: {name}");
        }
        if is_tpu {
            assert_eq!((expected.len(), on_purpose), (ours.len(), 0), "{folder}");
        }
        println!("{folder}: {} rows, {compared} values equal, {on_purpose} differ on purpose", expected.len());
    }
}

/// The op profile by program and category: raw times, occurrences, and the whole with idle time.
#[test]
fn op_profile() {
    for folder in TRACES {
        let Some((mut session, expected)) = read(folder, "op_profile") else { continue };
        let report = session.report(0, &Settings::default()).unwrap();
        let found = report.op_statistics.unwrap();
        let whole_ps = number_of(&expected["byProgram"]["metrics"]["rawTime"]);
        assert!(
            close(found.device_time_us * 1e6, whole_ps),
            "{folder}: {} us, XProf {whole_ps} ps",
            found.device_time_us
        );
        let ours = ours(&mut session, TableName::OpTree);
        let mut compared = 0;
        for program in expected["byProgramExcludeIdle"]["children"].as_array().unwrap() {
            let name = program["name"].as_str().unwrap();
            for category in program["children"].as_array().unwrap() {
                let path = format!("run/{name}/{}", category["name"].as_str().unwrap());
                let row = ours.iter().find(|row| text(row, "path") == path && row["hlo_op_name"].is_null());
                let row = row.unwrap_or_else(|| panic!("{folder}: no node {path}"));
                let wanted_us = number_of(&category["metrics"]["rawTime"]) * 1e-6;
                let found_us = number(row, "total_self_time_us");
                assert!(close(wanted_us, found_us), "{folder}: {path}: {found_us} us, XProf {wanted_us}");
                assert_eq!(
                    number_of(&category["metrics"]["occurrences"]),
                    number(row, "occurrences"),
                    "{folder}: {path}"
                );
                compared += 2;
            }
        }
        assert!(compared > 0, "{folder}");
        println!("{folder}: op_profile: {compared} values of its categories and the whole time equal");
    }
}

/// XProf writes large numbers as text.
fn number_of(value: &Value) -> f64 {
    value.as_f64().or_else(|| value.as_str()?.parse().ok()).unwrap_or(0.0)
}
