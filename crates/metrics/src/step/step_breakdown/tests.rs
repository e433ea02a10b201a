//! Tests the parts of steps on timelines that are small enough to count by hand, and on random timelines. Times are
//! microseconds.

use proptest::prelude::*;

use super::*;
use crate::host::host_threads::host_times;
use crate::host::launches::calls_of;
use crate::step::{steps, window};
use run::WindowChoice;
use trace::{Interval, IntervalSet, TraceBuilder};

fn breakdown(trace: &Trace) -> Breakdown {
    let devices = Devices::of(trace);
    let hosts = host_times(trace, &devices);
    let found = Steps::find(trace, &devices);
    let times = DeviceTime::of_all(trace, &devices);
    let report = steps::report(trace, &devices, &times, &found, &IntervalSet::default(), None, None);
    let calls = calls_of(trace, &devices);
    let plain = window::plain(&Default::default(), &devices, None);
    let mut breakdown = Breakdown::new(
        trace,
        &devices,
        &times,
        &hosts,
        &calls,
        Measured { steps: &found, judged: &report.rows, plain: &plain },
    );
    let all = window::plain(&WindowChoice::All, &devices, None);
    let window = breakdown.window(&WindowChoice::All, &found, &all, None);
    breakdown.measure_window(trace, &devices, &Tallies::new(trace, &devices), &hosts, &window);
    breakdown
}

fn parts(row: &StepRow) -> Vec<(StepPart, f64)> {
    let all = StepPart::ALL.into_iter().map(|part| (part, row.parts.get(part).as_us()));
    all.filter(|(_, time)| *time != 0.0).collect()
}

/// ```text
///         0       100     200     300     400     500     600     700
/// python  [train 0                                      )[train 1
///          L1 L2   [compile   )    [IteratorGetNext) L3
/// GPU       [k1) [k2  )                                  [k3 )
/// idle    HH     kw     CCCCCCCC HHH IIIIIIIIIIIIIIII HHHH
/// ```
#[test]
fn idle_time_is_split_by_what_kept_the_next_op() {
    let mut b = TraceBuilder::new();
    let python = b.line("/host:CPU", "python");
    let stream = b.line("/device:GPU:0", "Stream #1(Compute)");
    b.event(python, "train", 0, 530).step_num(0);
    b.event(python, "train", 550, 100).step_num(1);
    b.event(python, "cuLaunchKernel", 10, 5).correlation(1);
    b.event(python, "cuLaunchKernel", 20, 5).correlation(2);
    b.event(python, "backend_compile", 100, 100).step_num(0);
    b.event(python, "IteratorGetNext", 300, 150);
    b.event(python, "cuLaunchKernel", 560, 5).correlation(3);
    b.event(stream, "k1", 30, 50).correlation(1);
    b.event(stream, "k2", 85, 55).correlation(2);
    b.event(stream, "k3", 580, 20).correlation(3);
    let trace = b.build();
    let found = breakdown(&trace);
    let row = &found.rows[0];
    assert_eq!((row.start, row.duration), (Ps::new(0), Ps::new(550_000_000)));
    let devices = Devices::of(&trace);
    let (hosts, calls) = (host_times(&trace, &devices), calls_of(&trace, &devices));
    let events = found.events(&trace, &devices, &hosts, &calls, &|row| row.step == Some(0), usize::MAX);
    let shown = |event: &StepEvent| {
        let name = event.op.and_then(|op| trace.events.get(op)).map_or("", |op| trace.text(op.name));
        (event.part, event.start.as_us(), event.time.as_us(), name)
    };
    assert_eq!(
        events.iter().map(shown).collect::<Vec<_>>(),
        [
            (StepPart::HostBound, 0.0, 30.0, "k1"),
            (StepPart::Compute, 30.0, 50.0, "k1"),
            (StepPart::KernelWait, 80.0, 5.0, "k2"),
            (StepPart::Compute, 85.0, 55.0, "k2"),
            (StepPart::Compile, 140.0, 60.0, "k3"),
            (StepPart::InputBound, 140.0, 150.0, "k3"),
            (StepPart::HostBound, 140.0, 200.0, "k3"),
        ]
    );
    assert_eq!(
        parts(row),
        [
            (StepPart::Compute, 105.0),
            (StepPart::Compile, 60.0),
            (StepPart::InputBound, 150.0),
            (StepPart::HostBound, 230.0),
            (StepPart::KernelWait, 5.0)
        ]
    );
    assert_eq!(found.mean.as_ref().and_then(MeanPart::biggest_idle_cause), Some(StepPart::HostBound));
}

