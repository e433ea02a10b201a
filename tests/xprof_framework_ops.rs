//! Compares XProf's `framework_op_stats` with the `framework-ops` table, row by row, for every trace that has this
//! XProf output.
//!
//! XProf's host rows come from its own preprocessing (`IDLE`, unnamed rows), except `XlaModule`, which
//! `tests/xprof_host_ops.rs` compares.

use crate::support;
use std::collections::{BTreeMap, BTreeSet};

use crate::support::xprof::{
    Comparison, HOST_LINK, OVERLAP, Row, close, folders, number, ours, output, overlaps, read, rows, text,
};
use crossprof::TableName;

/// `(XProf's column, our column, our units per XProf unit)`.
const NUMBERS: [(&str, &str, f64); 11] = [
    ("occurrences", "occurrences", 1.0),
    ("total_time", "total_time_us", 1.0),
    ("avg_time", "avg_time_us", 1.0),
    ("total_self_time", "total_self_time_us", 1.0),
    ("avg_self_time", "avg_self_time_us", 1.0),
    ("device_total_self_time_percent", "device_total_self_time_percent", 100.0),
    ("measured_flop_rate", "measured_flop_rate_gflops", 1.0),
    ("model_flop_rate", "model_flop_rate_gflops", 1.0),
    ("measured_memory_bw", "measured_memory_bw_gibps", 1.0),
    ("operational_intensity", "operational_intensity", 1.0),
    ("gpu_tensorcore_utilization", "gpu_tensorcore_utilization_percent", 100.0),
];

const PAIRS: &str =
    "XProf divides the bytes of an asynchronous pair by the time of each op: here it is the time from start to end";

/// Returns XProf's path for one of crossprof's ops. The path is empty if the op has none, and `None` if XProf omits the
/// op.
fn path_of<'t>(hlo_stats: &'t [Row], op: &Row) -> Option<&'t str> {
    let same = |row: &&Row| {
        let equal = |key| text(row, key) == text(op, key);
        let expression = !text(op, "program_id").is_empty() && equal("hlo_op_expression");
        equal("hlo_op_name") && equal("program_id") && (expression || text(row, "hlo_op_expression").is_empty())
    };
    hlo_stats.iter().find(same).map(|row| text(row, "tf_op_name").trim_end_matches(':'))
}

/// Sums over ops by XProf's rules. Every kernel of a library call has the cost of the whole call, and costs are not
/// derived from shapes.
#[derive(Default)]
struct Again {
    total_us: f64,
    flops: f64,
    bytes: f64,
    occurrences: f64,
    from_shapes: bool,
    kernels: bool,
}

fn again<'r>(ops: impl Iterator<Item = &'r Row>) -> Again {
    let mut sums = Again::default();
    for op in ops {
        let launches = number(op, "occurrences") / number(op, "executions");
        sums.total_us += number(op, "total_time_us");
        sums.occurrences = sums.occurrences.max(number(op, "occurrences"));
        sums.kernels |= launches > 1.0;
        if text(op, "cost_source") == "from shapes" {
            sums.from_shapes = true;
        } else {
            sums.flops += number(op, "flops") * launches;
            sums.bytes += number(op, "bytes_accessed") * launches;
        }
    }
    sums
}

impl Again {
    fn number(&self, key: &str) -> Option<f64> {
        Some(match key {
            "occurrences" => self.occurrences,
            "total_time" => self.total_us,
            "avg_time" => self.total_us / self.occurrences,
            "measured_flop_rate" | "model_flop_rate" => self.flops / self.total_us / 1e3,
            "measured_memory_bw" => self.bytes / self.total_us * 1e6 / (1u64 << 30) as f64,
            "operational_intensity" if self.bytes > 0.0 => self.flops / self.bytes,
            "operational_intensity" => 0.0,
            _ => return None,
        })
    }
}

/// For each path, returns the names of ops for which only crossprof has this path, because it comes from the
/// instruction.
fn strays(theirs: &[Row], ours: &[Row]) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for op in theirs.iter().filter(|op| text(op, "tf_op_name").is_empty()) {
        let same = |row: &&Row| ["hlo_op_name", "program_id"].iter().all(|key| text(row, key) == text(op, key));
        let Some(path) = ours.iter().find(same).map(|row| text(row, "tf_op_name")).filter(|it| !it.is_empty()) else {
            continue;
        };
        found.entry(path.trim_end_matches(':').to_owned()).or_default().push(text(op, "hlo_op_name").to_owned());
    }
    found
}

