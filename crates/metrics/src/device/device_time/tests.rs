//! Tests the parts of a device's time on timelines that are small enough to count by hand. Times are microseconds.

use super::*;
use base::Ps;
use trace::TraceBuilder;

fn time_of(trace: &Trace) -> DeviceTime {
    DeviceTime::of_all(trace, &Devices::of(trace)).remove(0)
}

fn us(set: Option<&IntervalSet>) -> f64 {
    set.map_or(0.0, |set| set.length().as_us())
}

/// ```text
///           0    10   20   30   40   50   60   70   80
/// stream 1  [gemm     )
/// stream 2       [nccl          )
/// stream 3                 [D2H      )
/// stream 4                      [H2D      )
/// stream 5                           [memset        )
/// exposed   C---------M---------D----H---------F----
/// ```
#[test]
fn earlier_parts_hide_later_ones() {
    let mut b = TraceBuilder::new();
    for (stream, name, start, length) in [
        (1, "gemm_f32", 0, 20),
        (2, "ncclDevKernel_AllReduce_Sum", 10, 30),
        (3, "MemcpyD2H", 30, 20),
        (4, "MemcpyH2D", 40, 20),
        (5, "Memset", 50, 30),
    ] {
        let line = b.line("/device:GPU:0", &format!("Stream #{stream}(Compute)"));
        b.event(line, name, start, length);
    }
    let time = time_of(&b.build());
    let expected = [
        (StepPart::Compute, 20.0),
        (StepPart::Communication, 20.0),
        (StepPart::HostToDevice, 20.0),
        (StepPart::DeviceToHost, 0.0),
        (StepPart::DataMovement, 20.0),
    ];
    assert_eq!(expected.map(|(part, _)| (part, us(time.exposed(part)))), expected);
    assert_eq!((time.communication.length(), time.transfer.length()), (Ps::new(30_000_000), Ps::new(50_000_000)));
}

#[test]
fn copies_of_a_tpu_go_between_the_memories_that_they_name() {
    let mut b = TraceBuilder::new();
    let ops = b.line("/device:TPU:0", "XLA Ops");
    let (device, host) = ("f32[8]{0:T(256)}", "f32[8]{0:T(256)S(5)}");
    for (index, (target, source)) in [(device, host), (host, device), (device, device)].into_iter().enumerate() {
        let name = format!("%copy-done.{index} = {target} copy-done(({target}, {source}, u32[]) %copy-start.{index})");
        b.event(ops, &name, index as i64 * 10, 10).hlo_category("copy-done");
    }
    b.event(ops, "%infeed.1 = ...", 30, 5).hlo_category("infeed");
    b.event(ops, "%transpose.1 = ...", 35, 3).hlo_category("data formatting");
    let time = time_of(&b.build());
    let parts: Vec<(StepPart, f64)> = time.parts().map(|(part, set)| (part, us(Some(set)))).collect();
    assert_eq!(
        parts,
        [
            (StepPart::HostToDevice, 10.0),
            (StepPart::DeviceToHost, 10.0),
            (StepPart::DeviceToDevice, 10.0),
            (StepPart::InfeedOutfeed, 5.0),
            (StepPart::DataMovement, 3.0)
        ]
    );
}

#[test]
fn asynchronous_work_is_in_flight_but_does_not_occupy_the_device() {
    let mut b = TraceBuilder::new();
    let ops = b.line("/device:TPU:0", "XLA Ops");
    let flying = b.line("/device:TPU:0", "Async XLA Ops");
    b.event(ops, "all-reduce-start.1", 0, 1).hlo_category("all-reduce-start");
    b.event(ops, "fusion.1", 1, 50).hlo_category("loop fusion");
    b.event(ops, "all-reduce-done.1", 60, 5).hlo_category("all-reduce-done");
    b.event(flying, "all-reduce-start.1", 0, 65).hlo_category("all-reduce-start");
    let time = time_of(&b.build());
    assert_eq!((us(time.exposed(StepPart::Communication)), time.communication.length()), (6.0, Ps::new(65_000_000)));
}

#[test]
fn without_an_asynchronous_line_pairs_of_ops_are_in_flight() {
    let mut b = TraceBuilder::new();
    let ops = b.line("/device:TPU:0", "XLA Ops");
    for (name, start, length, category) in [
        ("%all-reduce-start.1 = f32[2]{0} all-reduce-start(f32[2]{0} %p)", 0, 1, "all-reduce-start"),
        ("%fusion.1 = f32[2]{0} fusion(f32[2]{0} %q)", 1, 50, "loop fusion"),
        ("%all-reduce-done.1 = f32[2]{0} all-reduce-done(f32[2]{0} %all-reduce-start.1)", 60, 5, "all-reduce-done"),
        ("%all-reduce-done.2 = f32[2]{0} all-reduce-done(f32[2]{0} %cut)", 70, 5, "all-reduce-done"),
    ] {
        b.event(ops, name, start, length).hlo_category(category);
    }
    let time = time_of(&b.build());
    assert_eq!(time.communication.length(), Ps::new(70_000_000));
    assert_eq!(us(time.exposed(StepPart::Communication)), 11.0);
}
