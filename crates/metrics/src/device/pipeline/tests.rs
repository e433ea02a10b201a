//! Tests schedules whose stages take equally long. With p stages and m microbatches, the share of bubbles is (p - 1) /
//! (m + p - 1).

use super::*;
use base::Ps;
use hlo::Modules;
use trace::{IntervalSet, TraceBuilder};

fn measured(trace: &Trace) -> Option<Pipeline> {
    let devices = Devices::of(trace);
    let times = DeviceTime::of_all(trace, &devices);
    let windows: Vec<IntervalSet> = devices.used.iter().map(|device| device.window.clone()).collect();
    let collectives = Collectives::new(trace, &devices, &times, &Modules::new(trace), &windows);
    pipeline(trace, &devices, &times, &collectives, &Steps::find(trace, &devices))
}

/// Returns the passes that a stage runs in a step, in order: true for a forward pass, false for a backward pass.
fn order(stage: i64, stages: i64, microbatches: i64, schedule: &str) -> Vec<bool> {
    let ahead = match schedule {
        "1f1b" => (stages - stage).min(microbatches),
        _ => microbatches,
    };
    let mut passes = vec![true; ahead as usize];
    (ahead..microbatches).for_each(|_| passes.extend([false, true]));
    passes.extend(vec![false; ahead as usize]);
    passes
}

/// Runs a schedule: each pass takes 100 us, and starts when its device is free and its input is available.
fn schedule(stages: i64, microbatches: i64, steps: i64, schedule: &str) -> Trace {
    let mut b = TraceBuilder::new();
    let mut begin = 0;
    for _ in 0..steps {
        let passes: Vec<Vec<bool>> = (0..stages).map(|stage| order(stage, stages, microbatches, schedule)).collect();
        let (stages, microbatches) = (stages as usize, microbatches as usize);
        let mut free = vec![begin; stages];
        let mut next = vec![0usize; stages];
        let mut ends = [vec![Vec::new(); stages], vec![Vec::new(); stages]];
        let mut end = begin;
        while next.iter().zip(&passes).any(|(next, passes)| *next < passes.len()) {
            for stage in 0..stages {
                let Some(&forward) = passes.get(stage).and_then(|passes| passes.get(next[stage])) else { continue };
                let number = ends[usize::from(!forward)][stage].len();
                let input: Option<i64> = match (forward, stage) {
                    (true, 0) => Some(begin),
                    (true, _) => ends[0][stage - 1].get(number).copied(),
                    (false, _) if stage + 1 == stages => ends[0][stage].get(number).copied(),
                    (false, _) => ends[1][stage + 1].get(number).copied(),
                };
                let Some(input) = input else { continue };
                let start = input.max(free[stage]);
                let device = format!("/device:TPU:{stage}");
                let (modules, ops) = (b.line(&device, "XLA Modules"), b.line(&device, "XLA Ops"));
                let name = if forward { "jit_forward" } else { "jit_backward" };
                b.event(modules, &format!("{name}{stage}(1)"), start, 100);
                b.event(ops, "fusion.1", start, 100).hlo_category("loop fusion");
                free[stage] = start + 100;
                end = end.max(free[stage]);
                ends[usize::from(!forward)][stage].push(free[stage]);
                next[stage] += 1;
            }
        }
        assert!(ends[1].iter().all(|of| of.len() == microbatches));
        begin = end + 1000;
    }
    b.build()
}

fn closed_formula(stages: i64, microbatches: i64) -> f64 {
    100.0 * (stages - 1) as f64 / (microbatches + stages - 1) as f64
}

#[test]
fn bubbles_of_equal_stages_have_the_closed_formula() {
    for (stages, microbatches) in [(2, 2), (2, 7), (4, 8), (8, 8), (3, 16)] {
        for name in ["gpipe", "1f1b"] {
            let found = measured(&schedule(stages, microbatches, 3, name)).unwrap();
            let expected = closed_formula(stages, microbatches);
            assert!((found.bubble_percent - expected).abs() < 1e-9, "{name} {stages} {microbatches}: {found:?}");
            assert_eq!(found.schedule_bubble_percent.map(|it| (it - expected).abs() < 1e-9), Some(true));
            assert_eq!((found.num_stages, found.num_steps), (stages as u64, 3));
            assert_eq!(found.num_microbatches, Some(microbatches as u64));
            // With as many stages as microbatches, both orders are the same on the first stage.
            let order = if stages >= microbatches { "gpipe" } else { name };
            assert_eq!(found.schedule.as_deref(), Some(order), "{stages} {microbatches}");
            assert_eq!((found.step_source.as_str(), found.confidence), ("program_order", Confidence::High));
            let step = (2 * (microbatches + stages - 1) * 100) as f64;
            assert!((found.span_us - step).abs() < 1e-9);
            assert!((found.work_max_to_mean - 1.0).abs() < 1e-9);
            let fills: Vec<f64> = found.stages.iter().map(|stage| stage.fill_us).collect();
            let expected: Vec<f64> = (0..stages).map(|stage| (100 * stage) as f64).collect();
            assert_eq!(fills, expected);
        }
    }
}

