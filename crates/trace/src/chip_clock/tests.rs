use proptest::prelude::*;

use super::*;
use crate::builder::TraceBuilder;
use crate::snapshot::{Piece, Reader, Writer};

const US: i64 = 1_000_000;
const MS: i64 = 1_000 * US;
const S: i64 = 1_000 * MS;

/// Event time and chip time of an op, as `(start, duration)` in ps.
type Op = ((i64, i64), (i64, i64));

fn push(b: &mut TraceBuilder, line: LineId, name: &str, (start, duration): (i64, i64), chip: Option<(i64, i64)>) {
    let trace = b.trace_mut();
    let event = Event {
        line,
        name: trace.strings.intern(name),
        start: Ps::new(start),
        duration: Ps::new(duration),
        args: Default::default(),
    };
    let chip = chip.map(|(start, duration)| ChipTime { start: Ps::new(start), duration: Some(Ps::new(duration)) });
    trace.push_event(event, chip);
}

fn of_ops(ops: &[Op]) -> Trace {
    let mut b = TraceBuilder::new();
    let line = b.line("/device:TPU:0", "XLA Ops");
    ops.iter().for_each(|&(event, chip)| push(&mut b, line, "op", event, Some(chip)));
    b.build()
}

fn times(trace: &Trace) -> Vec<(i64, i64)> {
    trace.events.iter().map(|event| (event.start.as_ps(), event.duration.as_ps())).collect()
}

fn clock(trace: &Trace) -> ChipClock {
    trace.planes[0].clock.expect("the device has a clock")
}

/// Returns ops of 700 us, which start every millisecond on the chip's clock. The clock starts at 5 s. `late` returns
/// the delay of an event for the chip time at which it starts.
fn every_ms(count: i64, late: impl Fn(i64) -> i64) -> Vec<Op> {
    let op = |n: i64| {
        let (start, end) = (5 * S + n * MS, 5 * S + n * MS + 700 * US);
        ((start + late(start), end + late(end) - start - late(start)), (start, 700 * US))
    };
    (0..count).map(op).collect()
}

#[test]
fn clocks_that_agree_change_nothing() {
    let ops = every_ms(1000, |_| -4 * S);
    let trace = of_ops(&ops);
    assert!(times(&trace).into_iter().eq(ops.iter().map(|op| op.0)));
    let expected = ChipClock {
        shift: Ps::new(-4 * S),
        drift: 0,
        reference: Ps::new(S + (999 * MS + 700 * US) / 2),
        uncertainty: Ps::ZERO,
        events: 1000,
        refused: 0,
        off_p95: Ps::ZERO,
        off_max: Ps::ZERO,
    };
    assert_eq!(clock(&trace), expected);
}

/// Returns a delay that is 0 for 450 ms and then grows for 550 ms, until the profiler aligns the clocks again.
fn saw(chip: i64) -> i64 {
    let phase = chip.rem_euclid(1_000 * MS);
    if phase < 450 * MS { 0 } else { (phase - 450 * MS) / 5 }
}

#[test]
fn a_warp_of_more_than_half_of_the_events_does_not_move_the_clock() {
    let ops = every_ms(10_000, |chip| 300 * US + saw(chip));
    let trace = of_ops(&ops);
    let found = clock(&trace);
    assert_eq!((found.shift, found.drift), (Ps::new(300 * US), 0));
    assert!(times(&trace).into_iter().eq(ops.iter().map(|op| (op.1.0 + 300 * US, op.1.1))));
    // Events are late in the last 550 of each 1,000 ms. The latest event is late by a fifth of 549 ms, and 5 % of all events
    // are late by more than a fifth of 500 ms.
    assert_eq!((found.off_max.as_ps() / US, found.off_p95.as_ps() / US), (109_800, 99_800));
    assert!(found.uncertainty <= Ps::new(US));
}

