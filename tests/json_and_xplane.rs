//! Compares the ops of a trace JSON with the ops of the xplane file from which the JSON was exported. The tables must
//! agree in every column that both files have.
//!
//! The JSON next to `mi300x-8gpu-conv` comes from another program, which ran on one of the eight GPUs. A test confirms
//! that this JSON and the xplane file have no ops in common.

use crate::support;
use std::path::Path;

use crate::support::samples;
use crate::support::xprof::{Comparison, Row, number, open, ours, text};
use crossprof::TableName;

fn ops(path: &Path) -> Vec<Row> {
    ours(&mut open(path), &support::xprof::active(), TableName::Ops)
}

fn real(path: &str) -> Vec<Row> {
    ops(&samples::real(path))
}

/// Returns the fields that identify the same op in both files.
fn key(row: &Row) -> [&str; 3] {
    ["hlo_op_name", "hlo_op_expression", "tf_op_name"].map(|key| text(row, key))
}

/// Compares every column in which both rows have a value. Returns the columns for which only the xplane file has
/// values.
fn compare(xplane: &[Row], json: &[Row], comparison: &mut Comparison) -> Vec<String> {
    let mut missing: Vec<String> = Vec::new();
    for (place, theirs) in xplane.iter().enumerate() {
        let name = text(theirs, "hlo_op_name");
        // Ops with the same name are in the same order.
        let nth = xplane.iter().take(place).filter(|row| key(row) == key(theirs)).count();
        let row = json.iter().filter(|row| key(row) == key(theirs)).nth(nth);
        let row = row.unwrap_or_else(|| panic!("{name} is not in the JSON"));
        comparison.rows += 1;
        for (column, value) in theirs {
            let other = &row[column];
            let what = format!("{name}: {column}");
            if other.is_null() && !value.is_null() {
                missing.push(column.clone());
            } else if value.is_number() {
                comparison.number(&what, number(theirs, column), number(row, column), &[]);
            } else {
                comparison.text(&what, &value.to_string(), &other.to_string(), &[]);
            }
        }
    }
    assert_eq!(xplane.len(), json.len());
    missing.sort();
    missing.dedup();
    missing
}

#[test]
#[ignore = "reads real profiles"]
fn four_chips() {
    let xplane = real("tpu-v6e-4chip/*.xplane.pb");
    let json = real("tpu-v6e-4chip/*.trace.json.gz");
    let mut comparison = Comparison::new("tpu-v6e-4chip: the JSON against the xplane");
    let missing = compare(&xplane, &json, &mut comparison);
    comparison.print();
    // Programs of the JSON's ops are recognised by the module runs around them, and the xplane file names the same programs.
    // The JSON has no split of bytes by memory, and no peak rates.
    assert_eq!(
        missing,
        ["bound_by", "cmem_read_bw_gibps", "cmem_write_bw_gibps", "vmem_read_bw_gibps", "vmem_write_bw_gibps"]
    );
    assert_eq!(comparison.rows, 17);
    assert!(comparison.equal > 400);
}

/// Compares every kernel of a TensorFlow run, which has no HLO in either format.
#[test]
#[ignore = "reads real profiles"]
fn a_gpu_of_tensorflow() {
    let xplane = real("pascal-tf-laptop/*.xplane.pb");
    let json = real("pascal-tf-laptop/*.trace.json.gz");
    let mut comparison = Comparison::new("pascal-tf-laptop: the JSON against the xplane");
    assert_eq!(compare(&xplane, &json, &mut comparison), [""; 0]);
    comparison.print();
    // Annotations name the ops. A fill has no annotation.
    let unnamed = xplane.iter().filter(|row| text(row, "tf_op_name").is_empty());
    assert!(
        unnamed.clone().all(|row| text(row, "hlo_op_name").starts_with("Mem")),
        "{:?}",
        unnamed.collect::<Vec<_>>()
    );
}

#[test]
#[ignore = "reads real profiles"]
fn a_json_of_another_program() {
    let xplane = real("mi300x-8gpu-conv/*.xplane.pb");
    let json = real("mi300x-8gpu-conv/*.trace.json.gz");
    let in_both = |row: &&Row| json.iter().any(|other| text(other, "hlo_op_name") == text(row, "hlo_op_name"));
    let common: Vec<&str> = xplane.iter().filter(in_both).map(|row| text(row, "hlo_op_name")).collect();
    assert_eq!(common, ["__amd_rocclr_copyBuffer.kd"; 2]);
}

/// Only the xplane file contains the HLO of a JAX run on GPUs.
#[test]
#[ignore = "reads real profiles"]
fn two_gpus_of_jax() {
    let xplane = real("gtx1080ti-2gpu/*.xplane.pb");
    let json = real("gtx1080ti-2gpu/*.trace.json.gz");
    assert_eq!((xplane.len(), json.len()), (1, 1));
    let (theirs, row) = (&xplane[0], &json[0]);
    for column in ["hlo_op_name", "occurrences", "executions", "total_time_us", "avg_time_us", "total_self_time_us"] {
        assert_eq!(theirs[column], row[column], "{column}");
    }
    for column in ["flops", "bytes_accessed", "hlo_op_expression", "data_type"] {
        assert!(!theirs[column].is_null() && row[column].is_null(), "{column}");
    }
    // The kernel uses less than 35 % of the bandwidth, and the cost of its arithmetic is unknown.
    assert!(theirs["bound_by"].is_null() && row["bound_by"].is_null());
}