#[test]
fn a_capture_of_one_step_is_one_step() {
    let found = measured(&schedule(4, 8, 1, "gpipe")).unwrap();
    assert_eq!((found.num_steps, found.num_microbatches), (1, Some(8)));
    assert!((found.bubble_percent - closed_formula(4, 8)).abs() < 1e-9);
}

/// Builds a loop of one program on four devices. A device works for 100 us in each tick for which `works` returns true.
fn looped(ticks: i64, pairs: &str, works: impl Fn(i64, i64) -> bool) -> Trace {
    let mut b = TraceBuilder::new();
    for device in 0..4 {
        let plane = format!("/device:TPU:{device}");
        let (modules, ops) = (b.line(&plane, "XLA Modules"), b.line(&plane, "XLA Ops"));
        for run in 0..3 {
            let begin = run * (ticks * 110 + 50);
            b.event(modules, "jit_f(1)", begin, ticks * 110);
            b.event(ops, "while.1", begin, ticks * 110).hlo_category("while").hlo_module("jit_f");
            for tick in 0..ticks {
                let at = begin + tick * 110;
                let is_active = works(device, tick);
                if is_active {
                    b.event(ops, "fusion.1", at, 100).hlo_category("convolution fusion").hlo_module("jit_f");
                }
                let text = format!(
                    "%collective-permute.1 = f32[8]{{0}} collective-permute(f32[8]{{0}} %x), source_target_pairs={pairs}"
                );
                let start = if is_active { at + 100 } else { at };
                b.event(ops, "collective-permute.1", start, at + 110 - start)
                    .hlo_category("collective-permute")
                    .hlo_module("jit_f")
                    .long_name(&text);
            }
        }
    }
    b.build()
}

const CHAIN: &str = "{{0,1},{1,2},{2,3}}";
const RING: &str = "{{0,1},{1,2},{2,3},{3,0}}";

#[test]
fn a_loop_with_skipped_ticks_is_a_pipeline() {
    // Device 2 is the first stage of the ring.
    for (pairs, first) in [(CHAIN, 0), (RING, 2)] {
        let trace = looped(11, pairs, |device, tick| {
            let stage = (device + 4 - first) % 4;
            (stage..stage + 8).contains(&tick)
        });
        let found = measured(&trace).unwrap();
        assert_eq!((found.kind.as_str(), found.confidence), ("loop", Confidence::High));
        assert_eq!((found.num_stages, found.num_microbatches, found.num_steps), (4, Some(8), 3));
        // The permute takes 10 us of each tick of 110 us.
        let expected = 100.0 * (1.0 - 8.0 * 100.0 / (11.0 * 110.0));
        assert!((found.bubble_percent - expected).abs() < 1e-9, "{found:?}");
        let first = format!("/device:TPU:{first}");
        assert_eq!(found.stages.first().map(|stage| &stage.devices), Some(&vec![first]));
    }
}

#[test]
fn a_loop_that_computes_on_all_ticks_discards_some() {
    let found = measured(&looped(11, CHAIN, |_, _| true)).unwrap();
    assert_eq!((found.kind.as_str(), found.confidence), ("loop", Confidence::Medium));
    let expected = 100.0 * (1.0 - 8.0 * 100.0 / (11.0 * 110.0));
    assert!((found.bubble_percent - expected).abs() < 1e-9, "{found:?}");
}

#[test]
fn other_loops_are_no_pipelines() {
    // Ring attention and collective products: as many ticks as devices, or a ring that works on all ticks.
    assert_eq!(measured(&looped(4, CHAIN, |_, _| true)), None);
    assert_eq!(measured(&looped(11, RING, |_, _| true)), None);
}

#[test]
fn independent_devices_are_no_pipeline() {
    // Each device runs its own program, at the same time as the others.
    let mut b = TraceBuilder::new();
    for device in 0..2 {
        let plane = format!("/device:TPU:{device}");
        let (modules, ops) = (b.line(&plane, "XLA Modules"), b.line(&plane, "XLA Ops"));
        for run in 0..10 {
            b.event(modules, &format!("jit_f{device}(1)"), run * 100, 90);
            b.event(ops, "fusion.1", run * 100, 90).hlo_category("loop fusion");
        }
    }
    assert_eq!(measured(&b.build()), None);
    // One device runs all of its programs before the other.
    let mut b = TraceBuilder::new();
    for device in 0..2 {
        let plane = format!("/device:TPU:{device}");
        let (modules, ops) = (b.line(&plane, "XLA Modules"), b.line(&plane, "XLA Ops"));
        for run in 0..10 {
            let at = device * 1000 + run * 100;
            b.event(modules, &format!("jit_f{device}(1)"), at, 90);
            b.event(ops, "fusion.1", at, 90).hlo_category("loop fusion");
        }
    }
    assert_eq!(measured(&b.build()), None);
    let one = schedule(1, 4, 3, "gpipe");
    assert_eq!(measured(&one), None);
    assert!(Devices::of(&one).used.iter().all(|device| device.busy.length() > Ps::ZERO));
}
