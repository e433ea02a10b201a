//! Tests the ops of XLA's CPU backend. The ends of the ops are compared with the results that a script computed from
//! the raw events (tests/data/cpu_ends.py), and their costs with XLA's own numbers for the compiled programs
//! (tests/data/capture.py).

use crate::support;
use std::collections::BTreeMap;

use crossprof::hlo::{self, Conventions, CostSource, Instruction, Modules};
use crossprof::input::XPlaneDecoder;
use crossprof::metrics::analyse;
use crossprof::run::{Run, Settings, WindowChoice};
use serde_json::Value;

fn data() -> std::path::PathBuf {
    support::samples::root().join("tests/data")
}

/// Settings that measure all work of the devices.
fn whole() -> Settings {
    Settings { window: WindowChoice::Active, ..Settings::default() }
}

fn json(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(data().join(name)).unwrap()).unwrap()
}

fn run(path: &str) -> Run {
    let bytes = std::fs::read(data().join(path)).unwrap();
    let bytes = if path.ends_with(".gz") { support::gunzip(&bytes) } else { bytes };
    let mut decoder = XPlaneDecoder::new(path);
    decoder.push(&bytes).unwrap();
    let mut run = Run { trace: decoder.finish().unwrap(), ..Run::default() };
    run.complete();
    run
}

#[test]
fn ops_end_where_the_raw_events_say() {
    let truths = json("cpu_ends.json");
    let truths = truths.as_object().unwrap();
    assert_eq!(truths.len(), 2);
    for (path, truth) in truths {
        let run = run(path);
        let analysis = analyse(&run, &whole()).analysis;
        let trace = &run.trace;
        assert_eq!(analysis.devices.used.len(), truth["devices"].as_object().unwrap().len(), "{path}");
        for device in &analysis.devices.used {
            let expected = &truth["devices"][device.ordinal.to_string()];
            let found = (device.busy.length().as_ps(), device.span.length().as_ps());
            assert_eq!(found, (expected["busy_ps"].as_i64().unwrap(), expected["span_ps"].as_i64().unwrap()), "{path}");
            assert!(found.0 > expected["busy_by_events_ps"].as_i64().unwrap(), "{path}: ops that end later are there");
        }
        let mut ops: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        for device in &analysis.devices.used {
            for &id in device.ops.iter() {
                let event = trace.events.get(id).unwrap();
                let args = trace.args_of(&event);
                let name = trace.text(args.hlo_op);
                let name = format!("{} {} {name}", device.ordinal, args.program_id.unwrap());
                let row = ops.entry(name).or_default();
                *row = (row.0 + 1, row.1 + event.duration.as_ps());
            }
        }
        let of = |row: &Value| (row[0].as_i64().unwrap(), row[1].as_i64().unwrap());
        let expected: BTreeMap<String, (i64, i64)> =
            truth["ops"].as_object().unwrap().iter().map(|(name, row)| (name.clone(), of(row))).collect();
        assert_eq!(ops, expected, "{path}");
        let note = trace.warnings.iter().find(|warning| warning.code == "cpu_op_ends_are_bounds").unwrap();
        assert_eq!(note.count, truth["later"].as_u64(), "{path}");
    }
}

/// If an op ended with its event, `dot.1` in the page's example would run at thousands of GFLOP/s.
#[test]
fn rates_of_ops_that_end_later_are_possible() {
    let run = run("../../www/assets/examples/jax-cpu-train.xplane.pb");
    let analysis = analyse(&run, &whole()).analysis;
    let wanted = ["dot", "dot.1"];
    let trace = &run.trace;
    let mut rates = 0;
    for op in &analysis.ops.rows {
        if wanted.contains(&analysis.ops.text(trace, op.name)) {
            rates += 1;
            let rate = op.flops_per_second().unwrap();
            assert!(rate < 200e9, "{rate}: more than the two cores of a host can do");
        }
    }
    assert_eq!(rates, 2);
}

/// Number of iterations of the loop in `jit_random`, which XLA counts once.
const TRIPS: f64 = 5.0;

