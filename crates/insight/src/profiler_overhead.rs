//! The profiler itself slows the host down.
//!
//! The Python tracer recorded at least 50 calls per millisecond of active device time (ours: each costs the host about a
//! microsecond, which is 5 %, the lower end of the checklist's 5 to 10 %), and devices are idle for at least 10 %. Note,
//! confidence medium. Remedy: `python_tracer_level = 0`.

use super::draft::{Draft, lacks};
use super::limits::IDLE_NOTED_PERCENT;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::{Ps, format};
use metrics::for_each_named;
use report::{Confidence, FindingSeverity, View};
use trace::Interval;

pub(super) static RULE: Rule =
    Rule { id: "profiler_overhead", title: "The profiler slows the host down", ..Rule::checked_by(check) };

/// Frames of the Python tracer per millisecond of active device time from which the rule fires (ours: a frame costs about a
/// microsecond, so 50 of them take 5 %, the lower end of the checklist's "5 to 10 %").
const FRAMES_PER_MS: f64 = 50.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    if numbers.context.analysis.devices.by_line.host_names.is_empty() {
        return numbers.lacks_host_events();
    }
    let Some(window) = numbers.window() else { return lacks("too few device ops ran. Capture several steps.") };
    if window.idle_percent() < IDLE_NOTED_PERCENT {
        return Verdict::Fine;
    }
    let Some(active) = numbers.context.analysis.window.hull().filter(|span| span.length() > Ps::ZERO) else {
        return lacks("no device op ran.");
    };
    let frames = python_frames(numbers, active);
    let rate = frames as f64 / (active.length().as_us() / 1e3);
    if rate < FRAMES_PER_MS {
        return Verdict::Fine;
    }
    let message = format!(
        "The Python tracer slows the host down: it recorded {} calls while devices were active, {} per millisecond. Devices are \
         idle for {} of the time.",
        format::count(frames),
        format::number(rate),
        format::percent(window.idle_percent())
    );
    Draft::new(FindingSeverity::Note, Confidence::Medium, "The Python tracer slows the host down", message)
        .remedy(&format!(
            "Capture again without Python calls ({}) before you rely on host times.",
            numbers.words().no_python_calls
        ))
        .passed("python_frames_per_ms", rate, FRAMES_PER_MS)
        .evidence("python_frames", frames as f64)
        .link(View::Steps, "")
        .fires()
}

/// Counts frames (`$file.py:12 function`) on host threads that start within `active`.
fn python_frames(numbers: &Numbers<'_>, active: Interval) -> u64 {
    let mut frames = 0;
    let devices = &numbers.context.analysis.devices;
    for_each_named(numbers.trace, devices, &|name| name.starts_with('$'), &mut |event| {
        frames += u64::from(event.start >= active.start && event.start < active.end);
    });
    frames
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, gpu_steps, kernel};
    use report::FindingSeverity::Note;

    #[test]
    fn fires_above_its_limit() {
        let trace = |frames: i64, busy: i64| {
            gpu_steps(12, move |b, at| {
                kernel(b, "gemm", at + 1, at + 5, busy);
                let python = b.line("/host:CPU", "python");
                for frame in 0..frames {
                    b.event(python, "$train.py:12 step", at + frame, 1);
                }
            })
        };
        assert_eq!(finding(trace(60, 500), &RULE).severity, Note);
        fine(trace(45, 500), &RULE);
        fine(trace(60, 950), &RULE);
    }
}
