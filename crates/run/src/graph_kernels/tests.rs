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

/// If a fusion only takes a slice, XLA runs it as a copy, concurrently with the next ops.
#[test]
fn a_copy_belongs_to_the_slice_that_runs_as_a_copy() {
    const PROGRAM: &str = "HloModule jit_f, is_scheduled=true

%fused_dynamic_slice (p: f32[16,1024], i: s32[]) -> f32[1,1024] {
  %p = f32[16,1024]{1,0} parameter(0)
  %i = s32[] parameter(1)
  %zero = s32[] constant(0)
  ROOT %slice = f32[1,1024]{1,0} dynamic-slice(%p, %i, %zero), dynamic_slice_sizes={1,1024}
}

%softmax_computation (x: f32[16,1024]) -> f32[16,1024] {
  %x = f32[16,1024]{1,0} parameter(0)
  ROOT %e = f32[16,1024]{1,0} exponential(%x)
}

ENTRY %main (a: f32[16,1024], n: s32[]) -> (f32[1,1024], f32[16,1024]) {
  %a = f32[16,1024]{1,0} parameter(0)
  %n = s32[] parameter(1)
  %fusion-start = ((f32[16,1024]{1,0}, s32[]), f32[1,1024]{1,0}, u32[]) fusion-start(%a, %n), kind=kLoop, calls=%fused_dynamic_slice
  %triton_softmax.9 = f32[16,1024]{1,0} fusion(%a), kind=kCustom, calls=%softmax_computation
  %fusion-done = f32[1,1024]{1,0} fusion-done(%fusion-start)
  ROOT %t = (f32[1,1024]{1,0}, f32[16,1024]{1,0}) tuple(%fusion-done, %triton_softmax.9)
}
";
    let mut b = TraceBuilder::new();
    let stream = b.line("/device:GPU:0", "Stream #7(Compute)");
    let details = b.trace_mut().strings.intern("regs:32 static_shared:0 dynamic_shared:0 grid:16,1,1 block:128,1,1");
    for (at, (kernel, node)) in (0..).zip([("memcpy128", 1), ("triton_softmax_9", 2)]) {
        let event = b.event(stream, kernel, 10 * at, 5).hlo_op("command_buffer_1").hlo_module("jit_f(4)");
        event.correlation(1).args(|args| {
            (args.graph_id, args.graph_node_id, args.program_id) = (Some(1), Some(node), Some(4));
            args.kernel_details = details;
        });
    }
    let mut trace = b.build();
    let module = trace.strings.intern("jit_f(4)");
    trace.hlo.push(trace::HloProto { program_id: 4, name: module, host: 0, bytes: PROGRAM.as_bytes().into() });
    let modules = Modules::new(&trace);
    name(&mut trace, &modules);
    let ops: Vec<&str> = trace.events.iter().map(|event| trace.text(trace.args_of(&event).hlo_op)).collect();
    assert_eq!(ops, ["fusion-start", "triton_softmax.9"]);
}
