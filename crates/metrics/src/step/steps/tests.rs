//! Tests steps from each source on timelines that are small enough to count by hand. Times are microseconds.

use super::report::StepReport;
use super::*;
use crate::device::device_time::DeviceTime;
use base::Ps;
use trace::TraceBuilder;

fn report_of(trace: &Trace, num_steps: Option<u64>) -> (Steps, StepReport) {
    let devices = Devices::of(trace);
    let steps = Steps::find(trace, &devices);
    let report =
        report(trace, &devices, &DeviceTime::of_all(trace, &devices), &steps, &Default::default(), num_steps, None);
    (steps, report)
}

fn durations(report: &StepReport) -> Vec<f64> {
    report.rows.iter().map(|row| row.duration_us).collect()
}

/// ```text
///          0        100       200       300
/// host     [train 0 ) [train 1 ) [train 2 )
///           [$fit 0) ...  launches L carry step_num too
/// host     L L        L L        L L
/// GPU:0        [a)[b)     [a)[b)     [a)[b)       a starts 50 after its annotation, 20 long; b 10 later, 10 long
/// ```
fn annotated_gpu() -> TraceBuilder {
    let mut b = TraceBuilder::new();
    let python = b.line("/host:CPU", "python");
    let launcher = b.line("/host:CPU", "py_xla_execute/1");
    let stream = b.line("/device:GPU:0", "Stream #1(Compute)");
    for step in 0..3 {
        let at = step * 100;
        b.event(python, "train", at, 40).step_num(step);
        b.event(python, "$fit", at + 1, 30).step_num(step);
        for kernel in 0..2 {
            let id = 10 + step * 2 + kernel;
            b.event(launcher, "cuLaunchKernel", at + 2 + kernel * 5, 4).correlation(id).step_num(step);
            b.event(stream, "k", at + 50 + kernel * 30, 20 - kernel * 10).correlation(id);
        }
    }
    b
}

#[test]
fn annotations_give_the_steps_and_launches_their_time_on_the_device() {
    let (steps, report) = report_of(&annotated_gpu().build(), None);
    assert_eq!(steps.source, StepSource::StepNum);
    assert_eq!(steps.marker.as_deref(), Some("train annotations"));
    // A step lasts from annotation to annotation. The last step lasts until its last op ends.
    assert_eq!(durations(&report), [100.0, 100.0, 90.0]);
    let row = &report.rows[1];
    assert_eq!((row.start_us, row.busy_us, row.idle_us, row.num_kernels), (100.0, 30.0, 70.0, 2.0));
    assert_eq!(row.name.as_deref(), Some("1"));
    assert!(report.rows[2].partial && !report.rows[2].counted);
    let timing = &report.timing;
    assert_eq!((timing.num_steps, timing.num_steps_counted), (3, Some(2)));
    assert_eq!((timing.avg_step_time_us, timing.kernels_per_step), (Some(100.0), Some(2.0)));
    assert_eq!((timing.total_kernels, timing.total_time_us), (6, 290.0));
}

#[test]
fn without_ties_to_the_device_the_annotations_own_starts_count() {
    let mut b = TraceBuilder::new();
    let python = b.line("/host:CPU", "python");
    let stream = b.line("/device:GPU:0", "Stream #1(Compute)");
    for (step, at) in [(7, 0), (8, 100), (9, 250)] {
        b.event(python, "train", at, 40).step_num(step);
        b.event(stream, "k", at + 10, 20);
    }
    let (steps, report) = report_of(&b.build(), None);
    assert_eq!(steps.names, [Some("7".to_owned()), Some("8".to_owned()), Some("9".to_owned())]);
    assert_eq!(durations(&report), [100.0, 150.0, 40.0]);
}

#[test]
fn names_that_hold_the_step_number_are_one_annotation() {
    let mut b = TraceBuilder::new();
    let python = b.line("/host:CPU", "thread 1 (python)");
    let stream = b.line("/device:GPU:0", "stream 7");
    for (step, at) in [(551, 0), (552, 600)] {
        b.event(python, &format!("ProfilerStep#{step}"), at, 590).step_num(step);
        b.event(python, "cudaLaunchKernel", at + 5, 5).correlation(step);
        b.event(stream, "k", at + 50, 500).correlation(step);
    }
    let (steps, report) = report_of(&b.build(), None);
    assert_eq!(steps.marker.as_deref(), Some("ProfilerStep annotations"));
    assert_eq!(steps.names, [Some("551".to_owned()), Some("552".to_owned())]);
    assert_eq!(durations(&report), [600.0, 590.0]);
}

