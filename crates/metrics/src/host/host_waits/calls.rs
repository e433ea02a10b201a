//! Describes a host range in more detail: the calls that take most of its time and, if it waits for a lock, the
//! functions that another thread runs meanwhile.
//!
//! ```text
//! python    [get                  )        range: idle devices wait for it
//!             [acquire           )         calls: it waits for a lock
//! thread 2  [refresh               )       other thread: it may hold the lock
//!             [pull             )
//! ```

use super::{HostRanges, HostSets, RangeSet, WaitedIn, is_users, shown};
use crate::device::devices::Devices;
use crate::host::call_path::{PathCall, path};
use base::Ps;
use facts::host_callbacks;
use facts::host_spans::{self, HostWork};
use facts::python_waits::{self, PythonWait};
use trace::{IntervalSet, LineKind, StrId, Trace};

/// Number of ranges that are described. We chose this limit because findings name only three.
const MOST_RANGES: usize = 3;

/// A call that takes at least half of the time of a range.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RangeCall {
    /// Name of the function.
    pub name: String,
    /// File and line of the function: `train.py:12`. `None` if the function is not written in Python.
    pub place: Option<String>,
    /// Share of the range's time.
    pub percent: f64,
    /// Number of calls in that time.
    pub count: u64,
}

/// Calls of another thread while a range waits for a lock.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OtherThread {
    /// Name of the thread. Empty for a thread that Python started, because the trace does not name it.
    pub thread: String,
    /// User functions, and the last call inside them, from the outermost.
    pub calls: Vec<RangeCall>,
}

impl HostRanges {
    /// Describes the ranges with the most time, which come first. Adds the calls inside these ranges while the devices
    /// are idle in `windows`.
    pub(crate) fn add_calls(&self, trace: &Trace, devices: &Devices, windows: &[IntervalSet], ranges: &mut [WaitedIn]) {
        let idle: Vec<IntervalSet> = self.hosts.iter().map(|host| idle_of(host, devices, windows)).collect();
        for range in ranges.iter_mut().take(MOST_RANGES) {
            let hosts = self.hosts.iter().zip(&idle);
            let found = hosts.filter_map(|(host, idle)| {
                let of_name = |it: &&RangeSet| self.names.get(it.name) == Some(&range.name);
                let set = host.ranges.iter().find(of_name)?;
                Some((host.host, set, idle.intersection(&set.times)))
            });
            let most = found.reduce(|a, b| if b.2.length() > a.2.length() { b } else { a });
            if let Some((host, set, within)) = most.filter(|(.., within)| !within.is_empty()) {
                describe(trace, devices, host, set, &within, range);
            }
        }
    }
}

/// Returns the times during which at least one device of a host is idle, on the host's clock.
fn idle_of(host: &HostSets, devices: &Devices, windows: &[IntervalSet]) -> IntervalSet {
    let used = devices.used.iter().zip(windows).filter(|(device, _)| device.host == host.host);
    used.fold(IntervalSet::default(), |all, (device, window)| {
        all.union(&device.set_to_host(&window.difference(&device.busy)))
    })
}

fn describe(trace: &Trace, devices: &Devices, host: u16, set: &RangeSet, within: &IntervalSet, range: &mut WaitedIn) {
    range.place = place(trace.text(set.text));
    let Some(events) = devices.by_line.events.get(set.line) else { return };
    let calls = path(trace, events, within);
    let name = |call: &PathCall| shown(trace.text(call.name)) == range.name;
    let inside = calls.iter().rposition(name).map_or(0, |at| at + 1);
    let all = within.length();
    range.calls = calls.iter().skip(inside).map(|call| range_call(trace, call, all)).collect();
    let waits = calls.iter().skip(inside).any(|call| is_lock_wait(trace.text(call.name)));
    if waits {
        range.other_thread = other_thread(trace, devices, host, set.line, within);
    }
}

