//! Each step creates a new data loader iterator.
//!
//! The rule fires if three conditions hold: a thread that launches device work calls `iter` at least 0.9 times per step
//! per host; such a call spends at least half of its time in an `__iter__` written in Python; and devices are idle
//! during these calls for at least 10 % of the window (JAX guide, overheads). For example, `next(iter(loader))` in the
//! step creates a new iterator each time. The loader then repeats its once-per-epoch work, such as shuffling all
//! examples, for each batch. Severity: warning, critical from 50 %. Confidence: high. Remedy: create one iterator per
//! epoch. The rule is not reported if the Python tracer was off, and is skipped if there are no host events or no
//! steps.

use super::draft::Draft;
use super::limits::{EACH_STEP, OVERHEAD_PERCENT};
use super::numbers::{Numbers, function};
use super::{Needs, Rule, Verdict};
use base::format;
use metrics::named_calls;
use report::{Confidence, View};

pub(super) static RULE: Rule = Rule {
    id: "renewed_iterator",
    title: "Each step creates a new data loader iterator",
    needs: Needs::AllLines,
    ..Rule::checked_by(check)
};

/// Number of functions that the message names.
const MOST_NAMED: usize = 4;
/// Event of the built-in function `iter`, which is not written in Python.
const ITER: &str = "$builtins iter";

fn check(numbers: &Numbers<'_>) -> Verdict {
    let devices = &numbers.context.analysis.devices;
    if devices.by_line.host_names.is_empty() {
        return numbers.lacks_host_events();
    }
    if !devices.by_line.host_names.iter().any(|&name| numbers.trace.text(name) == ITER) {
        return Verdict::Irrelevant;
    }
    let Some(steps) = numbers.steps_in_window() else { return numbers.lacks_steps("the steps are unknown.") };
    let found = named_calls(numbers.trace, devices, &|name| name == ITER);
    let (per_step, share) = (found.per_step(steps), found.idle_percent());
    let makes = found.inside.get(1).is_some_and(|call| call.name == "__iter__");
    if per_step < EACH_STEP || share < OVERHEAD_PERCENT.good || !makes {
        return Verdict::Fine;
    }
    let (severity, limit) = OVERHEAD_PERCENT.severity(share);
    let path: Vec<String> = found.inside.iter().take(MOST_NAMED).map(function).collect();
    let caller = found.caller.as_ref().map_or_else(|| "the step".to_owned(), function);
    let message = format!(
        "{caller} calls iter in each step ({}), and devices are idle for {} of the time until iter returns: {}. So \
         work that a data loader does once per epoch, such as shuffling all examples, is repeated for each batch.",
        format::counted(found.calls, "call"),
        format::percent(share),
        path.join(" > ")
    );
    let title =
        format!("Each step creates a new data loader iterator, which takes {} of the time", format::percent(share));
    Draft::new(severity, Confidence::High, &title, message)
        .remedy(
            "Create the iterator once per epoch, outside of the step (batches = iter(loader), or for batch in \
             loader), and call next(batches) in the step. Then make the work inside cheaper: shuffle with a NumPy \
             permutation instead of a Python list.",
        )
        .passed("iter_percent", share, limit)
        .passed("iter_calls_per_step", per_step, EACH_STEP)
        .at_stake(share)
        .link(View::Steps, "")
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, gpu_steps, kernel, says};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us. Every `each`-th step calls `iter` for `time` us, and this call runs `inside`.
    fn steps(time: i64, each: i64, inside: &'static str) -> Trace {
        gpu_steps(12, move |b, at| {
            let python = b.line("/host:CPU", "python 2");
            b.event(python, "PjitFunction(step)", at + 1, 3);
            kernel(b, "gemm", at + 1, at + 5, 990 - time);
            if (at / 1000) % each == 0 {
                b.event(python, "$main.py:62 one", at + 996 - time, time);
                b.event(python, "$builtins iter", at + 997 - time, time - 2);
                b.event(python, inside, at + 998 - time, time - 4);
            }
        })
    }

    const ITER: &str = "$data.py:42 __iter__";

    #[test]
    fn fires_above_its_limit() {
        let found = finding(steps(700, 1, ITER), &RULE);
        assert_eq!(found.severity, Critical);
        let message = &found.message;
        assert!(message.starts_with("one (main.py:62) calls iter in each step"), "{message}");
        assert!(message.contains("until iter returns: iter > __iter__ (data.py:42)."), "{message}");
        assert_eq!(finding(steps(150, 1, ITER), &RULE).severity, Warning);
        fine(steps(90, 1, ITER), &RULE);
        // A step that creates an iterator once per epoch of two steps, and a step that creates other iterators.
        fine(steps(700, 2, ITER), &RULE);
        fine(steps(700, 1, "$data.py:42 keys"), &RULE);
        assert_eq!(says(crate::testing::host_bound(300), &RULE), Verdict::Irrelevant);
    }
}
