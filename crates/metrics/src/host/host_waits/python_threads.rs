//! Finds threads that run Python while devices are idle and that do not feed the devices. Python runs one thread at a
//! time, so these threads slow down the thread that feeds the devices.
//!
//! ```text
//! device     [op )                    [op )
//! python          [next step      )          feeds the device
//! thread 2   [parse                     )    runs Python meanwhile
//! thread 3   [poll > sleep              )    only waits
//! ```

use super::calls::{RangeCall, is_function_of_user, lines_with, range_call};
use super::launching;
use crate::device::devices::Devices;
use crate::host::call_path::path;
use base::sort;
use facts::host_spans;
use facts::python_waits::{self, PythonWait};
use trace::{IntervalSet, LineKind, StrId, Trace};

/// Threads that run Python for most of the idle time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PythonThreads {
    /// Number of threads.
    pub threads: u64,
    /// Innermost user function of the thread that spends the most time in one function, with that function's share of
    /// the idle time. If the thread runs no user function, its outermost function.
    pub function: RangeCall,
}

/// Finds the host on which threads that feed no device run Python for the longest time while the host's devices are
/// idle. Returns these threads. Returns `None` if every thread that runs Python feeds devices, or if the trace does not
/// show which threads feed devices.
pub fn busy_python_threads(trace: &Trace, devices: &Devices) -> Option<PythonThreads> {
    let is_frame = |name: StrId| host_spans::is_frame(trace.text(name));
    let (runs_python, launches) = (lines_with(trace, is_frame), launching(trace));
    let mut hosts: Vec<u16> = devices.used.iter().map(|device| device.host).collect();
    hosts.dedup();
    let of_host = |host: u16| {
        let used = devices.used.iter().filter(|device| device.host == host);
        let idle = used.fold(IntervalSet::default(), |all, device| {
            all.union(&device.set_to_host(&device.window.difference(&device.busy)))
        });
        let lines = trace.lines.iter().zip(&devices.by_line.events).zip(runs_python.iter().zip(&launches));
        let lines = lines.filter(|((line, _), _)| {
            line.kind == LineKind::Host && trace.plane_of(line).is_some_and(|plane| plane.host == host)
        });
        if !lines.clone().any(|(_, (_, launches))| *launches) {
            return None;
        }
        let others = lines.filter(|(_, (runs, launches))| **runs && !**launches);
        let busy: Vec<RangeCall> = others
            .filter_map(|((_, events), _)| {
                let calls = path(trace, events, &idle);
                let last = trace.text(calls.last()?.name);
                // If a function began before the capture, the capture lacks its frame.
                let of_user = calls.iter().rfind(|call| is_function_of_user(trace, call.name));
                let function = of_user.or_else(|| calls.iter().find(|call| is_frame(call.name)))?;
                (!waits(last)).then(|| range_call(trace, function, idle.length()))
            })
            .collect();
        let threads = busy.len() as u64;
        let function = busy.into_iter().reduce(|a, b| if b.percent > a.percent { b } else { a })?;
        Some(PythonThreads { threads, function })
    };
    let mut found: Vec<PythonThreads> = hosts.into_iter().filter_map(of_host).collect();
    sort::sort_by(&mut found, |a, b| b.function.percent.total_cmp(&a.function.percent));
    found.into_iter().next()
}

fn waits(frame: &str) -> bool {
    python_waits::is(PythonWait::Yield, super::shown(frame))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::TraceBuilder;

    fn found(last: &str, launches: bool) -> Option<(u64, String, f64)> {
        let mut b = TraceBuilder::new();
        let main = b.line("/host:CPU", "python");
        let ops = b.line("/device:TPU:0", "XLA Ops");
        b.event(ops, "fusion", 0, 10);
        if launches {
            b.event(main, "PjitFunction(f)", 0, 2);
        }
        b.event(main, "$train.py:3 prepare", 10, 80);
        for (thread, length) in [("", 60), ("pool_1", 70)] {
            let line = b.line("/host:CPU", thread);
            b.event(line, "$data.py:12 parse", 15, length);
            b.event(line, last, 15, length);
        }
        b.event(ops, "fusion", 90, 10);
        let trace = b.build();
        let threads = busy_python_threads(&trace, &Devices::of(&trace))?;
        Some((threads.threads, threads.function.name, threads.function.percent))
    }

    /// The devices in this test are idle from 10 to 90 us.
    #[test]
    fn threads_that_run_python_are_found_and_threads_that_wait_are_not() {
        assert_eq!(found("$data.py:20 <genexpr>", true), Some((2, "parse".to_owned(), 87.5)));
        assert_eq!(found("$time sleep", true), None);
        // It is unknown which thread feeds the device.
        assert_eq!(found("$data.py:20 <genexpr>", false), None);
    }
}