/// Device 1 runs every step two steps later than device 0, and each device numbers its runs separately.
///
/// ```text
///          0    10   20   30   40   50   60
/// TPU:0    [f 6 )[f 7 )[f 8 )
/// TPU:1              [f 4 )[f 5 )[f 6 )
/// ```
#[test]
fn module_runs_are_aligned_by_rank_not_by_time_or_id() {
    let mut b = TraceBuilder::new();
    for (device, first_id) in [(0, 6), (1, 4)] {
        let modules = b.line(&format!("/device:TPU:{device}"), "XLA Modules");
        let ops = b.line(&format!("/device:TPU:{device}"), "XLA Ops");
        b.event(modules, "jit_init(99)", 0, 3).run_id(1);
        for run in 0..3 {
            let start = 3 + device * 20 + run * 10;
            b.event(modules, &format!("jit_f({})", 7 + run), start, 9).run_id(first_id + run);
            b.event(ops, "fusion.1", start, 6);
        }
    }
    let (steps, report) = report_of(&b.build(), None);
    assert_eq!(steps.source, StepSource::ModuleRuns);
    assert_eq!(steps.marker.as_deref(), Some("runs of jit_f"));
    assert_eq!(durations(&report), [10.0, 10.0, 9.0]);
    assert!(report.rows.iter().all(|row| row.busy_us == 6.0 && row.name.is_none()));
    assert_eq!(report.timing.total_time_us, 29.0);
}

#[test]
fn a_long_single_run_is_not_the_step_of_a_loop() {
    let mut b = TraceBuilder::new();
    let modules = b.line("/device:TPU:0", "XLA Modules");
    let ops = b.line("/device:TPU:0", "XLA Ops");
    b.event(modules, "jit_init(1)", 0, 500).run_id(0);
    for run in 0..4 {
        b.event(modules, "jit_step(2)", 500 + run * 20, 18).run_id(run + 1);
        b.event(ops, "fusion.1", 500 + run * 20, 18);
    }
    b.event(modules, "jit_tiny(3)", 600, 1).run_id(9);
    b.event(modules, "jit_tiny(3)", 602, 1).run_id(10);
    assert_eq!(report_of(&b.build(), None).1.timing.num_steps, 4);
}

#[test]
fn ops_identify_runs_of_a_cpu_backend() {
    let mut b = TraceBuilder::new();
    let python = b.line("/host:CPU", "python");
    let lines = [b.line("/host:CPU", "tf_XLAEigen/1"), b.line("/host:CPU", "tf_XLAEigen/2")];
    for run in 0..3 {
        let at = run * 50;
        // Dispatch is asynchronous: the annotation ends before the ops start.
        b.event(python, "train", at / 10, 2).step_num(run);
        for (line, start) in [(lines[0], 10), (lines[1], 15)] {
            b.event(line, "dot.1", at + start, 20).hlo_op("dot.1").hlo_module("jit_step").run_id(70 + run);
        }
    }
    let (steps, report) = report_of(&b.build(), None);
    assert_eq!(steps.source, StepSource::StepNum);
    // The host is ahead: a step begins when the previous step has ended.
    assert_eq!(durations(&report), [25.0, 50.0, 50.0]);
    assert_eq!(report.rows[0].busy_us, 25.0);
}

#[test]
fn a_steps_line_is_read_by_its_numbers() {
    let mut b = TraceBuilder::new();
    for (device, numbers) in [(0, [4, 5, 6]), (1, [5, 6, 7])] {
        let steps = b.line(&format!("/device:TPU:{device}"), "Steps");
        let ops = b.line(&format!("/device:TPU:{device}"), "XLA Ops");
        for number in numbers {
            b.event(steps, &number.to_string(), number * 10, 9);
            b.event(ops, "fusion.1", number * 10, 4);
        }
    }
    let (steps, report) = report_of(&b.build(), None);
    assert_eq!(steps.source, StepSource::StepsLine);
    assert_eq!(steps.names.len(), 4);
    // Step 6 is the last step of device 0, but device 1 shows the length of step 6.
    assert_eq!(durations(&report), [10.0, 10.0, 10.0, 9.0]);
    assert_eq!(report.rows.iter().map(|row| row.partial).collect::<Vec<_>>(), [false, false, false, true]);
}

