//! Measures the host's activity while the devices are idle. Finds the user's range or function that is running on the threads
//! that feed the devices, and the activity of other threads.
//!
//! Reads the idle time of each device in its window. Reads the named ranges, the user's own functions and the calls
//! that wait for devices on the Python threads of the device's host. If any of these threads launches work, threads
//! that launch no work are ignored: a thread that only watches (for a progress bar) feeds no device. If ranges are
//! nested, the innermost range is used. The annotations that mark the steps are ranges too, so time between steps is
//! distinguished from time inside steps.
//!
//! ```text
//! device   [op  )                                  [op  )
//! python     [train 4  )     [fetch_batch   )  [train 5  )
//! idle           TTTTTT______FFFFFFFFFFFFFFFF__TTTT            T train, F fetch_batch, _ outside of all
//! ```
//!
//! If no thread is in a range, or if the range only waits, `behind` searches for the cause in other events.

mod behind;
mod calls;
mod named_calls;
mod python_threads;

use rustc_hash::FxHashMap;

use self::behind::Behind;
pub(crate) use self::calls::OtherThread;
pub(crate) use self::calls::place;
pub use self::calls::{RangeCall, called_back};
pub use self::named_calls::{NamedCalls, named_calls};
pub use self::python_threads::{PythonThreads, busy_python_threads};
use crate::device::devices::Devices;
use crate::device::self_time::for_each_on_line;
use crate::host::host_threads::HostRole;
use base::{Ps, sort};
use facts::host_spans::{self, HostWork};
use facts::python_waits::{self, PythonWait};
use facts::{ProgramActivity, library_files, program_activity};
use trace::{EventId, Interval, IntervalSet, Line, LineEvents, LineKind, StrId, Trace, Union};

/// A range, function or span that a thread is in while devices are idle.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WaitedIn {
    /// Name of the range, function or span.
    pub name: String,
    /// Name of the first thread that is in the range. The name of a pool thread has no number.
    pub thread: String,
    /// True if the thread itself waits in the range.
    pub waits: bool,
    /// Time in the range while devices are idle, summed over the devices.
    pub time: Ps,
    /// File and line of the function. See [`HostRanges::add_calls`], which also sets the fields below.
    pub place: Option<String>,
    /// Calls inside the range that take at least half of its time, from the outermost.
    pub calls: Vec<RangeCall>,
    /// Functions that another thread runs meanwhile, if the range waits for a lock.
    pub other_thread: Option<OtherThread>,
}

impl WaitedIn {
    fn new(name: &str, thread: &str, waits: bool, time: Ps) -> WaitedIn {
        WaitedIn { name: name.to_owned(), thread: thread.to_owned(), waits, time, ..WaitedIn::default() }
    }
}

/// Activity of the hosts while devices are idle, measured in device time and summed over the devices.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HostWaits {
    /// Time in each range or function, longest first. A Python thread is only in its innermost range or function.
    /// Threads run in parallel, so the times may add up to more than the idle time.
    pub ranges: Vec<WaitedIn>,
    /// Time during which no Python thread is in any range.
    pub outside: Ps,
    /// Activity of threads while no Python thread is in a range, or while a Python thread is in a range that waits,
    /// longest first.
    pub behind: Vec<WaitedIn>,
    /// The part of `outside` during which no thread of the host has an event.
    pub silent: Ps,
    /// Length of the measured time: counted steps, or active spans.
    pub window: Ps,
}

impl HostWaits {
    /// Returns the range with the most time. If no thread is in a range, or if the range only waits, returns the
    /// activity of other threads.
    pub(crate) fn most(self) -> Option<WaitedIn> {
        let (range, behind) = (self.ranges.into_iter().next(), self.behind.into_iter().next());
        let explains = |range: &WaitedIn| {
            behind.as_ref().is_some_and(|it| range.waits && 2 * it.time.as_ps() >= range.time.as_ps())
        };
        range.filter(|range| !explains(range)).or(behind)
    }
}

