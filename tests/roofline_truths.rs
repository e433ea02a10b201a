//! Compares peak rates, ridge points and every op's position in the roofline with XProf's `roofline_model`.
//!
//! On TPUs, every value that both tools have must agree. On GPUs, XProf's peaks are compared with expected values in
//! this file, and `xprof_tables` compares the rows. crossprof differs intentionally in two ways. First, crossprof uses
//! the peak of the op's own data type. Second, it uses the full memory bandwidth of AMD GPUs, although the profile
//! records only half of it.

use crate::support;
use crate::support::xprof::{
    Comparison, OVERLAP, Row, TOLERANCE, crosses_host_link, number, number_of, overlaps, rows, text, within,
};
use crossprof::{Session, Settings, TableName};
use serde_json::Value;

/// Tolerance for values that XProf prints with six digits.
const SIX_DIGITS: f64 = 5e-6;

/// Returns a trace as a session, and XProf's table.
fn read(name: &str) -> (Session, Value) {
    support::xprof::read(name, "roofline_model")
}

fn theirs(table: &Value) -> Vec<Row> {
    rows(table).into_iter().filter(|row| row["step"] == "Total" && row["include_infeed_outfeed"] == true).collect()
}

fn ours(session: &mut Session, settings: &Settings) -> Vec<Row> {
    support::xprof::ours(session, settings, TableName::Roofline)
}

#[track_caller]
fn assert_close(found: f64, wanted: f64, tolerance: f64, what: &str) {
    assert!(within(found, wanted, tolerance), "{what}: {found}, XProf {wanted}");
}

const GIBI: f64 = (1u64 << 30) as f64;

/// Traces, each with the vendor's memory bandwidth if that replaces the bandwidth in the profile.
const TRACES: [(&str, Option<f64>); 5] = [
    ("tpu-v6e-4chip", None),
    ("gtx1080ti-2gpu", None),
    ("gfx950-te-attention", Some(8000e9)),
    ("mi300x-8gpu-conv", Some(5300e9)),
    ("mi300x-elementwise", Some(5300e9)),
];

#[test]
#[ignore = "reads real profiles"]
fn peaks_and_ridge_points() {
    for (name, published) in TRACES {
        let (mut session, expected) = read(name);
        let report = session.report(0, &support::xprof::active()).unwrap();
        let roofline = report.roofline.unwrap();
        let told = |key: &str| number_of(&expected[0]["p"][key]);
        let level = |name: &str| {
            roofline.memory_levels.iter().find(|level| level.level == name).map(|level| level.gb_per_s * 1e9)
        };
        let xprof_peak = roofline.xprof_peak_gflops.unwrap();
        let mut compared = 0;
        let mut check = |found: f64, key: &str| {
            assert_close(found, told(key), SIX_DIGITS, &format!("{name}: {key}"));
            compared += 1;
        };
        check(xprof_peak, "peak_flop_rate");
        // XProf's "VMEM write" on a GPU is its shared memory.
        let on_chip = level("VMEM Write").or(level("Shm/L1")).unwrap();
        check(on_chip / GIBI, "peak_vmem_write_bw");
        check(xprof_peak * 1e9 / on_chip, "vmem_write_ridge_point");
        if name.starts_with("tpu") {
            let read = level("VMEM Read").unwrap();
            check(read / GIBI, "peak_vmem_read_bw");
            check(xprof_peak * 1e9 / read, "vmem_read_ridge_point");
            check(level("CMEM Read").unwrap_or(0.0), "peak_cmem_read_bw");
            check(roofline.memory_levels[0].ridge_point.unwrap(), "hbm_ridge_point");
        }
        let hbm = level("HBM").unwrap();
        match published {
            None => {
                check(hbm / GIBI, "peak_hbm_bw");
                check(xprof_peak * 1e9 / hbm, "hbm_ridge_point");
            }
            Some(published) => {
                assert_close(hbm, published, 1e-12, name);
                let stated = told("peak_hbm_bw") * GIBI;
                assert!((1.9..2.1).contains(&(published / stated)), "{name}: {published} is not twice {stated}");
                println!(
                    "{name}: peak_hbm_bw is {stated:e} B/s in XProf and {published:e} here: a profile of AMD's states half"
                );
            }
        }
        assert_eq!(
            compared,
            if name.starts_with("tpu") {
                9
            } else if published.is_none() {
                5
            } else {
                3
            },
            "{name}"
        );
    }
}