#[test]
fn a_drift_is_found_under_a_warp_and_moves_no_op_against_another() {
    // The drift is 15 millionths, and the clocks are aligned about once a second, as on a real chip.
    let late = |chip: i64| (chip - chip.rem_euclid(900 * MS)) / 1_000_000 * 15 + saw(chip);
    let ops = every_ms(20_000, late);
    let trace = of_ops(&ops);
    let found = clock(&trace);
    assert!((found.drift_ppm() - 15.0).abs() < 0.4, "{}", found.drift_ppm());
    assert!(found.uncertainty < Ps::new(15 * US), "{found:?}");
    // At the middle of the capture, the shift is the line's shift minus half of the drift between alignments.
    let line = (15 * S) / 1_000_000 * 15 - 900 * MS / 1_000_000 * 15 / 2;
    assert!(found.shift.as_ps().abs_diff(line) < 5 * US as u64, "{found:?}");
    assert!(times(&trace).into_iter().eq(ops.iter().map(|op| (op.1.0 + found.shift.as_ps(), op.1.1))));
    for time in [Ps::new(0), Ps::new(5 * S), found.reference, Ps::new(25 * S)] {
        assert!((found.time_from_host(found.to_host(time)) - time).as_ps().abs() <= 1);
    }
    assert_eq!(found.to_host(found.reference), found.reference);
    let gained = found.to_host(found.reference + Ps::new(S)) - found.reference - Ps::new(S);
    assert!((14 * US..16 * US).contains(&gained.as_ps()), "{gained:?}");
}

#[test]
fn a_single_op_stays_where_its_event_is() {
    let trace = of_ops(&[((7 * S, 5), (100 * S, 9))]);
    assert_eq!((times(&trace), clock(&trace).shift), (vec![(7 * S, 9)], Ps::new(-93 * S)));
    assert_eq!(clock(&trace).time_from_host(Ps::new(3)), Ps::new(3));
}

#[test]
fn events_without_a_chip_time_follow_the_ops_around_them() {
    let mut b = TraceBuilder::new();
    let modules = b.line("/device:TPU:0", "XLA Modules");
    let ops = b.line("/device:TPU:0", "XLA Ops");
    let host = b.line("/host:CPU", "python");
    // A program of two ops runs 20 times. In every tenth run, the first op's event is stretched by 9 ms, so the second op's
    // event is late by 9 ms. The program's event covers both.
    let late = |n: i64| if n % 10 == 9 { 9 * MS } else { 0 };
    for n in 0..20 {
        push(&mut b, modules, "jit_f", (n * 40 * MS, 20 * MS + late(n)), None);
    }
    for n in 0..20 {
        let at = n * 40 * MS;
        push(&mut b, ops, "a", (at, 10 * MS + late(n)), Some((at, 10 * MS)));
        // One op in five has no chip time.
        let chip = (n % 5 != 3).then_some((at + 10 * MS, 10 * MS));
        push(&mut b, ops, "b", (at + 10 * MS + late(n), 10 * MS), chip);
    }
    push(&mut b, host, "train", (77, 5), None);
    let trace = b.build();
    let all = times(&trace);
    for (n, time) in (0i64..).zip(&all[..20]) {
        assert_eq!(*time, (n * 40 * MS, 20 * MS), "program {n}");
    }
    for (n, pair) in (0i64..).zip(all[20..60].chunks(2)) {
        assert_eq!(*pair, [(n * 40 * MS, 10 * MS), (n * 40 * MS + 10 * MS, 10 * MS)], "ops of program {n}");
    }
    assert_eq!(all[60], (77, 5));
    assert_eq!((clock(&trace).events, clock(&trace).refused, trace.planes[1].clock), (36, 0, None));
}

