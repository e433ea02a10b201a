//! Measures the time of host threads by event name: a flat profile of the host.
//!
//! ```text
//! python   [$main                                )     total 50, self 20
//!            [PjitFunction(f)     ) [Await    )        total 20, self 10; total 10
//!               [backend_compile )                     total 10
//! ```
//!
//! Reads all events of host threads. Ops of a CPU backend are device work and have no rows. The time of such an op is
//! subtracted from the span that encloses it. XProf lists other rows: the ops of TensorFlow's host graph, which JAX
//! programs lack, and one row `XlaModule` for all calls that launch device work.

use rustc_hash::FxHashMap;

use crate::device::devices::Devices;
use crate::device::self_time::SelfTime;
use crate::host::host_threads::{HostRole, roles_of_kinds};
use base::{Ps, sort};
use trace::{Interval, LineKind, StrId, Trace};

/// The events that have the same name and give their threads the same role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostOp {
    /// Name of the events.
    pub name: StrId,
    /// Role of the threads during the events. The event's name determines the role, or the thread's name if the event's
    /// name has no role.
    pub role: HostRole,
    /// Number of threads that have these events.
    pub threads: u64,
    /// Count and times of the events.
    pub tally: HostOpTally,
}

/// Count and times of events, limited to the window. An event that is nested in another event of the same name and
/// thread is part of that event and adds only self time. Examples are the two spans that JAX records for one call, and
/// recursive functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostOpTally {
    /// Number of the events.
    pub occurrences: u64,
    /// Sum of the events' durations.
    pub total: Ps,
    /// Time during which nothing nested in the events ran.
    pub self_time: Ps,
    /// Duration of the longest event.
    pub longest: Ps,
}

impl HostOpTally {
    pub(crate) fn add(&mut self, other: &HostOpTally) {
        self.occurrences += other.occurrences;
        self.total += other.total;
        self.self_time += other.self_time;
        self.longest = self.longest.max(other.longest);
    }
}

/// All host ops, sorted by descending self time.
#[derive(Clone, Debug, Default)]
pub struct HostOps {
    /// The rows, sorted by descending self time.
    pub rows: Vec<HostOp>,
    /// Sum of all self times.
    pub self_time: Ps,
}

impl HostOps {
    /// Measures the ops of all hosts, each in its window. Takes time linear in the number of host events.
    pub fn new(trace: &Trace, devices: &Devices, window: impl Fn(u16) -> Interval) -> HostOps {
        let tallies = tallies_of_kinds(trace, devices, &|kind| kind == LineKind::Host, &|host| Some(window(host)));
        HostOps::of_tallies(trace, devices, &tallies)
    }

    pub(crate) fn of_tallies(trace: &Trace, devices: &Devices, tallies: &[HostOpTally]) -> HostOps {
        of_names(trace, devices, tallies)
    }

    /// Returns a time's share of the sum of all self times in percent, or `None` if the sum is zero.
    pub fn percent(&self, time: Ps) -> Option<f64> {
        (self.self_time > Ps::ZERO).then(|| 100.0 * time.as_ps() as f64 / self.self_time.as_ps() as f64)
    }
}

/// Adds up the events by [kind](trace::Events::kinds), on the lines that `wanted` accepts. Includes only the time in the window
/// of the event's host. For a host without a window, includes all of the time. Takes time linear in the number of events.
pub(crate) fn tallies_of_kinds(
    trace: &Trace,
    devices: &Devices,
    wanted: &dyn Fn(LineKind) -> bool,
    window: &dyn Fn(u16) -> Option<Interval>,
) -> Vec<HostOpTally> {
    let mut tallies = vec![HostOpTally::default(); trace.events.kinds().len()];
    let everything = Interval::new(Ps::new(i64::MIN), Ps::MAX);
    // For each name, the line of its last event, and the latest end of its events on that line.
    let mut latest: Vec<(usize, Ps)> = vec![(usize::MAX, Ps::ZERO); trace.strings.len()];
    for (at, (line, events)) in trace.lines.iter().zip(devices.by_line.events.iter()).enumerate() {
        if !wanted(line.kind) {
            continue;
        }
        let window = window(trace.plane_of(line).map_or(0, |plane| plane.host)).unwrap_or(everything);
        // If the window ends with the capture, events that start exactly at its end are included.
        let to_the_end = devices.capture.is_some_and(|capture| capture.end == window.end);
        let is_before_end = |start| start < window.end || to_the_end;
        let starts_inside = |interval: Interval| interval.start >= window.start && is_before_end(interval.start);
        let add_self = |tallies: &mut [HostOpTally], kind: usize, interval: Interval| {
            if let (Some(tally), Some(inside)) = (tallies.get_mut(kind), interval.clip(window)) {
                tally.self_time += inside.length();
            }
        };
        let mut thread = SelfTime::default();
        trace.for_each_on_thread(events, |kind, interval| {
            thread.start(kind, interval, &mut |kind, interval| add_self(&mut tallies, kind, interval));
            let total = interval.clip(window).map_or(Ps::ZERO, Interval::length);
            if total == Ps::ZERO && !starts_inside(interval) {
                return;
            }
            let name = trace.events.kinds().get(kind).map(|kind| kind.name.index());
            let Some((on, end)) = name.and_then(|name| latest.get_mut(name)) else { return };
            if *on == at && interval.end <= *end {
                return;
            }
            (*on, *end) = (at, interval.end);
            if let Some(tally) = tallies.get_mut(kind) {
                tally.add(&HostOpTally { occurrences: 1, total, longest: total, self_time: Ps::ZERO });
            }
        });
        thread.finish(&mut |kind, interval| add_self(&mut tallies, kind, interval));
    }
    tallies
}