/// `(XProf's column, our column, our units per XProf unit)`.
const NUMBERS: [(&str, &str, f64); 30] = [
    ("rank", "rank", 1.0),
    ("occurrences", "occurrences", 1.0),
    ("total_time", "total_time_us", 1.0),
    ("avg_time", "avg_time_us", 1.0),
    ("total_self_time", "total_self_time_us", 1.0),
    ("avg_self_time", "avg_self_time_us", 1.0),
    ("total_self_time_percent", "total_self_time_percent", 100.0),
    ("cumulative_total_self_time_percent", "cumulative_total_self_time_percent", 100.0),
    ("dma_stall_percent", "dma_stall_percent", 100.0),
    ("measured_flop_rate", "measured_flop_rate_gflops", 1.0),
    ("model_flop_rate", "model_flop_rate_gflops", 1.0),
    ("measured_memory_bw", "measured_memory_bw_gibps", 1.0),
    ("hbm_bw", "hbm_bw_gibps", 1.0),
    ("cmem_read_bw", "cmem_read_bw_gibps", 1.0),
    ("cmem_write_bw", "cmem_write_bw_gibps", 1.0),
    ("vmem_read_bw", "vmem_read_bw_gibps", 1.0),
    ("vmem_write_bw", "vmem_write_bw_gibps", 1.0),
    ("operational_intensity", "operational_intensity", 1.0),
    ("hbm_operational_intensity", "hbm_operational_intensity", 1.0),
    ("cmem_read_operational_intensity", "cmem_read_operational_intensity", 1.0),
    ("cmem_write_operational_intensity", "cmem_write_operational_intensity", 1.0),
    ("vmem_read_operational_intensity", "vmem_read_operational_intensity", 1.0),
    ("vmem_write_operational_intensity", "vmem_write_operational_intensity", 1.0),
    ("bottleneck_operational_intensity", "bottleneck_operational_intensity", 1.0),
    ("total_time_per_core", "total_time_per_core_us", 1.0),
    ("total_time_in_percentage", "total_time_in_percentage", 100.0),
    ("optimal_flop_rate", "optimal_flop_rate_gflops", 1.0),
    ("roofline_efficiency", "roofline_efficiency_percent", 100.0),
    ("compute_efficiency", "compute_efficiency_percent", 100.0),
    ("max_mem_bw_utilization", "max_mem_bw_utilization_percent", 100.0),
];

/// Columns whose values depend on the time during which bytes were moved.
const BY_TIME: [&str; 9] = [
    "measured_memory_bw",
    "hbm_bw",
    "cmem_read_bw",
    "cmem_write_bw",
    "vmem_read_bw",
    "vmem_write_bw",
    "optimal_flop_rate",
    "roofline_efficiency",
    "max_mem_bw_utilization",
];

#[test]
#[ignore = "reads real profiles"]
fn every_row_of_a_tpu() {
    let (mut session, expected) = read("tpu-v6e-4chip");
    let (theirs, ours) = (theirs(&expected[0]), ours(&mut session, &support::xprof::active()));
    assert_eq!((theirs.len(), ours.len()), (18, 18));
    let mut compared = 0;
    for (wanted, found) in theirs.iter().zip(&ours) {
        for (key, our_key, scale) in NUMBERS {
            let name = text(wanted, "operation");
            let what = format!("{name} {key}");
            let (found, wanted) = (number(found, our_key), scale * number(wanted, key));
            // For an asynchronous pair, XProf divides the bytes by the instant of the start and by the wait alone, and
            // includes them twice. crossprof divides the bytes by the time from start to end.
            let is_rate = BY_TIME.contains(&key);
            let is_pair = name.contains("-start") || name.contains("-done");
            if is_pair && is_rate {
                assert!(found <= wanted, "{what}: {found} is more than XProf's {wanted}");
                assert!(!key.ends_with("bw") || found < 64.0, "{what}: {found} GiB/s is more than a host link carries");
            } else if name == "Program" && ["measured_memory_bw", "operational_intensity"].contains(&key) {
                assert!((found / wanted - 1.0).abs() > 0.1, "{what}: {found} counts pairs twice, as {wanted}");
            } else {
                assert_close(found, wanted, TOLERANCE, &what);
            }
            compared += 1;
        }
        for key in ["category", "operation", "bound_by"] {
            // XProf compares copies between device and host memory with the bandwidth of the device memory.
            let is_link = key == "bound_by" && crosses_host_link(found);
            assert!(!is_link || wanted[key] == "HBM" && found["roofline_efficiency_percent"].is_null());
            assert!(is_link || wanted[key] == found[key], "{}: {key}", wanted["operation"]);
            compared += 1;
        }
        let program = found["hlo_module_id"].as_str().unwrap_or("0");
        assert_eq!(wanted["hlo_module_id"].as_str().unwrap(), program);
    }
    println!("tpu-v6e-4chip: {} rows, {compared} values equal", ours.len());
}

