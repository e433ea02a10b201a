use proptest::prelude::*;

use super::tree::OpTree;
use super::*;
use trace::{EventColumn, IntervalSet, LineId, TraceBuilder};

fn measure(trace: &Trace) -> Ops {
    let devices = Devices::of(trace);
    Ops::new(trace, &devices, &Tallies::new(trace, &devices), &Modules::new(trace))
}

fn us(time: Ps) -> i64 {
    time.as_ps() / 1_000_000
}

fn row<'o>(trace: &Trace, ops: &'o Ops, name: &str) -> &'o Op {
    ops.rows.iter().find(|op| ops.text(trace, op.name) == name).expect("the op is there")
}

#[test]
fn nested_ops_take_their_time_out_of_their_parent_and_async_lines_do_not_count() {
    let mut b = TraceBuilder::new();
    let line = b.line("/device:TPU:0", "XLA Ops");
    let asynchronous = b.line("/device:TPU:0", "Async XLA Ops");
    b.event(line, "while.1", 0, 100).hlo_category("while");
    b.event(line, "call.2", 10, 50).hlo_category("call");
    b.event(line, "fusion.3", 20, 30).hlo_category("loop fusion");
    b.event(asynchronous, "copy-start.4", 0, 90).hlo_category("copy-start");
    let trace = b.build();
    let ops = measure(&trace);
    let selfs = ["while.1", "call.2", "fusion.3"].map(|name| us(row(&trace, &ops, name).self_time));
    assert_eq!((selfs, ops.rows.len()), ([50, 20, 30], 3));
    assert_eq!((us(ops.op_time), us(ops.device_time), us(ops.idle)), (100, 100, 0));
}

/// Each op takes 10 of the 20 busy µs, and 10 of the 100 µs from the first op to the last.
#[test]
fn an_op_has_shares_of_busy_time_and_of_measured_time() {
    let mut b = TraceBuilder::new();
    let line = b.line("/device:TPU:0", "XLA Ops");
    b.event(line, "fusion.1", 0, 10).hlo_category("loop fusion");
    b.event(line, "copy.2", 90, 10).hlo_category("copy");
    let trace = b.build();
    let ops = section::section(&trace, &measure(&trace), &|_| None).unwrap().top_ops;
    let shares: Vec<_> = ops.iter().map(|op| (op.busy_self_time_percent, op.self_time_percent)).collect();
    assert_eq!(shares, [(Some(50.0), Some(10.0)); 2]);
}

#[test]
fn the_chips_own_clock_counts() {
    let mut b = TraceBuilder::new();
    let line = b.line("/device:TPU:0", "XLA Ops");
    let us_ps = |us: i64| us * 1_000_000;
    b.event(line, "while.1", 0, 100).chip_ps(us_ps(7_000), us_ps(103));
    b.event(line, "fusion.2", 10, 20).chip_ps(us_ps(7_010), us_ps(21));
    // This op has no duration on the host's clock, because it ran before the clocks were aligned. It starts together
    // with the next op.
    b.event(line, "copy.3", 200, 0).chip_ps(us_ps(7_190), us_ps(8));
    b.event(line, "fusion.4", 200, 40).chip_ps(us_ps(7_200), us_ps(40));
    let trace = b.build();
    let ops = measure(&trace);
    let times = |name| {
        let op = row(&trace, &ops, name);
        (us(op.total), us(op.self_time))
    };
    assert_eq!((times("while.1"), times("fusion.2")), ((103, 82), (21, 21)));
    assert_eq!((times("copy.3"), times("fusion.4")), ((8, 8), (40, 40)));
}

#[test]
fn an_op_of_several_kernels_is_what_most_of_its_time_is() {
    let mut b = TraceBuilder::new();
    let stream = b.line("/device:GPU:0", "Stream #7(Compute)");
    for at in [0, 100] {
        b.event(stream, "fill_buffer_kernel", at, 5).hlo_op("custom-call.1").hlo_module("jit_f");
        b.event(stream, "fmha_bwd_kernel", at + 10, 50).hlo_op("custom-call.1").hlo_module("jit_f");
        b.event(stream, "wrapped_convert", at + 70, 10).hlo_op("custom-call.1").hlo_module("jit_f");
    }
    let trace = b.build();
    let ops = measure(&trace);
    let op = row(&trace, &ops, "custom-call.1");
    assert_eq!((op.family, ops.text(&trace, op.category)), (OpFamily::Attention, "attention"));
}