/// Sums the tallies of the event kinds that have the same name and role. Event kinds with the same name and role differ
/// in thread or arguments.
fn of_names(trace: &Trace, devices: &Devices, tallies: &[HostOpTally]) -> HostOps {
    let mut found = HostOps::default();
    let mut index: FxHashMap<(StrId, HostRole), usize> = FxHashMap::default();
    let mut threads = Vec::new();
    let roles = roles_of_kinds(trace, devices);
    for ((kind, role), tally) in trace.events.kinds().iter().zip(roles).zip(tallies) {
        let Some(role) = role.filter(|_| tally.occurrences > 0 || tally.total > Ps::ZERO) else { continue };
        let at = *index.entry((kind.name, role)).or_insert_with(|| {
            found.rows.push(HostOp { name: kind.name, role, threads: 0, tally: HostOpTally::default() });
            found.rows.len() - 1
        });
        threads.push((at, kind.line));
        found.self_time += tally.self_time;
        found.rows.get_mut(at).into_iter().for_each(|row| row.tally.add(tally));
    }
    sort::sort_by(&mut threads, Ord::cmp);
    threads.dedup();
    for (at, _) in threads {
        found.rows.get_mut(at).into_iter().for_each(|row| row.threads += 1);
    }
    sort::sort_by(&mut found.rows, |a, b| {
        let text = |row: &HostOp| (trace.text(row.name), row.role);
        b.tally.self_time.cmp(&a.tally.self_time).then_with(|| text(a).cmp(&text(b)))
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::TraceBuilder;

    fn rows(trace: &Trace) -> Vec<(&str, &str, u64, u64, f64, f64)> {
        let devices = Devices::of(trace);
        let ops = HostOps::new(trace, &devices, |_| devices.capture.unwrap());
        assert_eq!(ops.rows.iter().map(|row| row.tally.self_time).sum::<Ps>(), ops.self_time);
        let row = |row: &HostOp| {
            let (total, own) = (row.tally.total.as_us(), row.tally.self_time.as_us());
            (trace.text(row.name), row.role.label(), row.tally.occurrences, row.threads, total, own)
        };
        ops.rows.iter().map(row).collect()
    }

    /// The timeline of the previous test, and a second thread that runs the same function recursively.
    #[test]
    fn nested_spans_take_their_time_out_of_their_parent() {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let other = b.line("/host:CPU", "worker");
        b.event(python, "$main", 0, 50);
        b.event(python, "PjitFunction(f)", 10, 20);
        b.event(python, "backend_compile", 15, 10);
        b.event(python, "cudaStreamSynchronize", 35, 10);
        b.event(other, "$main", 100, 8);
        b.event(other, "$main", 102, 3);
        let stream = b.line("/device:GPU:0", "Stream #1");
        b.event(stream, "gemm", 0, 500);
        let expected = [
            ("$main", "python", 2, 2, 58.0, 28.0),
            ("PjitFunction(f)", "launch", 1, 1, 20.0, 10.0),
            ("backend_compile", "compile", 1, 1, 10.0, 10.0),
            ("cudaStreamSynchronize", "wait", 1, 1, 10.0, 10.0),
        ];
        assert_eq!(rows(&b.build()), expected);
    }

    /// One call begins before the window, with the two spans that JAX records for it. Another call ends after the window.
    #[test]
    fn a_part_in_the_window_counts() {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        for start in [0, 40, 90] {
            b.event(python, "PjitFunction(f)", start, 20);
            b.event(python, "PjitFunction(f)", start + 1, 18);
        }
        let stream = b.line("/device:GPU:0", "Stream #1");
        b.event(stream, "gemm", 0, 500);
        let trace = b.build();
        let us = |us: i64| Ps::new(us * 1_000_000);
        let ops = HostOps::new(&trace, &Devices::of(&trace), |_| Interval::new(us(10), us(95)));
        let tally = ops.rows.first().unwrap().tally;
        let expected = HostOpTally { occurrences: 3, total: us(10 + 20 + 5), self_time: us(35), longest: us(20) };
        assert_eq!((ops.rows.len(), tally), (1, expected));
    }

    #[test]
    fn ops_of_a_cpu_backend_only_take_their_time_out_of_their_parent() {
        let mut b = TraceBuilder::new();
        let worker = b.line("/host:CPU", "tf_XLAEigen/1");
        b.event(worker, "ThunkExecutor::Execute", 0, 20);
        b.event(worker, "dot.1", 5, 10).hlo_op("dot.1");
        assert_eq!(rows(&b.build()), [("ThunkExecutor::Execute", "launch", 1, 1, 20.0, 10.0)]);
    }
}
