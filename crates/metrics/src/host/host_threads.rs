//! Finds the activity of the host threads over time.
//!
//! Reads all events of host threads except the ops of a CPU backend, which are device work. The role of a thread during
//! an event follows from the event's name (`facts/host_spans.csv`). If the event's name is not in this table, the role
//! follows from the thread's own name (`facts/host_threads.csv`). If events nest on one thread, the more informative
//! role takes precedence. A program's first call, which compiles inside a launch, is therefore treated as compilation:
//!
//! ```text
//! python   [$main                                      )    frames of Python
//!            [PjitFunction(f)          ) [Await    )
//!               [backend_compile  )
//! role     P-L--C------------------L----P-W---------P--
//! ```
//!
//! Threads run in parallel: the time of a role is the union over the threads of a host, and roles do not add up.

use std::collections::BTreeMap;

use crate::device::devices::Devices;
use base::{Ps, sort};
use facts::host_spans::{self, HostWork};
use facts::host_threads;
use trace::{EventKind, Interval, IntervalSet, Line, LineEvents, LineKind, Platform, Trace, Union};

/// Purpose of a host thread, or its activity during an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostRole {
    /// Runs Python.
    Python,
    /// Launches device work.
    Launch,
    /// Produces a batch, waits for a batch or passes one on.
    Input,
    /// Compiles.
    Compile,
    /// Moves data between host and device.
    Transfer,
    /// Waits for a device, a lock or another thread.
    Wait,
    /// Any other activity.
    Other,
}

impl HostRole {
    /// Number of roles.
    pub const COUNT: usize = 7;

    /// All roles, in the order of the report.
    pub const ALL: [HostRole; HostRole::COUNT] = [
        HostRole::Python,
        HostRole::Launch,
        HostRole::Input,
        HostRole::Compile,
        HostRole::Transfer,
        HostRole::Wait,
        HostRole::Other,
    ];

    /// Returns the name that the report uses.
    pub fn label(self) -> &'static str {
        match self {
            HostRole::Python => "python",
            HostRole::Launch => "launch",
            HostRole::Input => "input",
            HostRole::Compile => "compile",
            HostRole::Transfer => "transfer",
            HostRole::Wait => "wait",
            HostRole::Other => "other",
        }
    }

    /// Returns the name that the page shows.
    pub fn title(self) -> &'static str {
        match self {
            HostRole::Python => "Python",
            HostRole::Launch => "Launching",
            HostRole::Input => "Input pipeline",
            HostRole::Compile => "Compiling",
            HostRole::Transfer => "Moving data",
            HostRole::Wait => "Waiting",
            HostRole::Other => "Other",
        }
    }

    pub(crate) fn of_thread(name: &str) -> HostRole {
        let label = host_threads::role(name);
        HostRole::ALL.into_iter().find(|role| Some(role.label()) == label).unwrap_or(HostRole::Other)
    }
}

impl From<HostWork> for HostRole {
    fn from(work: HostWork) -> HostRole {
        match work {
            HostWork::Compile => HostRole::Compile,
            HostWork::Input => HostRole::Input,
            HostWork::Wait => HostRole::Wait,
            HostWork::Transfer => HostRole::Transfer,
            HostWork::Launch => HostRole::Launch,
        }
    }
}

/// Order of precedence of the roles if events nest on a thread. Compilation takes precedence over the launch that waits for it.
/// A wait takes precedence over the launch or the Python frame that contains it.
const WINS: [HostRole; HostRole::COUNT] = [
    HostRole::Compile,
    HostRole::Input,
    HostRole::Wait,
    HostRole::Transfer,
    HostRole::Launch,
    HostRole::Python,
    HostRole::Other,
];

/// Times of each activity on one host.
#[derive(Clone, Debug, Default)]
pub struct HostTime {
    /// Times when a thread has each role, in the order of [`HostRole::ALL`].
    pub roles: [IntervalSet; HostRole::COUNT],
    /// Times when a thread does anything but wait.
    pub busy: IntervalSet,
    /// Times when a thread that also launches work is in the input pipeline, and therefore cannot feed the device. If
    /// no thread that runs Python launches work, all threads that run Python are included. Excludes the pipeline's own
    /// workers.
    pub held_by_input: IntervalSet,
    /// Times during which at least one thread has an event.
    any: IntervalSet,
}

impl HostTime {
    /// Returns the times when a thread has this role.
    pub fn role(&self, role: HostRole) -> Option<&IntervalSet> {
        self.roles.get(role as usize)
    }
}