#[test]
fn stalls_add_up_and_are_absent_if_no_op_has_them() {
    let mut b = TraceBuilder::new();
    let line = b.line("/device:TPU:0", "XLA Ops");
    let ids = [0, 20, 40].map(|start| b.event(line, "fusion.1", start, 10).id());
    b.event(line, "copy.2", 60, 10);
    let without = b.build();
    let mut with = without.clone();
    for (id, us) in [(ids[0], 2), (ids[2], 4)] {
        with.events.push_value(id, EventColumn::DmaStall, us * 1_000_000);
    }
    let stall = |trace: &Trace, name| row(trace, &measure(trace), name).dma_stall.map(us);
    assert_eq!(
        [stall(&with, "fusion.1"), stall(&with, "copy.2"), stall(&without, "fusion.1")],
        [Some(6), Some(0), None]
    );
}

#[test]
fn kernels_of_one_instruction_are_one_op_of_fewer_executions() {
    let mut b = TraceBuilder::new();
    let stream = b.line("/device:GPU:0", "Stream #1(Compute)");
    for n in 0..40 {
        b.event(stream, "Im3d2Col", n * 100, 5).hlo_op("cudnn-conv.1");
        b.event(stream, "gemm", n * 100 + 10, 20).hlo_op("cudnn-conv.1");
        b.event(stream, "zero", n * 100 + 40, 1).hlo_op("cudnn-conv.1");
        b.event(stream, "zero", n * 100 + 50, 1).hlo_op("cudnn-conv.1");
    }
    b.event(stream, "gemm", 4010, 20).hlo_op("cudnn-conv.1");
    b.event(stream, "MemcpyD2D", 5000, 3);
    b.event(stream, "convert", 6000, 2).hlo_op("fusion.7::convert.2");
    let trace = b.build();
    let ops = measure(&trace);
    let conv = row(&trace, &ops, "cudnn-conv.1");
    // 40 whole executions and the beginning of another.
    assert_eq!((conv.occurrences, conv.executions, us(conv.total)), (161, 41, 1100));
    assert_eq!((ops.rows.len(), row(&trace, &ops, "convert.2").occurrences), (3, 1));
    assert_eq!(row(&trace, &ops, "MemcpyD2D").cost_source, None);
}

#[test]
fn costs_are_those_of_all_executions_and_absent_where_unknown() {
    let mut b = TraceBuilder::new();
    let line = b.line("/device:TPU:0", "XLA Ops");
    let expression = b.trace_mut().strings.intern("%fusion.1 = (bf16[8]{0}, f32[8]{0}) fusion(bf16[8]{0} %p)");
    for n in 0..2 {
        b.event(line, "fusion.1", n * 10, 10).hlo_category("loop fusion").args(|args| {
            (args.flops, args.bytes_accessed, args.long_name) = (Some(600), Some(200), expression);
        });
    }
    b.event(line, "custom-call.2.remat", 30, 10).hlo_category("custom-call");
    let trace = b.build();
    let ops = measure(&trace);
    let fusion = row(&trace, &ops, "fusion.1");
    assert_eq!((fusion.flops, fusion.bytes, fusion.intensity()), (Some(1200.0), Some(400.0), Some(3.0)));
    assert!((fusion.flops_per_second().unwrap() - 6e7).abs() < 1e-3);
    assert_eq!(fusion.data_type.map(DataType::name), Some("bf16"));
    assert_eq!(fusion.rematerialized, Some(false));
    let call = row(&trace, &ops, "custom-call.2.remat");
    assert_eq!((call.flops, call.bytes, call.intensity(), call.rematerialized), (None, None, None, Some(true)));
}

