//! Checks which instructions the kernels of CUDA graphs get, on captures of an H100 (tests/data/jax-h100). The expected
//! instructions come from the order of XLA's own thunks, and from captures of the same programs without graphs, in
//! which kernels name their instructions.

use crate::support;

use crossprof::input::XPlaneDecoder;
use crossprof::run::Run;
use crossprof::trace::{EventColumn, LineKind, Trace};
use serde_json::Value;

fn data() -> std::path::PathBuf {
    support::samples::root().join("tests/data/jax-h100")
}

fn read(case: &str) -> Run {
    let bytes = support::gunzip(&std::fs::read(data().join(format!("{case}.xplane.pb.gz"))).unwrap());
    let mut decoder = XPlaneDecoder::new(case);
    decoder.push(&bytes).unwrap();
    Run { trace: decoder.finish().unwrap(), ..Run::default() }
}

/// Returns the instruction and the command buffer of each kernel that names a program, in order of their starts.
fn ops(trace: &Trace) -> Vec<(String, String)> {
    let mut found = Vec::new();
    trace.events.for_each(|id, event| {
        let args = trace.args_of(&event);
        if trace.lines[event.line.index()].kind == LineKind::DeviceOps && !args.hlo_op.is_empty() {
            let correlation = trace.events.column(EventColumn::Correlation).get(id);
            let text = |id| trace.text(id).to_owned();
            found.push((event.start, correlation, text(args.hlo_op), text(args.command_buffer)));
        }
    });
    found.sort_unstable();
    found.into_iter().map(|(_, _, op, buffer)| (op, buffer)).collect()
}

/// Returns the instructions in execution order. If one instruction has several kernels, the list contains the
/// instruction once.
fn instructions(case: &str) -> Vec<String> {
    let mut run = read(case);
    run.complete();
    let mut names: Vec<String> = ops(&run.trace).into_iter().map(|(name, _)| name).collect();
    names.dedup();
    names
}

#[test]
fn kernels_of_a_graph_run_the_instructions_of_the_thunks() {
    let truth: Value = serde_json::from_slice(&std::fs::read(data().join("truth.json")).unwrap()).unwrap();
    let thunks = truth["cases"]["train"]["instructions_in_order"].as_array().unwrap();
    let step: Vec<&str> = thunks.iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(step.len(), 193);
    let found = instructions("train");
    assert_eq!(found.len(), 6 * step.len());
    for run in found.chunks(step.len()) {
        assert_eq!(run, step);
    }
}

#[test]
fn a_program_runs_the_same_instructions_with_and_without_graphs() {
    for (with, without) in [("graphs_on", "graphs_off"), ("conv", "conv_off")] {
        let graphs = instructions(with);
        assert!(graphs.len() > 200);
        assert_eq!(graphs, instructions(without), "{with}");
    }
}

#[test]
fn every_kernel_of_a_graph_names_an_instruction() {
    let mut in_graphs = 0;
    for case in ["train", "conv", "graphs_on", "attention_cudnn", "attention_xla", "counters", "loop", "zoo", "memory"]
    {
        let mut run = read(case);
        run.complete();
        for (name, buffer) in ops(&run.trace) {
            assert!(!name.starts_with("command_buffer"), "{case}");
            in_graphs += usize::from(buffer.starts_with("command_buffer"));
        }
    }
    assert!(in_graphs > 2_000, "{in_graphs}");
}

#[test]
fn a_run_can_be_returned_as_it_was_read() {
    let read_ops = ops(&read("conv").trace);
    let mut run = read("conv");
    run.complete();
    assert_ne!(ops(&run.trace), read_ops);
    assert_eq!(ops(&run.as_read().trace), read_ops);
}
