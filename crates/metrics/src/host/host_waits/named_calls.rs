//! Measures the calls of some functions on the threads that feed devices, and the idle time of the devices during these calls.
//!
//! ```text
//! python   [one                                   )
//!            [iter                 )                    a call of a wanted function
//!              [__iter__          )                     a call inside it
//! device                               [op  )
//! idle       .......................                    idle time in the call
//! ```

use rustc_hash::FxHashMap;

use super::calls::{RangeCall, is_function_of_user, range_call};
use super::launching;
use crate::device::devices::Devices;
use crate::host::call_path::path;
use crate::host::host_work::for_each_named_on;
use base::Ps;
use trace::{Interval, IntervalSet, LineId, Trace};

/// Calls of the wanted functions in the measured windows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedCalls {
    /// Number of calls, over all hosts. Excludes calls inside other calls.
    pub calls: u64,
    /// Number of hosts on which the wanted functions are called.
    pub hosts: u64,
    /// Idle time of the devices in these calls, summed over the devices.
    pub idle: Ps,
    /// Length of the windows, summed over the devices.
    pub window: Ps,
    /// Innermost function of the user that makes these calls for most of the idle time.
    pub caller: Option<RangeCall>,
    /// The wanted function with the most idle time, and the calls inside it that take at least half of that time, from
    /// the outermost.
    pub inside: Vec<RangeCall>,
}

impl NamedCalls {
    /// Returns the number of calls per step per host. `steps` is the number of steps in the window.
    pub fn per_step(&self, steps: f64) -> f64 {
        self.calls as f64 / steps / self.hosts.max(1) as f64
    }

    /// Returns the idle time of the devices in these calls, in percent of the window.
    pub fn idle_percent(&self) -> f64 {
        if self.window > Ps::ZERO { 100.0 * self.idle.as_ps() as f64 / self.window.as_ps() as f64 } else { 0.0 }
    }
}

/// Measures the calls of the functions whose event name is wanted, on threads that launch device work. If no thread
/// launches device work, includes the calls on all threads.
pub fn named_calls(trace: &Trace, devices: &Devices, wanted: &dyn Fn(&str) -> bool) -> NamedCalls {
    let launches = launching(trace);
    let any_launches = launches.iter().any(|&launches| launches);
    let feeds = |line: LineId| !any_launches || launches.get(line.index()) == Some(&true);
    let mut windows: FxHashMap<u16, IntervalSet> = FxHashMap::default();
    for device in &devices.used {
        let window = windows.entry(device.host).or_default();
        *window = window.union(&device.set_to_host(&device.window));
    }
    let mut spans: FxHashMap<LineId, (u16, Vec<Interval>)> = FxHashMap::default();
    let mut found = NamedCalls::default();
    for_each_named_on(trace, devices, wanted, &mut |host, event| {
        let is_measured = windows.get(&host).is_some_and(|window| window.contains(event.start));
        if !is_measured || !feeds(event.line) {
            return;
        }
        let (_, spans) = spans.entry(event.line).or_insert_with(|| (host, Vec::new()));
        let span = Interval::new(event.start, event.end());
        if spans.last().is_none_or(|last| span.end > last.end) {
            found.calls += 1;
            spans.push(span);
        }
    });
    let mut hosts: Vec<u16> = spans.values().map(|(host, _)| *host).collect();
    hosts.sort_unstable();
    hosts.dedup();
    found.hosts = hosts.len() as u64;
    let of_line: FxHashMap<LineId, (u16, IntervalSet)> =
        spans.into_iter().map(|(line, (host, spans))| (line, (host, IntervalSet::union_of(spans)))).collect();
    let mut idle_in: FxHashMap<LineId, IntervalSet> = FxHashMap::default();
    for device in &devices.used {
        found.window += device.window.length();
        let idle = device.set_to_host(&device.window.difference(&device.busy));
        let mut of_host = IntervalSet::default();
        for (&line, (_, spans)) in of_line.iter().filter(|(_, (host, _))| *host == device.host) {
            let within = spans.intersection(&idle);
            of_host = of_host.union(&within);
            let all = idle_in.entry(line).or_default();
            *all = all.union(&within);
        }
        found.idle += of_host.length();
    }
    let longest =
        idle_in.into_iter().max_by(|a, b| a.1.length().cmp(&b.1.length()).then(b.0.index().cmp(&a.0.index())));
    if let Some((line, within)) = longest.filter(|(_, within)| !within.is_empty()) {
        describe(trace, devices, (line, &within), wanted, &mut found);
    }
    found
}

fn describe(
    trace: &Trace,
    devices: &Devices,
    (line, within): (LineId, &IntervalSet),
    wanted: &dyn Fn(&str) -> bool,
    found: &mut NamedCalls,
) {
    let Some(events) = devices.by_line.events.get(line.index()) else { return };
    let calls = path(trace, events, within);
    let first = calls.iter().position(|call| wanted(trace.text(call.name)));
    let outside = calls.iter().take(first.unwrap_or(calls.len()));
    let caller = outside.rev().find(|call| is_function_of_user(trace, call.name));
    found.caller = caller.map(|call| range_call(trace, call, within.length()));
    let inside = calls.iter().skip(first.unwrap_or(calls.len()));
    found.inside = inside.map(|call| range_call(trace, call, within.length())).collect();
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::TraceBuilder;

    /// Two steps of 100 us as in the module's documentation, and a call on a thread that launches nothing.
    #[test]
    fn calls_have_a_caller_and_the_calls_inside_them() {
        let mut b = TraceBuilder::new();
        let (main, other) = (b.line("/host:CPU", "python"), b.line("/host:CPU", "python 2"));
        let ops = b.line("/device:TPU:0", "XLA Ops");
        b.event(ops, "fusion", 0, 10);
        for step in 0..2 {
            let at = 10 + 100 * step;
            b.event(main, "$main.py:62 one", at, 95);
            b.event(main, "$builtins iter", at + 1, 80);
            b.event(main, "$main.py:42 __iter__", at + 2, 78);
            b.event(main, "$builtins iter", at + 3, 2);
            b.event(main, "PjitFunction(f)", at + 85, 2);
            b.event(other, "$builtins iter", at, 90);
            b.event(ops, "fusion", at + 70, 30);
        }
        let trace = b.build();
        let found = named_calls(&trace, &Devices::of(&trace), &|name| name == "$builtins iter");
        assert_eq!((found.calls, found.hosts), (2, 1));
        // Each call begins 1 us after the device is idle, and the device is busy again 69 us later.
        assert_eq!((found.idle.as_us(), found.window.as_us()), (2.0 * 69.0, 210.0));
        let caller = found.caller.unwrap();
        assert_eq!((caller.name.as_str(), caller.place.as_deref()), ("one", Some("main.py:62")));
        assert_eq!(found.inside.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["iter", "__iter__"]);
        assert_eq!(named_calls(&trace, &Devices::of(&trace), &|_| false).inside, []);
    }
}
