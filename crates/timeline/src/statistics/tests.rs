use std::collections::BTreeMap;

use super::*;
use crate::events::source::Caches;
use metrics::Percentiles;
use proptest::prelude::*;
use trace::{ByLine, TraceBuilder};

const US: i64 = 1_000_000;

/// An event: line, name, start and length, in microseconds.
type Given = (usize, usize, i64, i64);

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

fn trace(events: &[Given]) -> Trace {
    let mut b = TraceBuilder::new();
    let lines =
        [b.line("/host:CPU", "python"), b.line("/device:GPU:0", "Stream #1"), b.line("/device:GPU:0", "Stream #2")];
    for &(line, name, start, length) in events {
        b.event(lines[line], NAMES[name], start, length);
    }
    b.build()
}

fn with_source<T>(trace: &Trace, ask: impl Fn(Source<'_>) -> T) -> T {
    let by_line = ByLine::new(trace);
    let caches = Caches::new(trace);
    ask(Source::new(trace, &by_line, &caches))
}

/// Calls `ask` with stretches that may have only a few events, and returns the result.
fn with_stretches<T>(trace: &Trace, ask: impl Fn(Source<'_>) -> T) -> T {
    let by_line = ByLine::new(trace);
    let stretches = Stretches::new(trace.lines.len(), Limits { of_a_kind: 2, fewest: 3, most: 12 });
    let mut caches = Caches::new(trace);
    caches.stretches = stretches;
    while caches.stretches.make_some(trace, &by_line, 1) {}
    ask(Source::new(trace, &by_line, &caches))
}

fn range(from: i64, to: i64) -> Interval {
    Interval::new(Ps::new(from * US), Ps::new(to * US))
}

/// Count, total, self time and durations in ascending order. Times are in microseconds.
type Expected = (u64, i64, i64, Vec<i64>);

fn brute(events: &[Given], lines: &[usize], range: Option<(i64, i64)>) -> BTreeMap<&'static str, Expected> {
    let mut found: BTreeMap<&str, Expected> = BTreeMap::new();
    let (from, to) = range.unwrap_or((-1_000, 10_000));
    for &(line, name, start, length) in events {
        let is_in = if length == 0 { from <= start && start < to } else { start < to && start + length > from };
        if lines.contains(&line) && is_in {
            let row = found.entry(NAMES[name]).or_default();
            let inside = (start + length).min(to) - start.max(from);
            row.0 += 1;
            row.1 += inside;
            row.3.push(inside);
        }
    }
    for &line in lines {
        for now in from.max(0)..to.min(2_000) {
            let running = events.iter().enumerate().filter(|(_, e)| e.0 == line && e.2 <= now && now < e.2 + e.3);
            if let Some((_, owner)) = running.max_by_key(|(index, e)| (e.2, -e.3, *index)) {
                found.entry(NAMES[owner.1]).or_default().2 += 1;
            }
        }
    }
    found.values_mut().for_each(|row| row.3.sort_unstable());
    found
}

fn found(trace: &Trace, area: &Area) -> BTreeMap<String, (Sums, Percentiles)> {
    let ask = |source: Source<'_>| {
        let grouping = Grouping::by_name(trace);
        let groups = groups(source, area, &grouping);
        let percentiles = percentiles_of(source, area, &grouping, &groups);
        let name = |group: &Group| grouping.name(trace, group.number).to_owned();
        groups.iter().map(|group| (name(group), group.sums)).zip(percentiles).map(|((a, b), c)| (a, (b, c))).collect()
    };
    let found: BTreeMap<_, _> = with_source(trace, ask);
    assert_eq!(with_stretches(trace, ask), found);
    found
}

fn check(events: &[Given], lines: &[usize], asked: Option<(i64, i64)>) {
    let trace = trace(events);
    let ids: Vec<LineId> = trace.line_ids().collect();
    let range = asked.map_or(Area::EVERYTHING, |(from, to)| range(from, to));
    let area = Area { range, lines: lines.iter().map(|&line| ids[line]).collect() };
    let (expected, found) = (brute(events, lines, asked), found(&trace, &area));
    assert_eq!(found.len(), expected.len());
    for (name, (count, total, own, durations)) in expected {
        let (sums, percentiles) = found[name];
        let us = |ps: Ps| ps.as_ps() / US;
        let [min, max] = [durations[0], durations[durations.len() - 1]];
        assert_eq!((sums.count, us(sums.total), us(sums.self_time)), (count, total, own), "{name}");
        assert_eq!((us(sums.min), us(sums.max)), (min, max));
        let middle = durations[durations.len() / 2] + durations[(durations.len() - 1) / 2];
        assert_eq!(percentiles.median_us, middle as f64 / 2.0);
        let enough = durations.iter().filter(|&&it| it <= us(percentiles.p95)).count();
        let too_few = durations.iter().filter(|&&it| it < us(percentiles.p95)).count();
        assert!(100 * enough >= 95 * durations.len() && 100 * too_few < 95 * durations.len());
    }
}