/// Time of each role: unions over the threads of a host, summed over hosts. Roles overlap, so their times do not add
/// up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostThreads {
    /// `(role, time)` of the roles that occur, in the order of [`HostRole::ALL`].
    pub roles: Vec<(HostRole, Ps)>,
    /// Time when no thread has an event.
    pub idle: Ps,
    /// Time when a thread does anything but wait.
    pub busy: Ps,
    /// Length of the window, summed over hosts.
    pub window: Ps,
}

impl HostThreads {
    /// Returns a time's share of the window in percent, or `None` for an empty window.
    pub fn percent(&self, time: Ps) -> Option<f64> {
        (self.window > Ps::ZERO).then(|| (100.0 * time.as_ps() as f64 / self.window.as_ps() as f64).clamp(0.0, 100.0))
    }
}

/// Finds the activities of each host that has events. The key is the host's index in [`Trace::hosts`]. Takes time
/// linear in the number of events, because each name is examined once.
pub(crate) fn host_times(trace: &Trace, devices: &Devices) -> BTreeMap<u16, HostTime> {
    let works = Works::new(trace, devices);
    let feeding = works.feeding(trace);
    let mut hosts: BTreeMap<u16, Vec<Thread>> = BTreeMap::new();
    let lines = trace.lines.iter().zip(devices.by_line.events.iter()).zip(&works.lines).zip(feeding);
    for (((line, events), work), feeds) in lines {
        let Some(work) = work.filter(|_| !events.is_empty()) else { continue };
        let host = trace.plane_of(line).map_or(0, |plane| plane.host);
        let thread = Thread::new(trace, events, work, feeds, &works.roles);
        if !thread.any.is_empty() {
            hosts.entry(host).or_default().push(thread);
        }
    }
    sort::map(hosts.into_iter().map(|(host, threads)| (host, together(threads))))
}

/// Adds up [`host_times`] in each host's window. Returns `None` if there is no host thread.
pub(crate) fn host_threads(times: &BTreeMap<u16, HostTime>, window: impl Fn(u16) -> Interval) -> Option<HostThreads> {
    if times.is_empty() {
        return None;
    }
    let mut sums = HostThreads::default();
    let mut roles = [Ps::ZERO; HostRole::COUNT];
    for (&host, time) in times {
        let window = window(host);
        sums.window += window.length();
        sums.busy += time.busy.length_within(window);
        sums.idle += window.length() - time.any.length_within(window);
        for (sum, set) in roles.iter_mut().zip(&time.roles) {
            *sum += set.length_within(window);
        }
    }
    sums.roles = HostRole::ALL.into_iter().zip(roles).filter(|(_, time)| *time > Ps::ZERO).collect();
    Some(sums)
}

/// Returns true for each line whose thread feeds devices.
pub(crate) fn feeding(trace: &Trace, devices: &Devices) -> Vec<bool> {
    Works::new(trace, devices).feeding(trace)
}

/// Returns the times when a thread of any host compiles.
pub(crate) fn compiling(times: &BTreeMap<u16, HostTime>) -> IntervalSet {
    union(times.values().filter_map(|host| host.role(HostRole::Compile)).cloned())
}

/// Returns the role of a thread with this name.
pub(crate) fn thread_role(name: &str) -> HostRole {
    HostRole::of_thread(name)
}

/// Returns the role of a thread during events of each [kind](trace::Events::kinds). `None` for events that are not host
/// work.
pub(crate) fn roles_of_kinds(trace: &Trace, devices: &Devices) -> Vec<Option<HostRole>> {
    Works::new(trace, devices).roles
}

/// Returns true for each argument set that belongs to an op of the CPU backend or to the marker of its end.
fn cpu_ops(trace: &Trace, devices: &Devices) -> Vec<bool> {
    if devices.platform != Some(Platform::Cpu) {
        return Vec::new();
    }
    (0..trace.args.len()).map(|index| trace.args.set(index).is_some_and(|args| !args.hlo_op.is_empty())).collect()
}

/// Returns the role that an event's name gives to its thread.
fn of_event(name: &str) -> Option<HostRole> {
    let work = host_spans::work(name).map(HostRole::from);
    work.or_else(|| host_spans::is_frame(name).then_some(HostRole::Python))
}