/// Returns the calls of the thread that spends the most time inside `within` in user functions.
fn other_thread(
    trace: &Trace,
    devices: &Devices,
    host: u16,
    waiting: usize,
    within: &IntervalSet,
) -> Option<OtherThread> {
    let runs_users = lines_with(trace, |name| is_function_of_user(trace, name));
    let mut most: Option<(Ps, OtherThread)> = None;
    for (at, (line, events)) in trace.lines.iter().zip(&devices.by_line.events).enumerate() {
        let is_of_host = line.kind == LineKind::Host && trace.plane_of(line).is_some_and(|plane| plane.host == host);
        if at == waiting || !is_of_host || runs_users.get(at) != Some(&true) {
            continue;
        }
        let calls = path(trace, events, within);
        let Some(innermost) = calls.iter().rposition(|call| is_function_of_user(trace, call.name)) else { continue };
        let time = calls.get(innermost).map_or(Ps::ZERO, |call| call.time);
        if most.as_ref().is_none_or(|(known, _)| time > *known) {
            let is_named = |(at, call): &(usize, &PathCall)| {
                is_function_of_user(trace, call.name) || (*at > innermost && *at + 1 == calls.len())
            };
            let named = calls.iter().enumerate().filter(is_named);
            let calls = named.map(|(_, call)| range_call(trace, call, within.length())).collect();
            let thread = super::thread_name(trace, Some(line)).to_owned();
            most = Some((time, OtherThread { thread, calls }));
        }
    }
    most.map(|(_, thread)| thread)
}

/// Returns the user functions that compiled programs call back inside `within` (on the hosts' clock), from the
/// outermost. The result is empty unless the Python tracer recorded such functions for at least half of the time in
/// `within`.
pub fn called_back(trace: &Trace, devices: &Devices, within: &IntervalSet) -> Vec<RangeCall> {
    let calls_back = lines_with(trace, |name| host_callbacks::is(trace.text(name)));
    let lines = trace.lines.iter().zip(&devices.by_line.events).zip(calls_back);
    let lines = lines.filter(|((line, _), calls)| *calls && line.kind == LineKind::Host);
    let functions = lines.map(|((_, events), _)| {
        let calls = path(trace, events, within);
        let outer = calls.iter().rposition(|call| host_callbacks::is(trace.text(call.name)));
        let inside = calls.into_iter().skip(outer.map_or(usize::MAX, |at| at + 1));
        inside.filter(|call| is_function_of_user(trace, call.name)).collect::<Vec<_>>()
    });
    let most = functions.max_by_key(|calls| calls.first().map(|call| call.time)).unwrap_or_default();
    most.iter().map(|call| range_call(trace, call, within.length())).collect()
}

/// Returns true for each line that has an event with a wanted name.
pub(super) fn lines_with(trace: &Trace, is_wanted: impl Fn(StrId) -> bool) -> Vec<bool> {
    let mut has = vec![false; trace.lines.len()];
    for kind in trace.events.kinds() {
        if let Some(has) = has.get_mut(kind.line.index()) {
            *has = *has || is_wanted(kind.name);
        }
    }
    has
}

pub(super) fn is_function_of_user(trace: &Trace, name: StrId) -> bool {
    let name = trace.text(name);
    host_spans::is_frame(name) && is_users(name)
}

pub(super) fn range_call(trace: &Trace, call: &PathCall, all: Ps) -> RangeCall {
    let name = trace.text(call.name);
    let percent = 100.0 * call.time.as_ps() as f64 / all.as_ps().max(1) as f64;
    RangeCall { name: with_module(name), place: place(name), percent, count: call.count }
}

/// Returns the display name of a frame, with the module if the function is not written in Python and the module adds
/// information: `gc.collect` for `$gc collect`, `sum` for `$builtins sum`, `acquire` for `$<unknown> acquire`.
fn with_module(frame: &str) -> String {
    let module = frame.strip_prefix('$').and_then(|frame| frame.split_once(' ')).map(|(module, _)| module);
    let tells = |module: &&str| !module.contains([':', '<']) && *module != "builtins" && !module.is_empty();
    match module.filter(tells) {
        Some(module) => format!("{module}.{}", shown(frame)),
        None => shown(frame).to_owned(),
    }
}

