//! A rule that lacks its input says so.

use crossprof::insight::{Verdict, examine};
use crossprof::metrics::{Run, Settings};
use crossprof::report::FindingSeverity;
use crossprof::trace::Trace;
use crossprof::trace::builder::TraceBuilder;

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
fn one_launch_tells_nothing_of_idle_time() {
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
    lacks(trace, "host_overhead", "launched");
}

#[test]
fn compile_time_is_unknown_where_nothing_marks_it() {
    lacks(gpu_steps(12, |b, at| kernel(b, "gemm", at + 1, at + 5, 400)), "compile_time", "compilation");
}

#[test]
fn what_was_not_checked_stands_last_and_says_so() {
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
