//! Compares numbers from captures of an H100 (tests/data/jax-h100) with XLA's own analysis of the programs, with the
//! arithmetic of the recorded functions, and with times measured without the profiler.

use crate::support::{samples, xprof};

use crossprof::{Session, Settings, TableName};
use serde_json::Value;

fn open(case: &str) -> Session {
    xprof::open(&samples::root().join(format!("tests/data/jax-h100/{case}.xplane.pb.gz")))
}

fn truth(case: &str) -> Value {
    let path = samples::root().join("tests/data/jax-h100/truth.json");
    let all: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    all["cases"][case].clone()
}

fn rows(case: &str, table: TableName) -> Vec<xprof::Row> {
    xprof::ours(&mut open(case), &Settings::default(), table)
}

/// The memory of the compiled programs equals XLA's `memory_analysis()`, byte for byte.
#[test]
fn memory_of_programs_is_xlas() {
    let cases = [
        ("train", "train", "train_step"),
        ("conv", "conv", "train_step"),
        ("attention_cudnn", "attention", "cudnn"),
        ("attention_xla", "attention", "xla"),
        ("graphs_on", "graphs_on", "decode_step"),
        ("loop", "loop", "loop"),
        ("memory", "memory", "f"),
        ("counters", "counters", "train_step"),
    ];
    for (case, of, program) in cases {
        let truth = &truth(of)["programs"][program];
        // The table lists the program with the highest peak first.
        let row = &rows(case, TableName::ProgramMemory)[0];
        for (ours, theirs) in [
            ("xla_peak_bytes", "peak_memory_in_bytes"),
            ("peak_heap_bytes", "peak_memory_in_bytes"),
            ("parameter_bytes", "argument_size_in_bytes"),
            ("output_bytes", "output_size_in_bytes"),
            ("aliased_bytes", "alias_size_in_bytes"),
            ("temporary_bytes", "temp_size_in_bytes"),
        ] {
            assert_eq!(xprof::number(row, ours), truth[theirs].as_f64().unwrap(), "{case}: {ours}");
        }
    }
}

/// Returns the FLOPs of a family of ops, per step.
fn flops(case: &str, family: &str, steps: f64) -> f64 {
    let rows = rows(case, TableName::Ops);
    rows.iter().filter(|row| xprof::text(row, "family") == family).map(|row| xprof::number(row, "flops")).sum::<f64>()
        / steps
}

#[test]
fn flops_are_those_of_the_functions() {
    // The model has four layers of width 512 and processes 4096 tokens. Each layer has twelve squares of the width, and the
    // output has 8192 words. Both passes together take three times as long as the forward pass.
    let products = 3.0 * 2.0 * 4096.0 * 512.0 * (4.0 * 12.0 * 512.0 + 8192.0);
    assert_eq!(flops("train", "matmul", 5.0), products);
    // Causal attention computes half of the pairs, with two products forward and five backward, in 64 heads of width 64.
    let attention = |layers: f64, heads: f64, length: f64| layers * 0.5 * 7.0 * 2.0 * heads * length * length * 64.0;
    assert_eq!(flops("train", "attention", 5.0), attention(4.0, 64.0, 512.0));
    assert_eq!(flops("attention_cudnn", "attention", 2.0), attention(1.0, 64.0, 2048.0));
    assert_eq!(flops("memory", "matmul", 2.0), 2.0 * 4096.0 * 4096.0 * (4096.0 + 2048.0 + 2048.0));
    assert_eq!(flops("loop", "matmul", 4.0), 100.0 * 2.0 * 256.0 * 256.0 * 256.0);
    // Positions outside the image are not included.
    let convolutions = truth("conv")["model_flops_per_step"].as_f64().unwrap();
    assert!((0.98..1.0).contains(&(flops("conv", "convolution", 5.0) / convolutions)));
}

#[test]
fn copies_have_the_bytes_of_the_arrays() {
    let array = truth("transfers")["bytes"]["device_to_host"].as_f64().unwrap();
    for row in rows("transfers", TableName::Transfers).iter().take(2) {
        // Each step copies two arrays in each direction, and three scalars to the device.
        let scalars = if xprof::text(row, "direction") == "h2d" { 12.0 } else { 0.0 };
        assert_eq!(xprof::number(row, "total_bytes"), 6.0 * array + scalars);
    }
}

/// The GPU limits these steps, so tracing hardly changes the step times.
#[test]
fn steps_take_as_long_as_without_tracing() {
    for (case, of, run) in [
        ("train", "train", "run"),
        ("attention_cudnn", "attention", "run_cudnn"),
        ("attention_xla", "attention", "run_xla"),
        ("memory", "memory", "run"),
    ] {
        let profile = open(case).report(0, &Settings::default()).unwrap();
        let untraced = 1000.0 * truth(of)[run]["untraced_stream_ms"].as_f64().unwrap();
        let ratio = profile.step_timing.avg_step_time_us.unwrap() / untraced;
        assert!((0.97..1.04).contains(&ratio), "{case}: {ratio}");
    }
}

/// XLA compiled six programs during this capture, and none during the other captures.
#[test]
fn compilations_are_counted() {
    let count = |case: &str| {
        let profile = open(case).report(0, &Settings::default()).unwrap();
        profile.compilation.map_or(0, |compilation| compilation.num_compilation_events)
    };
    assert_eq!(count("recompile"), truth("recompile")["compilations"].as_u64().unwrap());
    for case in ["train", "conv", "input_bound", "transfers", "graphs_on", "loop", "pallas"] {
        assert_eq!(count(case), 0, "{case}");
    }
}