/// ```text
///           0    10   20   30   40   50   60   70   80   90   100
/// stream 1  [gemm     )              [gemm     )
/// stream 2       [nccl          )
/// stream 3                 [MemcpyD2H)    [MemcpyD2H     )
/// part      C---------M---------T----C---------T---------idle-
/// ```
#[test]
fn the_parts_of_a_step_add_up_to_its_duration() {
    let mut b = TraceBuilder::new();
    let python = b.line("/host:CPU", "python");
    let [one, two, three] = [1, 2, 3].map(|n| b.line("/device:GPU:0", &format!("Stream #{n}(Compute)")));
    b.event(python, "train", 0, 90).step_num(0);
    b.event(python, "train", 100, 90).step_num(1);
    b.event(one, "gemm_f32", 0, 20);
    b.event(two, "ncclDevKernel_AllReduce_Sum", 10, 30);
    b.event(three, "MemcpyD2H", 30, 20).memcpy_details("kind_src:device kind_dst:pageable size:4 dest:0 async:1");
    b.event(one, "gemm_f32", 50, 20);
    b.event(three, "MemcpyD2H", 60, 30).memcpy_details("kind_src:device kind_dst:pageable size:4 dest:0 async:1");
    b.event(one, "gemm_f32", 100, 1);
    let (_, report) = report_of(&b.build(), None);
    let row = &report.rows[0];
    assert_eq!(
        (row.compute_us, row.communication_us, row.transfer_us, row.idle_us, row.busy_us, row.duration_us),
        (40.0, 20.0, 30.0, 10.0, 90.0, 100.0)
    );
}

#[test]
fn compilation_marks_warm_up() {
    let trace = annotated_gpu().build();
    let devices = Devices::of(&trace);
    let steps = Steps::find(&trace, &devices);
    let compile = trace::IntervalSet::union_of([Interval::new(Ps::new(10_000_000), Ps::new(45_000_000))]);
    let times = DeviceTime::of_all(&trace, &devices);
    let report = report(&trace, &devices, &times, &steps, &compile, None, None);
    let flags: Vec<_> = report.rows.iter().map(|row| (row.warm_up, row.counted)).collect();
    assert_eq!(flags, [(true, false), (false, true), (false, false)]);
}

#[test]
fn the_users_count_wins() {
    let trace = annotated_gpu().build();
    // The given count is the detected number, so the steps are kept.
    let (_, same) = report_of(&trace, Some(3));
    assert_eq!((same.timing.step_count_source.as_str(), same.rows.len(), same.warnings.len()), ("user", 3, 0));
    // If the user gives two steps instead of three, 290 us are divided into two steps, each with 3 ops and 45 us of work.
    let (_, other) = report_of(&trace, Some(2));
    assert_eq!((other.timing.num_steps, other.timing.avg_step_time_us), (2, Some(145.0)));
    assert_eq!((other.timing.kernels_per_step, other.rows.len()), (Some(3.0), 0));
    let warning = &other.warnings[0];
    assert!(warning.code == "num_steps_overridden" && warning.message.contains("3 (train annotations)"), "{warning:?}");
    // Zero is not a valid count.
    assert_eq!(report_of(&trace, Some(0)).1.warnings[0].code, "num_steps_ignored");
}

#[test]
fn unknown_steps_stay_unknown() {
    let mut b = TraceBuilder::new();
    let stream = b.line("/device:GPU:0", "Stream #1(Compute)");
    b.event(stream, "k", 0, 10);
    b.event(stream, "k", 30, 10);
    let trace = b.build();
    let (_, report) = report_of(&trace, None);
    assert_eq!(report.timing.step_count_source, "unknown");
    assert_eq!((report.timing.num_steps, report.timing.avg_step_time_us), (0, None));
    assert_eq!(report.timing.total_time_us, 40.0);
    assert_eq!(report.warnings[0].code, "steps_unknown");
    let (_, given) = report_of(&trace, Some(4));
    assert_eq!((given.timing.avg_step_time_us, given.timing.kernels_per_step), (Some(10.0), Some(0.5)));
}

