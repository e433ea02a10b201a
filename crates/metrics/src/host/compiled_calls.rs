//! Counts the calls to compiled functions from Python, and measures the idle time between calls that follow each other
//! closely. Each operation on an array outside of `jax.jit` is a call to a compiled function. The idle time in calls
//! that trace, lower and compile their function belongs to compilation.
//!
//! ```text
//! python   [multiply)[add)[multiply)...[sqrt)          [train_step)
//! device      [m)      [a)   [m)          [s)              [op         )
//! streak   [----------------------------------)
//! idle     ..   ......   ...   ...........             between small programs: not the time around train_step
//! ```

use rustc_hash::FxHashMap;

use crate::device::devices::Devices;
use crate::host::host_work::{HostWork, for_each_named_on, host_spans};
use base::{Ps, sort};
use trace::{Interval, IntervalSet, LineId, Trace};

/// Longest pause between two calls of the same streak. We chose this limit because it is longer than a dispatch and
/// shorter than a step.
const LONGEST_PAUSE: Ps = Ps::new(1_000_000_000);
/// Minimum number of calls in a streak. We chose this limit because even a normal step calls several functions in
/// sequence.
const FEWEST_CALLS: u64 = 10;

/// Calls of compiled functions inside the measured windows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompiledCalls {
    /// Number of calls, over all hosts. Excludes calls inside other calls.
    pub calls: u64,
    /// Functions with their numbers of calls, the most frequent first.
    pub functions: Vec<(String, u64)>,
    /// Number of hosts on which compiled functions are called.
    pub hosts: u64,
    /// Idle time of the devices in streaks of calls, excluding calls that compile, summed over the devices.
    pub idle: Ps,
    /// Idle time of the devices in calls that compile, or while the host compiles, summed over the devices.
    pub compiling: Ps,
    /// Length of the windows, summed over the devices.
    pub window: Ps,
}

/// Calls on one thread that follow each other closely.
#[derive(Clone, Copy)]
struct Streak {
    line: LineId,
    calls: u64,
    span: Interval,
}

/// Measures the calls in the windows of the devices.
pub fn compiled_calls(trace: &Trace, devices: &Devices) -> CompiledCalls {
    let windows = windows(devices);
    let mut found = CompiledCalls::default();
    let mut by_function: FxHashMap<&str, u64> = FxHashMap::default();
    let mut streaks: FxHashMap<u16, Vec<Streak>> = FxHashMap::default();
    let compile = host_spans(trace, devices, HostWork::Compile).union;
    let mut compiling: Vec<Interval> = compile.parts().to_vec();
    for_each_named_on(trace, devices, &|name| function(name).is_some(), &mut |host, event| {
        let is_measured = windows.get(&host).is_some_and(|window| window.contains(event.start));
        let Some(name) = function(trace.text(event.name)).filter(|_| is_measured) else { return };
        let streaks = streaks.entry(host).or_default();
        let span = Interval::new(event.start, event.end());
        let last = streaks.last_mut().filter(|last| last.line == event.line);
        if last.as_ref().is_some_and(|last| span.end <= last.span.end) {
            return;
        }
        if compile.length_within(span) > Ps::ZERO {
            compiling.push(span);
        }
        found.calls += 1;
        *by_function.entry(name).or_default() += 1;
        match last.filter(|last| span.start - last.span.end <= LONGEST_PAUSE) {
            Some(last) => (last.calls, last.span) = (last.calls + 1, Interval::new(last.span.start, span.end)),
            None => streaks.push(Streak { line: event.line, calls: 1, span }),
        }
    });
    found.hosts = streaks.len() as u64;
    found.functions = by_function.into_iter().map(|(name, calls)| (name.to_owned(), calls)).collect();
    sort::sort_by(&mut found.functions, |a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let long = |streaks: &Vec<Streak>| {
        IntervalSet::union_of(streaks.iter().filter(|it| it.calls >= FEWEST_CALLS).map(|it| it.span))
    };
    let streaks: FxHashMap<u16, IntervalSet> = streaks.iter().map(|(&host, streaks)| (host, long(streaks))).collect();
    let compiling = IntervalSet::union_of(compiling);
    for device in &devices.used {
        found.window += device.window.length();
        let idle = device.set_to_host(&device.window.difference(&device.busy));
        found.compiling += idle.intersection(&compiling).length();
        let idle = idle.difference(&compiling);
        found.idle += streaks.get(&device.host).map_or(Ps::ZERO, |streaks| streaks.intersection(&idle).length());
    }
    found
}

/// Host arrays that compiled functions received inside the measured windows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostArguments {
    /// Number of copies to devices, over all hosts.
    pub copies: u64,
    /// Number of hosts that copy.
    pub hosts: u64,
    /// Function whose calls spend the most time on copies. Empty if no function copies.
    pub function: String,
    /// Idle time of the devices while arrays are copied to them, summed over the devices.
    pub idle: Ps,
    /// Length of the windows, summed over the devices.
    pub window: Ps,
}