/// Times of the innermost ranges on Python threads, for each host that has a device in use.
pub(crate) struct HostRanges {
    names: Vec<String>,
    hosts: Vec<HostSets>,
}

struct HostSets {
    host: u16,
    ranges: Vec<RangeSet>,
    /// Times when a thread is in any range.
    all: IntervalSet,
    /// Times when a thread is in a range that does not wait.
    working: IntervalSet,
    behind: Behind,
}

/// Times when threads are in ranges with one name.
struct RangeSet {
    name: usize,
    /// First thread that is in the range: its name, and its index in the trace's lines.
    thread: String,
    line: usize,
    /// Name of the first event of the range.
    text: StrId,
    times: IntervalSet,
}

impl HostRanges {
    /// Finds the ranges on all hosts that have a device in use. Takes time linear in the number of events on these
    /// hosts' threads.
    pub(crate) fn new(trace: &Trace, devices: &Devices) -> HostRanges {
        let mut names =
            Names { index: FxHashMap::default(), names: Vec::new(), of_text: vec![None; trace.strings.len()] };
        let mut used: Vec<u16> = devices.used.iter().map(|device| device.host).collect();
        used.dedup();
        let hosts = used.iter().map(|&host| ranges_of(trace, devices, host, &mut names)).collect();
        HostRanges { names: names.names, hosts }
    }

    /// Measures the hosts' activity while the devices are idle in `windows`, which has one entry per device in use.
    pub(crate) fn waits(&self, devices: &Devices, windows: &[IntervalSet]) -> HostWaits {
        let mut waits = HostWaits::default();
        // Index in `waits.ranges` of each name. A search would be too slow, because a capture can have a million names.
        let mut places: Vec<Option<usize>> = vec![None; self.names.len()];
        for (device, window) in devices.used.iter().zip(windows) {
            waits.window += window.length();
            let idle = device.set_to_host(&window.difference(&device.busy));
            let Some(host) = self.hosts.iter().find(|it| it.host == device.host) else { continue };
            for range in &host.ranges {
                let time = overlap(&idle, &range.times);
                let (Some(name), Some(place)) = (self.names.get(range.name), places.get_mut(range.name)) else {
                    continue;
                };
                if time <= Ps::ZERO {
                    continue;
                }
                let place = *place.get_or_insert(waits.ranges.len());
                match waits.ranges.get_mut(place) {
                    Some(known) => known.time += time,
                    None => waits.ranges.push(WaitedIn::new(name, &range.thread, is_wait(name), time)),
                }
            }
            waits.outside += idle.length() - overlap(&idle, &host.all);
            host.behind.add_to(&mut waits, &idle, &host.all, &host.working);
        }
        for list in [&mut waits.ranges, &mut waits.behind] {
            sort::sort_by(list, |a, b| b.time.cmp(&a.time).then_with(|| a.name.cmp(&b.name)));
        }
        waits
    }
}

/// Compares the events with the display name `name` on threads with the name `thread`. Returns the event that takes the
/// most time inside `within` (on the hosts' clock), and this time. Takes time linear in the number of events on these
/// threads.
pub fn event_in(
    trace: &Trace,
    devices: &Devices,
    (name, thread): (&str, &str),
    within: Interval,
) -> Option<(EventId, Ps)> {
    let lines = trace.lines.iter().zip(devices.by_line.events.iter());
    let of_name = lines.filter(|(line, _)| line.kind == LineKind::Host && thread_name(trace, Some(*line)) == thread);
    let mut best: Option<(Ps, EventId)> = None;
    for (_, events) in of_name {
        events.for_each(&trace.events, |id, event| {
            let inside = Interval::new(event.start, event.end()).clip(within).map_or(Ps::ZERO, Interval::length);
            if inside > best.map_or(Ps::ZERO, |(most, _)| most) && shown(trace.text(event.name)) == name {
                best = Some((inside, id));
            }
        });
    }
    best.map(|(time, id)| (id, time))
}