#[test]
fn annotations_without_any_device_op_still_give_step_times() {
    let mut b = TraceBuilder::new();
    let python = b.line("/host:CPU", "python");
    for step in 0..4 {
        b.event(python, "train", step * 100, 10).step_num(step);
    }
    let (_, report) = report_of(&b.build(), None);
    assert_eq!((report.timing.avg_step_time_us, report.timing.num_steps), (Some(100.0), 4));
    assert_eq!((report.rows.len(), report.timing.kernels_per_step), (0, None));
}

#[test]
fn hosts_annotate_for_their_own_devices() {
    let mut b = TraceBuilder::new();
    for host in 0..2 {
        let python = b.line(&format!("/host:CPU {host}"), "python");
        let stream = b.line(&format!("/device:GPU:{host}"), "Stream #1(Compute)");
        for step in 0..3 {
            // Host 1 is 1000 us late and reuses the correlation ids of host 0.
            let at = host * 1000 + step * 100;
            b.event(python, "train", at, 40).step_num(step);
            b.event(python, "cuLaunchKernel", at + 5, 5).correlation(step);
            b.event(stream, "k", at + 20 + step, 30).correlation(step);
        }
    }
    b.trace_mut().hosts = vec!["a".to_owned(), "b".to_owned()];
    for (plane, host) in b.trace_mut().planes.iter_mut().zip([0, 0, 1, 1]) {
        plane.host = host;
    }
    let (_, report) = report_of(&b.build(), None);
    assert_eq!(durations(&report), [100.0, 100.0, 52.0]);
}

/// ```text
///          0    10   20   30   40   50   60   70   80
/// host     [tr 0  )  [tr 1 compile      )[tr 2  )
///                       [compile  )
/// GPU:0      [a)                   [a)     [a)
/// ```
#[test]
fn compilation_belongs_to_the_step_that_compiles() {
    let mut b = TraceBuilder::new();
    let python = b.line("/host:CPU", "python");
    let stream = b.line("/device:GPU:0", "Stream #1(Compute)");
    for (step, (begin, launch)) in [(0, 2), (20, 47), (60, 62)].into_iter().enumerate() {
        let step = step as i64;
        b.event(python, "train", begin, launch - begin + 8).step_num(step);
        b.event(python, "cuLaunchKernel", launch, 1).correlation(step);
        b.event(stream, "a", launch + 2, 4).correlation(step);
    }
    b.event(python, "backend_compile", 22, 20);
    let trace = b.build();
    let devices = Devices::of(&trace);
    let steps = Steps::find(&trace, &devices);
    let times = DeviceTime::of_all(&trace, &devices);
    let compile = trace::IntervalSet::union_of([Interval::new(Ps::new(22_000_000), Ps::new(42_000_000))]);
    let report = report(&trace, &devices, &times, &steps, &compile, None, None);
    // The last step ends with its annotation.
    assert_eq!(durations(&report), [20.0, 40.0, 10.0]);
    let flags: Vec<_> = report.rows.iter().map(|row| (row.compiles, row.warm_up, row.counted)).collect();
    assert_eq!(flags, [(false, false, true), (true, true, false), (false, false, false)]);
}

/// The trace of a TPU has runs but no annotations. The call that compiles begins at 25, in the pause before the third
/// run.
#[test]
fn without_annotations_a_run_begins_with_the_call_that_compiled_for_it() {
    let mut b = TraceBuilder::new();
    let python = b.line("/host:CPU", "python");
    let modules = b.line("/device:TPU:0", "XLA Modules");
    let ops = b.line("/device:TPU:0", "XLA Ops");
    for start in [0, 10, 60, 70] {
        b.event(modules, "jit_f(7)", start, 9);
        b.event(ops, "fusion.1", start, 9);
    }
    b.event(python, "PjitFunction(f)", 25, 30);
    b.event(python, "backend_compile", 30, 20);
    let (_, report) = report_of(&b.build(), None);
    assert_eq!(durations(&report), [10.0, 15.0, 45.0, 9.0]);
}

