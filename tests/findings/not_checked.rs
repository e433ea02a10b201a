//! A rule that lacks its input reports that it was not checked.

use crossprof::WarningCode;
use crossprof::insight::{Verdict, examine};
use crossprof::report::FindingSeverity;
use crossprof::run::{Run, Settings};
use crossprof::trace::{Trace, TraceBuilder};

use super::runs::{gpu_steps, kernel, says};

fn lacks(trace: Trace, id: &str, word: &str) {
    match says(trace, id) {
        Verdict::NotChecked(sentence) => assert!(sentence.contains(word), "{id}: {sentence}"),
        other => panic!("{id}: {other:?}"),
    }
}

#[test]
fn an_empty_trace_is_not_fine() {
    for id in ["low_device_utilization", "idle_gaps", "unused_visible_devices", "debug_print", "single_step"] {
        assert!(matches!(says(Trace::default(), id), Verdict::NotChecked(_)), "{id}");
    }
}

#[test]
fn one_launch_proves_nothing_about_idle_time() {
    let one = || {
        let mut b = TraceBuilder::new();
        kernel(&mut b, "gemm", 1, 5, 100);
        b.build()
    };
    lacks(one(), "low_device_utilization", "too few");
    lacks(one(), "host_overhead", "too few");
    lacks(one(), "step_time_variation", "steps");
    lacks(one(), "recompilation", "steps");
}

#[test]
fn input_is_unknown_without_a_span_of_it() {
    lacks(gpu_steps(12, |b, at| kernel(b, "gemm", at + 1, at + 5, 400)), "data_loading", "next_batch");
}

#[test]
fn late_launches_are_unknown_without_launches() {
    let trace = gpu_steps(12, |b, at| {
        let line = b.line("/device:GPU:0", "Stream #7(Compute)");
        b.event(line, "gemm", at + 5, 400);
    });
    lacks(trace, "host_overhead", "launches");
}

#[test]
fn compile_time_is_unknown_where_nothing_marks_it() {
    lacks(gpu_steps(12, |b, at| kernel(b, "gemm", at + 1, at + 5, 400)), "compile_time", "compilation");
}

#[test]
fn unchecked_rules_come_last_with_a_reason() {
    let run = Run { trace: gpu_steps(12, |b, at| kernel(b, "gemm", at + 1, at + 5, 400)), ..Run::default() };
    let findings = examine(&run, &Settings::default()).profile.findings;
    let lacking = |it: &crossprof::report::Finding| it.severity == FindingSeverity::NotChecked;
    assert!(findings.windows(2).all(|pair| pair[0].severity >= pair[1].severity));
    assert!(findings.iter().any(lacking) && !findings.iter().all(lacking));
    for finding in &findings {
        assert_eq!(finding.message.starts_with("Not checked: "), lacking(finding), "{}", finding.id);
        assert!(finding.message.ends_with('.'), "{}", finding.message);
        assert_eq!(finding.remedy.is_empty(), lacking(finding), "{}", finding.id);
    }
}

/// Returns a trace in which two chips run an all-reduce together in steps of 1000 us. Chip 1's events end halfway, as
/// in a truncated file.
fn two_chips(steps_of_second: i64, code: Option<WarningCode>) -> Trace {
    let mut b = TraceBuilder::new();
    for (chip, steps, work) in [(0, 12, 900), (1, steps_of_second, 600)] {
        let plane = format!("/device:TPU:{chip}");
        let (modules, ops) = (b.line(&plane, "XLA Modules"), b.line(&plane, "XLA Ops"));
        for step in 0..12 {
            b.event(modules, "jit_step(1)", step * 1000, 990);
        }
        for at in (0..steps).map(|step| step * 1000) {
            b.event(ops, "fusion.1", at, work).hlo_category("loop fusion");
            b.event(ops, "all-reduce.2", at + work, 950 - work).hlo_category("all-reduce");
        }
    }
    let mut trace = b.build();
    trace.warnings.extend(code.map(|code| crossprof::Warning::new(code, "The file ends.")));
    trace
}

#[test]
fn a_truncated_capture_is_not_judged_by_missing_events() {
    // In a complete file the finding is correct, because the second chip has less work.
    assert!(matches!(says(two_chips(12, None), "straggler_device"), Verdict::Fires(_)));
    // If ops are missing from a complete file, the chip is not judged either.
    lacks(two_chips(5, None), "straggler_device", "did not record all device ops");
    for (code, word) in [(WarningCode::JsonTruncated, "earliest part"), (WarningCode::JsonCutOff, "events are missing")]
    {
        for id in ["straggler_device", "unused_visible_devices", "single_step"] {
            lacks(two_chips(5, Some(code)), id, word);
        }
    }
    for id in ["low_device_utilization", "tensor_core_idle", "idle_gaps", "step_time_variation"] {
        lacks(two_chips(8, Some(WarningCode::GzipTruncated)), id, "events are missing");
        // Everything before the cut is present, including the steps.
        assert!(!matches!(says(two_chips(8, Some(WarningCode::JsonTruncated)), id), Verdict::NotChecked(_)), "{id}");
    }
    // The existing events are used, so collectives are still found.
    assert!(!matches!(says(two_chips(5, Some(WarningCode::JsonCutOff)), "dominant_op"), Verdict::NotChecked(_)));
}

#[test]
fn a_chip_that_was_cut_off_has_no_part_in_the_steps_after_it() {
    let numbers = |code| {
        let run = Run { trace: two_chips(5, code), ..Run::default() };
        let profile = examine(&run, &Settings::default()).profile;
        let busy = profile.compute_utilization.as_ref().map(|it| it.compute_util_percent);
        let imbalance = profile.multi_device.as_ref().and_then(|it| it.busy_imbalance_percent);
        (busy.unwrap(), imbalance.unwrap())
    };
    // Each chip is busy for 950 of 1000 us while its ops are in the file. Over their common 4950 us, both are equally busy.
    let (busy, imbalance) = numbers(Some(WarningCode::JsonCutOff));
    assert!((busy - 95.0).abs() < 1e-9 && imbalance.abs() < 1e-9, "{busy} {imbalance}");
    // In a complete file, seven runs of the second chip lack their ops. Each of these runs is treated as 990 us of work.
    let (busy, imbalance) = numbers(None);
    assert!(busy > 95.0 && imbalance < 2.0, "{busy} {imbalance}");
}
