//! What the host does while the devices run nothing: in which range or function of the user the threads that feed them are.
//!
//! Reads the idle time of each device in its window and the named ranges and the
//! user's own functions on the Python threads of its host. Of nested ones the innermost counts. The annotations that mark
//! the steps are ranges as well, so that time between steps and time in them are distinguished.
//!
//! ```text
//! device   [op  )                                  [op  )
//! python     [train 4  )     [fetch_batch   )  [train 5  )
//! idle           TTTTTT______FFFFFFFFFFFFFFFF__TTTT            T train, F fetch_batch, _ outside of all
//! ```

use std::collections::BTreeMap;

use super::devices::Devices;
use super::host_threads::HostRole;
use super::self_time::for_each_on_line;
use base::{Ps, sort};
use facts::host_spans::{self, HostWork};
use facts::library_files;
use trace::{EventId, IntervalSet, LineKind, StrId, Trace, Union};

/// What the hosts do while devices are idle: device time, summed over the devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostWaits {
    /// By name, the most time first: a Python thread is in this range or function and in none inside it. Threads run beside each
    /// other, so that these may add up to more than the idle time.
    pub ranges: Vec<(String, Ps)>,
    /// No Python thread is in any.
    pub outside: Ps,
    /// The time that is looked at: counted steps, or active spans.
    pub window: Ps,
}

/// When the Python threads of the hosts of used devices are in which range, and in none inside it.
pub struct HostRanges {
    by_host: BTreeMap<u16, HostSets>,
}

/// The ranges of one host.
#[derive(Default)]
struct HostSets {
    by_name: BTreeMap<String, IntervalSet>,
    /// In any range.
    all: IntervalSet,
}

impl HostRanges {
    /// The ranges of all hosts of used devices. Linear in the events of their Python threads.
    pub fn new(trace: &Trace, devices: &Devices) -> HostRanges {
        let used = sort::set(devices.used.iter().map(|device| device.host));
        let mut by_host = BTreeMap::new();
        for (host, sets) in ranges_by_host(trace, devices, |host| used.contains(&host)) {
            let mut unions: BTreeMap<&str, Union> = BTreeMap::new();
            for (name, set) in &sets {
                let union = unions.entry(shown(trace.text(*name))).or_default();
                set.parts().iter().for_each(|part| union.add(*part));
            }
            let by_name = sort::map(unions.into_iter().map(|(name, set)| (name.to_owned(), set.finish())));
            let mut all = Union::default();
            sets.values().flat_map(IntervalSet::parts).for_each(|part| all.add(*part));
            by_host.insert(host, HostSets { by_name, all: all.finish() });
        }
        HostRanges { by_host }
    }

    /// What the hosts do while the devices are idle in `windows`, those of each used device.
    pub fn waits(&self, devices: &Devices, windows: &[IntervalSet]) -> HostWaits {
        let mut waits = HostWaits::default();
        let mut sums: BTreeMap<&str, Ps> = BTreeMap::new();
        let nothing = HostSets::default();
        for (device, window) in devices.used.iter().zip(windows) {
            waits.window += window.length();
            let idle = device.set_to_host(&window.difference(&device.busy));
            let host = self.by_host.get(&device.host).unwrap_or(&nothing);
            let inside = |set: &IntervalSet| set.parts().iter().map(|part| idle.length_within(*part)).sum::<Ps>();
            for (name, set) in &host.by_name {
                *sums.entry(name).or_default() += inside(set);
            }
            waits.outside += idle.length() - inside(&host.all);
        }
        waits.ranges =
            sums.into_iter().filter(|(_, time)| *time > Ps::ZERO).map(|(name, time)| (name.to_owned(), time)).collect();
        sort::sort_by(&mut waits.ranges, |a, b| b.1.cmp(&a.1));
        waits
    }
}

