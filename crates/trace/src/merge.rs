//! Merges the traces of all hosts of a run into one trace.
//!
//! Strings and argument sets are interned again, and planes, lines and events are appended. The times of every host are
//! converted to the clock of the host that started first.
//!
//! ```text
//! host A   start 12:00:00.000   |--a1--|   |--a2--|
//! host B   start 12:00:00.004       |--b1--|   |--b2--|      B's zero is 4 ms after A's
//! merged   A's zero             |--a1--|   |--a2--|
//!                                   |--b1--|   |--b2--|
//! ```
//!
//! Hosts without a common clock are aligned by work that they did together: see [`align`].

use super::align::{self, Alignment};
use super::{
    ArgsId, CounterTrack, EarlierStage, EventColumn, EventId, EventKind, FlowPoint, HloProto, Holds, Instant,
    InstantScope, Line, LineId, Plane, PlaneId, StatValue, StrId, Trace,
};
use base::{Ps, Warning, WarningCode};

/// Maximum difference between the start times of the captures of one run. If the difference is larger, the clocks are
/// wrong.
const MAX_START_DIFFERENCE_NS: i64 = 24 * 3600 * 1_000_000_000;

/// Difference that is added per host to ids that are unique only within one capture. The ids of host `n` increase by
/// `n` times this difference.
const ID_STRIDE: i64 = 1 << 40;

/// Merges the traces of the named hosts, in the given order. The times of a single trace stay unchanged.
pub fn merge(hosts: Vec<(String, Trace)>) -> Trace {
    let common_clock = match shifts(&hosts) {
        Some(shifts) => Ok(shifts),
        None => Err(align::align(&hosts)),
    };
    let mut hosts = hosts.into_iter();
    let Some((name, mut merged)) = hosts.next() else { return Trace::default() };
    merged.hosts = vec![name];
    if hosts.len() == 0 {
        return merged;
    }
    let mut shifts = match common_clock {
        Ok(shifts) => shifts,
        Err(Alignment { shifts, by, .. }) => {
            let message = format!(
                "The hosts' files do not record when each capture started, and their clocks may differ by any amount. Their events are \
                 aligned by {by}."
            );
            let warning = Warning::new(WarningCode::HostClocksNotAligned, message);
            merged.warnings.push(warning.with_remedy("Compare times within one host only."));
            shifts
        }
    };
    let first_shift = shifts.remove(0);
    if first_shift != Ps::ZERO {
        let mut moved = Trace { hosts: std::mem::take(&mut merged.hosts), ..Trace::default() };
        copy_head(&mut moved, &merged);
        append(&mut moved, merged, 0, first_shift);
        merged = moved;
    }
    for ((name, trace), shift) in hosts.zip(shifts) {
        let host = u16::try_from(merged.hosts.len()).unwrap_or(u16::MAX);
        merged.hosts.push(name);
        append(&mut merged, trace, host, shift);
    }
    merged.warnings.extend(merged.strings.take_warning());
    merged
}

/// Returns the delay of each host's start after the earliest start. Returns `None` if a trace does not contain the
/// start time.
fn shifts(hosts: &[(String, Trace)]) -> Option<Vec<Ps>> {
    let zeros: Option<Vec<i64>> = hosts.iter().map(|(_, trace)| trace.capture.zero_unix_ns()).collect();
    let zeros = zeros?;
    let first = *zeros.iter().min()?;
    zeros
        .into_iter()
        .map(|zero| {
            let late = zero.checked_sub(first).filter(|&ns| ns <= MAX_START_DIFFERENCE_NS)?;
            Ps::from_ns(late)
        })
        .collect()
}

fn copy_head(to: &mut Trace, from: &Trace) {
    to.format = from.format;
    to.framework = from.framework;
    to.capture = from.capture;
}