#[test]
fn a_long_gap_after_a_timely_launch_is_not_the_hosts() {
    let mut b = TraceBuilder::new();
    let python = b.line("/host:CPU", "python");
    let stream = b.line("/device:GPU:0", "Stream #1(Compute)");
    for (id, start) in [(1, 10), (2, 30), (3, 51)] {
        b.event(python, "cuLaunchKernel", id, 1).correlation(id);
        b.event(stream, "k", start, 10).correlation(id);
    }
    b.event(python, "backend_compile", 20, 20);
    let found = breakdown(&b.build());
    assert!(!found.has_steps);
    // A gap of 10 us is short, and a gap of 11 us is not. The compilation did not delay the op that was already launched.
    assert_eq!(
        parts(&found.rows[0]),
        [(StepPart::Compute, 30.0), (StepPart::KernelWait, 10.0), (StepPart::OtherIdle, 11.0)]
    );
}

/// ```text
///          0   10 15 20       1020 1025 1030 1040         4040
/// host            [2)                   [3   )
/// stream 2 [k1)                                          [k3)
/// stream 3                    [k2 )
/// cause        HHHHHHHHHHHHHH      IIIIIHHHHHHOOOOOOOOOOOO
/// ```
#[test]
fn an_op_that_waits_long_after_a_late_launch_is_not_host_bound() {
    let mut b = TraceBuilder::new();
    let python = b.line("/host:CPU", "python");
    let stream = b.line("/device:GPU:0", "stream 2");
    let other = b.line("/device:GPU:0", "stream 3");
    b.event(python, "hipLaunchKernel", -5, 2).correlation(1);
    b.event(python, "hipMemcpyWithStream", 15, 5).correlation(2);
    b.event(python, "hipLaunchKernel", 1030, 10).correlation(3);
    b.event(python, "IteratorGetNext", 1025, 400);
    b.event(stream, "k1", 0, 10).correlation(1);
    b.event(other, "k2", 1020, 5).correlation(2);
    b.event(stream, "k3", 4040, 10).correlation(3);
    let found = breakdown(&b.build());
    // The gap before `k2` lasts 1,010 us and is due to the host. The gap before `k3` begins at 1,025 us. It consists of
    // 5 us of input before the call, 10 us of the call, and 3,000 us in which a launched kernel did not start.
    assert_eq!(
        parts(&found.rows[0]),
        [
            (StepPart::Compute, 25.0),
            (StepPart::InputBound, 5.0),
            (StepPart::HostBound, 1010.0 + 10.0),
            (StepPart::OtherIdle, 3000.0)
        ]
    );
}

#[test]
fn without_launches_the_host_explains_what_it_covers() {
    let mut b = TraceBuilder::new();
    let python = b.line("/host:CPU", "python");
    let stream = b.line("/device:GPU:0", "Stream #1(Compute)");
    b.event(stream, "k", 0, 10);
    b.event(python, "IteratorGetNext", 20, 30);
    b.event(python, "backend_compile", 40, 30);
    b.event(stream, "k", 100, 10);
    assert_eq!(
        parts(&breakdown(&b.build()).rows[0]),
        [
            (StepPart::Compute, 20.0),
            (StepPart::Compile, 30.0),
            (StepPart::InputBound, 20.0),
            (StepPart::OtherIdle, 40.0)
        ]
    );
}

