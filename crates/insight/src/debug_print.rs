//! The compiled program calls back into Python.
//!
//! The measure is the union of the spans of callbacks into Python (`crates/facts/src/host_callbacks.csv`), as a share
//! of a device's window. The rule uses the device with the largest share. Severity: warning from 5 % (XProf,
//! debug-print), critical from 50 % (ours). Confidence: high. If the Python tracer was on, the message names the user's
//! function that takes at least half of the callbacks' time. Remedy: remove or guard the callbacks. The rule is skipped
//! if there are no host events.

use super::draft::{Draft, lacks};
use super::limits::HOST_OPS_PERCENT;
use super::numbers::{Numbers, shown};
use super::{Rule, Verdict};
use base::format;
use metrics::called_back;
use report::{Confidence, FindingSeverity, View};
use trace::IntervalSet;

pub(super) static RULE: Rule =
    Rule { id: "debug_print", title: "The program calls back into Python", ..Rule::checked_by(check) };

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
    if best < HOST_OPS_PERCENT.good {
        return Verdict::Fine;
    }
    let called = function(numbers, spans);
    let message = format!(
        "Callbacks from the compiled program into Python take {} of the time ({}).{}",
        format::percent(best),
        format::counted(calls, "call"),
        called.as_ref().map_or(String::new(), |(_, sentence)| format!(" {sentence}"))
    );
    let title = match &called {
        Some((name, _)) => format!("The program calls back into Python, mostly {name}"),
        None => "The program calls back into Python".to_owned(),
    };
    let severity = if best >= HOST_OPS_PERCENT.bad { FindingSeverity::Critical } else { FindingSeverity::Warning };
    Draft::new(severity, Confidence::High, &title, message)
        .remedy(
            "Compute the values of pure_callback with jax.numpy inside the program. Remove jax.debug.print, \
             jax.debug.callback and io_callback from the step, or call them only in every n-th step (jax.lax.cond). \
             Return values from the jitted function and log them outside.",
        )
        .passed("callback_percent", best, HOST_OPS_PERCENT.good)
        .evidence("callbacks", calls as f64)
        .at_stake(best)
        .link(View::Steps, "")
        .fires()
}

/// Returns the user's function that takes most of the callbacks' time, and a sentence about it. `None` if the Python
/// tracer did not record the function.
fn function(numbers: &Numbers<'_>, spans: &IntervalSet) -> Option<(String, String)> {
    let calls = called_back(numbers.trace, &numbers.context.analysis.devices, spans);
    let call = calls.last()?;
    let place = call.place.as_ref().map_or(String::new(), |place| format!(" ({})", shown(place)));
    let name = shown(&call.name);
    let share = format::percent(call.percent);
    Some((name.clone(), format!("Python is in {name}{place} for {share} of that time.")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, gpu_steps, kernel};
    use report::FindingSeverity::Warning;

    #[test]
    fn fires_above_its_limit() {
        let trace = |length: i64| {
            gpu_steps(12, move |b, at| {
                kernel(b, "gemm", at + 1, at + 5, 900);
                let python = b.line("/host:CPU", "callbacks");
                b.event(python, "xla_ffi_python_gpu_callback", at + 100, length);
                b.event(python, "ThenExecuteCallback", at + 300, 500);
            })
        };
        assert_eq!(finding(trace(60), &RULE).severity, Warning);
        fine(trace(45), &RULE);
    }
}
