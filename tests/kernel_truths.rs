//! Compares the kernel table row by row with XProf's `kernel_stats`, for every real profile with that output.

use crate::support;
use std::collections::BTreeMap;
use std::path::Path;

use crate::support::{samples, xprof};
use crossprof::document::Block;
use crossprof::pages::{PageQuery, View};
use crossprof::{Cell, Query, Table, TableName};

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

fn key(row: &xprof::Row) -> Key {
    let text = |id: &str| xprof::text(row, id).to_owned();
    (text("kernel_name"), text("grid_dim"), text("block_dim"), text("op_name"))
}

/// Returns the numbers in a row from XProf or crossprof, which use the same column ids.
fn numbers(row: &xprof::Row) -> Row {
    let (number, flag) = (|id: &str| xprof::number(row, id), |id: &str| row[id] == true);
    Row {
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
    }
}

fn table(path: &Path, name: TableName) -> Table {
    xprof::open(path).table(0, &support::xprof::active(), name, "", &Query::default()).unwrap()
}

/// Tolerates one nanosecond, because XProf truncates means to whole nanoseconds.
fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 0.001 || (a - b).abs() <= 1e-6 * b.abs()
}

#[test]
#[ignore = "reads real profiles"]
fn every_row_of_xprofs_kernel_stats() {
    let mut compared = 0;
    for name in xprof::folders("kernel_stats") {
        let (mut session, expected) = xprof::read(&name, "kernel_stats");
        let rows = xprof::ours(&mut session, &support::xprof::active(), TableName::Kernels);
        let mut ours: BTreeMap<Key, Row> = rows.iter().map(|row| (key(row), numbers(row))).collect();
        assert_eq!(rows.len(), ours.len(), "{name}: rows that cannot be told apart");
        for theirs in xprof::rows(&expected) {
            let (key, theirs) = (key(&theirs), numbers(&theirs));
            let row = ours.remove(&key).unwrap_or_else(|| panic!("{name}: no row {key:?}"));
            if row.shared_bytes != theirs.shared_bytes {
                // ROCm records group_mem, which XProf does not read.
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

/// For each profile, the numbers of launches, device events, short kernels, runtime outliers and launch delay outliers.
/// After these numbers, the total times in microseconds: in calls, on the device, and between call and device work. A
/// separate script computed these numbers with the definitions of Holistic Trace Analysis.
const LAUNCHES: &[(&str, [u64; 5], [f64; 3])] = &[
    ("kineto/h100-owlv2.json.gz", [5165, 5165, 2143, 23, 4975], [42_720.509, 566_759.477, 277_132_663.528]),
    ("kineto/rank-0.json.gz", [1204, 1204, 280, 2, 937], [11_050.0, 607_844.0, 20_539_698.0]),
    ("kineto/rank-1.json.gz", [1154, 1154, 278, 0, 880], [9_602.0, 667_530.0, 20_270_258.0]),
    ("kineto/top-level-array.pt.trace.json.gz", [9162, 9162, 6020, 16, 6517], [126_554.0, 609_770.0, 61_312_860.0]),
    ("mi300x-8gpu-conv/*.xplane.pb", [234, 235, 76, 73, 38], [18_453.619, 28_137.077, 11_967.939]),
    ("mi300x-elementwise/*.xplane.pb", [75, 75, 25, 0, 8], [834.291, 3_880.724, 2_494.166]),
    ("gfx950-te-attention/*.xplane.pb", [150, 150, 22, 54, 130], [3_697.277, 12_133.585, 124_652.465]),
    ("gtx1080ti-2gpu/*.xplane.pb", [2, 2, 0, 2, 0], [244.532, 3.808, 0.0]),
    ("pascal-tf-laptop/*.xplane.pb", [114, 114, 35, 5, 108], [1_857.2, 27_703.219, 1_061_070.757]),
];

fn column(table: &Table, key: &str) -> usize {
    table.columns.iter().position(|column| column.key == key).unwrap()
}

fn number(row: &[Cell], column: usize) -> f64 {
    match row[column] {
        Cell::Int(value) => value as f64,
        Cell::Float(value) => value,
        _ => 0.0,
    }
}

fn sum(table: &Table, key: &str) -> f64 {
    table.rows.iter().map(|row| number(row, column(table, key))).sum()
}

#[test]
#[ignore = "reads real profiles"]
fn launches_by_the_definitions_of_holistic_trace_analysis() {
    for (file, counts, times) in LAUNCHES {
        let table = table(&samples::real(file), TableName::Launches);
        let keys = ["launches", "device_ops", "short_kernels", "runtime_outliers", "launch_delay_outliers"];
        for (key, expected) in keys.iter().zip(counts) {
            assert_eq!(sum(&table, key), *expected as f64, "{file}: {key}");
        }
        assert!((sum(&table, "total_host_us") - times[0]).abs() < 0.01, "{file}");
        assert!((sum(&table, "total_device_us") - times[1]).abs() < 0.01, "{file}");
        let (launches, mean) = (column(&table, "launches"), column(&table, "avg_launch_delay_us"));
        let delay: f64 = table.rows.iter().map(|row| number(row, launches) * number(row, mean)).sum();
        assert!((delay - times[2]).abs() < 1e-9 * times[2] + 0.01, "{file}: {delay}");
    }
}

#[test]
#[ignore = "reads real profiles"]
fn offloaded_arrays_of_a_tpu() {
    for file in ["tpu-v6e-4chip/*.xplane.pb", "tpu-v6e-4chip/*.trace.json.gz"] {
        let transfers = table(&samples::real(file), TableName::Transfers);
        let kind = column(&transfers, "kind");
        let offload = transfers.rows.iter().filter(|row| row[kind] == Cell::Text("host offload".to_owned()));
        let all = |key| offload.clone().map(|row| number(row, column(&transfers, key))).sum::<f64>();
        // 2400 copies of f32[5,1024,1024,256]. On the chips' clocks, the cores waited 304,033.212 ms for them.
        assert_eq!((all("count"), all("total_bytes")), (2400.0, 2400.0 * 5_368_709_120.0), "{file}");
        assert_eq!(format!("{:.3}", all("wait_us") / 1000.0), "304033.212", "{file}");
    }
}

/// The expected values are calls and bytes by direction. A separate script, which is not in Rust, summed them from the
/// files.
#[test]
#[ignore = "reads real profiles"]
fn transfer_calls_of_tpu_hosts_have_their_bytes() {
    for (file, h2d, d2h) in [
        ("tpu-v6e-4chip/*.xplane.pb", (13.0, 64_424_509_952.0), (16.0, 85_899_345_920.0)),
        ("tpu-v6e-4chip/*.trace.json.gz", (13.0, 64_424_509_952.0), (16.0, 85_899_345_920.0)),
        ("tpu-qwen3-runs/run-a.trace.json.gz", (14.0, 676_032.0), (1.0, 512.0)),
    ] {
        // Host calls before the first op are included.
        let session = &mut xprof::open(&samples::real(file));
        let transfers = session.table(0, &xprof::all(), TableName::Transfers, "", &Query::default()).unwrap();
        let [kind, direction] = ["kind", "direction"].map(|key| column(&transfers, key));
        for (wanted, expected) in [("h2d", h2d), ("d2h", d2h)] {
            let is = |row: &&Vec<Cell>| {
                row[kind] == Cell::Text("host call".to_owned()) && row[direction] == Cell::Text(wanted.to_owned())
            };
            let rows = transfers.rows.iter().filter(is);
            let sum = |key| rows.clone().map(|row| number(row, column(&transfers, key))).sum::<f64>();
            assert_eq!((sum("count"), sum("total_bytes")), expected, "{file}: {wanted}");
        }
    }
}

/// A separate script, which is not in Rust, counted 4330 kernels in the file, with 76 combinations of name, shape and
/// resources.
#[test]
#[ignore = "reads real profiles"]
fn pytorch_kernels_have_their_launch_shapes() {
    let kernels = table(&samples::real("kineto/h100-owlv2.json.gz"), TableName::Kernels);
    assert_eq!((sum(&kernels, "occurrences"), kernels.rows.len()), (4330.0, 76));
    let text = |row: &[Cell], key: &str| match &row[column(&kernels, key)] {
        Cell::Text(text) => text.clone(),
        other => format!("{other:?}"),
    };
    let gemm = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas";
    let is = |row: &&Vec<Cell>| text(row, "kernel_name") == gemm && text(row, "grid_dim") == "56,2,1";
    let row = kernels.rows.iter().find(is).unwrap();
    assert_eq!(text(row, "block_dim"), "384,1,1");
    let numbers = ["registers_per_thread", "shmem_bytes", "occurrences"].map(|key| number(row, column(&kernels, key)));
    assert_eq!(numbers, [168.0, 231_424.0, 620.0]);
    assert!((number(row, column(&kernels, "total_duration_us")) - 18_216.973).abs() < 1e-6);
    // An occupancy estimate is not a limit of the occupancy.
    assert_eq!(row[column(&kernels, "occupancy_pct")], Cell::Absent);
}

/// Checks the texts and numbers of a page: every figure has a value, every chart has parts, and no number is infinite.
/// Returns the number of blocks.
fn page_says_what_it_knows(path: &Path, view: View) -> usize {
    let Some(page) = xprof::open(path).page(0, &xprof::active(), view, &PageQuery::default()) else { return 0 };
    let what = format!("{}: {view:?}", path.display());
    for block in &page.blocks {
        match block {
            Block::Figures { figures } => {
                for figure in figures {
                    assert!(!figure.note.is_empty(), "{what}: {}", figure.label);
                    assert!(figure.value.is_none_or(f64::is_finite), "{what}: {}", figure.label);
                }
            }
            Block::Bars(bars) => assert!(!bars.bars.is_empty(), "{what}: {}", bars.title),
            Block::Stack(stack) => {
                assert!(stack.rows.iter().all(|row| row.parts.len() == stack.series.len()), "{what}");
            }
            Block::Table(table) => assert!(table.total_rows > 0, "{what}: {}", table.title),
            _ => {}
        }
    }
    page.blocks.len()
}

#[test]
fn pages_of_our_own_profiles_are_complete() {
    for view in [View::Kernels, View::Transfers] {
        for path in samples::own() {
            let blocks = page_says_what_it_knows(&path, view);
            assert!(blocks > 0, "{}: {view:?}", path.display());
        }
    }
}

#[test]
#[ignore = "reads real profiles"]
fn pages_of_real_profiles_are_complete() {
    for file in [
        "gfx950-te-attention/*.xplane.pb",
        "kineto/rank-0.json.gz",
        "mi300x-8gpu-conv/*.xplane.pb",
        "pascal-tf-laptop/*.xplane.pb",
        "synth-gpu-7steps/*.xplane.pb",
        "tpu-v6e-4chip/*.xplane.pb",
    ] {
        for view in [View::Kernels, View::Transfers] {
            assert!(page_says_what_it_knows(&samples::real(file), view) > 0, "{file}: {view:?}");
        }
    }
}
