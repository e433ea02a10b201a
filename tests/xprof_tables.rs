//! Compares XProf's tables with crossprof's tables, row by row and column by column, for every trace that has XProf's
//! output.
//!
//! XProf is correct on TPUs, so every value that both tools have must agree. On GPUs, values are compared if XProf has
//! them. XProf has no costs for library calls. The test prints intentional differences with their reasons.

use crate::support;
use crate::support::xprof::{
    Comparison, HOST_LINK, OVERLAP, Row, close, crosses_host_link, folders, number, number_of, overlaps, read, rows,
    text,
};
use crossprof::TableName;
use serde_json::Value;

fn ours(session: &mut crossprof::Session, name: TableName) -> Vec<Row> {
    support::xprof::ours(session, &support::xprof::active(), name)
}

/// `(XProf's column, our column)` of the numbers in hlo_stats.
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

const ORDER: &str = "shares of ops around those that XProf leaves out or has twice";
const KERNELS: &str =
    "XProf takes each kernel of a library call for the whole call, which makes its rates so many times too high";
const HBM: &str =
    "XProf's hbm_bw of a GPU's library call is less than its own measured_memory_bw: all operands are in main memory";
const PAIRS: &str = "XProf divides the bytes of an asynchronous pair by the instant of its start, and by the wait alone: here it is the time from \
                     start to end";
/// Rates in XProf's hlo_stats that are bytes divided by time.
const RATES: [&str; 4] = ["measured_memory_bw", "hbm_bw", "cmem_read_bw", "cmem_write_bw"];
const LIBRARY: &str = "XProf does not look into library calls: their cost is from their shapes here";

#[test]
#[ignore = "reads real profiles"]
fn hlo_stats() {
    let folders = folders("hlo_stats");
    assert_eq!(folders.len(), 6);
    let mut rows_compared = 0;
    for folder in folders {
        let (mut session, expected) = read(&folder, "hlo_stats");
        let ours = ours(&mut session, TableName::Ops);
        let is_tpu = folder.starts_with("tpu");
        let expected: Vec<Row> = rows(&expected).into_iter().filter(|row| text(row, "hlo_op_name") != "IDLE").collect();
        let mut comparison = Comparison::new(format!("hlo_stats of {folder}"));
        for theirs in &expected {
            let name = text(theirs, "hlo_op_name");
            let same = |row: &&Row| {
                text(row, "program_id") == text(theirs, "program_id")
                    && text(row, "hlo_op_name") == name
                    && (!is_tpu || text(row, "hlo_op_expression") == text(theirs, "hlo_op_expression"))
            };
            let row = ours.iter().find(same).unwrap_or_else(|| panic!("{folder}: no row {name}"));
            let launches = number(row, "occurrences") / number(row, "executions");
            let from_shapes = text(row, "cost_source") == "from shapes";
            let is_pair = name.contains("-start") || name.contains("-done");
            comparison.rows += 1;
            for (key, our_key) in NUMBERS {
                let (wanted, found) = (number(theirs, key), number(row, our_key));
                // The column differs if ops with equal self times change places, or if ops that XProf omits are between
                // them.
                let is_order = key.starts_with("cumulative");
                let all_bytes = number(theirs, "measured_memory_bw");
                comparison.number(
                    &format!("{name}: {key}"),
                    wanted,
                    found,
                    &[
                        (ORDER, !is_tpu && is_order),
                        (OVERLAP, !is_tpu && overlaps(wanted, found)),
                        (KERNELS, !is_tpu && launches > 1.0 && close(wanted, found * launches)),
                        (HBM, !is_tpu && key == "hbm_bw" && close(all_bytes, found * launches)),
                        (LIBRARY, !is_tpu && from_shapes),
                        (PAIRS, is_pair && RATES.contains(&key)),
                    ],
                );
            }
            // A fraction of 1 in XProf, and 0 if it is unknown.
            let stalled = 100.0 * number(theirs, "dma_stall_percent");
            comparison.number(&format!("{name}: dma_stall_percent"), stalled, number(row, "dma_stall_percent"), &[]);
            if is_tpu {
                let (wanted, found) = (text(theirs, "bound_by"), text(row, "bound_by"));
                comparison.text(&format!("{name}: bound_by"), wanted, found, &[(HOST_LINK, crosses_host_link(row))]);
            }
            for key in ["category", "hlo_op_name", "program_id"] {
                comparison.text(&format!("{name}: {key}"), text(theirs, key), text(row, key), &[]);
            }
            let path = |row| text(row, "tf_op_name").trim_end_matches(':').to_owned();
            let none = !is_tpu && path(theirs).is_empty();
            let reason =
                "XProf shows the path only of kernels whose event carries it: the instruction in the HLO always does";
            comparison.text(&format!("{name}: tf_op_name"), &path(theirs), &path(row), &[(reason, none)]);
            let rematerialized = if row["hlo_rematerialization"] == true { "Yes" } else { "No" };
            comparison.text(&format!("{name}: remat"), text(theirs, "hlo_rematerialization"), rematerialized, &[]);
        }
        if is_tpu {
            let pairs = ours
                .iter()
                .filter(|row| text(row, "category").ends_with("-start") || text(row, "category").ends_with("-done"));
            assert_eq!(expected.len(), ours.len(), "{folder}");
            assert!(comparison.on_purpose() <= RATES.len() * pairs.count(), "{folder}");
        }
        rows_compared += comparison.rows;
        comparison.print();
    }
    assert_eq!(rows_compared, 55);
}

