use super::apart::Track;
use super::*;
use crate::device::devices::Devices;
use trace::{EventColumn, LineId, TraceBuilder};

fn measure(trace: &Trace) -> Collectives {
    let devices = Devices::of(trace);
    Collectives::new(trace, &devices, &DeviceTime::of_all(trace, &devices), &Modules::new(trace), &[])
}

fn us(time: Ps) -> i64 {
    time.as_ps() / 1_000_000
}

#[test]
fn what_computation_hides_is_not_exposed() {
    let mut b = TraceBuilder::new();
    let compute = b.line("/device:GPU:0", "Stream #1");
    let network = b.line("/device:GPU:0", "Stream #2");
    b.event(compute, "gemm", 0, 60).hlo_op("dot.1");
    b.event(network, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 40, 50).hlo_op("all-reduce-start.1");
    let found = measure(&b.build());
    assert_eq!(found.ops.len(), 1);
    let op = &found.ops[0];
    assert_eq!((op.kind, us(op.sums.total), us(op.sums.exposed)), ("all-reduce", 50, 30));
    assert_eq!(op.algorithm.as_deref(), Some("RING"));
    assert_eq!(found.hidden_percent(), Some(40.0));
}

fn all_reduce(b: &mut TraceBuilder, line: LineId, groups: &str, start: i64, duration: i64) {
    let text = format!("%all-reduce.1 = f32[4]{{0}} all-reduce(f32[4]{{0}} %x), replica_groups={{{groups}}}");
    let text = b.trace_mut().strings.intern(&text);
    b.event(line, "all-reduce.1", start, duration).hlo_category("all-reduce").args(|args| args.long_name = text);
}

#[test]
fn the_last_to_arrive_does_not_wait() {
    let mut b = TraceBuilder::new();
    // The clock of chip 1 is 900 us ahead of the other clocks, so only durations may be compared.
    for (chip, shift, durations) in [(0, 0, [10, 12]), (1, 900, [4, 5]), (2, 0, [7, 9])] {
        let line = b.line(&format!("/device:TPU:{chip}"), "XLA Ops");
        for (n, duration) in (0..).zip(durations) {
            all_reduce(&mut b, line, "{0,1,2}", shift + n * 100, duration);
        }
    }
    let found = measure(&b.build());
    let waits: Vec<_> = found.runs.iter().map(|run| run.wait.map(us)).collect();
    assert_eq!(waits, [Some(6), Some(7), Some(0), Some(0), Some(3), Some(4)]);
    assert_eq!((us(found.sums.wait), us(found.sums.transfer)), (20, 27));
    assert_eq!(found.straggler(), Some((1, 1.0)));
}

/// The rows of the mesh are {0,1} and {2,3}. If all four chips were compared, 4 would be the shortest duration.
#[test]
fn a_row_of_a_mesh_waits_for_its_row_only() {
    let mut b = TraceBuilder::new();
    for (chip, durations) in [(0, [10, 12]), (1, [4, 5]), (2, [30, 40]), (3, [31, 20])] {
        let line = b.line(&format!("/device:TPU:{chip}"), "XLA Ops");
        for (n, duration) in (0..).zip(durations) {
            all_reduce(&mut b, line, "{0,1},{2,3}", n * 100, duration);
        }
    }
    let found = measure(&b.build());
    let waits: Vec<_> = found.runs.iter().map(|run| run.wait.map(us)).collect();
    assert_eq!(waits, [6, 7, 0, 0, 0, 20, 1, 0].map(Some));
    assert_eq!((us(found.sums.wait), us(found.sums.transfer)), (34, 118));
    let of_devices: Vec<_> = found.devices.iter().map(|it| (it.last, it.fair, us(it.caused))).collect();
    assert_eq!(of_devices, [(0, 1.0, 0), (2, 1.0, 13), (1, 1.0, 1), (1, 1.0, 20)]);
    // Chip 3 made its row wait for longer, but only once.
    assert_eq!(found.straggler(), Some((1, 1.0)));
    assert_eq!(found.connected(), [0, 0, 2, 2]);
}

/// A capture of the second of two hosts. The mesh has the chips in the order 4, 6, 5, 7, and core_details contains
/// their ids.
#[test]
fn chips_that_state_their_number_are_found_in_their_groups() {
    let mut b = TraceBuilder::new();
    for (chip, id, duration) in [(0, 4, 10), (1, 5, 3), (2, 6, 4), (3, 7, 9)] {
        let plane = format!("/device:TPU:{chip}");
        let line = b.line(&plane, "XLA Ops");
        b.plane_stat(&plane, "global_core_id", trace::StatValue::Int(id));
        all_reduce(&mut b, line, "{0,4},{5,7},{1,6}", 0, duration);
    }
    let found = measure(&b.build());
    let waits: Vec<_> = found.runs.iter().map(|run| run.wait.map(us)).collect();
    assert_eq!(waits, [None, Some(0), None, Some(6)]);
    assert_eq!(found.matrix, None, "0 and 1 are not in the capture");
}

