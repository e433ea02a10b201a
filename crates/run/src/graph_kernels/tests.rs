//! Tests kernels that name no instruction at all, as in older captures and in captures without the compiled program.
//! `tests/graph_kernels.rs` tests real captures of JAX programs.

use super::*;
use trace::TraceBuilder;

#[test]
fn kernels_have_the_op_of_their_node_or_their_name() {
    let mut b = TraceBuilder::new();
    let stream = b.line("/device:GPU:0", "Stream #7(Compute)");
    let in_graph = |args: &mut Args, node: i64| {
        (args.graph_id, args.graph_node_id) = (Some(1), Some(node));
    };
    b.event(stream, "add", 0, 1).hlo_op("add.1").hlo_module("jit_f").args(|args| in_graph(args, 5));
    b.event(stream, "mul", 10, 1).hlo_op("mul.1").hlo_module("jit_f");
    b.event(stream, "mul", 20, 1).hlo_op("mul.2").hlo_module("jit_f");
    b.event(stream, "sub", 30, 1).hlo_op("sub.1").hlo_module("jit_f");
    // The first op is found by its node, and the second by its name, which no other op has. The third is not found,
    // because two ops have its name.
    b.event(stream, "add", 40, 2).args(|args| in_graph(args, 5));
    b.event(stream, "sub", 50, 2).args(|args| in_graph(args, 6));
    b.event(stream, "mul", 60, 2).args(|args| in_graph(args, 7));
    let mut trace = b.build();
    let ops = |trace: &Trace| -> Vec<String> {
        trace.events.iter().skip(4).map(|event| trace.text(trace.args_of(&event).hlo_op).to_owned()).collect()
    };
    let read = name(&mut trace, &Modules::new(&Trace::default()));
    assert_eq!(ops(&trace), ["add.1", "sub.1", ""]);
    undo(&mut trace, &read);
    assert_eq!(ops(&trace), ["", "", ""]);
}