const UNSPLIT: &str = "XProf's op_profile leaves out bytes that the profile does not split by memory: its hlo_stats, as here, takes them for the main memory's";

/// Compares the op profile: every program, category and op with time and occurrences (on TPUs also FLOPs and bytes of the
/// device memory), and the total with idle time.
#[test]
#[ignore = "reads real profiles"]
fn op_profile() {
    let folders = folders("op_profile");
    assert_eq!(folders.len(), 5);
    for folder in folders {
        let (mut session, expected) = read(&folder, "op_profile");
        let found = session.report(0, &support::xprof::active()).unwrap().op_statistics.unwrap();
        let mut comparison = Comparison::new(format!("op_profile of {folder}"));
        let whole_us = number_of(&expected["byProgram"]["metrics"]["rawTime"]) * 1e-6;
        comparison.number("the whole with idle time", whole_us, found.device_time_us, &[]);
        let (tree, ops) = (ours(&mut session, TableName::OpTree), ours(&mut session, TableName::Ops));
        for program in children(&expected["byProgramExcludeIdle"]) {
            let path = format!("run/{}", name_of(program));
            let row = node(&tree, &path, &folder);
            time(&mut comparison, &path, program, row);
            for category in children(program) {
                let path = format!("{path}/{}", name_of(category));
                let row = node(&tree, &path, &folder);
                comparison.rows += 1;
                time(&mut comparison, &path, category, row);
                let occurrences = number_of(&category["metrics"]["occurrences"]);
                comparison.number(&format!("{path}: occurrences"), occurrences, number(row, "occurrences"), &[]);
                if folder.starts_with("tpu") {
                    // XProf gives the FLOPs' fraction of the peak over the whole time. Its page divides that by the node's
                    // fraction of the time.
                    let time = |node: &Value| number_of(&node["metrics"]["rawTime"]);
                    let share = time(category) / time(&expected["byProgramExcludeIdle"]);
                    let theirs = 100.0 * category["metrics"]["flops"].as_f64().unwrap() / share;
                    let found = number(row, "flops_utilization_percent");
                    comparison.number(&format!("{path}: FLOPS utilization"), theirs, found, &[]);
                }
                for op in leaves(category) {
                    leaf(&mut comparison, &folder, name_of(program), op, &ops);
                }
            }
        }
        assert!(comparison.rows > 0 && comparison.on_purpose() < comparison.rows, "{folder}");
        comparison.print();
    }
}

fn children(node: &Value) -> &[Value] {
    node["children"].as_array().map_or(&[], Vec::as_slice)
}

fn name_of(node: &Value) -> &str {
    node["name"].as_str().unwrap()
}

/// Returns the row of a node that is not an op.
fn node<'r>(tree: &'r [Row], path: &str, folder: &str) -> &'r Row {
    let row = tree.iter().find(|row| text(row, "path") == path && row["hlo_op_name"].is_null());
    row.unwrap_or_else(|| panic!("{folder}: no node {path}"))
}

fn time(comparison: &mut Comparison, what: &str, theirs: &Value, ours: &Row) {
    let us = number_of(&theirs["metrics"]["rawTime"]) * 1e-6;
    let found = number(ours, "total_self_time_us");
    let of_gpu = !comparison.name().contains("tpu");
    comparison.number(&format!("{what}: time"), us, found, &[(OVERLAP, of_gpu && overlaps(us, found))]);
}

/// Returns the ops of a category. Groups of identical copies are expanded. Fusions are not expanded, because their
/// parts do not have their own time.
fn leaves(category: &Value) -> Vec<&Value> {
    let ops = children(category).iter();
    ops.flat_map(|op| match name_of(op).ends_with("and its duplicate(s)") {
        true => children(op).iter().collect(),
        false => vec![op],
    })
    .collect()
}

fn leaf(comparison: &mut Comparison, folder: &str, program: &str, op: &Value, ops: &[Row]) {
    let name = name_of(op);
    let same =
        |row: &&Row| text(row, "hlo_op_name") == name && program.contains(&format!("({})", text(row, "program_id")));
    let row = ops.iter().find(same).unwrap_or_else(|| panic!("{folder}: no op {name} of {program}"));
    comparison.rows += 1;
    time(comparison, name, op, row);
    let metrics = &op["metrics"];
    let occurrences = number_of(&metrics["occurrences"]);
    comparison.number(&format!("{name}: occurrences"), occurrences, number(row, "occurrences"), &[]);
    if folder.starts_with("tpu") {
        comparison.number(&format!("{name}: FLOPs"), number_of(&metrics["rawFlops"]), number(row, "flops"), &[]);
        let theirs = number_of(&metrics["rawBytesAccessedArray"][0]);
        let is_pair = name.contains("-start") || name.contains("-done");
        // The rates of a pair use the pair's own time. That time is unknown here, so bytes come from their fraction of
        // all bytes.
        let share = if is_pair { number(row, "hbm_bw_gibps") / number(row, "measured_memory_bw_gibps") } else { 1.0 };
        let bytes = if is_pair {
            share * number(row, "bytes_accessed")
        } else {
            number(row, "hbm_bw_gibps") * number(row, "total_time_us") * 1e-6 * (1u64 << 30) as f64
        };
        let not_split = [(UNSPLIT, theirs == 0.0 && (row["vmem_read_bw_gibps"].is_null() || name.contains("-done")))];
        comparison.number(&format!("{name}: bytes of the main memory"), theirs, bytes, &not_split);
    }
}
