use super::*;
use crate::host::launches::calls_of;
use trace::TraceBuilder;

const SHAPE: &str = "regs:168 static_shared:0 dynamic_shared:1024 grid:132,1,1 block:384,1,1 occ_pct:18.75";

fn measure(b: TraceBuilder) -> (Trace, KernelStats) {
    let trace = b.build();
    let devices = Devices::of(&trace);
    let calls = calls_of(&trace, &devices);
    let stats = KernelStats::new(&trace, &devices, &Modules::new(&trace), &calls);
    (trace, stats)
}

#[test]
fn a_row_is_a_kernel_with_one_shape_for_one_op() {
    let mut b = TraceBuilder::new();
    let host = b.line("/host:CPU", "launcher");
    let stream = b.line("/device:GPU:0", "Stream #7(Compute,MemcpyH2D)");
    let shape = b.trace_mut().strings.intern(SHAPE);
    for (number, (op, duration)) in [("a", 10), ("a", 30), ("b", 20), ("a", 0)].into_iter().enumerate() {
        let start = number as i64 * 100;
        b.event(host, "cuLaunchKernel", start, 5).correlation(number as i64);
        b.event(stream, "_Z6gemm16IfEvPT_", start + 10, duration)
            .tf_op(&format!("jit(f)/{op}/dot_general"))
            .args(|args| args.kernel_details = shape)
            .correlation(number as i64);
    }
    b.event(stream, "MemcpyH2D", 1_000, 50);
    b.event(stream, "ampere_bf16_s16816gemm_bf16_128x64_nn", 2_000, 40).tf_op("XlaModule:");
    let (trace, stats) = measure(b);
    let text = |text: Text| stats.text(&trace, text);
    let rows: Vec<_> = stats.kernels.iter().map(|it| (text(it.op_name), it.occurrences.count)).collect();
    assert_eq!(rows, [("", 1), ("jit(f)/a/dot_general", 2), ("jit(f)/b/dot_general", 1)]);
    let (cublas, gemm) = (&stats.kernels[0], &stats.kernels[1]);
    assert_eq!((text(gemm.name), text(gemm.short_name)), ("void gemm16<float>(float*)", "gemm16"));
    assert_eq!((gemm.shape.registers_per_thread, gemm.shape.shared_bytes()), (Some(168), Some(1024)));
    let of = &gemm.occurrences;
    assert_eq!(
        (of.total, of.min, of.max, of.mean_us()),
        (Ps::new(40_000_000), Ps::new(10_000_000), Ps::new(30_000_000), 20.0)
    );
    // Each op starts 5 us after its call has ended.
    assert_eq!((of.delay_mean_us(), cublas.occurrences.delay_mean_us()), (Some(5.0), None));
    assert_eq!((gemm.tensor_core_eligible, gemm.uses_tensor_core), (Some(true), Some(false)));
    assert_eq!((cublas.tensor_core_eligible, cublas.uses_tensor_core), (Some(true), Some(true)));
    assert_eq!((cublas.data_type, cublas.family), (Some("bf16"), OpFamily::Matmul));
    assert_eq!((stats.matrix.count, stats.matrix_on_tensor_cores.time), (4, Ps::new(40_000_000)));
    assert_eq!(
        (text(gemm.grid), text(gemm.block), stats.histogram.filled()),
        ("132,1,1", "384,1,1", vec![(8.0, 1), (16.0, 2), (32.0, 1)])
    );
    assert_eq!((stats.without_op.count, stats.mean_occupancy_percent), (1, Some(18.75)));
}

#[test]
fn kernels_of_a_graph_are_counted_by_whether_their_op_is_known() {
    let mut b = TraceBuilder::new();
    let stream = b.line("/device:GPU:0", "Stream #7(Compute)");
    let in_graph = |args: &mut trace::Args| (args.graph_id, args.graph_node_id) = (Some(1), Some(5));
    b.event(stream, "add", 0, 1).hlo_op("add.1").hlo_module("jit_f").args(in_graph);
    b.event(stream, "sub", 30, 1).hlo_op("sub.1").hlo_module("jit_f");
    b.event(stream, "mul", 60, 2).args(in_graph);
    let (_, stats) = measure(b);
    assert_eq!(stats.graph_with_op, KernelSum { count: 1, time: Ps::new(1_000_000) });
    assert_eq!(stats.graph_without_op, KernelSum { count: 1, time: Ps::new(2_000_000) });
}

#[test]
fn a_tpu_lists_its_ops() {
    let mut b = TraceBuilder::new();
    let ops = b.line("/device:TPU:0", "XLA Ops");
    b.event(ops, "fusion.1", 0, 10).hlo_category("loop fusion").tf_op("jit(f)/add");
    b.event(ops, "fusion.1", 20, 10).hlo_category("loop fusion").tf_op("jit(f)/add");
    let (trace, stats) = measure(b);
    let text = |text: Text| stats.text(&trace, text);
    let row = &stats.kernels[0];
    assert_eq!((text(row.op_name), row.occurrences.count, row.uses_tensor_core), ("jit(f)/add", 2, None));
    assert_eq!((row.family, *row.shape), (OpFamily::Elementwise, LaunchShape::default()));
}