fn overlap(idle: &IntervalSet, set: &IntervalSet) -> Ps {
    set.parts().iter().map(|part| idle.length_within(*part)).sum()
}

fn add(list: &mut Vec<WaitedIn>, name: &str, thread: &str, waits: bool, time: Ps) {
    if time <= Ps::ZERO {
        return;
    }
    match list.iter_mut().find(|known| known.name == name) {
        Some(known) => known.time += time,
        None => list.push(WaitedIn::new(name, thread, waits, time)),
    }
}

/// Distinct names that users chose.
struct Names<'a> {
    index: FxHashMap<&'a str, usize>,
    names: Vec<String>,
    /// For each text of the trace, its index in `names`, or `Some(None)` if the text is not a user's name.
    of_text: Vec<Option<Option<usize>>>,
}

impl<'a> Names<'a> {
    fn place(&mut self, trace: &'a Trace, text: StrId) -> Option<usize> {
        let slot = self.of_text.get_mut(text.index())?;
        *slot.get_or_insert_with(|| {
            let text = trace.text(text);
            is_users(text).then(|| {
                *self.index.entry(shown(text)).or_insert_with(|| {
                    self.names.push(shown(text).to_owned());
                    self.names.len() - 1
                })
            })
        })
    }
}

/// Finds the times of the innermost ranges on the Python threads of a host.
fn ranges_of<'a>(trace: &'a Trace, devices: &Devices, host: u16, names: &mut Names<'a>) -> HostSets {
    let launching = launching(trace);
    let is_python = |at: usize, line: &Line| {
        let is_of_host = line.kind == LineKind::Host && trace.plane_of(line).is_some_and(|plane| plane.host == host);
        is_of_host
            && !devices.by_line.events.get(at).is_none_or(LineEvents::is_empty)
            && HostRole::of_thread(trace.text(line.name)) == HostRole::Python
    };
    let launches = |at: usize| launching.get(at).copied().unwrap_or(false);
    let threads = trace.lines.iter().enumerate().filter(|&(at, line)| is_python(at, line));
    let threads: Vec<usize> = threads.map(|(at, _)| at).collect();
    let any_launches = threads.iter().any(|&at| launches(at));
    let feeding: Vec<usize> = threads.into_iter().filter(|&at| launches(at) || !any_launches).collect();
    let mut all = Union::default();
    let mut place_of: FxHashMap<usize, usize> = FxHashMap::default();
    let mut unions: Vec<(usize, usize, StrId, Union)> = Vec::new();
    let mut activities: FxHashMap<StrId, Option<ProgramActivity>> = FxHashMap::default();
    for (at, events) in feeding.iter().filter_map(|&at| Some((at, devices.by_line.events.get(at)?))) {
        let mut ranges: Vec<(EventId, usize, StrId)> = Vec::new();
        // Spans inside an execution belong to the runtime, whatever their names (`Build buffer allocations`). Inside a
        // call of a compiled function, only Python frames belong to the user. Events are sorted by start, outermost
        // first.
        let (mut executing, mut calling) = (Ps::new(i64::MIN), Ps::new(i64::MIN));
        events.for_each(&trace.events, |id, event| {
            if event.end() <= executing || (event.end() <= calling && !host_spans::is_frame(trace.text(event.name))) {
                return;
            }
            match activities.entry(event.name).or_insert_with(|| program_activity(trace.text(event.name))) {
                Some(ProgramActivity::Execute) => executing = event.end(),
                Some(ProgramActivity::Call) => calling = event.end(),
                Some(ProgramActivity::Compile) | None => {}
            }
            if let Some(name) = names.place(trace, event.name).filter(|_| trace.args_of(&event).hlo_op.is_empty()) {
                ranges.push((id, name, event.name));
            }
        });
        let ids: Vec<EventId> = ranges.iter().map(|&(id, ..)| id).collect();
        for_each_on_line(trace, &ids, |index, interval| {
            let Some(&(_, name, text)) = ranges.get(index) else { return };
            let place = *place_of.entry(name).or_insert_with(|| {
                unions.push((name, at, text, Union::default()));
                unions.len() - 1
            });
            all.add(interval);
            if let Some((.., union)) = unions.get_mut(place) {
                union.add(interval);
            }
        });
    }
    let thread = |at: usize| thread_name(trace, trace.lines.get(at)).to_owned();
    let ranges: Vec<RangeSet> = unions
        .into_iter()
        .map(|(name, at, text, union)| RangeSet { name, thread: thread(at), line: at, text, times: union.finish() })
        .collect();
    let works = |range: &&RangeSet| names.names.get(range.name).is_some_and(|name| !is_wait(name));
    let mut working: Vec<Interval> = ranges.iter().filter(works).flat_map(|it| it.times.parts()).copied().collect();
    working.sort_unstable();
    let (all, working) = (all.finish(), IntervalSet::union_of(working));
    let behind = Behind::new(trace, devices, host, &feeding, &working);
    HostSets { host, ranges, all, working, behind }
}