proptest! {
    #[test]
    fn sums_and_percentiles_are_those_of_a_plain_count(
        events in prop::collection::vec((0usize..3, 0usize..4, 0i64..120, prop_oneof![Just(0i64), 0i64..10, 0i64..90]), 1..60),
        asked in prop::option::of((-5i64..130, 1i64..90)),
        lines in prop::sample::subsequence(vec![0usize, 1, 2], 1..=3),
    ) {
        check(&events, &lines, asked.map(|(from, length)| (from, from + length)));
    }

    /// The events follow each other with pauses, so that many stretches end.
    #[test]
    fn stretches_change_no_sum(
        steps in prop::collection::vec((0usize..2, 0i64..6, prop_oneof![Just(0i64), 0i64..3, 0i64..25]), 1..80),
        asked in prop::option::of((-5i64..300, 1i64..300)),
    ) {
        let mut now = 0;
        let event = |(name, pause, length)| {
            now += pause;
            let start = now;
            now += length / 2;
            (0, name, start, length)
        };
        let events: Vec<Given> = steps.into_iter().map(event).collect();
        check(&events, &[0], asked.map(|(from, length)| (from, from + length)));
    }

    /// Checks that the list for a part of the range equals the list for the whole range without the events outside the
    /// part.
    #[test]
    fn listed_events_are_whole(
        events in prop::collection::vec((0usize..3, 0usize..4, 0i64..120, prop_oneof![Just(0i64), 0i64..10, 0i64..90]), 1..60),
        (from, length) in (-5i64..130, 1i64..90),
    ) {
        let trace = trace(&events);
        let area = Area { range: range(from, from + length), ..Area::everything(&trace) };
        let [whole, part] = [Area::everything(&trace), area].map(|area| with_source(&trace, |source| super::events(source, &area)));
        let key = |event: &ListedEvent| {
            let it = trace.events.get(event.id).unwrap();
            (it.start, std::cmp::Reverse(it.duration), it.line)
        };
        prop_assert!(whole.len() == events.len() && whole.is_sorted_by_key(key));
        let inside: Vec<ListedEvent> = whole.iter().copied().filter(|event| {
            let (_, _, start, lasts) = events[event.id.index()];
            if lasts == 0 { from <= start && start < from + length } else { start < from + length && start + lasts > from }
        }).collect();
        prop_assert_eq!(&part, &inside);
        let own: Ps = whole.iter().map(|event| event.self_time).sum();
        let covered: i64 = (0..3).map(|line| (0..300).filter(|now| events.iter().any(|e| e.0 == line && e.2 <= *now && *now < e.2 + e.3)).count() as i64).sum();
        prop_assert_eq!(own, Ps::new(covered * US));
        for event in &whole {
            // The event's parent is the latest preceding event of the line that contains it. The parent is one level above the
            // event.
            let at = trace.events.get(event.id).unwrap();
            let before = whole.iter().take_while(|other| other.id != event.id);
            let around = before.filter(|other| {
                let it = trace.events.get(other.id).unwrap();
                it.line == at.line && it.end() >= at.end() && it.end() > at.start
            });
            prop_assert_eq!(event.depth, around.last().map_or(0, |around| around.depth + 1));
        }
    }

    #[test]
    fn ranges_that_touch_add_up(
        events in prop::collection::vec((0usize..3, 0usize..4, 0i64..120, 0i64..60), 1..60),
        cut in -5i64..190,
    ) {
        let trace = trace(&events);
        let lines: Vec<LineId> = trace.line_ids().collect();
        let of = |range| found(&trace, &Area { range, lines: lines.clone() });
        let (before, after, all) = (of(range(-1_000, cut)), of(range(cut, 10_000)), of(Area::EVERYTHING));
        for (name, (sums, _)) in all {
            let parts = [&before, &after].map(|part| part.get(&name).map_or(Sums::NONE, |(sums, _)| *sums));
            prop_assert_eq!(sums.total, parts[0].total + parts[1].total);
            prop_assert_eq!(sums.self_time, parts[0].self_time + parts[1].self_time);
        }
    }
}

