//! Each rule about waiting and about the capture, on a synthetic trace just above its limit and on one just below.

use crossprof::insight::{Verdict, examine, verdict};
use crossprof::metrics::Run;
use crossprof::report::FindingSeverity::{Critical, Note, Warning};
use crossprof::report::Tracing;
use crossprof::trace::{Framework, SourceFormat, Trace, TraceBuilder};
use crossprof::{Settings, WarningCode};

use super::runs::{finding, fine, gpu_steps, host_bound, kernel, op, says, tpu_op, tpu_steps};

#[test]
fn host_overhead() {
    let found = finding(host_bound(400), "host_overhead");
    assert_eq!((found.severity, found.time_at_stake_percent.unwrap().round()), (Critical, 60.0));
    assert_eq!(finding(host_bound(850), "host_overhead").severity, Warning);
    fine(host_bound(910), "host_overhead");
}

#[test]
fn low_device_utilization() {
    assert_eq!(finding(host_bound(490), "low_device_utilization").severity, Critical);
    assert_eq!(finding(host_bound(790), "low_device_utilization").severity, Warning);
    fine(host_bound(800), "low_device_utilization");
}

/// Launch times are absent, so the cause of the idle time is unknown. But the host's activity during that time is known.
#[test]
fn idle_devices_name_the_hosts_activity() {
    let evaluated = |duration: i64| {
        let trace = gpu_steps(12, |b, at| {
            let device = b.line("/device:GPU:0", "Stream #7(Compute)");
            b.event(device, "gemm", at + 5, 300);
            let python = b.line("/host:CPU", "python");
            b.event(python, "evaluate", at + 310, duration);
        });
        finding(trace, "low_device_utilization")
    };
    let (most, some) = (evaluated(500), evaluated(300));
    assert_eq!(most.title, "Devices are idle for 70.0 % of the time, mostly while the host is in evaluate");
    assert_eq!(some.title, "Devices are idle for 70.0 % of the time");
    assert!(!most.message.contains("other") && some.message.contains("in evaluate for 42.9 %"), "{}", some.message);
}

#[test]
fn idle_gaps() {
    assert_eq!(finding(host_bound(700), "idle_gaps").severity, Warning);
    assert_eq!(finding(host_bound(850), "idle_gaps").severity, Note);
    fine(host_bound(950), "idle_gaps");
}

/// Twelve steps of 1000 us on a device that is busy at first, then while `calls` small programs run, one every 10 us.
fn eager_steps(calls: i64) -> Trace {
    let mut trace = gpu_steps(12, |b, at| {
        kernel(b, "gemm", at + 1, at + 5, 990 - 10 * calls);
        let (python, device) = (b.line("/host:CPU", "python"), b.line("/device:GPU:0", "Stream #7(Compute)"));
        for call in 0..calls {
            let start = at + 995 - 10 * calls + 10 * call;
            let name = if call % 4 == 0 { "PjitFunction(sqrt)" } else { "PjitFunction(multiply)" };
            b.event(python, name, start, 4);
            b.event(device, "loop_multiply_fusion", start + 5, 2);
        }
    });
    trace.framework = Framework::Jax;
    trace
}

#[test]
fn many_programs() {
    let found = finding(eager_steps(80), "many_programs");
    assert_eq!(found.title, "Each step launches 80 small programs");
    assert!(
        found.message.contains("multiply (60), sqrt (20)") && found.message.contains("Devices are idle for 6"),
        "{}",
        found.message
    );
    assert_eq!((found.severity, found.view.as_deref()), (Critical, Some("steps")));
    assert_eq!(finding(eager_steps(31), "many_programs").severity, Warning);
    fine(eager_steps(29), "many_programs");
}

#[test]
fn host_arguments() {
    let steps = |copies: i64| {
        let mut trace = gpu_steps(12, |b, at| {
            let python = b.line("/host:CPU", "python");
            b.event(python, "PjitFunction(step)", at + 1, 100);
            for copy in 0..copies {
                b.event(python, "DevicePut", at + 2 + 4 * copy, 2);
            }
            kernel(b, "gemm", at + 90, at + 95, 800);
        });
        trace.framework = Framework::Jax;
        trace
    };
    let found = finding(steps(8), "host_arguments");
    assert_eq!((found.severity, found.title.as_str()), (Note, "Each step copies 8 host arrays to the device"));
    fine(steps(7), "host_arguments");
}

