//! Measures the hosts' activity in a capture without device ops: threads, spans, and the programs that were called,
//! executed or compiled.
//!
//! ```text
//! python   [PjitFunction(f)                         )      call of f: 1, 50 us
//!            [PjitFunction(f) )  [ExecuteReplicated )      inside the first: not counted again; execution
//! pool                             [CpuCompiler::Compile { name: jit_f })   compilation of jit_f
//! ```
//!
//! If spans of the same program and activity nest on a thread, they are counted once. Executions nest in calls, and one
//! execution may have several runtime spans, so the rows cannot be added up.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::device::devices::Devices;
use crate::host::host_ops::{HostOp, HostOpTally, HostOps, tallies_of_kinds};
use crate::host::host_threads::{HostThreads, thread_role};
use base::{Ps, sort};
use facts::host_spans::{self, HostWork, is_frame};
use facts::{ProgramActivity, program_activity};
use report::{HostActivity, HostProgram, HostSpan, HostThread};
use trace::{EventKind, IntervalSet, LineKind, Plane, StrId, Trace, Union};

const MOST_THREADS: usize = 50;
const MOST_SPANS: usize = 20;
const MOST_PROGRAMS: usize = 100;

/// Builds the section. Returns `None` if there is no host event, or if a device op ran, because the report then covers
/// the devices. Takes time linear in the number of events.
pub(crate) fn host_activity(trace: &Trace, devices: &Devices, threads: Option<&HostThreads>) -> Option<HostActivity> {
    if devices.platform.is_some() || devices.by_line.host_names.is_empty() {
        return None;
    }
    let tallies = tallies_of_kinds(trace, devices, &|kind| kind == LineKind::Host, &|_| None);
    let ops = HostOps::of_tallies(trace, devices, &tallies);
    let busy = threads.map_or(Ps::ZERO, |threads| threads.busy);
    let (num_threads, listed) = threads_of(trace, devices, &tallies);
    let span = |op: &HostOp| HostSpan {
        name: trace.text(op.name).to_owned(),
        role: op.role.label().to_owned(),
        occurrences: op.tally.occurrences,
        threads: op.threads,
        total_time_us: op.tally.total.as_us(),
        self_time_us: op.tally.self_time.as_us(),
        max_time_us: op.tally.longest.as_us(),
        percent: ops.percent(op.tally.self_time).unwrap_or(0.0),
    };
    Some(HostActivity {
        num_threads,
        busy_time_us: busy.as_us(),
        busy_percent: threads.and_then(|threads| threads.percent(busy)).unwrap_or(0.0),
        threads: listed,
        top_spans: ops.rows.iter().take(MOST_SPANS).map(span).collect(),
        programs: programs(trace, devices),
    })
}