const ORDER: &str = "XProf leaves out copies and kernels that name no HLO op, which are rows and time here";
const LIBRARY: &str = "XProf does not look into library calls: their cost is from their shapes here";
const KERNELS: &str = "XProf takes each kernel of a library call for the whole call";
const CORES: &str = "XProf divides by the devices that the profile lists: here by those that ran something";
const HBM: &str =
    "XProf's hbm_bw of a GPU's library call is less than its own measured_memory_bw: all operands are in main memory";
const PEAK: &str = "XProf compares with the fp16 peak, cycles of elementwise kernels too, and with half of an AMD's bandwidth: here with \
                    the peak of the op's own type and the maker's bandwidth";

/// Columns that depend on a peak rate.
const OF_PEAKS: [&str; 5] = [
    "bottleneck_operational_intensity",
    "optimal_flop_rate",
    "roofline_efficiency",
    "compute_efficiency",
    "max_mem_bw_utilization",
];

/// On GPUs, times and counts agree. Each difference in rates and roofline positions has a reason.
#[test]
#[ignore = "reads real profiles"]
fn every_row_of_gpus() {
    let mut rows = 0;
    for folder in support::xprof::folders("roofline_model").iter().filter(|name| !name.starts_with("tpu")) {
        let (mut session, expected) = read(folder);
        let (theirs, ours) = (theirs(&expected[0]), ours(&mut session, &support::xprof::active()));
        let peak = number_of(&expected[0]["p"]["peak_flop_rate"]);
        let mut comparison = Comparison::new(format!("roofline_model of {folder}"));
        // The first row is the program, whose peaks are compared above.
        for wanted in theirs.iter().skip(1).filter(|row| row["operation"] != "IDLE") {
            let name = text(wanted, "operation");
            let same = |row: &&Row| text(row, "operation") == name && row["hlo_module_id"] == wanted["hlo_module_id"];
            let found = ours.iter().find(same).unwrap_or_else(|| panic!("{folder}: no row {name}"));
            comparison.rows += 1;
            let from_shapes = text(found, "cost_source") == "from shapes";
            let rate = (number(wanted, "measured_memory_bw"), number(found, "measured_memory_bw_gibps"));
            let kernels = rate.1 > 0.0 && (rate.0 / rate.1).round() > 1.0;
            // XProf's own value is XProf's rate divided by XProf's peak.
            let again = number(wanted, "measured_flop_rate") / peak;
            assert_close(number(wanted, "compute_efficiency"), again.min(1.0), SIX_DIGITS, name);
            for (key, our_key, scale) in NUMBERS.into_iter().filter(|(key, ..)| wanted.contains_key(*key)) {
                let of_time =
                    ["occurrences", "total_time", "avg_time", "total_self_time", "avg_self_time"].contains(&key);
                let is_place = key == "rank" || key.starts_with("cumulative");
                comparison.number(
                    &format!("{name}: {key}"),
                    scale * number(wanted, key),
                    number(found, our_key),
                    &[
                        (ORDER, is_place),
                        (OVERLAP, overlaps(scale * number(wanted, key), number(found, our_key))),
                        (CORES, key == "total_time_per_core"),
                        (PEAK, OF_PEAKS.contains(&key)),
                        (LIBRARY, from_shapes && !of_time),
                        (HBM, key.starts_with("hbm") && kernels),
                        (KERNELS, kernels && !of_time),
                    ],
                );
            }
            comparison.text(&format!("{name}: category"), text(wanted, "category"), text(found, "category"), &[]);
            let bound = if text(found, "bound_by").is_empty() { "Unknown" } else { text(found, "bound_by") };
            comparison.text(&format!("{name}: bound_by"), text(wanted, "bound_by"), bound, &[(PEAK, true)]);
        }
        rows += comparison.rows;
        comparison.print();
    }
    assert_eq!(rows, 38);
}