#[test]
fn scopes_make_a_tree_whose_children_add_up() {
    let mut b = TraceBuilder::new();
    let line = b.line("/device:TPU:0", "XLA Ops");
    for (name, path, start, length) in [
        ("fusion.1", "jit(f)/layer_3/attn/dot_general:", 0, 60),
        ("fusion.2", "jit(f)/layer_3/mlp/add:", 60, 30),
        ("fusion.3", "jit(f)/jvp(a/b)/mul:", 90, 10),
    ] {
        b.event(line, name, start, length).hlo_category("loop fusion").tf_op(path);
    }
    let trace = b.build();
    let ops = measure(&trace);
    let tree = OpTree::new(&trace, &ops, &Groups::new(&trace, &ops, Grouping::Scope), &|_| Some(0.25));
    let time = |path: &str| {
        let at = (0..tree.nodes.len()).find(|&at| tree.path(&trace, &ops, at) == path).expect("the node is there");
        us(tree.nodes[at].time)
    };
    assert_eq!((time("jit(f)"), time("jit(f)/layer_3"), time("jit(f)/layer_3/attn")), (100, 90, 60));
    assert_eq!(time("jit(f)/jvp(a/b)/mul/fusion.3"), 10);
    let root = &tree.nodes[0];
    assert_eq!((us(root.wasted), us(root.known), root.unused().map(us)), (75, 100, Some(75)));
    for (at, node) in tree.nodes.iter().enumerate().filter(|(_, node)| node.op.is_none()) {
        let below = tree.nodes.iter().filter(|child| child.parent == Some(at as u32));
        assert_eq!(below.map(|child| child.time).sum::<Ps>(), node.time);
    }
}

/// ```text
///        0       10                     80         100
///        [known  )  nothing runs        [unknown   )
/// ```
/// At the peak, the known op would need 40 % of its time. The judged time consists of this op and the idle time, 80 us
/// in total. The device is used for 4 us of the judged time.
#[test]
fn idle_time_is_unused_and_an_unknown_cost_is_not_judged() {
    let mut b = TraceBuilder::new();
    let line = b.line("/device:TPU:0", "XLA Ops");
    b.event(line, "known", 0, 10).hlo_category("loop fusion");
    b.event(line, "unknown", 80, 20).hlo_category("custom-call");
    let trace = b.build();
    let ops = measure(&trace);
    let groups = Groups::new(&trace, &ops, Grouping::Category);
    let efficiency = |op: &Op| (ops.text(&trace, op.name) == "known").then_some(0.4);
    let tree = OpTree::new(&trace, &ops, &groups, &efficiency);
    let of = |name: &str| {
        let node = tree.nodes.iter().find(|node| match node.op {
            Some(op) => ops.text(&trace, ops.rows[op as usize].name) == name,
            None => node.name == name,
        });
        let node = node.expect("the node is there");
        let percent = |share: f64| (100.0 * share).round() as i64;
        (node.utilization().map(percent), node.judged().map(percent), node.unused().map(us))
    };
    assert_eq!(of("run"), (Some(5), Some(80), Some(76)));
    assert_eq!(of("known"), (Some(40), Some(100), Some(6)));
    assert_eq!((of("unknown"), of("custom-call")), ((None, Some(0), None), (None, Some(0), None)));
    assert_eq!(of("idle"), (Some(0), Some(100), Some(70)));
    let outline = OpTree::outline(
        &trace,
        &ops,
        &groups,
        &OpColumns::new(&trace, &ops),
        &super::tree::Wasted::new(&ops, &efficiency),
        None,
        0.0,
    );
    let sums = |tree: &OpTree| tree.nodes.iter().map(|it| (it.time, it.known, it.wasted, it.idle)).collect::<Vec<_>>();
    assert_eq!(sums(&outline), sums(&tree));
}