/// Two GPUs in steps of 1000 us: the first one works for 900 us, the second one for `other`.
fn two_devices(other: i64) -> Trace {
    gpu_steps(12, |b, at| {
        kernel(b, "gemm", at + 1, at + 5, 900);
        op(b, ("/device:GPU:1", "Stream #7(Compute)"), "gemm", at + 2, at + 5, other);
    })
}

#[test]
fn uneven_devices() {
    let found = finding(two_devices(10), "uneven_devices");
    assert_eq!(found.title, "/device:GPU:0 works while other devices are idle");
    assert!(
        found.message.contains("busy for 90") && found.message.contains("the other 1 device for"),
        "{}",
        found.message
    );
    assert_eq!(found.severity, Warning);
    assert_eq!(found.time_at_stake_percent.unwrap().round(), 45.0);
    fine(two_devices(600), "uneven_devices");
}

/// Builds steps of 1000 us. The device is busy for `busy` us. During the rest, another thread runs `parse`, which calls `last`.
fn with_thread(busy: i64, last: &'static str) -> Trace {
    gpu_steps(12, move |b, at| {
        kernel(b, "gemm", at + 1, at + 5, busy);
        let (python, other) = (b.line("/host:CPU", "python"), b.line("/host:CPU", "worker"));
        b.event(python, "PjitFunction(step)", at + 1, 3);
        b.event(other, "$data.py:7 parse", at + busy, 1000 - busy);
        b.event(other, last, at + busy, 1000 - busy);
    })
}

#[test]
fn python_threads() {
    let found = finding(with_thread(300, "$data.py:9 <listcomp>"), "python_threads");
    assert_eq!((found.severity, found.title.as_str()), (Critical, "Threads run Python (parse) while devices are idle"));
    assert!(
        found.message.contains("1 other thread") && found.message.contains("parse (data.py:7)"),
        "{}",
        found.message
    );
    assert_eq!(finding(with_thread(800, "$data.py:9 <listcomp>"), "python_threads").severity, Warning);
    fine(with_thread(950, "$data.py:9 <listcomp>"), "python_threads");
    fine(with_thread(300, "$time sleep"), "python_threads");
}

/// Builds such steps with the input pipeline running while the device waits.
fn input_bound(busy: i64) -> Trace {
    gpu_steps(12, |b, at| {
        kernel(b, "gemm", at + 1, at + 5, busy);
        let python = b.line("/host:CPU", "python");
        b.event(python, "next_batch", at + busy, 1000 - busy);
    })
}

#[test]
fn data_loading() {
    assert_eq!(finding(input_bound(400), "data_loading").severity, Critical);
    assert_eq!(finding(input_bound(850), "data_loading").severity, Warning);
    fine(input_bound(930), "data_loading");
    fine(input_bound(400), "host_overhead");
}

#[test]
fn host_processing_and_data_transfer() {
    let trace = |transfer: i64| {
        gpu_steps(12, move |b, at| {
            kernel(b, "gemm", at + 1, at + 5, 400);
            let python = b.line("/host:CPU", "python");
            b.event(python, "next_batch", at + 410, 580 - transfer);
            b.event(python, "BufferFromHostBuffer", at + 990 - transfer, transfer);
        })
    };
    assert_eq!(finding(trace(285), "host_processing").severity, Note);
    fine(trace(295), "host_processing");
    assert_eq!(finding(trace(180), "data_transfer").severity, Note);
    fine(trace(170), "data_transfer");
    fine(host_bound(400), "host_processing");
}

#[test]
fn input_bound_infeed() {
    let trace = |infeed: i64| {
        tpu_steps(12, move |b, at| {
            tpu_op(b, "infeed", at, infeed);
            tpu_op(b, "loop fusion", at + infeed, 1000 - infeed);
        })
    };
    assert_eq!(finding(trace(100), "input_bound").severity, Warning);
    assert_eq!(finding(trace(400), "input_bound").severity, Critical);
    fine(trace(99), "input_bound");
}