#[test]
#[ignore = "reads real profiles"]
fn framework_op_stats() {
    let mut compared = 0;
    for folder in folders("framework_op_stats") {
        let (mut session, expected) = read(&folder, "framework_op_stats");
        let is_tpu = folder.starts_with("tpu");
        let ops = ours(&mut session, &support::xprof::active(), TableName::Ops);
        let ours = ours(&mut session, &support::xprof::active(), TableName::FrameworkOps);
        let on_device = |table: usize| {
            let rows = rows(&expected[table]).into_iter();
            rows.filter(|row| text(row, "host_or_device") == "Device" && text(row, "operation") != "IDLE")
                .collect::<Vec<Row>>()
        };
        let hlo_stats = rows(&output(&folder, "hlo_stats"));
        let strays = strays(&hlo_stats, &ops);
        let (with_idle, busy) = (on_device(0), on_device(1));
        assert_eq!(with_idle.len(), busy.len(), "{folder}");
        let left_out = ops.iter().filter(|op| path_of(&hlo_stats, op).is_none()).count();
        let mut comparison = Comparison::new(format!("framework_op_stats of {folder}"));
        for (theirs, without_idle) in with_idle.iter().zip(&busy) {
            let name = text(theirs, "operation");
            let no_path = text(theirs, "type") == "Unknown";
            comparison.rows += 1;
            let Some(row) = ours.iter().find(|row| text(row, "operation") == name) else {
                // The ops of XProf's row are in the rows of their paths.
                assert!(no_path && strays.values().flatten().any(|stray| stray == name), "{folder}: no row {name}");
                let same = ops.iter().filter(|op| text(op, "hlo_op_name") == name);
                let time: f64 = same.clone().map(|op| number(op, "total_time_us")).sum();
                comparison.number(&format!("{name}: total_time"), number(theirs, "total_time"), time, &[]);
                continue;
            };
            // The op has a path, or the ops moved from this row without a path to the rows of their paths.
            let missing = strays.contains_key(name) || no_path && strays.values().flatten().any(|stray| stray == name);
            let members = |op: &&Row| {
                path_of(&hlo_stats, op).is_some_and(|path| path == if no_path { "" } else { name })
                    && (!no_path || text(op, "hlo_op_name") == name)
            };
            let again = again(ops.iter().filter(members));
            let (from_shapes, kernels) = (again.from_shapes, again.kernels);
            for (key, our_key, scale) in NUMBERS.into_iter().filter(|(key, ..)| theirs.contains_key(*key)) {
                let (wanted, found) = (scale * number(theirs, key), number(row, our_key));
                // Recomputes XProf's number from the ops that XProf has under this path, and from XProf's costs for them.
                let explained =
                    again.number(key).is_none_or(|again| close(again, wanted) || !is_tpu && overlaps(again, wanted));
                assert!(
                    explained,
                    "{folder}: {name}: {key} is {wanted} in XProf, {:?} by its rules",
                    again.number(key)
                );
                comparison.number(
                    &format!("{name}: {key}"),
                    wanted,
                    found,
                    &[
                        (PATH, missing),
                        (OVERLAP, !is_tpu && overlaps(wanted, found)),
                        (LIBRARY, from_shapes && is_cost(key)),
                        (KERNELS, kernels && is_cost(key)),
                        (PAIRS, key == "measured_memory_bw" && (name.contains("-start") || name.contains("-done"))),
                    ],
                );
            }
            // The second of XProf's tables omits idle time.
            let share = 100.0 * number(without_idle, "device_total_self_time_percent");
            let found = number(row, "busy_self_time_percent");
            comparison.number(
                &format!("{name}: share without idle"),
                share,
                found,
                &[(PATH, missing), (NO_OP, !is_tpu && left_out > 0), (OVERLAP, !is_tpu && overlaps(share, found))],
            );
            comparison.text(&format!("{name}: type"), text(theirs, "type"), text(row, "type"), &[]);
            let bound = |row| match text(row, "bound_by") {
                "" => "Unknown".to_owned(),
                bound => bound.to_owned(),
            };
            let (wanted, found) = (bound(theirs), bound(row));
            comparison.text(
                &format!("{name}: bound_by"),
                &wanted,
                &found,
                &[(PEAK, !is_tpu), (HOST_LINK, found == "Host link")],
            );
        }
        let names = |rows: &[Row]| rows.iter().map(|row| text(row, "operation").to_owned()).collect::<BTreeSet<_>>();
        let only_ours: Vec<String> = names(&ours).difference(&names(&with_idle)).cloned().collect();
        for name in only_ours.iter().filter(|name| !strays.contains_key(*name)) {
            let members =
                ops.iter().filter(|op| [text(op, "tf_op_name"), text(op, "hlo_op_name")].contains(&name.as_str()));
            assert!(
                members.clone().all(|op| path_of(&hlo_stats, op).is_none()),
                "{folder}: {name} is not in XProf's table"
            );
            println!("{folder}: {name} is a row here only: {NO_OP}");
        }
        let is_pair = |row: &&Row| ["-start", "-done"].iter().any(|end| text(row, "operation").contains(end));
        // In each such row, only the rate and the limit may differ.
        assert!(comparison.on_purpose() <= 2 * with_idle.iter().filter(is_pair).count() || !is_tpu, "{folder}");
        compared += comparison.rows;
        comparison.print();
    }
    assert_eq!(compared, 37);
}

/// Returns true for a column that depends on FLOPs or bytes.
fn is_cost(key: &str) -> bool {
    ["measured_flop_rate", "model_flop_rate", "measured_memory_bw", "operational_intensity"].contains(&key)
}

const PATH: &str = "XProf leaves out ops whose kernels carry no path, though their HLO instruction has one";
const NO_OP: &str = "XProf leaves out copies and kernels that name no HLO op: here they are rows and busy time";
const LIBRARY: &str = "XProf counts library calls as nothing: their cost is from their shapes here";
const KERNELS: &str =
    "XProf takes each kernel of a library call for the whole call, which makes its rates so many times too high";
const PEAK: &str =
    "XProf compares every op with the fp16 peak: here it is that of the op's own type, and the maker's bandwidth";

#[test]
#[ignore = "reads real profiles"]
fn the_rows_are_all_of_the_time() {
    let folders = folders("framework_op_stats");
    assert_eq!(folders.len(), 5);
    for folder in folders {
        let (mut session, _) = read(&folder, "framework_op_stats");
        let ours = ours(&mut session, &support::xprof::active(), TableName::FrameworkOps);
        let total: f64 = ours.iter().map(|row| number(row, "busy_self_time_percent")).sum();
        assert!(close(total, 100.0), "{folder}: {total}");
    }
}