/// For a custom call without an estimate, XLA writes 0 bytes, and either 0 FLOPs or the FLOPs of one iteration of its
/// grid. An author's estimate has FLOPs and bytes.
#[test]
fn a_custom_call_costs_what_its_author_counted() {
    let mut b = TraceBuilder::new();
    let line = b.line("/device:TPU:0", "XLA Ops");
    let mut op = |name: &str, category: &str, start: i64, flops: i64, bytes: i64| {
        b.event(line, name, start, 10).hlo_category(category).args(|args| {
            (args.model_flops, args.bytes_accessed) = (Some(flops), Some(bytes));
            args.memory = Some(MemoryBytes { hbm_read: bytes, ..MemoryBytes::default() });
        });
    };
    op("nobody", "custom-call", 0, 0, 0);
    op("estimated", "custom-call", 10, 1234, 5678);
    op("one_iteration", "custom-call", 20, 1 << 30, 0);
    op("bytes_only", "custom-call", 30, 0, 4096);
    op("free", "loop fusion", 40, 0, 0);
    let trace = b.build();
    let ops = measure(&trace);
    let of = |name: &str| {
        let op = row(&trace, &ops, name);
        (op.flops, op.bytes, op.hbm_bytes(), op.cost_source.map(CostSource::label))
    };
    for unknown in ["nobody", "one_iteration", "bytes_only"] {
        assert_eq!(of(unknown), (None, None, None, None), "{unknown}");
        assert!(row(&trace, &ops, unknown).is_uncosted_call(), "{unknown}");
    }
    assert_eq!(of("estimated"), (Some(1234.0), Some(5678.0), Some(5678.0), Some("profile")));
    assert_eq!(of("free"), (Some(0.0), Some(0.0), Some(0.0), Some("profile")));
    assert!(!row(&trace, &ops, "free").is_uncosted_call());
}

proptest! {
    #[test]
    fn self_times_add_up_to_the_busy_time(events in prop::collection::vec((0i64..80, 0i64..30, 0usize..5), 1..40)) {
        let mut b = TraceBuilder::new();
        let line: LineId = b.line("/device:TPU:0", "XLA Ops");
        for &(start, length, name) in &events {
            b.event(line, ["a", "b", "c", "d", "e"][name], start, length).hlo_category("loop fusion");
        }
        let trace = b.build();
        let ops = measure(&trace);
        let busy = IntervalSet::union_of(trace.events.iter().map(|event| {
            trace::Interval::new(event.start, event.end())
        }));
        prop_assert_eq!(ops.op_time, busy.length());
        prop_assert_eq!(ops.rows.iter().map(|op| op.occurrences).sum::<u64>(), events.len() as u64);
        prop_assert!(ops.op_time <= ops.device_time);
    }
}