/// Appends all data of `other` as host number `host`, and moves its events later by `shift`.
fn append(merged: &mut Trace, other: Trace, host: u16, shift: Ps) {
    let strings: Vec<StrId> = (0..other.strings.len())
        .map(|id| merged.strings.intern(other.strings.get(StrId(u32::try_from(id).unwrap_or(0)))))
        .collect();
    let string = |id: StrId| strings.get(id.index()).copied().unwrap_or_default();
    let args: Vec<ArgsId> = (0..other.args.len())
        .map(|id| other.args.get(ArgsId(u32::try_from(id).unwrap_or(0))))
        .map(|set| merged.args.intern(&set.with_texts(string)))
        .collect();

    let plane_base = u32::try_from(merged.planes.len()).unwrap_or(u32::MAX);
    let line_base = u32::try_from(merged.lines.len()).unwrap_or(u32::MAX);
    merged.planes.extend(other.planes.iter().map(|plane| Plane {
        name: string(plane.name),
        kind: plane.kind,
        host: plane.host.saturating_add(host),
        order: plane.order,
        stats: plane.stats.iter().map(|&(name, value)| (string(name), map_stat(value, string))).collect(),
        clock: plane.clock.map(|clock| clock.moved(shift)),
    }));
    merged.lines.extend(other.lines.iter().map(|line| Line {
        plane: PlaneId(line.plane.0.saturating_add(plane_base)),
        name: string(line.name),
        start: line.start + shift,
        ..line.clone()
    }));
    let plane_of = |plane: PlaneId| PlaneId(plane.0.saturating_add(plane_base));
    merged.counters.extend(other.counters.into_iter().map(|track| CounterTrack {
        plane: plane_of(track.plane),
        name: string(track.name),
        times: track.times.iter().map(|time| *time + shift).collect(),
        values: track.values,
    }));
    merged.instants.extend(other.instants.iter().map(|instant| Instant {
        scope: match instant.scope {
            InstantScope::Trace => InstantScope::Trace,
            InstantScope::Plane(plane) => InstantScope::Plane(plane_of(plane)),
            InstantScope::Line(line) => InstantScope::Line(LineId(line.0.saturating_add(line_base))),
        },
        name: string(instant.name),
        time: instant.time + shift,
    }));
    let flow_base = merged.flows.iter().map(|point| point.flow.saturating_add(1)).max().unwrap_or(0);
    merged.flows.extend(other.flows.iter().map(|point| FlowPoint {
        flow: point.flow.saturating_add(flow_base),
        line: LineId(point.line.0.saturating_add(line_base)),
        name: string(point.name),
        time: point.time + shift,
        ..*point
    }));

    let event_base = merged.events.len() as u64;
    let kind_here = |kind: EventKind| EventKind {
        line: LineId(kind.line.0.saturating_add(line_base)),
        name: string(kind.name),
        args: args.get(kind.args.index()).copied().unwrap_or_default(),
    };
    if !merged.events.append_all(&other.events, shift, kind_here) {
        merged.warnings.push(Warning::new(
            WarningCode::TooManyEvents,
            "The hosts of this run have more than 4,294,967,295 events in total. The remaining events were not read.",
        ));
    }
    let moved = |event: EventId| u32::try_from(event_base + u64::from(event.0)).map(EventId).ok();
    merged.far_off.extend(other.far_off.iter().filter_map(|&place| moved(place)));
    let stride = ID_STRIDE.wrapping_mul(i64::from(host));
    for &column in EventColumn::ALL {
        let add = if column.holds() == Holds::CaptureId { stride } else { 0 };
        for (event, value) in other.events.column(column).iter() {
            if let Some(event) = moved(event) {
                merged.events.push_value(event, column, value.wrapping_add(add));
            }
        }
    }

    for module in other.hlo {
        // Every host embeds the programs that all hosts run. A program takes megabytes, so only one copy is kept.
        let known = merged.hlo.iter().rev().find(|known| known.program_id == module.program_id);
        let same = known.filter(|known| known.bytes == module.bytes).map(|known| known.bytes.clone());
        merged.hlo.push(HloProto {
            name: string(module.name),
            host: module.host.saturating_add(host),
            bytes: same.unwrap_or(module.bytes),
            ..module
        });
    }
    let stages = other.earlier_stages.into_iter().map(|EarlierStage { stage, program }| EarlierStage {
        stage: string(stage),
        program: HloProto { name: string(program.name), host: program.host.saturating_add(host), ..program },
    });
    merged.earlier_stages.extend(stages);
    merged.complete_events = merged.complete_events.saturating_add(other.complete_events);
    merged.warnings.extend(other.warnings);
    if merged.framework == super::Framework::Unknown {
        merged.framework = other.framework;
    }
    let capture = &mut merged.capture;
    capture.anchor_ns = earliest(Some(capture.anchor_ns), Some(other.capture.anchor_ns)).unwrap_or(0);
    capture.start_unix_ns = earliest(capture.start_unix_ns, other.capture.start_unix_ns);
    capture.stop_unix_ns = capture.stop_unix_ns.max(other.capture.stop_unix_ns);
}