/// Builds `count` kernels of `length` us, `gap` us apart.
fn small_kernels(count: i64, length: i64, gap: i64) -> Trace {
    let mut b = TraceBuilder::new();
    for index in 0..count {
        let start = index * (length + gap);
        kernel(&mut b, "add", start.saturating_sub(2), start, length);
    }
    b.build()
}

#[test]
fn many_small_kernels() {
    assert_eq!(finding(small_kernels(60, 50, 10), "many_small_kernels").severity, Warning);
    assert_eq!(finding(small_kernels(60, 50, 50), "many_small_kernels").severity, Critical);
    fine(small_kernels(60, 50, 5), "many_small_kernels");
    fine(small_kernels(49, 50, 10), "many_small_kernels");
    fine(small_kernels(60, 100, 50), "many_small_kernels");
}

#[test]
fn short_mean_kernel() {
    assert_eq!(finding(small_kernels(60, 99, 30), "short_mean_kernel").severity, Note);
    fine(small_kernels(60, 100, 30), "short_mean_kernel");
    fine(small_kernels(60, 99, 10), "short_mean_kernel");
    let tpu = tpu_steps(12, |b, at| tpu_op(b, "loop fusion", at, 10));
    assert_eq!(says(tpu, "short_mean_kernel"), Verdict::Irrelevant);
}

/// Builds steps in which XLA compiles for `compile` while the device waits.
fn compiling(busy: i64, compile: i64) -> Trace {
    let mut trace = gpu_steps(12, |b, at| {
        kernel(b, "gemm", at + 1, at + 5, busy);
        if compile > 0 {
            let python = b.line("/host:CPU", "compiler");
            b.event(python, "backend_compile", at + busy + 10, compile);
        }
    });
    trace.framework = Framework::Jax;
    trace
}

#[test]
fn compilation() {
    assert_eq!(finding(compiling(300, 690), "compilation").severity, Critical);
    assert_eq!(finding(compiling(800, 190), "compilation").severity, Warning);
    fine(compiling(930, 60), "compilation");
}

#[test]
fn recompilation() {
    assert_eq!(finding(compiling(700, 250), "recompilation").severity, Critical);
    assert_eq!(finding(compiling(900, 50), "recompilation").severity, Warning);
    assert_eq!(finding(compiling(900, 5), "recompilation").severity, Note);
    fine(compiling(900, 0), "recompilation");
    // Computed by hand: 10 later steps of 1 ms compile for 5 µs each. The last step ends with its kernel, after 0.9 ms and
    // before it compiles.
    let few = finding(compiling(900, 5), "recompilation").message;
    let said =
        "50.0 µs of the 10.9 ms after the first step (0.5 %): 10 compilations, in steps 1, 2, 3, 4, 5 and 5 more.";
    assert!(few.contains(said), "{few}");
    // The first step may compile.
    let first = gpu_steps(12, |b, at| {
        kernel(b, "gemm", at + 1, at + 5, 900);
        if at == 0 {
            let python = b.line("/host:CPU", "compiler");
            b.event(python, "backend_compile", 0, 900);
        }
    });
    fine(first, "recompilation");
}

#[test]
fn compile_time() {
    let trace = |length: i64| {
        let mut b = TraceBuilder::new();
        kernel(&mut b, "gemm", 1, 5, 100);
        let python = b.line("/host:CPU", "python");
        b.event(python, "backend_compile", 1000, length);
        b.build()
    };
    assert_eq!(finding(trace(10_000_000), "compile_time").severity, Warning);
    assert_eq!(finding(trace(2_000_000), "compile_time").severity, Note);
    fine(trace(1_999_999), "compile_time");
}

#[test]
fn tensor_core_idle() {
    let trace = |busy: i64| tpu_steps(12, move |b, at| tpu_op(b, "loop fusion", at, busy));
    // The page rates a device as good up to 20 % idle.
    assert_eq!(finding(trace(890), "tensor_core_idle").severity, Note);
    assert_eq!(finding(trace(790), "tensor_core_idle").severity, Warning);
    fine(trace(910), "tensor_core_idle");
}