#[test]
fn program_costs_match_xla() {
    let run = run("jax-cpu-costs/host.xplane.pb.gz");
    let modules = Modules::new(&run.trace);
    let truth = json("jax-cpu-costs/costs.json");
    let mut compared = 0;
    for (_, _, _, module) in modules.all() {
        let Some(expected) = truth.get(module.name()) else { continue };
        compared += 1;
        let (mut flops, mut transcendentals, mut bytes) = (0.0, 0.0, 0.0);
        // XLA counts the gather in a fusion as a read of the whole table. crossprof corrects this (docs/metrics.md).
        let conventions = if module.name() == "jit_gather" { Conventions::General } else { Conventions::Cpu };
        for instruction in module.instructions_of(module.entry().unwrap()) {
            let cost = hlo::cost_by(module, instruction, conventions);
            let cost = cost.unwrap_or_else(|| panic!("{}: {} has no cost", module.name(), instruction.name));
            let (share, by_xla) = match instruction.opcode.as_str() {
                "while" => (1.0 / TRIPS, None),
                // XLA counts a custom call as -1 in every field.
                "custom-call" => (1.0, Some(-1.0)),
                _ => (1.0, None),
            };
            flops += by_xla.unwrap_or(cost.flops * share);
            transcendentals += by_xla.map_or(cost.transcendentals * share, |_| 0.0);
            bytes += by_xla.unwrap_or(cost.bytes_accessed * share);
        }
        let theirs = |key: &str| expected[key].as_f64().unwrap();
        assert_eq!(flops, theirs("flops"), "FLOPs of {}", module.name());
        assert_eq!(transcendentals, theirs("transcendentals"), "transcendentals of {}", module.name());
        assert_eq!(bytes, theirs("bytes accessed"), "bytes of {}", module.name());
    }
    assert_eq!(compared, 18);
}

/// LAPACK's own counts for a Cholesky factorisation of a 96 x 96 matrix, and for a triangular solve with a 96 x 96
/// matrix and 24 columns.
#[test]
fn lapack_calls_have_the_costs_of_their_shapes() {
    let run = run("jax-cpu-costs/host.xplane.pb.gz");
    let modules = Modules::new(&run.trace);
    let call = |program: &str| {
        let (_, _, _, module) = modules.all().find(|(_, _, _, module)| module.name() == program).unwrap();
        let is_call = |instruction: &&Instruction| instruction.opcode == "custom-call";
        let instruction = module.instructions().iter().find(is_call).unwrap();
        let cost = hlo::cost_by(module, instruction, Conventions::Cpu).unwrap();
        (cost.flops, cost.bytes_accessed, cost.source)
    };
    let square = 96.0 * 96.0;
    assert_eq!(call("jit_cholesky"), (square * 96.0 / 3.0, 2.0 * 4.0 * square, CostSource::Shapes));
    let columns = 96.0 * 24.0;
    assert_eq!(call("jit_triangular"), (96.0 * columns, 4.0 * (square / 2.0 + 2.0 * columns), CostSource::Shapes));
}

/// Each program ran twice, and the sharded programs ran on four devices. The loop in `jit_random` has five iterations.
#[test]
fn an_execution_is_one_however_many_events_it_takes() {
    let run = run("jax-cpu-costs/host.xplane.pb.gz");
    let analysis = analyse(&run, &whole()).analysis;
    let modules = Modules::new(&run.trace);
    let truth = json("jax-cpu-costs/costs.json");
    let (mut rows, mut split) = (0, 0);
    for op in &analysis.ops.rows {
        let module = modules.find(0, op.program_id.unwrap()).unwrap();
        if truth.get(module.name()).is_none() {
            continue;
        }
        let name = analysis.ops.text(&run.trace, op.name);
        let instruction = module.instruction(name).unwrap();
        let in_loop = module.computation(instruction.computation).unwrap().id != module.entry().unwrap().id;
        let devices =
            if matches!(module.name(), "jit_allreduce" | "jit_allgather" | "jit_reducescatter") { 4 } else { 1 };
        let executions = 2 * devices * if in_loop { TRIPS as u64 } else { 1 };
        assert_eq!(op.executions, executions, "{} {name}", module.name());
        let cost = hlo::cost_by(module, instruction, Conventions::Cpu).map(|cost| cost.flops * executions as f64);
        assert_eq!(op.flops, cost, "{} {name}", module.name());
        rows += 1;
        if op.occurrences != executions {
            split += 1;
            assert_eq!((name, op.occurrences), ("sort.0", 4));
        }
    }
    assert_eq!(split, 1);
    assert!(rows > 30, "{rows}");
}