/// A pair moves 1,000 bytes from 0 to 65 us. The two ops of the pair take 1 us and 5 us of this time. The end of
/// another pair was cut off.
///
/// ```text
/// [copy-start.3)[fusion.1       )[copy-done.3)   [copy-start.4)
/// 0            1               51 60         65  70           71
/// ```
#[test]
fn the_cost_of_an_asynchronous_pair_counts_once_and_over_its_time() {
    let mut b = TraceBuilder::new();
    let line = b.line("/device:TPU:0", "XLA Ops");
    for (name, category, expression, start, duration) in [
        ("copy-start.3", "copy-start", "(f32[250]{0}, f32[250]{0}, u32[]) copy-start(f32[250]{0} %p)", 0, 1),
        ("fusion.1", "loop fusion", "f32[250]{0} fusion(f32[250]{0} %p), kind=kLoop", 1, 50),
        ("copy-done.3", "copy-done", "f32[250]{0} copy-done((f32[250]{0}, f32[250]{0}, u32[]) %copy-start.3)", 60, 5),
        ("copy-start.4", "copy-start", "(f32[250]{0}, f32[250]{0}, u32[]) copy-start(f32[250]{0} %q)", 70, 1),
    ] {
        let text = b.trace_mut().strings.intern(&format!("%{name} = {expression}"));
        let bytes = Some(if category == "loop fusion" { 500 } else { 1000 });
        let event = b.event(line, name, start, duration).hlo_category(category);
        event.args(|args| (args.long_name, args.bytes_accessed) = (text, bytes));
    }
    let trace = b.build();
    let devices = Devices::of(&trace);
    let tallies = Tallies::new(&trace, &devices);
    let ops = Ops::new(&trace, &devices, &tallies, &Modules::new(&trace));
    let op = |name: &str| *ops.rows.iter().find(|op| ops.text(&trace, op.name) == name).unwrap();
    let (start, done) = (op("copy-start.3"), op("copy-done.3"));
    assert_eq!((start.work_time(), done.work_time()), (Ps::new(65_000_000), Ps::new(65_000_000)));
    assert!((start.bytes_per_second().unwrap() - 1000.0 / 65e-6).abs() < 1.0);
    assert_eq!(start.bytes_per_second(), done.bytes_per_second());
    assert_eq!((start.is_left_out(), done.is_left_out(), op("copy-start.4").is_left_out()), (false, true, true));
    assert_eq!((start.total, done.total), (Ps::new(1_000_000), Ps::new(5_000_000)), "times stay those of the ops");
    assert_eq!((op("copy-start.4").bytes, op("copy-start.4").bytes_per_second()), (Some(1000.0), None));
    assert_eq!(op("fusion.1").work_time(), Ps::new(50_000_000));
    // All ops together: the bytes of the pair and of the fusion, each counted once, divided by the self time of all
    // ops.
    let groups = Groups::new(&trace, &ops, Grouping::Category);
    let nodes = OpTree::new(&trace, &ops, &groups, &|_| None).nodes;
    let of = |name: &str| nodes.iter().find(|node| node.name == name).map(|node| (node.bytes, node.work_time.time()));
    assert_eq!((nodes[0].bytes, nodes[0].work_time.time()), (Some(1500.0), Ps::new(57_000_000)));
    // If a group contains only pairs, their time from start to end is used. The copy without an end has no known time.
    assert_eq!(of("copy-start"), Some((Some(1000.0), Ps::new(65_000_000))));
}

/// Builds ops on many devices: `everywhere` runs on all devices with two argument sets, and `thirds` on every third
/// device. `two` runs with one argument set on the even devices and with another on the odd devices. `last` runs on the
/// last 37 devices.
fn of_devices(devices: i64) -> Trace {
    let mut b = TraceBuilder::new();
    for device in 0..devices {
        let line = b.line(&format!("/device:TPU:{device}"), "XLA Ops");
        b.event(line, "everywhere", 0, 10);
        b.event(line, "everywhere", 20, 10).args(|args| args.flops = Some(7));
        if device % 3 == 0 {
            b.event(line, "thirds", 40, 10);
        }
        b.event(line, "two", 60, 10).args(|args| args.flops = Some(device % 2));
        if device >= devices - 37 {
            b.event(line, "last", 80, 10);
        }
    }
    b.build()
}

#[test]
fn thousands_of_devices_are_counted_one_by_one() {
    for devices in [1, 63, 64, 65, 100, 5_000] {
        let trace = of_devices(devices);
        let ops = measure(&trace);
        let counted = ["everywhere", "thirds", "two", "last"].map(|name| row(&trace, &ops, name).devices);
        let all = devices as u32;
        assert_eq!(counted, [all, all.div_ceil(3), all, all.min(37)], "{devices} devices");
        assert_eq!(row(&trace, &ops, "everywhere").occurrences, 2 * devices as u64);
    }
}

/// The memory for the list of an op's devices grows only with the number of gaps between the devices.
#[test]
fn devices_that_follow_each_other_are_one_range() {
    let trace = of_devices(100);
    let tallies = Tallies::new(&trace, &Devices::of(&trace));
    let ranges = |name: &str| {
        let is_of =
            |entry: u32| tallies.entries.get(entry as usize).is_some_and(|((of, _), _)| trace.text(*of) == name);
        tallies.earlier.iter().filter(|(entry, _)| is_of(*entry)).count()
    };
    // The last range of each entry is in its tally.
    assert_eq!(["everywhere", "last", "thirds", "two"].map(ranges), [0, 0, 33, 98]);
}