/// Roles of the host threads, without times.
struct Works {
    /// Role that an event of each [kind](trace::Events::kinds) gives to its thread. `None` for events that are not host
    /// work.
    roles: Vec<Option<HostRole>>,
    /// Roles of each line's thread. `None` for lines that are not host threads.
    lines: Vec<Option<LineWork>>,
}

/// Roles of a thread.
#[derive(Clone, Copy)]
struct LineWork {
    /// Role during events whose names have no role.
    own: HostRole,
    /// True if the thread launches work.
    launches: bool,
    /// True if all events have the thread's own role and are host work.
    is_plain: bool,
}

impl Works {
    fn new(trace: &Trace, devices: &Devices) -> Works {
        let of_line = |line: &Line| {
            let own = (line.kind == LineKind::Host).then(|| HostRole::of_thread(trace.text(line.name)))?;
            Some(LineWork { own, launches: false, is_plain: true })
        };
        let mut lines: Vec<Option<LineWork>> = trace.lines.iter().map(of_line).collect();
        let mut names: Vec<Option<Option<HostRole>>> = vec![None; trace.strings.len()];
        let device_ops = cpu_ops(trace, devices);
        let of_kind = |kind: &EventKind| {
            let work = lines.get_mut(kind.line.index())?.as_mut()?;
            if device_ops.get(kind.args.index()) == Some(&true) {
                work.is_plain = false;
                return None;
            }
            let stated = *names.get_mut(kind.name.index())?.get_or_insert_with(|| of_event(trace.text(kind.name)));
            work.launches |= stated == Some(HostRole::Launch);
            let role = stated.unwrap_or(work.own);
            work.is_plain &= role == work.own;
            Some(role)
        };
        let roles = trace.events.kinds().iter().map(of_kind).collect();
        Works { roles, lines }
    }

    /// Returns true for each line whose thread feeds devices: a thread that launches work. On a host where no thread that runs
    /// Python launches work, all threads that run Python feed devices.
    fn feeding(&self, trace: &Trace) -> Vec<bool> {
        let host = |line: &Line| trace.plane_of(line).map_or(0, |plane| plane.host);
        let lines = || trace.lines.iter().zip(&self.lines);
        let is_python = |work: &LineWork| work.own == HostRole::Python;
        let launching = lines().filter(|(_, work)| work.is_some_and(|work| work.launches && is_python(&work)));
        let launching = sort::set(launching.map(|(line, _)| host(line)));
        let feeds = |line, work: &LineWork| work.launches || (is_python(work) && !launching.contains(&host(line)));
        lines().map(|(line, work)| work.is_some_and(|work| feeds(line, &work))).collect()
    }
}

struct Thread {
    /// Times of each [`HostRole`]. The roles do not overlap.
    roles: [IntervalSet; HostRole::COUNT],
    any: IntervalSet,
    held_by_input: IntervalSet,
}

impl Thread {
    /// Reads the sorted events of a line. `feeds` is true if the thread feeds devices. `roles` contains the role that each
    /// kind gives to the thread.
    fn new(trace: &Trace, events: &LineEvents, work: LineWork, feeds: bool, roles: &[Option<HostRole>]) -> Thread {
        let mut found: [Union; HostRole::COUNT] = Default::default();
        // Most threads have a single role.
        let mut own = Union::with_room(events.len());
        match events {
            LineEvents::Run(run) if work.is_plain => {
                trace.events.for_each_block(run.clone(), |block| own.add_all(block.times().map(|(.., when)| when)));
            }
            _ => events.for_each_time(&trace.events, |kind, interval| {
                let Some(Some(role)) = roles.get(kind) else { return };
                let union = if *role == work.own { Some(&mut own) } else { found.get_mut(*role as usize) };
                union.into_iter().for_each(|union| union.add_all(std::iter::once(interval)));
            }),
        }
        if let Some(slot) = found.get_mut(work.own as usize) {
            *slot = own;
        }
        let mut sets = found.map(Union::finish);
        let inputs = sets.get(HostRole::Input as usize).filter(|_| feeds).cloned();
        let mut any = IntervalSet::default();
        let mut roles: [IntervalSet; HostRole::COUNT] = Default::default();
        for role in WINS {
            let (Some(set), Some(slot)) = (sets.get_mut(role as usize), roles.get_mut(role as usize)) else { continue };
            if set.is_empty() {
                continue;
            }
            // A set may contain millions of intervals, so the first set is moved instead of copied.
            let set = std::mem::take(set);
            if any.is_empty() {
                any = set.clone();
                *slot = set;
            } else {
                *slot = set.difference(&any);
                any = any.union(&set);
            }
        }
        let held_by_input = inputs.unwrap_or_default();
        Thread { roles, any, held_by_input }
    }
}