/// Measures the copies of host arrays inside calls to compiled functions (`DevicePut` inside `PjitFunction(f)`), and
/// the idle time of the devices during these copies. Runtime threads may finish a copy after the call.
///
/// ```text
/// python    [PjitFunction(f)       )  [float(loss)                   )
///             [DevicePut)[DevicePut)
/// runtime                       [H2D Dispatch         )
/// device                                               [op  )
/// idle        .........................................                while arrays are copied
/// ```
pub fn host_arguments(trace: &Trace, devices: &Devices) -> HostArguments {
    let windows = windows(devices);
    let mut call: Option<(LineId, Ps, &str)> = None;
    let mut by_host: FxHashMap<u16, u64> = FxHashMap::default();
    let mut by_function: FxHashMap<&str, Ps> = FxHashMap::default();
    let mut copies: FxHashMap<u16, Vec<Interval>> = FxHashMap::default();
    let is_wanted = |name: &str| name == COPY || is_copy_of_runtime(name) || function(name).is_some();
    for_each_named_on(trace, devices, &is_wanted, &mut |host, event| {
        let name = trace.text(event.name);
        let of_call = call.filter(|(line, end, _)| *line == event.line && event.start < *end);
        if let Some(function) = function(name) {
            call = of_call.or(Some((event.line, event.end(), function)));
            return;
        }
        if name == COPY {
            let Some((.., function)) = of_call else { return };
            *by_function.entry(function).or_default() += event.duration;
            if windows.get(&host).is_some_and(|window| window.contains(event.start)) {
                *by_host.entry(host).or_default() += 1;
            }
        }
        copies.entry(host).or_default().push(Interval::new(event.start, event.end()));
    });
    let longest = by_function.into_iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(a.0)));
    let mut found = HostArguments {
        copies: by_host.values().sum(),
        hosts: by_host.len() as u64,
        function: longest.map_or_else(String::new, |(function, _)| function.to_owned()),
        ..HostArguments::default()
    };
    let copies: FxHashMap<u16, IntervalSet> =
        copies.into_iter().map(|(host, spans)| (host, IntervalSet::union_of(spans))).collect();
    for device in &devices.used {
        found.window += device.window.length();
        let idle = device.set_to_host(&device.window.difference(&device.busy));
        found.idle += copies.get(&device.host).map_or(Ps::ZERO, |copies| copies.intersection(&idle).length());
    }
    found
}

/// Event in which JAX copies an argument of a call to a device.
const COPY: &str = "DevicePut";

/// Returns true if events of this name are copies from host memory to a device by a runtime thread.
fn is_copy_of_runtime(name: &str) -> bool {
    name.starts_with("H2D Dispatch") || name.contains("TransferToDevice") || name.contains("CopyToDevice")
}

/// Returns the union of the windows of each host's devices, on the host's clock.
fn windows(devices: &Devices) -> FxHashMap<u16, IntervalSet> {
    let mut windows: FxHashMap<u16, IntervalSet> = FxHashMap::default();
    for device in &devices.used {
        let window = windows.entry(device.host).or_default();
        *window = window.union(&device.set_to_host(&device.window));
    }
    windows
}

