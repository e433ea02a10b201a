//! The compiled program calls back into Python.

use super::draft::{Draft, lacks};
use super::numbers::{Numbers, shown};
use super::{Rule, Verdict};
use base::format;
use metrics::called_back;
use report::{Confidence, FindingSeverity};
use trace::IntervalSet;

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
    let called = function(numbers, spans);
    let message = format!(
        "Callbacks from the compiled program into Python take {} of the time, in {}.{}",
        format::percent(best),
        format::counted(calls, "call"),
        called.as_ref().map_or(String::new(), |(_, sentence)| format!(" {sentence}"))
    );
    let title = match &called {
        Some((name, _)) => format!("The program calls back into Python, mostly {name}"),
        None => "The program calls back into Python".to_owned(),
    };
    let severity = if best >= CRITICAL_PERCENT { FindingSeverity::Critical } else { FindingSeverity::Warning };
    Draft::new(severity, Confidence::High, &title, message)
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

/// Returns the function of the user that takes most of the time in callbacks, and a sentence about it. `None` if the Python
/// tracer did not record it.
fn function(numbers: &Numbers<'_>, spans: &IntervalSet) -> Option<(String, String)> {
    let calls = called_back(numbers.trace, &numbers.context.analysis.devices, spans);
    let call = calls.last()?;
    let place = call.place.as_ref().map_or(String::new(), |place| format!(" ({})", shown(place)));
    let name = shown(&call.name);
    let share = format::percent(call.percent);
    Some((name.clone(), format!("Python is in {name}{place} for {share} of that time.")))
}