/// Counts the threads with events, and returns the threads with the most busy time.
fn threads_of(trace: &Trace, devices: &Devices, tallies: &[HostOpTally]) -> (u64, Vec<HostThread>) {
    let mut longest: Vec<Option<(Ps, StrId)>> = vec![None; trace.lines.len()];
    // Each instant that the events of a line cover is self time of exactly one event. So the self times add up to the thread's
    // busy time.
    let mut busy_times = vec![Ps::ZERO; trace.lines.len()];
    let mut by_name: BTreeMap<(usize, StrId), Ps> = BTreeMap::new();
    for (kind, tally) in trace.events.kinds().iter().zip(tallies).filter(|(_, tally)| tally.occurrences > 0) {
        *by_name.entry((kind.line.index(), kind.name)).or_insert(Ps::ZERO) += tally.self_time;
        busy_times.get_mut(kind.line.index()).into_iter().for_each(|busy| *busy += tally.self_time);
    }
    for ((line, name), time) in by_name {
        let Some(slot) = longest.get_mut(line) else { continue };
        if slot.is_none_or(|(most, _)| time > most) {
            *slot = Some((time, name));
        }
    }
    let capture = devices.capture.map_or(Ps::ZERO, |capture| capture.length());
    let mut rows: Vec<(Ps, HostThread)> = Vec::new();
    for ((index, line), events) in trace.lines.iter().enumerate().zip(devices.by_line.events.iter()) {
        if line.kind != LineKind::Host || events.is_empty() {
            continue;
        }
        let busy = busy_times.get(index).copied().unwrap_or_default();
        let name = trace.text(line.name).to_owned();
        let role = thread_role(&name).label().to_owned();
        let top = longest.get(index).copied().flatten().map_or("", |(_, name)| trace.text(name)).to_owned();
        let thread = HostThread {
            role,
            host: host_of(trace, trace.plane_of(line)),
            num_events: events.len() as u64,
            busy_time_us: busy.as_us(),
            busy_percent: crate::device::gaps::percent(busy, capture).clamp(0.0, 100.0),
            top_span: top,
            name,
        };
        rows.push((busy, thread));
    }
    let count = rows.len() as u64;
    sort::sort_by(&mut rows, |a, b| b.0.cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
    (count, rows.into_iter().take(MOST_THREADS).map(|(_, thread)| thread).collect())
}

/// Returns the name of a plane's host, or `None` if the run has only one host.
fn host_of(trace: &Trace, plane: Option<&Plane>) -> Option<String> {
    let host = trace.hosts.get(usize::from(plane?.host)).filter(|_| trace.hosts.len() > 1);
    host.cloned()
}

/// Returns the program that an event concerns, and its activity.
fn program_of(trace: &Trace, kind: &EventKind) -> Option<(String, ProgramActivity)> {
    let name = trace.text(kind.name);
    if is_frame(name) {
        return None;
    }
    let activity = match program_activity(name) {
        Some(activity) => activity,
        None if host_spans::is(HostWork::Compile, name) => ProgramActivity::Compile,
        None => return None,
    };
    let args = trace.args.get(kind.args);
    // A compiler's span has the module in its `name` argument, and the decoder stores this argument as the path of an
    // op.
    let module = [args.hlo_module, args.tf_op].into_iter().map(|id| trace.text(id)).find(|text| is_module(text));
    let called = || name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    let program = match activity {
        ProgramActivity::Call => called().or(module),
        ProgramActivity::Execute | ProgramActivity::Compile => module,
    };
    Some((program.unwrap_or(name).to_owned(), activity))
}

/// Returns true if `text` can be the name of a program.
fn is_module(text: &str) -> bool {
    !text.is_empty() && !text.contains(['/', ':', ' '])
}

#[derive(Default)]
struct ProgramSums {
    calls: u64,
    total: Ps,
    longest: Ps,
}

fn programs(trace: &Trace, devices: &Devices) -> Vec<HostProgram> {
    let mut index: FxHashMap<(String, ProgramActivity), usize> = FxHashMap::default();
    let mut found: Vec<((String, ProgramActivity), ProgramSums)> = Vec::new();
    let of_kind: Vec<Option<usize>> = trace
        .events
        .kinds()
        .iter()
        .map(|kind| {
            let is_host = trace.lines.get(kind.line.index()).is_some_and(|line| line.kind == LineKind::Host);
            let key = program_of(trace, kind).filter(|_| is_host)?;
            Some(*index.entry(key.clone()).or_insert_with(|| {
                found.push((key, ProgramSums::default()));
                found.len() - 1
            }))
        })
        .collect();
    if found.is_empty() {
        return Vec::new();
    }
    let mut has_programs = vec![false; trace.lines.len()];
    for (kind, _) in trace.events.kinds().iter().zip(&of_kind).filter(|(_, program)| program.is_some()) {
        has_programs.get_mut(kind.line.index()).into_iter().for_each(|has| *has = true);
    }
    // End of the latest span of each program on the current line.
    let mut ends: Vec<Option<Ps>> = vec![None; found.len()];
    for (events, _) in devices.by_line.events.iter().zip(&has_programs).filter(|(_, has)| **has) {
        ends.fill(None);
        events.for_each_time(&trace.events, |kind, interval| {
            let Some(Some(program)) = of_kind.get(kind).copied() else { return };
            let (Some((_, sums)), Some(end)) = (found.get_mut(program), ends.get_mut(program)) else { return };
            if end.is_some_and(|end| interval.end <= end) {
                return;
            }
            *end = Some(interval.end);
            sums.calls += 1;
            sums.total += interval.length();
            sums.longest = sums.longest.max(interval.length());
        });
    }
    found.retain(|(_, sums)| sums.calls > 0);
    sort::sort_by(&mut found, |(a, sums_a), (b, sums_b)| sums_b.total.cmp(&sums_a.total).then_with(|| a.cmp(b)));
    let row = |((name, activity), sums): ((String, ProgramActivity), ProgramSums)| HostProgram {
        name,
        activity: activity.label().to_owned(),
        calls: sums.calls,
        total_time_us: sums.total.as_us(),
        max_time_us: sums.longest.as_us(),
    };
    found.into_iter().take(MOST_PROGRAMS).map(row).collect()
}

/// Returns the times that the events of the lines with these indices cover.
pub(crate) fn cover(trace: &Trace, devices: &Devices, lines: &[usize]) -> IntervalSet {
    let mut union = Union::default();
    for events in lines.iter().filter_map(|&line| devices.by_line.events.get(line)) {
        events.for_each_time(&trace.events, |_, interval| union.add(interval));
    }
    union.finish()
}

pub(crate) fn by_name<'t>(kinds: impl Iterator<Item = (&'t EventKind, &'t HostOpTally)>) -> Vec<(StrId, HostOpTally)> {
    let mut sums: BTreeMap<StrId, HostOpTally> = BTreeMap::new();
    for (kind, tally) in kinds {
        sums.entry(kind.name).or_default().add(tally);
    }
    sums.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::host_threads::{host_threads, host_times};
    use trace::TraceBuilder;

    fn activity_of(trace: &Trace) -> Option<HostActivity> {
        let devices = Devices::of(trace);
        let threads = host_threads(&host_times(trace, &devices), |_| devices.capture.unwrap());
        host_activity(trace, &devices, threads.as_ref())
    }

    /// Builds a capture of calls, executions and compilations of programs on two host threads.
    fn capture() -> TraceBuilder {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let pool = b.line("/host:CPU", "tf_PjRtCompilerThreadPool/1");
        b.event(python, "PjitFunction(f)", 0, 50);
        b.event(python, "PjitFunction(f)", 5, 10);
        b.event(python, "ExecuteReplicated.__call__", 20, 30);
        b.event(python, "PjitFunction(f)", 60, 20);
        b.event(python, "PjitFunction(g)", 80, 20);
        let compile = b.event(pool, "CpuCompiler::RunBackend", 6, 8);
        let _ = compile.tf_op("jit_f");
        b.event(pool, "PjRtCpuClient::Compile", 5, 9);
        b
    }

    #[test]
    fn programs_are_called_executed_and_compiled() {
        let found = activity_of(&capture().build()).unwrap();
        let rows: Vec<(&str, &str, u64, f64, f64)> = found
            .programs
            .iter()
            .map(|row| (row.name.as_str(), row.activity.as_str(), row.calls, row.total_time_us, row.max_time_us))
            .collect();
        let expected = [
            ("f", "call", 2, 70.0, 50.0),
            ("ExecuteReplicated.__call__", "execute", 1, 30.0, 30.0),
            ("g", "call", 1, 20.0, 20.0),
            ("PjRtCpuClient::Compile", "compile", 1, 9.0, 9.0),
            ("jit_f", "compile", 1, 8.0, 8.0),
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn threads_and_spans_have_their_times() {
        let found = activity_of(&capture().build()).unwrap();
        assert_eq!((found.num_threads, found.busy_time_us, found.busy_percent), (2, 90.0, 90.0));
        let thread = |row: &HostThread| (row.name.clone(), row.num_events, row.busy_time_us, row.top_span.clone());
        let rows: Vec<_> = found.threads.iter().map(thread).collect();
        let pool = ("tf_PjRtCompilerThreadPool/1".to_owned(), 2, 9.0, "CpuCompiler::RunBackend".to_owned());
        assert_eq!(rows, [("python".to_owned(), 5, 90.0, "PjitFunction(f)".to_owned()), pool]);
        // Self times: f has 50 - 10 - 30 + 10 + 20, its execution 30, g 20, the compiler's two spans 8 and 1.
        let top = found.top_spans.first().unwrap();
        assert_eq!((top.name.as_str(), top.occurrences, top.self_time_us), ("PjitFunction(f)", 2, 40.0));
        assert_eq!(top.percent, 100.0 * 40.0 / 99.0);
    }

    #[test]
    fn where_a_device_ran_the_devices_come_first() {
        let mut b = capture();
        let ops = b.line("/device:TPU:0", "XLA Ops");
        b.event(ops, "fusion", 0, 10);
        assert_eq!(activity_of(&b.build()), None);
        assert_eq!(activity_of(&Trace::default()), None);
    }
}