/// Chip 1 has one more run, at the end or at the start. Only the times show which runs belong together.
#[test]
fn runs_are_matched_by_their_times_where_one_is_missing() {
    for (first, waits) in
        [(0, vec![Some(1), Some(2), Some(0), Some(0), None]), (-100, vec![Some(1), Some(2), None, Some(0), Some(0)])]
    {
        let mut b = TraceBuilder::new();
        let lines = [0, 1].map(|chip| b.line(&format!("/device:TPU:{chip}"), "XLA Ops"));
        for (start, duration) in [(0, 11), (100, 12)] {
            all_reduce(&mut b, lines[0], "{0,1}", start, duration);
        }
        for n in 0..3 {
            all_reduce(&mut b, lines[1], "{0,1}", first + n * 100, 10);
        }
        let found = measure(&b.build());
        assert_eq!(found.runs.iter().map(|run| run.wait.map(us)).collect::<Vec<_>>(), waits, "{first}");
    }
}

#[test]
fn runs_that_cannot_be_matched_are_not_compared() {
    let mut b = TraceBuilder::new();
    for (chip, runs, shift) in [(0, 2, 0), (1, 3, 5000)] {
        let line = b.line(&format!("/device:TPU:{chip}"), "XLA Ops");
        for n in 0..runs {
            all_reduce(&mut b, line, "{0,1}", shift + n * 100, 10);
        }
    }
    let found = measure(&b.build());
    assert!(found.runs.iter().all(|run| run.wait.is_none()));
    assert_eq!((found.sums.compared, found.straggler()), (0, None));
}

/// Measures an all-reduce whose groups are not recorded. Each chip has a list of starts and ends.
fn unstated(chips: &[&[(i64, i64)]]) -> Collectives {
    let mut b = TraceBuilder::new();
    for (chip, runs) in chips.iter().enumerate() {
        let line = b.line(&format!("/device:TPU:{chip}"), "XLA Ops");
        for &(start, end) in *runs {
            b.event(line, "all-reduce.1", start, end - start).hlo_category("all-reduce");
        }
    }
    measure(&b.build())
}

/// Returns the waits of all runs, by device and time, in microseconds.
fn waits(found: &Collectives) -> Vec<Option<i64>> {
    found.runs.iter().map(|run| run.wait.map(us)).collect()
}

#[test]
fn unknown_groups_are_those_that_end_together() {
    let found = unstated(&[&[(0, 100), (200, 300)], &[(60, 100), (270, 301)], &[(20, 101), (230, 300)]]);
    assert_eq!(waits(&found), [60, 69, 0, 0, 41, 39].map(Some));
    assert_eq!((found.straggler(), found.connected()), (Some((1, 1.0)), vec![0, 0, 0]));
    // The chips form rows of a mesh: each row ends when its later chip arrives.
    let rows = unstated(&[
        &[(0, 100), (200, 300)],
        &[(0, 140), (200, 330)],
        &[(60, 100), (250, 300)],
        &[(30, 140), (210, 330)],
    ]);
    assert_eq!(waits(&rows), [60, 50, 30, 10, 0, 0, 0, 0].map(Some));
    assert_eq!(rows.connected(), [0, 1, 0, 1]);
}

#[test]
fn unknown_groups_whose_runs_end_apart_are_not_compared() {
    let found = unstated(&[&[(0, 100)], &[(0, 120)], &[(0, 150)]]);
    assert_eq!((found.sums.compared, found.matrix.is_none(), found.connected()), (0, true, vec![0, 0, 0]));
    // One run ends with another by chance, but most do not.
    let once = unstated(&[&[(0, 100), (200, 300)], &[(0, 100), (200, 340)], &[(0, 130), (200, 390)]]);
    assert_eq!(once.sums.compared, 0);
}

/// The chip in the middle lacks the second of four runs, so it is unknown which chip arrived last in that run.
#[test]
fn a_device_that_misses_a_run_is_compared_in_the_others() {
    let all = |late: i64| (0..4).map(|n| (1000 * n + late, 1000 * n + 100)).collect::<Vec<_>>();
    let (first, mut second, third) = (all(0), all(20), all(60));
    second.remove(1);
    let found = unstated(&[&first, &second, &third]);
    let (whole, missing) = (|wait: i64| [Some(wait), None, Some(wait), Some(wait)], [Some(40); 3]);
    assert_eq!(waits(&found), [&whole(60)[..], &missing, &whole(0)].concat());
    assert_eq!((found.sums.compared, found.straggler()), (9, Some((2, 1.0))));
}