/// Returns true if a frame waits for another thread: `acquire` of a lock (which is not written in Python, so the tracer
/// gives it no file), or a frame that the table of host spans classifies as a wait.
fn is_lock_wait(frame: &str) -> bool {
    let is = |wait: PythonWait| python_waits::is(wait, shown(frame));
    (is(PythonWait::Lock) && host_spans::is_frame(frame) && place(frame).is_none())
        || (is(PythonWait::Thread) && host_spans::work(frame) == Some(HostWork::Wait))
}

/// Returns the file and line of a frame: `train.py:12` for `$train.py:12 load` and for `work/train.py(12): load`.
pub(crate) fn place(frame: &str) -> Option<String> {
    let (place, _) = frame.rsplit_once(' ').filter(|_| host_spans::is_frame(frame))?;
    let place = place.trim_start_matches('$').trim_end_matches(':').trim_end_matches(')');
    let (path, line) = place.rsplit_once([':', '('])?;
    let file = path.rsplit('/').next().filter(|file| file.ends_with(".py"))?;
    (!line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit())).then(|| format!("{file}:{line}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Interval, TraceBuilder};

    /// The threads in the module's documentation, and a thread that sleeps meanwhile in a library function.
    #[test]
    fn a_range_names_its_calls_and_the_thread_that_may_hold_the_lock() {
        let mut b = TraceBuilder::new();
        let (main, second, third) =
            (b.line("/host:CPU", "python"), b.line("/host:CPU", ""), b.line("/host:CPU", "logger"));
        let ops = b.line("/device:TPU:0", "XLA Ops");
        b.event(ops, "fusion", 0, 10);
        b.event(main, "PjitFunction(f)", 0, 2);
        b.event(main, "$main.py:28 get", 10, 80);
        b.event(main, "$<unknown> acquire", 11, 78);
        b.event(second, "$threading.py:1010 run", 0, 100);
        b.event(second, "$main.py:17 refresh", 5, 90);
        b.event(second, "$main.py:14 pull", 6, 84);
        b.event(second, "$time sleep", 7, 82);
        b.event(third, "$socket.py:3 recv", 0, 100);
        b.event(ops, "fusion", 90, 10);
        let trace = b.build();
        let devices = Devices::of(&trace);
        let windows = [IntervalSet::union_of([Interval::new(Ps::ZERO, Ps::new(100_000_000))])];
        let ranges = HostRanges::new(&trace, &devices);
        let mut waits = ranges.waits(&devices, &windows);
        ranges.add_calls(&trace, &devices, &windows, &mut waits.ranges);
        let get = &waits.ranges[0];
        let names = |calls: &[RangeCall]| calls.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
        assert_eq!((get.name.as_str(), get.place.as_deref()), ("get", Some("main.py:28")));
        assert_eq!(names(&get.calls), ["acquire"]);
        assert_eq!((get.calls[0].percent, get.calls[0].count, get.calls[0].place.clone()), (97.5, 1, None));
        let other = get.other_thread.as_ref().unwrap();
        assert_eq!(names(&other.calls), ["refresh", "pull", "time.sleep"]);
        assert_eq!(other.calls[1].place.as_deref(), Some("main.py:14"));
    }

    #[test]
    fn functions_of_modules_are_named_with_them() {
        let frames =
            ["$gc collect", "$builtins sum", "$<unknown> acquire", "$train.py:3 save", "np.asarray(jax.Array)"];
        assert_eq!(frames.map(with_module), ["gc.collect", "sum", "acquire", "save", "np.asarray(jax.Array)"]);
    }

    #[test]
    fn frames_have_places() {
        assert_eq!(place("$train.py:12 load").as_deref(), Some("train.py:12"));
        assert_eq!(place("work/train.py(12): load").as_deref(), Some("train.py:12"));
        for frame in ["$<unknown> acquire", "$time sleep", "train", "fetch batch:3 x", "$train.py load"] {
            assert_eq!(place(frame), None, "{frame}");
        }
    }
}