/// ```text
///          0   10  20  30  40  50  60  70  80  90  100
/// host            E2                E3
/// Modules  [run 1     )     [run 2  )  [run 3         )
/// TraceMe                               [barrier)
/// Ops      [a) [b     )     [c      )           [d    )
/// idle        O         HHHH         HH BBBBBBBBB
/// ```
#[test]
fn programs_of_a_tpu_are_launched_by_the_host() {
    let mut b = TraceBuilder::new();
    let queue = b.line("/host:CPU", "py_xla_execute/1");
    let modules = b.line("/device:TPU:0", "XLA Modules");
    let ops = b.line("/device:TPU:0", "XLA Ops");
    let marks = b.line("/device:TPU:0", "XLA TraceMe");
    let steps = b.line("/device:TPU:0", "Steps");
    b.event(steps, "0", 0, 100);
    for (run, enqueued, start, length) in [(1, -5, 0, 30), (2, 35, 40, 20), (3, 62, 64, 36)] {
        b.event(queue, "DoEnqueueProgram", enqueued, 1).run_id(run).args(|args| args.device_ordinal = Some(0));
        b.event(queue, "CompleteCallbacks", start + length, 1).run_id(run).args(|args| args.device_ordinal = Some(0));
        b.event(modules, &format!("jit_{run}(1)"), start, length).run_id(run);
    }
    for (name, start, length) in [("a", 0, 5), ("b", 20, 10), ("c", 40, 20), ("d", 85, 15)] {
        b.event(ops, name, start, length).hlo_category("loop fusion");
    }
    b.event(marks, "barrier-cores", 65, 20);
    let found = breakdown(&b.build());
    assert_eq!(
        parts(&found.rows[0]),
        [
            (StepPart::Compute, 5.0 + 10.0 + 20.0 + 15.0),
            (StepPart::Barrier, 20.0),
            (StepPart::HostBound, 10.0 + 5.0),
            (StepPart::OtherIdle, 15.0)
        ]
    );
}

#[test]
fn means_weigh_steps_alike_and_leave_out_those_that_do_not_count() {
    let mut b = TraceBuilder::new();
    for device in 0..2 {
        let steps = b.line(&format!("/device:TPU:{device}"), "Steps");
        let ops = b.line(&format!("/device:TPU:{device}"), "XLA Ops");
        for step in 0..4 {
            b.event(steps, &step.to_string(), step * 100, 90);
            b.event(ops, "fusion.1", step * 100, 40 + 20 * device).hlo_category("loop fusion");
        }
    }
    let found = breakdown(&b.build());
    assert!(found.has_steps);
    assert_eq!(found.rows.len(), 8);
    assert!(found.rows.iter().map(|row| (row.step, row.device)).is_sorted());
    let mean = found.mean.as_ref().unwrap();
    assert_eq!(
        (mean.num_steps, mean.duration_us, mean.part_us(StepPart::Compute), mean.idle_us()),
        (3, 100.0, 50.0, 50.0)
    );
    let of_device: Vec<f64> =
        found.mean_of_device.iter().flatten().map(|mean| mean.part_us(StepPart::Compute)).collect();
    assert_eq!(of_device, [40.0, 60.0]);
    assert_eq!(mean.percent(StepPart::Compute), Some(50.0));
}

#[test]
fn nothing_measured_is_nothing() {
    let found = breakdown(&Trace::default());
    assert!(
        found.rows.is_empty() && found.mean.is_none() && found.host_threads.is_none() && found.duty_cycle.is_none()
    );
}

/// `(line, name, start, length, id)` of random events. The names cover every part, and random ids connect launches with
/// ops.
fn events() -> impl Strategy<Value = Vec<(usize, usize, i64, i64, i64)>> {
    prop::collection::vec((0usize..6, 0usize..8, 0i64..400, 0i64..60, 0i64..20), 1..60)
}

fn random_trace(events: &[(usize, usize, i64, i64, i64)], tpu: bool) -> Trace {
    const DEVICE: [&str; 8] =
        ["gemm", "ncclDevKernel_AllReduce", "MemcpyH2D", "MemcpyD2H", "MemcpyP2P", "MemcpyD2D", "Memset", "fusion"];
    const HOST: [&str; 8] = [
        "train",
        "cuLaunchKernel",
        "backend_compile",
        "IteratorGetNext",
        "Acquire semaphore",
        "MapDmaBuffer",
        "x",
        "y",
    ];
    let mut b = TraceBuilder::new();
    let (device, streams) = match tpu {
        true => ("/device:TPU:0", ["XLA Ops", "XLA Modules", "XLA TraceMe", "Steps"]),
        false => ("/device:GPU:0", ["Stream #1", "Stream #2", "Stream #3", "Stream #4"]),
    };
    let mut lines: Vec<_> = streams.iter().map(|stream| b.line(device, stream)).collect();
    lines.extend(["python", "tf_data/1"].map(|thread| b.line("/host:CPU", thread)));
    for &(line, name, start, length, id) in events {
        let names = if line < 4 { DEVICE } else { HOST };
        let name = match line {
            2 if tpu => "barrier-cores",
            3 if tpu => "7",
            _ => names[name],
        };
        let event = b.event(lines[line], name, start, length).correlation(id).run_id(id);
        let event = event.args(|args| args.device_ordinal = (tpu && line >= 4).then_some(0));
        if name == "train" {
            let _ = event.step_num(id);
        }
    }
    b.build()
}

