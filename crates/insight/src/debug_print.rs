//! The compiled program calls back into Python.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule = Rule { id: "debug_print", title: "Callbacks from the device into Python", check };

/// Share of the window from which the finding is a warning (XProf, debug-print suggestion: 5 % of the step).
const WARNING_PERCENT: f64 = 5.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    if numbers.context.analysis.devices.by_line.host_names.is_empty() {
        return numbers.lacks_host_events();
    }
    let devices = &numbers.context.analysis.devices.used;
    if devices.is_empty() {
        return lacks("no device op ran. Capture while the program runs on the device.");
    }
    let placement = numbers.context.placement();
    let (spans, calls) = (&placement.in_callbacks, placement.callbacks);
    let mut best = 0.0_f64;
    for device in devices {
        let length = device.window.length().as_ps();
        if length > 0 {
            best = best.max(100.0 * spans.intersection(&device.window).length().as_ps() as f64 / length as f64);
        }
    }
    if best < WARNING_PERCENT {
        return Verdict::Fine;
    }
    let message = format!(
        "Callbacks from the compiled program into Python take {} of the time, in {} calls (jax.debug.print, jax.debug.callback, \
         pure_callback or io_callback).",
        format::percent(best),
        format::count(calls)
    );
    Draft::new(FindingSeverity::Warning, Confidence::High, "The program calls back into Python", message)
        .remedy(
            "Remove jax.debug.print and callbacks from the step, or guard them with jax.lax.cond so that only every n-th step \
             calls them. Return values from the jitted function and log them outside.",
        )
        .passed("callback_percent", best, WARNING_PERCENT)
        .evidence("callbacks", calls as f64)
        .at_stake(best)
        .link("steps", "")
        .fires()
}