#[test]
fn what_ends_with_the_capture_counts_where_there_is_no_range() {
    let events = [(0, 0, 0, 10), (0, 1, 10, 0)];
    check(&events, &[0], None);
    check(&events, &[0], Some((0, 10)));
    check(&events, &[0], Some((10, 11)));
    assert_eq!(found(&trace(&events), &Area::everything(&trace(&events))).len(), 2);
}

/// Checks that most events in the middle of a line are in stretches. Events at the edges of the line and under a long
/// event are not in stretches.
#[test]
fn stretches_are_where_nothing_is_cut() {
    let short = (0..100).map(|at| (0, at as usize % 2, 10 * at, 5));
    let events: Vec<Given> = short.chain([(0, 2, 301, 200)]).collect();
    let trace = trace(&events);
    let lines: Vec<LineId> = trace.line_ids().collect();
    let of_stretches = |from, to| {
        with_stretches(&trace, |source| {
            let mut counts = [0, 0];
            for_each_part(source, lines[0], range(from, to), |part| match part {
                Part::Sums(stretch) => counts[0] += stretch.sums.iter().map(|(_, sums)| sums.count).sum::<u64>(),
                Part::Events(events) => counts[1] += events.len() as u64,
            });
            counts
        })
    };
    // Four events make a stretch. The three events before the long event, the twenty during it and the last event are in no
    // stretch.
    assert_eq!(of_stretches(-5, 2_000), [28 + 48, 3 + 1 + 20 + 1]);
    assert_eq!(of_stretches(12, 98), [4, 5]);
    check(&events, &[0], Some((12, 98)));
}

/// Checks durations that do not fit into 32 bits of picoseconds, with and without short durations in the same group.
#[test]
fn percentiles_of_long_events_are_exact() {
    let ms = |at: i64| (0, 0, 20_000 * at, 1_000 * (at + 1));
    let mixed = (0..200).map(|at| (1, 1, 10_000 * at, if at % 50 == 0 { 6_000 } else { at }));
    let events: Vec<Given> = (0..16).map(ms).chain(mixed).collect();
    let trace = trace(&events);
    let found = found(&trace, &Area::everything(&trace));
    assert_eq!(found["a"].1, Percentiles { median_us: 8_500.0, p95: Ps::new(16_000 * US) });
    // There are 196 short events (without the multiples of 50), then the four long ones.
    assert_eq!(found["b"].1, Percentiles { median_us: 102.5, p95: Ps::new(193 * US) });
}

/// XProf's viewer lost events whose times overlap. Here, every event is included, and each instant belongs to the self time
/// of exactly one event.
#[test]
fn overlapping_times_lose_no_event() {
    let events = [(0, 0, 0, 10), (0, 1, 5, 10), (0, 2, 5, 10), (0, 0, 0, 10), (0, 3, 7, 1)];
    check(&events, &[0], None);
    let found = found(&trace(&events), &Area::everything(&trace(&events)));
    assert_eq!(found.values().map(|(sums, _)| sums.count).sum::<u64>(), 5);
    assert_eq!(found.values().map(|(sums, _)| sums.self_time).sum::<Ps>(), Ps::new(15 * US));
}

/// XProf's viewer computed wrong self times. The viewer subtracted a grandchild's time twice, or not at all if a child
/// extended past its parent.
#[test]
fn self_time_is_what_nested_events_leave() {
    let events = [(0, 0, 0, 100), (0, 1, 10, 50), (0, 2, 20, 30), (0, 3, 55, 20)];
    let found = found(&trace(&events), &Area::everything(&trace(&events)));
    let own = |name: &str| found[name].0.self_time.as_ps() / US;
    assert_eq!(["a", "b", "c", "d"].map(own), [35, 15, 30, 20]);
}

/// XProf's viewer summed only the events that were drawn. Here, the sums include a million events that are too short to be
/// drawn.
#[test]
fn sums_are_over_all_events_however_short() {
    let mut b = TraceBuilder::new();
    let line = b.line("/device:GPU:0", "Stream #1");
    for at in 0..1_000_000 {
        b.event(line, "short", at * 2, 1);
    }
    let trace = b.build();
    let (everything, lines) = (Area::everything(&trace), trace.line_ids().collect());
    let half = Area { range: range(0, 1_000_000), lines };
    for (area, count) in [(everything, 1_000_000), (half, 500_000)] {
        let (sums, _) = found(&trace, &area)["short"];
        assert_eq!((sums.count, sums.total), (count, Ps::new(count as i64 * US)));
    }
}
