//! TPU cores wait for each other at the start of a program.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use metrics::StepPart;
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule = Rule { id: "barrier_cores", title: "Cores wait at barriers", check };

/// Share of the step from which the finding is a warning (XProf, special-op suggestion for barrier-cores: 10 %).
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
        "Cores wait at barriers for {} of {} ({}), until all cores have started the same program.",
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
    .link("steps", "")
    .fires()
}
