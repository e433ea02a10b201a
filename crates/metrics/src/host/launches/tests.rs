use super::*;
use trace::TraceBuilder;

fn measure(b: TraceBuilder) -> (Trace, Launches) {
    let trace = b.build();
    let devices = Devices::of(&trace);
    let calls = calls_of(&trace, &devices);
    let launches = Launches::new(&trace, &devices, &calls);
    (trace, launches)
}

#[test]
fn a_launch_is_its_call_and_its_op() {
    let mut b = TraceBuilder::new();
    let host = b.line("/host:CPU", "launcher");
    let stream = b.line("/device:GPU:0", "Stream #7(Compute)");
    for (number, start) in [(1, 0), (2, 100), (3, 200)] {
        b.event(host, "cuLaunchKernel", start, 10).correlation(number);
    }
    b.event(host, "cuLaunchKernel", 300, 60).correlation(4);
    b.event(host, "cuStreamSynchronize", 400, 500).correlation(5);
    b.event(stream, "gemm", 15, 80).correlation(1);
    b.event(stream, "gemm", 105, 4).correlation(2);
    b.event(stream, "gemm", 320, 20).correlation(3);
    b.event(stream, "add", 500, 1).correlation(4);
    b.event(stream, "lost", 600, 1).correlation(99);
    b.event(stream, "without a number", 700, 1);
    let (trace, launches) = measure(b);
    assert_eq!((launches.device_ops, launches.joined_ops), (6, 4));
    let total = &launches.total;
    assert_eq!((total.launches, total.host, total.device), (4, Ps::new(90_000_000), Ps::new(105_000_000)));
    // The delays are 5, 0 (the op started inside its call), 110 and 140 us.
    assert_eq!(
        (total.delay, total.delay_max, total.delay_median),
        (Ps::new(255_000_000), Ps::new(140_000_000), Ps::new(5_000_000))
    );
    // The 4 us op is shorter than its 10 us call. The call of the 1 us op is an outlier.
    assert_eq!((total.short_kernels, total.runtime_outliers, total.delay_outliers), (1, 1, 2));
    let names: Vec<(&str, u64)> =
        launches.groups.iter().map(|it| (trace.text(it.kernel), it.statistics.launches)).collect();
    assert_eq!(names, [("add", 1), ("gemm", 3)]);
    let queue = launches.queues.first().unwrap();
    assert_eq!((queue.launches, queue.max, launches.queues.len()), (4, 2, 1));
}

/// ```text
/// host      [launch 1)     [sync 2        )
/// stream        [kernel     )
///                     [Stream Sync 2 )
/// ```
#[test]
fn a_synchronisation_on_a_stream_is_no_launched_op() {
    let mut b = TraceBuilder::new();
    let host = b.line("/host:CPU", "launcher");
    let stream = b.line("/device:GPU:0", "stream 7");
    b.event(host, "cudaLaunchKernel", 0, 5).correlation(1);
    b.event(host, "cudaStreamSynchronize", 20, 40).correlation(2);
    b.event(host, "cudaStreamWaitEvent", 70, 5).correlation(3);
    b.event(stream, "gemm", 10, 50).correlation(1).cat("kernel");
    b.event(stream, "Stream Sync", 18, 43).correlation(2).cat("cuda_sync");
    b.event(stream, "Stream Wait Event", 300, 1).correlation(3).cat("cuda_sync");
    let (trace, launches) = measure(b);
    assert_eq!((launches.device_ops, launches.joined_ops, launches.total.launches), (1, 1, 1));
    let names: Vec<&str> = launches.groups.iter().map(|it| trace.text(it.kernel)).collect();
    assert_eq!(names, ["gemm"]);
    // The synchronisation begins before its call, but that does not mean that the clocks differ.
    assert_eq!((launches.early_max, launches.total.delay_max), (Ps::ZERO, Ps::new(5_000_000)));
    let queue = launches.queues.first().unwrap();
    assert_eq!((queue.launches, queue.max, queue.span), (1, 1, Ps::new(10_000_000)));
}

#[test]
fn a_graph_is_one_launch_of_many_ops() {
    let mut b = TraceBuilder::new();
    let host = b.line("/host:CPU", "launcher");
    let stream = b.line("/device:GPU:0", "Stream #7(Compute)");
    b.event(host, "cuGraphLaunch", 0, 30).correlation(1);
    b.event(stream, "second", 70, 10).correlation(1);
    b.event(stream, "first", 50, 10).correlation(1);
    let (trace, launches) = measure(b);
    let group = launches.groups.first().unwrap();
    assert_eq!(trace.text(group.kernel), "first");
    let of = &group.statistics;
    assert_eq!((of.launches, of.device_ops, of.device, of.delay), (1, 2, Ps::new(20_000_000), Ps::new(20_000_000)));
}

#[test]
fn a_tpu_program_is_launched_by_the_call_with_its_run_id() {
    let mut b = TraceBuilder::new();
    let host = b.line("/host:CPU", "queue");
    for device in 0..2 {
        let plane = format!("/device:TPU:{device}");
        let (modules, ops) = (b.line(&plane, "XLA Modules"), b.line(&plane, "XLA Ops"));
        b.event(host, "DoEnqueueProgram", 10 * device, 5).run_id(7).args(|args| args.device_ordinal = Some(device));
        b.event(host, "CompleteCallbacks", 200, 5).run_id(7).args(|args| args.device_ordinal = Some(device));
        b.event(modules, "jit_f", 50, 100).run_id(7);
        b.event(ops, "fusion.1", 50, 100);
    }
    let (trace, launches) = measure(b);
    let group = launches.groups.first().unwrap();
    assert_eq!((trace.text(group.call), trace.text(group.kernel)), ("DoEnqueueProgram", "jit_f"));
    // The delay is 45 us on the first device and 35 us on the second.
    assert_eq!((group.statistics.launches, group.statistics.delay), (2, Ps::new(80_000_000)));
    assert!(launches.queues.is_empty());
}

#[test]
fn an_op_that_starts_before_its_call_shows_that_clocks_differ() {
    let mut b = TraceBuilder::new();
    let host = b.line("/host:CPU", "launcher");
    let stream = b.line("/device:GPU:0", "Stream #7(Compute)");
    b.event(host, "cuLaunchKernel", 100, 5).correlation(1);
    b.event(stream, "gemm", 70, 10).correlation(1);
    b.event(host, "cuLaunchKernel", 200, 5).correlation(2);
    b.event(stream, "gemm", 203, 10).correlation(2);
    let (_, launches) = measure(b);
    assert_eq!((launches.early_max, launches.total.delay), (Ps::new(30_000_000), Ps::ZERO));
    // The first delay is unknown; the second is 0, since the op starts during its call.
    let total = &launches.total;
    assert_eq!((total.launches, total.early, total.mean_delay_us()), (2, 1, Some(0.0)));
}