fn together(mut threads: Vec<Thread>) -> HostTime {
    let mut roles: [IntervalSet; HostRole::COUNT] = Default::default();
    for (index, role) in roles.iter_mut().enumerate() {
        *role = union(threads.iter_mut().filter_map(|thread| thread.roles.get_mut(index)).map(std::mem::take));
    }
    let working = HostRole::ALL.into_iter().zip(&roles).filter(|(role, _)| *role != HostRole::Wait);
    let busy = union(working.map(|(_, set)| set.clone()));
    HostTime {
        busy,
        held_by_input: union(threads.iter_mut().map(|thread| std::mem::take(&mut thread.held_by_input))),
        any: union(threads.into_iter().map(|thread| thread.any)),
        roles,
    }
}

fn union(sets: impl Iterator<Item = IntervalSet>) -> IntervalSet {
    let mut sets = sets.filter(|set| !set.is_empty());
    let Some(first) = sets.next() else { return IntervalSet::default() };
    let Some(second) = sets.next() else { return first };
    let mut intervals: Vec<Interval> = [first, second].iter().flat_map(|set| set.parts()).copied().collect();
    sets.for_each(|set| intervals.extend_from_slice(set.parts()));
    intervals.sort_unstable();
    IntervalSet::union_of(intervals)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::TraceBuilder;

    fn roles(trace: &Trace) -> Vec<(HostRole, f64)> {
        let devices = Devices::of(trace);
        let threads = host_threads(&host_times(trace, &devices), |_| devices.capture.unwrap()).unwrap();
        threads.roles.into_iter().map(|(role, time)| (role, time.as_us())).collect()
    }

    /// ```text
    ///          0    10   20   30   40   50   60   70   80   90   100
    /// python   [$main                                       )
    ///               [PjitFunction(f)    ) [Await  )
    ///                    [compile )
    /// executor                                     [launch  )
    /// ```
    #[test]
    fn the_more_informative_work_of_a_thread_takes_precedence() {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let executor = b.line("/host:CPU", "py_xla_execute/1");
        let ops = b.line("/device:TPU:0", "XLA Ops");
        b.event(python, "$train.py:1 main", 0, 80);
        b.event(python, "PjitFunction(f)", 10, 30);
        b.event(python, "backend_compile", 20, 10);
        b.event(python, "cudaStreamSynchronize", 45, 10);
        b.event(executor, "anything", 70, 20);
        b.event(ops, "fusion.1", 0, 100);
        let trace = b.build();
        assert_eq!(
            roles(&trace),
            [(HostRole::Python, 40.0), (HostRole::Launch, 40.0), (HostRole::Compile, 10.0), (HostRole::Wait, 10.0)]
        );
        let devices = Devices::of(&trace);
        let times = host_times(&trace, &devices);
        let threads = host_threads(&times, |_| devices.capture.unwrap()).unwrap();
        assert_eq!(
            (threads.window, threads.idle, threads.busy),
            (Ps::new(100_000_000), Ps::new(10_000_000), Ps::new(80_000_000))
        );
    }

    #[test]
    fn workers_of_the_pipeline_do_not_delay_the_thread_that_feeds_the_device() {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let worker = b.line("/host:CPU", "tf_data_private_threadpool/1");
        b.event(python, "IteratorGetNext", 10, 5);
        b.event(worker, "Iterator::Prefetch::Map", 0, 100);
        let trace = b.build();
        let times = host_times(&trace, &Devices::of(&trace));
        let host = times.get(&0).unwrap();
        assert_eq!(host.held_by_input.length(), Ps::new(5_000_000));
        assert_eq!(host.role(HostRole::Input).map(IntervalSet::length), Some(Ps::new(100_000_000)));
    }

    #[test]
    fn ops_of_a_cpu_backend_are_no_host_work() {
        let mut b = TraceBuilder::new();
        let worker = b.line("/host:CPU", "tf_XLAEigen/1");
        b.event(worker, "dot.1", 0, 10).hlo_op("dot.1");
        b.event(worker, "end: dot.1", 10, 1).hlo_op("dot.1");
        b.event(worker, "ThreadpoolListener::Record", 20, 5);
        assert_eq!(roles(&b.build()), [(HostRole::Other, 5.0)]);
    }
}