/// Two devices have four runs each. The second device starts after the first device has finished.
#[test]
fn steps_of_devices_that_run_one_after_another_are_separated() {
    let mut b = TraceBuilder::new();
    for device in 0..2 {
        let modules = b.line(&format!("/device:TPU:{device}"), "XLA Modules");
        let ops = b.line(&format!("/device:TPU:{device}"), "XLA Ops");
        for run in 0..4 {
            let start = device * 1000 + run * (10 + device * 10);
            b.event(modules, "jit_f(7)", start, 9).run_id(run);
            b.event(ops, "fusion.1", start, 6);
        }
    }
    let trace = b.build();
    let devices = Devices::of(&trace);
    let times = DeviceTime::of_all(&trace, &devices);
    let steps = Steps::find(&trace, &devices).related(&times);
    let relation = steps.relation.unwrap();
    assert_eq!(
        (relation.together, relation.start_skew),
        (StepsTogether::OneAfterAnother, Some(Ps::new(1_015_000_000)))
    );
    // There are three runs of 10 us and three of 20 us in 90 us.
    assert_eq!((relation.ended, relation.running), (6, Ps::new(90_000_000)));
    let report = report(&trace, &devices, &times, &steps, &Default::default(), None, None);
    assert_eq!(durations(&report), [10.0, 10.0, 10.0, 9.0, 20.0, 20.0, 20.0, 9.0]);
    assert_eq!(report.timing.num_steps_counted, Some(6));
    assert_eq!(report.timing.devices_in_step.as_deref(), Some("one_after_another"));
    assert_eq!(report.warnings[0].code, "steps_one_after_another");
}

/// The steps of the devices start more than a step apart, with and without a collective in the steps.
#[test]
fn a_collective_connects_devices_with_any_clocks() {
    let relation = |op: &str| {
        let mut b = TraceBuilder::new();
        for device in 0..2 {
            let modules = b.line(&format!("/device:TPU:{device}"), "XLA Modules");
            let ops = b.line(&format!("/device:TPU:{device}"), "XLA Ops");
            for run in 0..8 {
                let start = device * 25 + run * 10;
                b.event(modules, "jit_f(7)", start, 9);
                b.event(ops, op, start, 6).hlo_category(op);
            }
        }
        let trace = b.build();
        let devices = Devices::of(&trace);
        let times = DeviceTime::of_all(&trace, &devices);
        Steps::find(&trace, &devices).related(&times).relation.map(|relation| relation.together)
    };
    assert_eq!(relation("all-reduce"), Some(StepsTogether::StepsTogether));
    assert_eq!(relation("fusion"), Some(StepsTogether::Independent));
}

/// In the first trace, five programs have 3 runs each, and no program takes half of the time. In the second trace, a
/// program takes most of the time, but its runs are irregular.
#[test]
fn runs_of_a_program_that_does_not_dominate_are_no_steps() {
    let source = |runs: &[(&str, i64, i64)]| {
        let mut b = TraceBuilder::new();
        let modules = b.line("/device:TPU:0", "XLA Modules");
        let ops = b.line("/device:TPU:0", "XLA Ops");
        for &(name, start, length) in runs {
            b.event(modules, name, start, length);
            b.event(ops, "fusion.1", start, length);
        }
        let (steps, report) = report_of(&b.build(), None);
        (steps.source, report.warnings.first().map(|warning| warning.message.clone()).unwrap_or_default())
    };
    let names = ["jit_a(1)", "jit_b(2)", "jit_c(3)", "jit_d(4)", "jit_e(5)"];
    let small: Vec<(&str, i64, i64)> = (0..15).map(|run| (names[run % 5], run as i64 * 10, 5)).collect();
    let (found, why) = source(&small);
    assert_eq!(found, StepSource::Unknown);
    // There are 11 runs from the first to the last run of `jit_a`, and 3 of these belong to `jit_a`.
    assert!(why.contains("no program dominates: jit_a") && why.contains("27.3 %"), "{why}");
    let rare = [("jit_a(1)", 0, 60), ("jit_b(2)", 100, 9), ("jit_b(2)", 110, 9), ("jit_a(1)", 900, 60)];
    let rare = [&rare[..], &[("jit_c(3)", 1000, 5), ("jit_a(1)", 1010, 60)]].concat();
    let (found, why) = source(&rare);
    assert_eq!(found, StepSource::Unknown);
    assert!(why.contains("neither at regular intervals nor with the same work"), "{why}");
}