#[test]
fn an_asynchronous_collective_lasts_from_start_to_end_and_counts_once() {
    let mut b = TraceBuilder::new();
    let line = b.line("/device:TPU:0", "XLA Ops");
    b.event(line, "all-gather-start.3", 0, 1).hlo_category("all-gather-start");
    b.event(line, "fusion.1", 1, 50).hlo_category("loop fusion");
    b.event(line, "all-gather-done.3", 60, 5).hlo_category("all-gather-done");
    let found = measure(&b.build());
    assert_eq!((found.sums.occurrences, us(found.sums.total), us(found.sums.exposed)), (1, 65, 15));
    assert_eq!(found.ops[0].kind, "all-gather");
}

#[test]
fn bandwidth_and_matrix_follow_from_bytes_and_groups() {
    let mut b = TraceBuilder::new();
    for chip in 0..2 {
        let line = b.line(&format!("/device:TPU:{chip}"), "XLA Ops");
        let expression = "%ar.1 = f32[250]{0} all-reduce(f32[250]{0} %x), replica_groups={{0,1}}";
        let name = b.trace_mut().strings.intern(expression);
        b.event(line, "all-reduce.1", 0, 10).hlo_category("all-reduce").args(|args| args.long_name = name);
    }
    let found = measure(&b.build());
    let op = &found.ops[0];
    assert_eq!((op.message.bytes, op.message.group_size), (Some(1000), Some(2)));
    // 1000 bytes in 10 us. With two devices the factor is 1.
    assert!((op.algorithm_gb_per_sec().unwrap() - 0.1).abs() < 1e-12);
    assert!((op.bus_gb_per_sec().unwrap() - 0.1).abs() < 1e-12);
    assert_eq!(found.matrix, Some(Matrix { bytes: vec![vec![0.0, 1000.0], vec![1000.0, 0.0]] }));
}

#[test]
fn messages_of_one_pytorch_kernel_are_distinguished() {
    let mut b = TraceBuilder::new();
    let line = b.line("/device:GPU:0", "stream 7");
    for (start, elements) in [(0, 1000), (20, 1000), (40, 9000)] {
        let text =
            format!("collective:all_to_all in_elements:{elements} out_elements:{elements} group_size:4 dtype:Half");
        let details = b.trace_mut().strings.intern(&text);
        let event = b.event(line, "ncclDevKernel_SendRecv(ncclDevComm*)", start, 10);
        event.args(|args| args.kernel_details = details);
    }
    let found = measure(&b.build());
    let ops: Vec<_> = found.ops.iter().map(|op| (op.kind, op.sums.occurrences, op.message.bytes)).collect();
    assert_eq!(ops, [("all-to-all", 2, Some(2000)), ("all-to-all", 1, Some(18_000))]);
    assert_eq!(found.ops[0].message.group_size, Some(4));
}

/// A trace with two messages, and with an all-gather that consists of two ops and a span in flight. At first, the bytes
/// of one message are unknown.
#[test]
fn communication_that_repeats_an_op_is_in_no_sum() {
    let mut b = TraceBuilder::new();
    let line = b.line("/device:TPU:0", "XLA Ops");
    let flight = b.line("/device:TPU:0", "Async XLA Ops");
    let host = b.line("/host:CPU", "megascale");
    b.event(line, "all-gather-start.3", 0, 1).hlo_category("all-gather-start");
    b.event(line, "fusion.1", 1, 50).hlo_category("loop fusion");
    b.event(line, "all-gather-done.3", 60, 5).hlo_category("all-gather-done");
    b.event(flight, "all-gather-start.3", 0, 65).hlo_category("all-gather-start");
    b.event(flight, "copy-start.4", 0, 65).hlo_category("copy-start");
    let label = b.trace_mut().strings.intern("all-reduce.273_312");
    let ids = [100, 200].map(|at| {
        let event = b.event(host, "MegaScale: Communication Transport Receive", at, 0);
        let event = event.args(|args| (args.tf_op, args.bytes_transferred) = (label, Some(1000)));
        event.id()
    });
    for (id, us) in ids.into_iter().zip([50, 30]) {
        b.trace_mut().events.push_value(id, EventColumn::MessageDuration, us * 1_000_000);
    }
    let trace = b.build();
    let found = measure(&trace);
    assert_eq!((found.sums.occurrences, us(found.sums.total)), (1, 65));
    let rows: Vec<_> = found
        .apart
        .iter()
        .map(|it| (trace.text(it.name), it.kind, it.track, it.count, us(it.total), it.exposed.map(us), it.bytes))
        .collect();
    assert_eq!(
        rows,
        [
            ("all-gather-start.3", "all-gather", Track::Async, 1, 65, Some(15), None),
            ("all-reduce.273_312", "megascale-receive", Track::Megascale, 2, 80, None, Some(2000)),
        ]
    );
}
