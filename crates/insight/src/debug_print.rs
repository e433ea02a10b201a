//! The compiled program calls back into Python.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule = Rule { id: "debug_print", title: "Callbacks from the device into Python", check };

/// Share of the window from which the finding is a warning (XProf, debug-print suggestion: 5 % of the step).
const WARNING_PERCENT: f64 = 5.0;
/// Share of the window from which the finding is critical (ours: most of the time).
const CRITICAL_PERCENT: f64 = 50.0;

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
        "Callbacks from the compiled program into Python take {} of the time, in {}.",
        format::percent(best),
        format::counted(calls, "call")
    );
    let severity = if best >= CRITICAL_PERCENT { FindingSeverity::Critical } else { FindingSeverity::Warning };
    Draft::new(severity, Confidence::High, "The program calls back into Python", message)
        .remedy(
            "Compute the values of pure_callback with jax.numpy inside the program. Remove jax.debug.print, jax.debug.callback and \
             io_callback from the step, or call them in every n-th step only (jax.lax.cond). Return values from the jitted function \
             and log them outside.",
        )
        .passed("callback_percent", best, WARNING_PERCENT)
        .evidence("callbacks", calls as f64)
        .at_stake(best)
        .link("steps", "")
        .fires()
}