/// ```text
///          0        100       200       300
/// python   [update  ) [update  ) [update  ) ...     five times, 90 of 100 us; `part` four times in each
/// GPU:0      [k)[k)     [k)[k)
/// ```
#[test]
fn ranges_that_repeat_on_the_host_are_the_steps_where_nothing_else_is() {
    let trace = |body: &str, lengths: &[i64]| {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let stream = b.line("/device:GPU:0", "Stream #1(Compute)");
        let mut at = 0;
        for (step, &length) in lengths.iter().enumerate() {
            b.event(python, body, at, length - 10);
            for part in 0..4 {
                b.event(python, "part", at + 1 + part * 5, 5);
            }
            for kernel in 0..2 {
                let id = step as i64 * 2 + kernel;
                b.event(python, "cuLaunchKernel", at + 5 + kernel, 1).correlation(id);
                b.event(stream, "k", at + 20 + kernel * 20, 15).correlation(id);
            }
            at += length;
        }
        b.build()
    };
    for (body, marker) in [("update", "update ranges"), ("$train.py:3 train_step", "calls of train_step")] {
        let (steps, report) = report_of(&trace(body, &[100; 5]), None);
        assert_eq!((steps.source, steps.marker.as_deref()), (StepSource::HostSpans, Some(marker)));
        assert_eq!(durations(&report), [100.0, 100.0, 100.0, 100.0, 90.0]);
        assert_eq!(report.warnings[0].code, "steps_from_host_spans");
        // The work in each span is the same, regardless of the host's work between them.
        assert_eq!(report_of(&trace(body, &[100, 900, 100, 3000, 100]), None).0.source, StepSource::HostSpans);
    }
    // Three spans show no rhythm. Library functions and library spans are not a user's steps.
    assert_eq!(report_of(&trace("update", &[100; 3]), None).0.source, StepSource::Unknown);
    for body in ["$api.py:3105 block_until_ready", "$train.py:3 _inner", "PjRtClient::Execute", "np.asarray(jax.Array)"]
    {
        assert_eq!(report_of(&trace(body, &[100; 5]), None).0.source, StepSource::Unknown, "{body}");
    }
    // The spans cover too little of the time.
    assert_eq!(report_of(&trace("update", &[15; 5]), None).0.source, StepSource::Unknown);
    // The calls take little of the time but launch all of the work.
    let (steps, report) = report_of(&trace("PjitFunction(f)", &[100; 5]), None);
    assert_eq!(steps.marker.as_deref(), Some("launches of f"));
    assert_eq!(report.timing.avg_step_time_us, Some(100.0));
}

/// Two loops run in turn on two devices. All their steps are in annotations with ascending numbers. Ops cannot be
/// connected with launches.
#[test]
fn an_annotation_is_no_step_of_a_device_that_runs_nothing_in_it() {
    let mut b = TraceBuilder::new();
    let python = b.line("/host:CPU", "python");
    let streams = [0, 1].map(|device| b.line(&format!("/device:GPU:{device}"), "Stream #1(Compute)"));
    for step in 0..6 {
        b.event(python, "train", step * 100, 90).step_num(step);
        b.event(streams[usize::from(step > 2)], "k", step * 100 + 10, 50);
    }
    let trace = b.build();
    let devices = Devices::of(&trace);
    let times = DeviceTime::of_all(&trace, &devices);
    let steps = Steps::find(&trace, &devices).related(&times);
    assert_eq!(steps.relation.map(|relation| relation.together), Some(StepsTogether::OneAfterAnother));
    let report = report(&trace, &devices, &times, &steps, &Default::default(), None, None);
    assert_eq!(durations(&report), [100.0, 100.0, 90.0, 100.0, 100.0, 90.0]);
    assert!(report.rows.iter().all(|row| row.num_kernels == 1.0 && row.busy_us == 50.0));
    assert_eq!(report.timing.num_steps_counted, Some(4));
}