/// Returns the name of a thread without its number in a pool, because the number differs between the files of one run:
/// `tf_XLAEigen` for `tf_XLAEigen/-7457480226419010956`.
pub(crate) fn thread_name<'t>(trace: &'t Trace, line: Option<&Line>) -> &'t str {
    let name = line.map_or("", |line| trace.text(line.name));
    let is_number = |text: &str| text.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
    name.rsplit_once('/').filter(|(_, number)| is_number(number)).map_or(name, |(pool, _)| pool)
}

/// Returns true for each line whose thread launches device work.
fn launching(trace: &Trace) -> Vec<bool> {
    let mut launching = vec![false; trace.lines.len()];
    let mut of_name: Vec<Option<bool>> = vec![None; trace.strings.len()];
    for kind in trace.events.kinds() {
        let is_host = trace.lines.get(kind.line.index()).is_some_and(|line| line.kind == LineKind::Host);
        let (Some(launches), Some(known)) = (launching.get_mut(kind.line.index()), of_name.get_mut(kind.name.index()))
        else {
            continue;
        };
        *launches |=
            is_host && *known.get_or_insert_with(|| host_spans::work(trace.text(kind.name)) == Some(HostWork::Launch));
    }
    launching
}

/// Returns true if a call with this display name waits for devices.
fn is_wait(name: &str) -> bool {
    python_waits::is(PythonWait::Device, name)
}

/// Returns true if the user chose this name or wrote the function with this name. Includes ranges (the name is not a
/// known runtime span and has no C++ scope), the input pipeline, user functions, and calls that wait for devices.
pub(crate) fn is_users(name: &str) -> bool {
    if host_spans::is_frame(name) {
        return library_files::is_users(name) || is_wait(shown(name));
    }
    match host_spans::work(name) {
        Some(HostWork::Input) => true,
        Some(_) => false,
        None => !name.contains("::"),
    }
}

