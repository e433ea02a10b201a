//! TPU cores wait for each other at the start of a program.
//!
//! TPU only: the measure is the share of the window that cores spend in `barrier-cores`, where they wait for other cores to
//! start the program. Severity: warning from 10 % (XProf). Confidence: high. Remedy: find the host that is late.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use metrics::StepPart;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule { id: "barrier_cores", title: "Cores wait at barriers", ..Rule::checked_by(check) };

/// Minimum share of the step for a warning (XProf, special-op suggestion for barrier-cores: 10 %).
const WARNING_PERCENT: f64 = 10.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.is_tpu() {
        return Verdict::Irrelevant;
    }
    let (Some(window), Some(share)) = (numbers.window_of_parts(), numbers.part_percent(StepPart::Barrier)) else {
        return lacks("too few device ops ran. Capture several steps.");
    };
    if share < WARNING_PERCENT {
        return Verdict::Fine;
    }
    let message = format!(
        "Cores wait at barriers, until all cores have started the same program, for {} of {} ({}).",
        format::time_us(window.us(share)),
        window.words(),
        format::percent(share)
    );
    Draft::new(
        FindingSeverity::Warning,
        Confidence::High,
        &format!("Cores wait at barriers for {} of the time", format::percent(share)),
        message,
    )
    .remedy(
        "Find the host that starts its program last (Devices, Steps): its input or Python code is slower than on the \
             other hosts. Give all hosts equal work, and none of them extra work (logging, checkpoints) between steps.",
    )
    .passed("barrier_percent", share, WARNING_PERCENT)
    .at_stake(share)
    .link(View::Steps, "")
    .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_op, tpu_steps};
    use report::FindingSeverity::Warning;

    #[test]
    fn fires_above_its_limit() {
        // The core is busy for 500 of 1000 us, and waits for the other cores during part of the rest.
        let trace = |wait: i64| {
            tpu_steps(12, move |b, at| {
                tpu_op(b, "loop fusion", at, 500);
                let marks = b.line("/device:TPU:0", "XLA TraceMe");
                b.event(marks, "barrier-cores", at + 600, wait);
            })
        };
        let found = finding(trace(110), &RULE);
        assert_eq!((found.severity, found.evidence[0].threshold), (Warning, Some(10.0)));
        assert!((found.evidence[0].value - 11.0).abs() < 1e-9, "{:?}", found.evidence);
        fine(trace(90), &RULE);
    }
}
