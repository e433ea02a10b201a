//! Other threads run Python while devices are idle.

use super::draft::{Draft, lacks};
use super::numbers::{Numbers, shown};
use super::{Rule, Verdict};
use base::format;
use metrics::busy_python_threads;
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule = Rule { id: "python_threads", title: "Python threads run while devices are idle", check };

/// Share of the window, idle while other threads run Python, from which the finding is a warning (the JAX guide's limit for
/// overheads is 10 %).
const WARNING_PERCENT: f64 = 10.0;
/// Share from which the finding is critical (the JAX guide calls devices that are idle for half of the time bad).
const CRITICAL_PERCENT: f64 = 50.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    if numbers.context.analysis.devices.by_line.host_names.is_empty() {
        return numbers.lacks_host_events();
    }
    let Some(window) = numbers.window() else {
        return lacks("too few device ops ran to measure how long the devices are idle. Capture several steps.");
    };
    if window.idle_percent() < WARNING_PERCENT {
        return Verdict::Fine;
    }
    let Some(found) = busy_python_threads(numbers.trace, &numbers.context.analysis.devices) else {
        return Verdict::Fine;
    };
    let share = window.idle_percent() * found.function.percent / 100.0;
    if share < WARNING_PERCENT {
        return Verdict::Fine;
    }
    let (severity, limit) = match share {
        CRITICAL_PERCENT.. => (FindingSeverity::Critical, CRITICAL_PERCENT),
        _ => (FindingSeverity::Warning, WARNING_PERCENT),
    };
    let name = shown(&found.function.name);
    let place = found.function.place.as_ref().map_or(String::new(), |place| format!(" ({})", shown(place)));
    let threads = format::counted(found.threads, "other thread");
    let message = format!(
        "Devices are idle for {} of the time. For {} of that time, {threads} of the host {} Python, mostly {name}{place}. Python \
         runs one thread at a time, so the thread that launches device work waits for its turn.",
        format::percent(window.idle_percent()),
        format::percent(found.function.percent),
        if found.threads == 1 { "runs" } else { "run" },
    );
    // A function of a library may run without holding Python's lock.
    Draft::new(severity, Confidence::Medium, &format!("Threads run Python ({name}) while devices are idle"), message)
        .remedy(&format!(
            "Move the work of {name} to other processes (multiprocessing, the workers of grain or of a PyTorch DataLoader), or to \
             libraries that release Python's lock, such as NumPy on large arrays."
        ))
        .passed("python_threads_percent", share, limit)
        .evidence("threads", found.threads as f64)
        .at_stake(share)
        .link("steps", "")
        .fires()
}