#[test]
fn squeezed_ops_are_distinguished_and_stay_inside_their_program() {
    let mut b = TraceBuilder::new();
    let modules = b.line("/device:TPU:0", "XLA Modules");
    let ops = b.line("/device:TPU:0", "XLA Ops");
    push(&mut b, modules, "jit_f", (0, 30 * MS), None);
    push(&mut b, modules, "jit_f", (40 * MS, 10 * MS), None);
    push(&mut b, ops, "a", (0, 30 * MS), Some((0, 30 * MS)));
    // The clocks were aligned during `d`. If events start together, the longest comes first in a file.
    push(&mut b, ops, "d", (40 * MS, 10 * MS), Some((34 * MS, 16 * MS)));
    push(&mut b, ops, "b", (40 * MS, 0), Some((32 * MS, MS)));
    push(&mut b, ops, "c", (40 * MS, 0), Some((33 * MS, MS)));
    let trace = b.build();
    let shift = clock(&trace).shift.as_ps();
    let all: Vec<_> = times(&trace).into_iter().map(|(start, duration)| (start - shift, duration)).collect();
    assert_eq!(all[..2], [(0, 30 * MS), (32 * MS, 18 * MS)]);
    assert_eq!(all[2..], [(0, 30 * MS), (34 * MS, 16 * MS), (32 * MS, MS), (33 * MS, MS)]);
}

#[test]
fn damaged_values_are_refused_wherever_they_stand() {
    for damaged in [0, 3, 14, 15, 500] {
        for value in [0, i64::MIN, i64::MAX, 900 * S] {
            let mut ops = every_ms(1000, |_| -4 * S);
            ops[damaged].1.0 = value;
            let trace = of_ops(&ops);
            let found = clock(&trace);
            assert_eq!((found.shift, found.events, found.refused), (Ps::new(-4 * S), 999, 1), "{damaged} {value}");
            assert!(times(&trace).into_iter().eq(ops.iter().map(|op| op.0)), "{damaged} {value}");
        }
    }
}

#[test]
fn after_a_reset_of_the_chip_s_clock_event_times_are_used() {
    let mut ops = every_ms(3000, |_| US);
    // The clock restarts at 0 before the op at 6 s. The op's event time is unchanged.
    ops.iter_mut().skip(1000).for_each(|op| op.1.0 -= 6 * S);
    let trace = of_ops(&ops);
    assert_eq!((clock(&trace).events, clock(&trace).refused), (1000, 2000));
    assert!(times(&trace).into_iter().eq(ops.iter().map(|op| op.0)));
}

#[test]
fn all_lines_of_a_device_are_moved_by_one_shift_and_devices_each_by_their_own() {
    let mut b = TraceBuilder::new();
    let lines = ["XLA Ops", "XLA Modules"].map(|line| b.line("/device:TPU:0", line));
    let other = b.line("/device:TPU:1", "XLA Ops");
    for n in 0..10 {
        push(&mut b, lines[0], "op", (n * MS, US), Some((S + n * MS, US)));
        push(&mut b, other, "op", (n * MS + 7, US), Some((3 * S + n * MS, US)));
    }
    // The event time is wrong by 40 us. A single event on another line must not change the shift.
    push(&mut b, lines[1], "jit_f", (40 * US, 9 * MS), Some((S, 10 * MS)));
    let trace = b.build();
    assert_eq!(times(&trace)[20], (0, 10 * MS));
    assert_eq!(
        trace.planes.iter().map(|plane| plane.clock.unwrap().shift).collect::<Vec<_>>(),
        [Ps::new(-S), Ps::new(7 - 3 * S)]
    );
}

#[test]
fn rows_that_were_handed_over_are_placed_where_they_are_put_together() {
    let build = |early: bool| {
        let mut b = TraceBuilder::new();
        let line = b.line("/device:TPU:0", "XLA Ops");
        let marks = b.line("/device:TPU:0", "XLA TraceMe");
        push(&mut b, marks, "barrier-cores", (5 * S, MS), None);
        for (n, &(event, chip)) in every_ms(80_000, saw).iter().enumerate() {
            push(&mut b, line, "op", event, (n % 7 != 0).then_some(chip));
        }
        let early: Vec<_> = if early { b.trace_mut().events.take_full_blocks().collect() } else { Vec::new() };
        (early, b.build())
    };
    let (_, whole) = build(false);
    let (early, rest) = build(true);
    assert_eq!(early.len(), 2);
    let mut reader = Reader::new();
    early.into_iter().for_each(|rows| reader.push_rows(rows));
    for piece in Writer::new(rest, Vec::new()) {
        match piece {
            Piece::Rows(rows) => reader.push_rows(rows),
            Piece::Bytes(bytes) => reader.push(&bytes),
        }
    }
    let (joined, _) = reader.finish().unwrap();
    assert_eq!(times(&joined), times(&whole));
    assert_eq!(clock(&joined), clock(&whole));
    assert!(clock(&whole).off_max > Ps::new(100 * MS));
}