fn earliest(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (known, None) | (None, known) => known,
    }
}

fn map_stat(value: StatValue, string: impl Fn(StrId) -> StrId) -> StatValue {
    match value {
        StatValue::Text(id) => StatValue::Text(string(id)),
        number => number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Event;
    use crate::builder::TraceBuilder;

    fn host(start_unix_ns: Option<i64>, op: &str) -> Trace {
        let mut b = TraceBuilder::new();
        let ops = b.line("/device:TPU:0", "XLA Ops");
        b.event(ops, "shared", 0, 5).run_id(3).correlation(9);
        b.event(ops, op, 10, 5).hlo_category("loop fusion");
        let trace = b.trace_mut();
        trace.capture.start_unix_ns = start_unix_ns;
        let (plane, name, time) = (trace.lines[0].plane, trace.strings.intern(op), Ps::ZERO);
        trace.counters.push(CounterTrack { plane, name, times: vec![time], values: vec![2.0] });
        trace.instants.push(Instant { scope: InstantScope::Line(ops), name, time });
        trace.flows.extend([3, 1].map(|flow| FlowPoint { flow, line: ops, name, time, ..FlowPoint::default() }));
        trace.far_off = vec![EventId(1)];
        b.build()
    }

    fn events(trace: &Trace) -> Vec<(String, i64, u16)> {
        let named = |event: Event| {
            let plane = &trace.planes[trace.lines[event.line.index()].plane.index()];
            (trace.text(event.name).to_owned(), event.start.as_us() as i64, plane.host)
        };
        trace.events.iter().map(named).collect()
    }

    fn named(name: &str, start: i64, host: u16) -> (String, i64, u16) {
        (name.to_owned(), start, host)
    }

    #[test]
    fn later_hosts_are_moved_onto_the_first_clock() {
        let unix = 1_700_000_000_000_000_000;
        let late = ("b".to_owned(), host(Some(unix + 4_000), "b1"));
        let early = ("a".to_owned(), host(Some(unix), "a1"));
        let merged = merge(vec![early.clone(), late.clone()]);
        assert_eq!(merged.hosts, ["a", "b"]);
        assert_eq!(
            events(&merged),
            [named("shared", 0, 0), named("a1", 10, 0), named("shared", 4, 1), named("b1", 14, 1)]
        );
        let [first, third, fourth] = [0, 2, 3].map(EventId);
        assert_eq!(merged.events.column(EventColumn::RunId).get(third), Some(3));
        let correlations = merged.events.column(EventColumn::Correlation);
        assert_ne!(correlations.get(first), correlations.get(third));
        let category = merged.args_of(&merged.events.get(fourth).unwrap()).hlo_category;
        assert_eq!(merged.text(category), "loop fusion");
        let (track, instant, moved) = (&merged.counters[1], &merged.instants[1], Ps::new(4_000_000));
        assert_eq!((merged.text(track.name), track.plane, &*track.times), ("b1", PlaneId(1), &[moved][..]));
        assert_eq!((merged.text(instant.name), instant.time), ("b1", moved));
        assert_eq!(instant.scope, InstantScope::Line(LineId(1)));
        let points = merged.flows.iter().map(|it| (it.flow, it.line.0, merged.text(it.name), it.time));
        let zero = Ps::ZERO;
        assert!(points.eq([(3, 0, "a1", zero), (1, 0, "a1", zero), (7, 1, "b1", moved), (5, 1, "b1", moved)]));
        assert!(merged.warnings.is_empty());
        assert_eq!([0, 1].map(|event| merged.file_index(first, EventId(event))), [0, 2].map(Some));
        assert_eq!([2, 3].map(|event| merged.file_index(third, EventId(event))), [0, 2].map(Some));

        let swapped = merge(vec![late, early]);
        assert_eq!(
            events(&swapped),
            [named("shared", 4, 0), named("b1", 14, 0), named("shared", 0, 1), named("a1", 10, 1)]
        );
        assert_eq!(swapped.capture.start_unix_ns, Some(unix));
        assert_eq!(swapped.hosts, ["b", "a"]);
    }

    #[test]
    fn unknown_or_absurd_clocks_are_said_and_not_used() {
        for starts in [(Some(1), None), (Some(1), Some(i64::MAX))] {
            let merged = merge(vec![("a".into(), host(starts.0, "a1")), ("b".into(), host(starts.1, "b1"))]);
            assert_eq!(merged.warnings.first().map(|w| w.code.as_str()), Some("host_clocks_not_aligned"));
            assert_eq!(events(&merged)[3], named("b1", 10, 1));
        }
    }

    #[test]
    fn one_host_stays_as_it_is() {
        let merged = merge(vec![("only".into(), host(None, "x"))]);
        assert_eq!(merged.hosts, ["only"]);
        assert!(merged.warnings.is_empty());
        assert!(merge(Vec::new()).events.is_empty());
    }

    #[test]
    fn programs_that_hosts_share_are_kept_once() {
        let with_programs = |name: &str, programs: &[(i64, &[u8])]| {
            let mut trace = host(Some(1), name);
            let program = |&(program_id, bytes): &(i64, &[u8])| HloProto {
                program_id,
                bytes: bytes.into(),
                ..HloProto::default()
            };
            trace.hlo = programs.iter().map(program).collect();
            (name.to_owned(), trace)
        };
        let hosts = [("a", &[(1, &b"f"[..]), (2, b"g")][..]), ("b", &[(2, b"g")]), ("c", &[(1, b"f"), (2, b"h")])];
        let merged = merge(hosts.map(|(name, programs)| with_programs(name, programs)).into());
        let found = merged.hlo.iter().map(|program| (program.host, program.program_id, &*program.bytes));
        assert!(found.eq([(0, 1, &b"f"[..]), (0, 2, b"g"), (1, 2, b"g"), (2, 1, b"f"), (2, 2, b"h")]));
        let at = |index: usize| merged.hlo[index].bytes.as_ptr();
        assert_eq!([at(0) == at(3), at(1) == at(2), at(1) == at(4)], [true, true, false]);
    }

    #[test]
    fn names_that_find_no_room_are_said_once() {
        let (mut a, b) = (host(Some(1), "a1"), host(Some(1), "b1"));
        let bytes = a.strings.iter().map(str::len).sum();
        let mut full = crate::Strings::of_at_most(bytes);
        a.strings.iter().for_each(|text| {
            full.intern(text);
        });
        a.strings = full;
        let merged = merge(vec![("a".to_owned(), a), ("b".to_owned(), b)]);
        assert!(events(&merged).contains(&named("...", 10, 1)), "{:?}", events(&merged));
        let codes: Vec<&str> = merged.warnings.iter().map(|warning| warning.code.as_str()).collect();
        assert_eq!(codes, ["too_many_names"]);
    }
}