#[test]
fn barrier_cores() {
    // The core runs for 500 of 1000 us, and waits for the others during part of the rest.
    let trace = |wait: i64| {
        tpu_steps(12, move |b, at| {
            tpu_op(b, "loop fusion", at, 500);
            let marks = b.line("/device:TPU:0", "XLA TraceMe");
            b.event(marks, "barrier-cores", at + 600, wait);
        })
    };
    let found = finding(trace(110), "barrier_cores");
    assert_eq!((found.severity, found.evidence[0].threshold), (Warning, Some(10.0)));
    assert!((found.evidence[0].value - 11.0).abs() < 1e-9, "{:?}", found.evidence);
    fine(trace(90), "barrier_cores");
}

#[test]
fn debug_print() {
    let trace = |length: i64| {
        gpu_steps(12, move |b, at| {
            kernel(b, "gemm", at + 1, at + 5, 900);
            let python = b.line("/host:CPU", "callbacks");
            b.event(python, "xla_ffi_python_gpu_callback", at + 100, length);
            b.event(python, "ThenExecuteCallback", at + 300, 500);
        })
    };
    assert_eq!(finding(trace(60), "debug_print").severity, Warning);
    fine(trace(45), "debug_print");
}

#[test]
fn dropped_events() {
    let trace = |code: WarningCode| {
        let mut trace = host_bound(900);
        trace.warnings.push(crossprof::Warning::new(code, "Something happened."));
        trace
    };
    assert_eq!(finding(trace(WarningCode::ProfilerDroppedEvents), "dropped_events").severity, Critical);
    assert_eq!(finding(trace(WarningCode::XplaneTruncated), "dropped_events").severity, Critical);
    fine(trace(WarningCode::ProfilerWarning), "dropped_events");
}

#[test]
fn cut_capture() {
    let mut trace = host_bound(900);
    trace.warnings.push(crossprof::Warning::new(WarningCode::JsonTruncated, "Cut.").with_count(1_000_000));
    assert_eq!(finding(trace, "cut_capture").severity, Critical);
    fine(host_bound(900), "cut_capture");
}

#[test]
fn warm_up_in_window() {
    let first = |length: i64| {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let mut at = 0;
        for step in 0..12 {
            let length = if step == 0 { length } else { 1000 };
            b.event(python, "train", at, length).step_num(step);
            kernel(&mut b, "gemm", at + 1, at + 5, length - 100);
            at += length;
        }
        b.build()
    };
    assert_eq!(finding(first(1600), "warm_up_in_window").severity, Note);
    fine(first(1400), "warm_up_in_window");
}

#[test]
fn single_step() {
    assert_eq!(finding(gpu_steps(1, |b, at| kernel(b, "gemm", at, at + 5, 900)), "single_step").severity, Note);
    fine(gpu_steps(3, |b, at| kernel(b, "gemm", at, at + 5, 900)), "single_step");
}

#[test]
fn profiler_overhead() {
    let trace = |frames: i64, busy: i64| {
        gpu_steps(12, move |b, at| {
            kernel(b, "gemm", at + 1, at + 5, busy);
            let python = b.line("/host:CPU", "python");
            for frame in 0..frames {
                b.event(python, "$train.py:12 step", at + frame, 1);
            }
        })
    };
    assert_eq!(finding(trace(60, 500), "profiler_overhead").severity, Note);
    fine(trace(45, 500), "profiler_overhead");
    fine(trace(60, 950), "profiler_overhead");
}

