use super::*;
use crate::host::launches::calls_of;
use trace::TraceBuilder;

fn measure(b: TraceBuilder) -> Copies {
    let trace = b.build();
    let devices = Devices::of(&trace);
    let steps = Steps::find(&trace, &devices);
    Copies::new(&trace, &devices, &steps, &calls_of(&trace, &devices), None)
}

#[test]
fn rows_differ_by_direction_memory_and_waiting() {
    let mut b = TraceBuilder::new();
    let host = b.line("/host:CPU", "python");
    let stream = b.line("/device:GPU:0", "Stream #14(MemcpyH2D)");
    let details =
        |kind: &str, size: u32, waits: u8| format!("kind_src:{kind} kind_dst:device size:{size} dest:0 async:{waits}");
    b.event(host, "device_put", 0, 100);
    b.event(host, "cuMemcpyHtoDAsync_v2", 10, 5).correlation(1);
    b.event(host, "train", 200, 100);
    b.event(stream, "MemcpyH2D", 20, 10).memcpy_details(&details("pinned", 1_000_000, 1)).correlation(1);
    // Overlaps the first copy: together they move 3 MB in 15 us.
    b.event(stream, "MemcpyH2D", 25, 10).memcpy_details(&details("pinned", 2_000_000, 1));
    b.event(stream, "MemcpyH2D", 50, 10).memcpy_details(&details("pageable", 1_000, 0));
    b.event(stream, "gemm", 70, 10);
    let copies = measure(b);
    let [pageable, pinned] = copies.rows.as_slice() else { panic!("{:?}", copies.rows) };
    assert_eq!((pinned.count, pinned.bytes, pinned.time), (2, Some(3_000_000), Ps::new(20_000_000)));
    assert_eq!((pinned.bandwidth_gb_per_sec(), pinned.class.asynchronous), (Some(200.0), Some(true)));
    assert_eq!(pinned.call_site.as_deref(), Some("device_put"));
    assert_eq!((pageable.class.source_memory.as_str(), pageable.class.asynchronous), ("pageable", Some(false)));
}

#[test]
fn a_copy_that_runs_as_a_kernel_is_found_by_its_call() {
    let mut b = TraceBuilder::new();
    let host = b.line("/host:CPU", "Host Threads/1");
    let stream = b.line("/device:GPU:0", "Stream #17(Kernel)");
    b.event(host, "hipMemcpyHtoDAsync", 0, 5).memcpy_details("kind:Unknown size:64 dest:0 async:1").correlation(1);
    b.event(stream, "__amd_rocclr_copyBuffer.kd", 20, 10).correlation(1);
    b.event(host, "hipMemset", 30, 5).correlation(2);
    b.event(stream, "__amd_rocclr_fillBufferAligned.kd", 40, 10).hlo_op("fill.1").correlation(2);
    let copies = measure(b);
    let of = |row: &CopyRow| (row.class.direction, row.class.asynchronous, row.bytes);
    assert_eq!(of(&copies.rows[0]), (Direction::HostToDevice, Some(true), Some(64)));
    assert_eq!(of(&copies.rows[1]), (Direction::Fill, Some(false), None));
    assert_eq!(copies.rows[1].call_site.as_deref(), Some("fill.1"));
}

#[test]
fn names_of_kineto_contain_the_memory() {
    let mut b = TraceBuilder::new();
    let stream = b.line("/device:GPU:0", "stream 7");
    b.event(stream, "Memcpy DtoH (Device -> Pageable)", 0, 10).args(|args| args.copy_bytes = Some(4));
    let copies = measure(b);
    let class = &copies.rows[0].class;
    assert_eq!((class.source_memory.as_str(), class.target_memory.as_str()), ("device", "pageable"));
}

#[test]
fn offloaded_arrays_last_from_start_to_done() {
    let mut b = TraceBuilder::new();
    let host = b.line("/host:CPU", "main/1");
    let ops = b.line("/device:TPU:0", "XLA Ops");
    let (on_chip, in_host) = ("f32[1024,256]{1,0:T(8,128)}", "f32[1024,256]{1,0:T(8,128)S(5)}");
    let start = format!("%copy-start.1 = ({on_chip}, {in_host}, u32[]{{:S(2)}}) copy-start({in_host} %param)");
    let done = format!("%copy-done.1 = {on_chip} copy-done(({on_chip}, {in_host}, u32[]{{:S(2)}}) %copy-start.1)");
    let [start, done] = [start, done].map(|text| b.trace_mut().strings.intern(&text));
    // In the second run, the end of the copy comes before its start in the file.
    for (run, begun, ended) in [(0, 0, 60), (1_000, 10, 5)] {
        b.event(ops, "copy-start.1", run + begun, 1).hlo_category("copy-start").args(|args| args.long_name = start);
        b.event(ops, "copy-done.1", run + ended, 40).hlo_category("copy-done").args(|args| args.long_name = done);
    }
    b.event(ops, "infeed.3", 2_000, 7).hlo_category("infeed");
    b.event(host, "tpu::System::TransferFromDevice", 0, 3);
    let copies = measure(b);
    let [offload, infeed, call] = copies.rows.as_slice() else { panic!("{:?}", copies.rows) };
    assert_eq!((offload.class.direction, offload.class.kind), (Direction::HostToDevice, CopyKind::Offload));
    // The transfers take 100 us and 35 us.
    assert_eq!((offload.count, offload.time, offload.wait), (2, Ps::new(135_000_000), Some(Ps::new(80_000_000))));
    assert_eq!((offload.bytes, offload.sized_count), (Some(2 * 1024 * 256 * 4), 2));
    assert_eq!((infeed.class.kind, infeed.time, infeed.bytes), (CopyKind::Infeed, Ps::new(7_000_000), None));
    assert_eq!((call.class.kind, call.class.direction), (CopyKind::HostCall, Direction::DeviceToHost));
    assert_eq!(copies.on_device().count(), 2);
}

#[test]
fn a_copy_belongs_to_the_step_in_which_it_starts() {
    let mut b = TraceBuilder::new();
    let host = b.line("/host:CPU", "python");
    let stream = b.line("/device:GPU:0", "Stream #7(Compute,MemcpyH2D)");
    for step in 0..3 {
        b.event(host, "train", step * 100, 90).step_num(step);
        b.event(host, "call", step * 100 + 1, 1).correlation(step * 2);
        b.event(host, "call", step * 100 + 3, 1).correlation(step * 2 + 1);
        b.event(stream, "gemm", step * 100 + 5, 20).correlation(step * 2);
        b.event(stream, "MemcpyD2H", step * 100 + 30, 10 * (step + 1)).correlation(step * 2 + 1);
    }
    let copies = measure(b);
    let time = |step: &StepCopies| step.time[Direction::DeviceToHost as usize].as_ps() / 1_000_000;
    assert_eq!(copies.steps.iter().map(time).collect::<Vec<i64>>(), [10, 20, 30]);
    assert_eq!((copies.steps[1].name.as_deref(), copies.steps[1].devices), (Some("1"), 1));
}
