//! Other threads run Python while devices are idle.
//!
//! Threads that do not launch device work run Python for at least half of the idle time, and their innermost call is
//! not a wait (`sleep`, `acquire`, `recv`, ...; `crates/facts/src/python_waits.csv`). The impact is the idle share of
//! the window, multiplied by the share of the idle time that the busiest thread spends in its function. Severity:
//! warning from 10 % (JAX guide, overheads), critical from 50 %. Confidence: medium, because a function may run without
//! holding Python's lock. Remedy: use processes instead of threads. If the launching thread waits in `queue.get` for
//! most of the idle time, the finding instead reports that another thread fills the queue too slowly. The confidence of
//! this finding is high, and its remedy is to use more workers. The rule needs the Python tracer, and is skipped if
//! there are no host events.

use super::draft::{Draft, lacks};
use super::host_side::HostSide;
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, shown};
use super::{Needs, Rule, Verdict};
use base::format;
use metrics::busy_python_threads;
use report::{Confidence, View};

pub(super) static RULE: Rule = Rule {
    id: "python_threads",
    title: "Python threads run while devices are idle",
    needs: Needs::AllLines,
    ..Rule::checked_by(check)
};

fn check(numbers: &Numbers<'_>) -> Verdict {
    if numbers.context.analysis.devices.by_line.host_names.is_empty() {
        return numbers.lacks_host_events();
    }
    let Some(window) = numbers.window() else {
        return lacks("too few device ops ran to measure how long the devices are idle. Capture several steps.");
    };
    if window.idle_percent() < OVERHEAD_PERCENT.good {
        return Verdict::Fine;
    }
    let Some(found) = busy_python_threads(numbers.trace, &numbers.context.analysis.devices) else {
        return Verdict::Fine;
    };
    let share = window.idle_percent() * found.function.percent / 100.0;
    if share < OVERHEAD_PERCENT.good {
        return Verdict::Fine;
    }
    let (severity, limit) = OVERHEAD_PERCENT.severity(share);
    let name = shown(&found.function.name);
    let place = found.function.place.as_ref().map_or(String::new(), |place| format!(" ({})", shown(place)));
    let threads = format::counted(found.threads, "other thread");
    let (idle, busy) = (format::percent(window.idle_percent()), format::percent(found.function.percent));
    if let Some(range) = numbers.host_side().and_then(HostSide::waits_for_queue) {
        let message = format!(
            "Devices are idle for {idle} of the time. Most of that time, {} waits in queue.get for the next item. Meanwhile, {threads} \
             of the host {} Python, mostly {name}{place}, for {busy} of that time. So the queue is empty, because {name} is slower than \
             the step.",
            shown(&range.name),
            if found.threads == 1 { "runs" } else { "run" },
        );
        let title = format!("The step waits for a queue that {name} fills too slowly");
        return Draft::new(severity, Confidence::High, &title, message)
            .remedy(&format!(
                "Run {name} in several workers (processes if it runs Python code: the workers of grain or of a PyTorch DataLoader), and \
                 give it less work per item: vectorise it over the batch, do work once instead of in each step, or do it on the device."
            ))
            .passed("python_threads_percent", share, limit)
            .evidence("threads", found.threads as f64)
            .at_stake(share)
            .link(View::Steps, "")
            .fires();
    }
    let message = format!(
        "Devices are idle for {idle} of the time. For {busy} of that time, {threads} of the host {} Python, mostly {name}{place}. Python \
         runs one thread at a time, so the thread that launches device work waits for its turn.",
        if found.threads == 1 { "runs" } else { "run" },
    );
    // A library function may run without holding Python's lock.
    Draft::new(severity, Confidence::Medium, &format!("Threads run Python ({name}) while devices are idle"), message)
        .remedy(&format!(
            "Move the work of {name} to other processes (multiprocessing, the workers of grain or of a PyTorch DataLoader), or to \
             libraries that release Python's lock, such as NumPy on large arrays."
        ))
        .passed("python_threads_percent", share, limit)
        .evidence("threads", found.threads as f64)
        .at_stake(share)
        .link(View::Steps, "")
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, gpu_steps, kernel};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us. The device is busy for `busy` us. During the rest of the step, another thread runs
    /// `parse`, which calls `last`.
    fn with_thread(busy: i64, last: &'static str) -> Trace {
        gpu_steps(12, move |b, at| {
            kernel(b, "gemm", at + 1, at + 5, busy);
            let (python, other) = (b.line("/host:CPU", "python"), b.line("/host:CPU", "worker"));
            b.event(python, "PjitFunction(step)", at + 1, 3);
            b.event(other, "$data.py:7 parse", at + busy, 1000 - busy);
            b.event(other, last, at + busy, 1000 - busy);
        })
    }

    #[test]
    fn fires_above_its_limit() {
        let found = finding(with_thread(300, "$data.py:9 <listcomp>"), &RULE);
        assert_eq!(
            (found.severity, found.title.as_str()),
            (Critical, "Threads run Python (parse) while devices are idle")
        );
        assert!(
            found.message.contains("1 other thread") && found.message.contains("parse (data.py:7)"),
            "{}",
            found.message
        );
        assert_eq!(finding(with_thread(800, "$data.py:9 <listcomp>"), &RULE).severity, Warning);
        fine(with_thread(950, "$data.py:9 <listcomp>"), &RULE);
        fine(with_thread(300, "$time sleep"), &RULE);
    }

    #[test]
    fn an_empty_queue_is_named() {
        let trace = gpu_steps(12, move |b, at| {
            kernel(b, "gemm", at + 1, at + 5, 200);
            let (python, other) = (b.line("/host:CPU", "python"), b.line("/host:CPU", "worker"));
            b.event(python, "PjitFunction(step)", at + 1, 3);
            b.event(python, "$main.py:48 one", at + 210, 780);
            b.event(python, "$queue.py:154 get", at + 211, 770);
            b.event(python, "$threading.py:327 wait", at + 212, 765);
            b.event(python, "$acquire", at + 213, 760);
            b.event(other, "$main.py:15 load", at + 210, 780);
            b.event(other, "$zlib decompress", at + 211, 700);
        });
        let found = finding(trace, &RULE);
        assert_eq!(found.title, "The step waits for a queue that load fills too slowly");
        assert!(found.message.contains("one waits in queue.get"), "{}", found.message);
    }
}