#[test]
fn slowed_by_tracing() {
    let says = |slowdown: Option<f64>| {
        let tracing = slowdown.map(|slowdown| Tracing { slowdown, ..Tracing::default() });
        let run = Run { trace: host_bound(900), tracing, ..Run::default() };
        let examined = examine(&run, &Settings::default());
        verdict(&examined.context(&run), "slowed_by_tracing").unwrap()
    };
    let severity = |slowdown| match says(Some(slowdown)) {
        Verdict::Fires(finding) => finding.severity,
        other => panic!("{other:?}"),
    };
    assert_eq!((severity(1.1), severity(1.5)), (Note, Warning));
    assert_eq!((says(Some(1.09)), says(Some(0.9))), (Verdict::Fine, Verdict::Fine));
    // Captures made without the capture kit lack nothing.
    assert_eq!(says(None), Verdict::Irrelevant);
}

#[test]
fn no_hlo() {
    assert_eq!(finding(host_bound(900), "no_hlo").severity, Note);
    let mut with = host_bound(900);
    with.hlo.push(crossprof::trace::HloProto::default());
    fine(with, "no_hlo");
    // In both formats, TPU ops contain the costs that other files have only in the program.
    let costs = |text: &'static str| {
        let mut trace = tpu_steps(12, move |b, at| {
            let long_name = b.trace_mut().strings.intern(text);
            let line = b.line("/device:TPU:0", "XLA Ops");
            b.event(line, "fusion.1", at, 900).hlo_category("loop fusion").args(|args| {
                (args.flops, args.bytes_accessed, args.long_name) = (Some(5), Some(5), long_name);
            });
        });
        trace.format = Some(SourceFormat::ChromeJson);
        trace
    };
    fine(costs("%fusion.1 = f32[8]{0} fusion(f32[8]{0} %p)"), "no_hlo");
    assert_eq!(finding(costs(""), "no_hlo").title, "The file contains no shapes or replica groups");
}

/// One gap of 20 ms among short ones, on a GPU with unknown steps.
#[test]
fn a_gap_that_dominates_the_idle_time_is_reported_separately() {
    let mut b = TraceBuilder::new();
    for at in (0..20_i64).map(|kernel| kernel * 100 + if kernel < 10 { 0 } else { 20_000 }) {
        kernel(&mut b, if at < 1000 { "before" } else { "behind" }, at + 5, at + 10, 60);
    }
    let run = Run { trace: b.build(), ..Run::default() };
    let profile = examine(&run, &Settings::default()).profile;
    let found = profile.findings.iter().find(|it| it.id == "host_overhead").unwrap();
    // The capture begins at the first launch, 5 us before the first kernel. The gap is between kernels 9 and 10.
    let words = "One gap of 20.0 ms makes up 96.5 % of the idle time. It begins 965 µs after the start of the capture, between before \
                 and behind.";
    assert!(found.message.contains(words), "{}", found.message);
    assert_eq!(found.view.as_deref(), Some("devices"));
    let number = |name: &str| found.evidence.iter().find(|it| it.name == name).map(|it| it.value);
    assert_eq!((number("longest_gap_start_us"), number("longest_gap_us")), (Some(965.0), Some(20_040.0)));
    // Without steps, their page is empty.
    assert!(profile.findings.iter().all(|it| it.view.as_deref() != Some("steps")), "{:#?}", profile.findings);
}

/// Advice that users of another framework cannot follow is not given.
#[test]
fn advice_fits_the_framework() {
    let input = || {
        gpu_steps(12, |b, at| {
            let loader = b.line("/host:CPU", "loader");
            b.event(loader, "DataLoader.__next__", at, 890);
            kernel(b, "gemm", at + 891, at + 900, 90);
        })
    };
    let mut count = 0;
    for trace in [
        host_bound(100),
        input(),
        gpu_steps(12, |b, at| (0..60).for_each(|i| kernel(b, "k", at + i * 16, at + i * 16 + 5, 4))),
    ] {
        let run = Run { trace: Trace { framework: Framework::PyTorch, ..trace }, ..Run::default() };
        for found in examine(&run, &Settings::default()).profile.findings {
            count += 1;
            for word in ["jax", "jit", "XLA", "xplane", "ProfileOptions", "flax", "tf.data", "Grain"] {
                let text = format!("{} {}", found.message, found.remedy);
                assert!(!text.contains(word), "{}: {word} in {text}", found.id);
            }
        }
    }
    assert!(count > 10, "{count}");
}