/// Recomputes XProf's rows of matrix products from our rows. If XProf has FLOPs for an op, XProf's efficiency is our
/// efficiency times our peak divided by XProf's single peak. Elementwise kernels are not compared, because XLA counts
/// their cycles.
#[test]
#[ignore = "reads real profiles"]
fn compute_efficiency_of_gpus() {
    let name = "gfx950-te-attention";
    let (mut session, expected) = read(name);
    let peak = number_of(&expected[0]["p"]["peak_flop_rate"]);
    let ours = ours(&mut session, &support::xprof::active());
    let mut compared = 0;
    for wanted in theirs(&expected[0]).iter().skip(1).filter(|row| row["compute_efficiency"].as_f64() > Some(0.0)) {
        let same = |row: &&Row| row["operation"] == wanted["operation"] && row["hlo_module_id"].as_str().is_some();
        let found = ours.iter().find(same).unwrap_or_else(|| panic!("{name}: no row {}", wanted["operation"]));
        let rates = (number(wanted, "measured_flop_rate"), number(found, "measured_flop_rate_gflops"));
        let is_elementwise = found["compute_efficiency_percent"].is_null();
        if is_elementwise || found["cost_source"] != "hlo" || (rates.0 / rates.1 - 1.0).abs() > 1e-6 {
            continue;
        }
        let ratio = number(found, "peak_flop_rate_gflops") / peak;
        let again = number(found, "compute_efficiency_percent") / 100.0 * ratio;
        let what = format!("{name} {}", wanted["operation"]);
        assert_close(again, number(wanted, "compute_efficiency"), SIX_DIGITS, &what);
        compared += 1;
    }
    assert_eq!(compared, 5);
}

#[test]
#[ignore = "reads real profiles"]
fn a_chosen_device_replaces_the_profiles() {
    let (mut session, _) = read("mi300x-elementwise");
    let settings = Settings { device: Some("h100-sxm".to_owned()), ..support::xprof::active() };
    let roofline = session.report(0, &settings).unwrap().roofline.unwrap();
    assert_eq!((roofline.peak_source.as_str(), roofline.device_key.as_deref()), ("chosen", Some("h100-sxm")));
    assert_eq!(roofline.peak_tflops["bf16"], 989.5);
    assert_eq!(roofline.memory_levels.len(), 1);
}

/// Each step runs three fusions of 5 x 1024 x 1024 x 256 additions on each chip, whose peak is 918 TFLOP/s. The all-reduces
/// run between steps and belong to no step.
#[test]
#[ignore = "reads real profiles"]
fn mfu_of_the_steps_of_a_tpu() {
    let (mut session, _) = read("tpu-v6e-4chip");
    let profile = session.report(0, &Settings::default()).unwrap();
    let roofline = profile.roofline.unwrap();
    assert_eq!(roofline.window.as_deref(), Some("steps"));
    let step_seconds = profile.step_timing.avg_step_time_us.unwrap() * 1e-6;
    let flops = 3.0 * 5.0 * 1024.0 * 1024.0 * 256.0;
    let expected = 100.0 * flops / (step_seconds * 918e12);
    assert_close(roofline.mfu_percent.unwrap(), expected, 2e-3, "MFU");
    assert_eq!(roofline.mfu_percent, roofline.hfu_percent);
    // If the trace contradicts the given number of steps, there are no steps. In this case, the whole span is measured, so
    // the all-reduces are included.
    let settings = Settings { num_steps: Some(50), ..support::xprof::active() };
    let roofline = session.report(0, &settings).unwrap().roofline.unwrap();
    assert_eq!(roofline.window.as_deref(), Some("active_span"));
    let all = 1_610_612_736_000.0 + 16_106_127_360.0;
    assert_close(roofline.mfu_percent.unwrap(), 100.0 * all / (363.729_698_768_75 * 918e12), TOLERANCE, "MFU");
}