#[test]
fn a_host_s_clock_that_was_moved_moves_the_device_s() {
    let moved = clock(&of_ops(&every_ms(20_000, |chip| chip / 1_000_000 * 15))).moved(Ps::new(S));
    let here = moved.moved(Ps::new(-S));
    assert_eq!(moved.to_host(Ps::new(9 * S)) - Ps::new(S), here.to_host(Ps::new(8 * S)));
}

/// Generates stretches of a capture. Each stretch has a number of ops, the delay of their events, and the growth of the
/// delay per op.
fn stretches() -> impl Strategy<Value = Vec<(i64, i64, i64)>> {
    prop::collection::vec((1..60i64, -200 * MS..200 * MS, 0..2 * US), 1..20)
}

proptest! {
    /// For any distortion of event times, ops keep the distances and durations that they have on the chip's clock. The
    /// ops are shifted by no more than the event times were distorted.
    #[test]
    fn the_chip_s_distances_are_kept(stretches in stretches(), gaps in prop::collection::vec(0..3 * MS, 60)) {
        let mut ops: Vec<Op> = Vec::new();
        let (mut chip, mut gaps) = (S, gaps.iter().cycle());
        for (count, late, more) in stretches {
            for n in 0..count {
                ops.push(((chip + late + n * more, 90 * US), (chip, 100 * US)));
                chip += 100 * US + gaps.next().copied().unwrap_or(0);
            }
        }
        let trace = of_ops(&ops);
        let found = clock(&trace);
        prop_assert!(times(&trace).into_iter().eq(ops.iter().map(|op| (op.1.0 + found.shift.as_ps(), op.1.1))));
        let lates = || ops.iter().map(|op| op.0.0 - op.1.0);
        let reference = found.reference.as_ps() - found.shift.as_ps();
        let slack = fit::gain(found.drift.abs(), (chip - reference).abs().max((S - reference).abs())) + 1;
        prop_assert!(found.shift.as_ps() >= lates().min().unwrap() - slack);
        prop_assert!(found.shift.as_ps() <= lates().max().unwrap() + slack);
        prop_assert!(found.off_p95 <= found.off_max);
    }

    /// Checks that no value causes a panic or loses a row.
    #[test]
    fn any_values_are_survived(
        events in prop::collection::vec((0..3usize, any::<i64>(), 0..i64::MAX, prop::option::of((any::<i64>(), any::<i64>()))), 0..60),
    ) {
        let mut b = TraceBuilder::new();
        let lines = [("/device:TPU:0", "XLA Ops"), ("/device:TPU:0", "XLA Modules"), ("/host:CPU", "python")]
            .map(|(plane, line)| b.line(plane, line));
        for &(line, start, duration, chip) in &events {
            let duration = duration.min(i64::MAX - start.max(0));
            push(&mut b, lines[line], "e", (start, duration), chip);
        }
        let trace = b.build();
        prop_assert_eq!(trace.events.len(), events.len());
        prop_assert!(trace.events.iter().all(|event| event.duration >= Ps::ZERO));
        for clock in trace.planes.iter().filter_map(|plane| plane.clock) {
            clock.time_from_host(clock.to_host(Ps::new(i64::MIN)));
            clock.to_host(clock.time_from_host(Ps::MAX));
        }
    }

    /// Checks that the clock stays the same if stretches are merged because there are too many.
    #[test]
    fn a_clock_of_many_steps_takes_little_room(steps in 20_000..40_000i64) {
        let mut knots = Knots::default();
        for n in 0..steps {
            let late = n * 5_000 % 70_000_001;
            knots.add([n * MS + late, n * MS + late + US], [late, late]);
        }
        knots.finish();
        prop_assert!(knots.list().len() <= 1 << 14);
        prop_assert_eq!(knots.list().iter().map(|knot| knot.ops).sum::<u64>(), steps as u64);
    }
}