/// Returns the display name: `load` for `$train.py:12 load`; `ProfilerStep` for `ProfilerStep#7`.
pub(crate) fn shown(name: &str) -> &str {
    let stem = name.rsplit_once('#').filter(|(_, number)| number.bytes().all(|byte| byte.is_ascii_digit()));
    let name = stem.map_or(name, |(stem, _)| stem);
    if host_spans::is_frame(name) { name.rsplit(' ').next().unwrap_or(name) } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::TraceBuilder;

    #[test]
    fn spans_inside_an_execution_are_the_runtimes() {
        let mut b = TraceBuilder::new();
        let (main, ops) = (b.line("/host:CPU", "python"), b.line("/device:GPU:0", "Stream #7(Compute)"));
        b.event(ops, "add", 0, 10).hlo_op("add.1");
        b.event(main, "train", 0, 100);
        b.event(main, "PjitFunction(f)", 10, 80);
        b.event(main, "PjRtCApiLoadedExecutable::Execute", 20, 60);
        b.event(main, "Build buffer allocations", 30, 40);
        b.event(ops, "add", 90, 10).hlo_op("add.1");
        let trace = b.build();
        let devices = Devices::of(&trace);
        let window = IntervalSet::union_of([Interval::new(Ps::ZERO, Ps::new(100_000_000))]);
        let waits = HostRanges::new(&trace, &devices).waits(&devices, &[window]);
        let names: Vec<&str> = waits.ranges.iter().map(|range| range.name.as_str()).collect();
        assert_eq!(names, ["train"]);
    }

    /// A progress bar sleeps on a thread that launches nothing while the main thread evaluates.
    #[test]
    fn threads_that_launch_nothing_feed_no_device() {
        let build = |launches: bool| {
            let mut b = TraceBuilder::new();
            let (main, bar) = (b.line("/host:CPU", "python"), b.line("/host:CPU", "python 2"));
            let ops = b.line("/device:TPU:0", "XLA Ops");
            b.event(ops, "fusion", 0, 10);
            b.event(main, "$train.py:3 evaluate", 10, 20);
            b.event(bar, "$bar.py:7 refresh", 0, 50);
            if launches {
                b.event(main, "PjitFunction(f)", 30, 2);
            }
            b.event(ops, "fusion", 40, 10);
            b.build()
        };
        let names = |launches: bool| {
            let trace = build(launches);
            let devices = Devices::of(&trace);
            let window = IntervalSet::union_of([Interval::new(Ps::ZERO, Ps::new(50_000_000))]);
            let waits = HostRanges::new(&trace, &devices).waits(&devices, &[window]);
            waits.ranges.into_iter().map(|range| range.name).collect::<Vec<_>>()
        };
        assert_eq!(
            (names(true), names(false)),
            (vec!["evaluate".to_owned()], vec!["refresh".to_owned(), "evaluate".to_owned()])
        );
    }

    /// The timeline in the module's documentation, in microseconds from 0 to 60. Events of a worker thread are ignored.
    #[test]
    fn idle_time_belongs_to_the_innermost_range() {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let worker = b.line("/host:CPU", "tf_data/1");
        let ops = b.line("/device:TPU:0", "XLA Ops");
        b.event(ops, "fusion", 0, 10);
        b.event(python, "train", 5, 11).step_num(4);
        b.event(python, "$loop.py:3 fetch", 18, 22);
        b.event(python, "fetch_batch", 20, 18);
        b.event(python, "np.asarray(jax.Array)", 21, 2);
        b.event(python, "$api.py:3154 block_until_ready", 54, 6);
        b.event(python, "$api.py:3165 try_to_block", 54, 6);
        b.event(worker, "Iterator::Prefetch", 0, 60);
        b.event(python, "train", 42, 11).step_num(5);
        b.event(ops, "fusion", 50, 10);
        let trace = b.build();
        let devices = Devices::of(&trace);
        let ranges = HostRanges::new(&trace, &devices);
        let us = |us: i64| Ps::new(us * 1_000_000);
        let waits_from =
            |start: i64| ranges.waits(&devices, &[IntervalSet::union_of([Interval::new(us(start), us(60))])]);
        let waits = waits_from(0);
        let found: Vec<(&str, f64)> = waits.ranges.iter().map(|it| (it.name.as_str(), it.time.as_us())).collect();
        // The device is idle from 10 to 50 us: `train` until 16 and from 42, `fetch_batch` for 18, `fetch` for 2 before and 2
        // after it, and no range for 2 before and 2 after `fetch`.
        assert_eq!(found, [("fetch_batch", 18.0), ("train", 14.0), ("fetch", 4.0)]);
        assert_eq!((waits.outside.as_us(), waits.window.as_us()), (4.0, 60.0));
        let late = waits_from(45).ranges;
        assert_eq!(late.iter().map(|it| (it.name.as_str(), it.time)).collect::<Vec<_>>(), [("train", us(5))]);
    }
}