/// When the Python threads of each wanted host are in which range, and in none inside it.
fn ranges_by_host(
    trace: &Trace,
    devices: &Devices,
    is_host_wanted: impl Fn(u16) -> bool,
) -> BTreeMap<u16, BTreeMap<StrId, IntervalSet>> {
    let mut wanted: Vec<Option<bool>> = vec![None; trace.strings.len()];
    let mut hosts: BTreeMap<u16, BTreeMap<StrId, Union>> = BTreeMap::new();
    for (line, events) in trace.lines.iter().zip(devices.by_line.events.iter()) {
        let plane = trace.plane_of(line).filter(|plane| line.kind == LineKind::Host && is_host_wanted(plane.host));
        let Some(host) = plane.map(|plane| plane.host) else { continue };
        if HostRole::of_thread(trace.text(line.name)) != HostRole::Python {
            continue;
        }
        let sets = hosts.entry(host).or_default();
        let mut ranges: Vec<(EventId, StrId)> = Vec::new();
        events.for_each(&trace.events, |id, event| {
            let Some(slot) = wanted.get_mut(event.name.index()) else { return };
            let is_op = || !trace.args_of(&event).hlo_op.is_empty();
            if *slot.get_or_insert_with(|| is_users(trace.text(event.name))) && !is_op() {
                ranges.push((id, event.name));
            }
        });
        let ids: Vec<EventId> = ranges.iter().map(|&(id, _)| id).collect();
        for_each_on_line(trace, &ids, |index, interval| {
            if let Some((_, name)) = ranges.get(index) {
                sets.entry(*name).or_default().add(interval);
            }
        });
    }
    let finish = |sets: BTreeMap<StrId, Union>| sort::map(sets.into_iter().map(|(name, set)| (name, set.finish())));
    sort::map(hosts.into_iter().map(|(host, sets)| (host, finish(sets))))
}

/// Whether people gave this name: a range (spans of the runtime are known by their work, or have a scope like C++), the pipeline that
/// makes their batches, or a function of theirs.
fn is_users(name: &str) -> bool {
    if host_spans::is_frame(name) {
        return library_files::is_users(name);
    }
    match host_spans::work(name) {
        Some(HostWork::Input) => true,
        Some(_) => false,
        None => !name.contains("::"),
    }
}

/// `load (train.py:12)` of `$train.py:12 load`; `ProfilerStep` of `ProfilerStep#7`.
fn shown(name: &str) -> &str {
    let stem = name.rsplit_once('#').filter(|(_, number)| number.bytes().all(|byte| byte.is_ascii_digit()));
    let name = stem.map_or(name, |(stem, _)| stem);
    if host_spans::is_frame(name) { name.rsplit(' ').next().unwrap_or(name) } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Interval, TraceBuilder};

    /// The timeline above, in microseconds from 0 to 60; what a worker thread does is not looked at.
    #[test]
    fn idle_time_is_told_by_the_innermost_range() {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let worker = b.line("/host:CPU", "tf_data/1");
        let ops = b.line("/device:TPU:0", "XLA Ops");
        b.event(ops, "fusion", 0, 10);
        b.event(python, "train", 5, 11).step_num(4);
        b.event(python, "$loop.py:3 fetch", 18, 22);
        b.event(python, "fetch_batch", 20, 18);
        b.event(python, "np.asarray(jax.Array)", 21, 2);
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
        let found: Vec<(&str, f64)> = waits.ranges.iter().map(|(name, time)| (name.as_str(), time.as_us())).collect();
        // Idle from 10 to 50: train to 16 and from 42, nothing for 2 before fetch, which is 2 before and 2 after fetch_batch,
        // and for 2 after it.
        assert_eq!(found, [("fetch_batch", 18.0), ("train", 14.0), ("fetch", 4.0)]);
        assert_eq!((waits.outside.as_us(), waits.window.as_us()), (4.0, 60.0));
        assert_eq!(waits_from(45).ranges, [("train".to_owned(), us(5))]);
    }
}