/// Returns the function of a call: `multiply` for `PjitFunction(multiply)`.
fn function(name: &str) -> Option<&str> {
    name.strip_prefix("PjitFunction(")?.strip_suffix(')')
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::TraceBuilder;

    /// Twelve calls of 20 us start every 100 us, each with an op of 30 us. After a pause of 10 ms, a step takes 5 ms.
    #[test]
    fn only_the_idle_time_between_close_calls_counts() {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let ops = b.line("/device:TPU:0", "XLA Ops");
        for call in 0..12 {
            let name = if call % 3 == 0 { "PjitFunction(add)" } else { "PjitFunction(multiply)" };
            b.event(python, name, 100 * call, 20);
            b.event(python, name, 100 * call + 1, 15);
            b.event(ops, "fusion", 100 * call + 10, 30);
        }
        b.event(python, "PjitFunction(train_step)", 11_000, 20);
        b.event(ops, "dot", 11_010, 5_000);
        let trace = b.build();
        let found = compiled_calls(&trace, &Devices::of(&trace));
        // The window of the device begins with its first op, after the first call.
        assert_eq!((found.calls, found.hosts), (12, 1));
        let functions = [("multiply", 8), ("add", 3), ("train_step", 1)];
        assert_eq!(found.functions.iter().map(|(name, calls)| (name.as_str(), *calls)).collect::<Vec<_>>(), functions);
        // The streak is from 100 to 1120 us, and each of its calls has an op that ends before 1120 us at the latest.
        assert_eq!(found.idle.as_us(), 1_020.0 - 10.0 * 30.0 - 10.0);
        assert_eq!(found.window.as_us(), 16_000.0);
    }

    /// The streak of calls is the same as in the previous test. One of its calls traces, lowers and compiles its
    /// function.
    #[test]
    fn the_idle_time_of_calls_that_compile_is_compilation() {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let ops = b.line("/device:TPU:0", "XLA Ops");
        for call in 0..12 {
            let length = if call == 6 { 90 } else { 20 };
            b.event(python, "PjitFunction(add)", 100 * call, length);
            b.event(ops, "fusion", 100 * call, 10);
        }
        b.event(python, "backend_compile", 640, 30);
        let trace = b.build();
        let found = compiled_calls(&trace, &Devices::of(&trace));
        // The devices are busy for the first 10 us of each of the 11 intervals of 100 us. During the call of 90 us, the devices
        // are idle for 80 us.
        assert_eq!((found.idle.as_us(), found.compiling.as_us()), (11.0 * 90.0 - 80.0, 80.0));
    }

    #[test]
    fn only_copies_inside_calls_are_arguments() {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let ops = b.line("/device:TPU:0", "XLA Ops");
        b.event(ops, "dot", 0, 1_000);
        b.event(python, "DevicePut", 10, 2);
        b.event(python, "PjitFunction(f)", 20, 20);
        b.event(python, "PjitFunction(f)", 21, 2);
        for start in [25, 30, 45, 2_000] {
            b.event(python, "DevicePut", start, 2);
        }
        let trace = b.build();
        let found = host_arguments(&trace, &Devices::of(&trace));
        assert_eq!((found.copies, found.hosts, found.function.as_str()), (2, 1, "f"));
        assert_eq!(found.idle, Ps::ZERO);
    }

    #[test]
    fn devices_are_idle_while_arguments_are_copied() {
        let mut b = TraceBuilder::new();
        let (python, runtime) = (b.line("/host:CPU", "python"), b.line("/host:CPU", "tf_XLAPjRtCpuClient/1"));
        let ops = b.line("/device:TPU:0", "XLA Ops");
        b.event(ops, "dot", 0, 100);
        b.event(python, "PjitFunction(f)", 100, 50);
        b.event(python, "DevicePut", 110, 40);
        b.event(runtime, "H2D Dispatch", 140, 60);
        b.event(ops, "dot", 180, 20);
        let trace = b.build();
        let found = host_arguments(&trace, &Devices::of(&trace));
        // The devices are idle from 110 to 180 us.
        assert_eq!((found.idle.as_us(), found.window.as_us()), (70.0, 200.0));
    }
}