proptest! {
    /// The parts add up to the step, no part is negative, and no part exceeds its whole.
    #[test]
    fn parts_add_up(events in events(), tpu in any::<bool>()) {
        let trace = random_trace(&events, tpu);
        let devices = Devices::of(&trace);
        let found = breakdown(&trace);
        for row in &found.rows {
            prop_assert_eq!(row.parts.total(), row.duration);
            prop_assert!(StepPart::ALL.into_iter().all(|part| row.parts.get(part) >= Ps::ZERO));
            let window = Interval::new(row.start, row.start + row.duration);
            let busy = devices.used[row.device as usize].busy.length_within(window);
            prop_assert_eq!(row.parts.busy(), busy);
            let overlap = row.overlap;
            prop_assert!(overlap.hidden_communication <= overlap.communication && overlap.communication <= row.duration);
            prop_assert!(overlap.hidden_transfer <= overlap.transfer && overlap.transfer <= row.duration);
            prop_assert!(overlap.hidden_communication <= row.parts.get(StepPart::Compute));
            prop_assert!(row.host_busy.is_none_or(|busy| busy <= row.duration));
        }
        prop_assert_eq!(found.rows.is_empty(), devices.used.is_empty());
        for mean in found.mean.iter().chain(found.mean_of_device.iter().flatten()) {
            let total: f64 = mean.parts_us.iter().sum();
            prop_assert!((total - mean.duration_us).abs() <= 1e-9 * mean.duration_us.max(1.0));
        }
        if let Some(threads) = &found.host_threads {
            prop_assert!(threads.roles.iter().all(|(_, time)| *time <= threads.window));
            prop_assert!(threads.idle + threads.busy <= threads.window);
        }
    }

    /// At every whole microsecond, a device has the part that follows from the definition (brute force, without known
    /// launches).
    #[test]
    fn parts_are_those_of_the_definition(events in events()) {
        let mut b = TraceBuilder::new();
        let lines = [1, 2, 3, 4].map(|n| b.line("/device:GPU:0", &format!("Stream #{n}")));
        let python = b.line("/host:CPU", "python");
        let names = ["gemm", "ncclDevKernel_AllReduce", "MemcpyH2D", "MemcpyD2H"];
        // One kind of op per stream, so that nesting does not matter.
        let shown: Vec<(usize, i64, i64)> = events.iter().map(|&(line, _, start, length, _)| (line, start, length)).collect();
        for &(line, start, length) in &shown {
            match line {
                0..4 => drop(b.event(lines[line], names[line], start, length)),
                4 => drop(b.event(python, "backend_compile", start, length)),
                _ => drop(b.event(python, "IteratorGetNext", start, length)),
            }
        }
        let found = breakdown(&b.build());
        let device: Vec<_> = shown.iter().filter(|event| event.0 < 4).collect();
        prop_assert_eq!(found.rows.len(), usize::from(!device.is_empty()));
        let mut expected = [0i64; StepPart::COUNT];
        let span = device.iter().map(|e| e.1).min().unwrap_or(0)..device.iter().map(|e| e.1 + e.2).max().unwrap_or(0);
        for now in span {
            let running = |kind: usize| shown.iter().any(|e| e.0 == kind && e.1 <= now && now < e.1 + e.2);
            let kinds = [
                StepPart::Compute, StepPart::Communication, StepPart::HostToDevice, StepPart::DeviceToHost, StepPart::Compile, StepPart::InputBound,
            ];
            let part = kinds.into_iter().enumerate().find(|(kind, _)| running(*kind)).map_or(StepPart::OtherIdle, |(_, part)| part);
            expected[part as usize] += 1;
        }
        for row in &found.rows {
            let got = StepPart::ALL.map(|part| row.parts.get(part).as_ps() / 1_000_000);
            prop_assert_eq!(got, expected);
        }
    }
}
