//! Finds a pipeline whose stages run programs of their own (MPMD).
//!
//! Devices that run the same programs are one stage. The stages form a pipeline if each has a program with the same
//! number of runs, and the n-th run on a stage starts after the n-th run on the previous stage has ended.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::runs::{Program, ProgramRun, of_device};
use super::{Found, FoundStage};
use crate::common::statistics::median;
use crate::device::devices::Devices;
use crate::step::steps::{StepSource, Steps};
use base::{Ps, sort};
use report::Confidence;
use trace::{Interval, Trace};

/// Smallest share of a device's time that a program of a stage takes (ours: helper programs take less).
const LEAST_SHARE: f64 = 0.02;
/// Smallest share of microbatches that follow the previous stage (ours: the rest allows for errors of clocks).
const LEAST_FOLLOWING: f64 = 0.9;
/// Part of a run by which the next stage may start before it ends (ours: the clocks of devices differ by less).
const TOLERANCE: f64 = 0.05;

/// A stage with the runs of its first device.
struct Stage {
    devices: Vec<u32>,
    programs: BTreeSet<Program>,
    runs: Vec<ProgramRun>,
}

impl Stage {
    fn of_program(&self, program: Program) -> Vec<Interval> {
        self.runs.iter().filter(|run| run.program == program).map(|run| run.interval).collect()
    }
}

/// Returns the pipeline. `steps` separates runs if the order of programs does not.
pub(super) fn find(trace: &Trace, devices: &Devices, steps: &Steps) -> Option<Found> {
    let all: Vec<Vec<ProgramRun>> = devices.used.iter().map(|device| kept(of_device(trace, devices, device))).collect();
    let stages = stages(&all)?;
    let (chain, share) = chain(&stages)?;
    let first = stages.first()?;
    let forward = *chain.first()?;
    let sequence: Vec<Program> = first.runs.iter().map(|run| run.program).collect();
    let period = period(&sequence);
    let known = known_steps(first, steps);
    // Index of the first run of each step, and the end of the last one.
    let (bounds, step_source) = match (period, known) {
        // One program alone does not show the steps.
        (1, Some(bounds)) => (bounds, "steps"),
        (1, None) => (vec![0, sequence.len()], "capture"),
        (period, _) => ((0..=sequence.len() / period).map(|step| step * period).collect(), "program_order"),
    };
    let num_steps = bounds.len().saturating_sub(1).max(1);
    let starts: Vec<Ps> =
        bounds.iter().filter_map(|&bound| first.runs.get(bound)).map(|run| run.interval.start).collect();
    let mut spans: Vec<Option<Interval>> = vec![None; num_steps];
    let mut counts = vec![0usize; stages.len()];
    for (stage, count) in stages.iter().zip(&mut counts) {
        for &device in &stage.devices {
            let runs = all.get(device as usize)?;
            let is_even = runs.len().is_multiple_of(num_steps) && runs.len() >= num_steps;
            for (at, run) in runs.iter().enumerate() {
                let step = match is_even && step_source != "steps" {
                    true => at / (runs.len() / num_steps).max(1),
                    false => starts.partition_point(|start| *start <= run.interval.start).saturating_sub(1),
                };
                // The first device counts for all of the stage.
                *count += usize::from(stage.devices.first() == Some(&device));
                let Some(span) = spans.get_mut(step) else { continue };
                *span = Some(span.map_or(run.interval, |span| hull(span, run.interval)));
            }
        }
    }
    let mut spans: Vec<Interval> = spans.into_iter().flatten().collect();
    if !spans.is_sorted_by(|a, b| a.end <= b.start) {
        // Steps overlap: only the time of all of them has a meaning.
        spans = spans.into_iter().reduce(hull).into_iter().collect();
    }
    let order = sequence.get(..bounds.get(1).copied().unwrap_or(0)).unwrap_or_default();
    let per_step = order.iter().filter(|program| **program == forward).count();
    Some(Found {
        kind: "programs",
        confidence: if share >= 0.99 { Confidence::High } else { Confidence::Medium },
        evidence: format!(
            "The devices run different programs, and {} of the runs of {} start after the same run on the previous stage has ended.",
            base::format::percent(100.0 * share),
            base::format::shorten(trace.text(chain.last()?.0), 60),
        ),
        stages: stages
            .iter()
            .zip(counts)
            .map(|(stage, count)| FoundStage {
                devices: stage.devices.clone(),
                programs: names(trace, &stage.programs),
                runs_per_step: count as f64 / num_steps as f64,
            })
            .collect(),
        spans,
        num_steps,
        step_source,
        num_microbatches: Some(per_step).filter(|_| step_source != "capture"),
        schedule: Some(schedule(order, forward)),
        discarded: 0.0,
    })
}

fn names(trace: &Trace, programs: &BTreeSet<Program>) -> Vec<String> {
    sort::set(programs.iter().map(|program| trace.text(program.0).to_owned())).into_iter().collect()
}

fn hull(a: Interval, b: Interval) -> Interval {
    Interval::new(a.start.min(b.start), a.end.max(b.end))
}

/// Removes runs of programs that take a small share of the time of all runs.
fn kept(mut runs: Vec<ProgramRun>) -> Vec<ProgramRun> {
    let mut times: FxHashMap<Program, Ps> = FxHashMap::default();
    for run in &runs {
        *times.entry(run.program).or_default() += run.interval.length();
    }
    let all: Ps = runs.iter().map(|run| run.interval.length()).sum();
    let least = LEAST_SHARE * all.as_us();
    runs.retain(|run| times.get(&run.program).is_some_and(|time| time.as_us() >= least));
    runs
}

/// Groups devices by their programs, ordered by first run. Returns `None` unless there are several groups without a
/// common program.
fn stages(all: &[Vec<ProgramRun>]) -> Option<Vec<Stage>> {
    let mut groups: BTreeMap<BTreeSet<Program>, Vec<u32>> = BTreeMap::new();
    for (device, runs) in (0u32..).zip(all).filter(|(_, runs)| !runs.is_empty()) {
        groups.entry(runs.iter().map(|run| run.program).collect()).or_default().push(device);
    }
    let distinct: BTreeSet<Program> = groups.keys().flatten().copied().collect();
    if groups.len() < 2 || distinct.len() != groups.keys().map(BTreeSet::len).sum::<usize>() {
        return None;
    }
    let mut stages: Vec<Stage> = groups
        .into_iter()
        .filter_map(|(programs, devices)| {
            let runs = all.get(*devices.first()? as usize)?.clone();
            Some(Stage { devices, programs, runs })
        })
        .collect();
    sort::sort_by_key(&mut stages, |stage| (stage.runs.first().map(|run| run.interval), stage.devices.clone()));
    Some(stages)
}

/// Returns the program of each stage that processes the microbatches first, and the smallest share of microbatches
/// that arrive in order.
fn chain(stages: &[Stage]) -> Option<(Vec<Program>, f64)> {
    let (first, rest) = stages.split_first()?;
    let mut tried = BTreeSet::new();
    let mut starts = first.runs.iter().map(|run| run.program).filter(|program| tried.insert(*program));
    starts.find_map(|program| {
        let (mut chain, mut least) = (vec![program], 1.0f64);
        let mut previous = first.of_program(program);
        if previous.len() < 2 {
            return None;
        }
        for stage in rest {
            let next = stage.programs.iter().filter_map(|&program| {
                let runs = stage.of_program(program);
                let (share, lag) = following(&previous, &runs)?;
                (share >= LEAST_FOLLOWING).then_some((lag, program, share, runs))
            });
            let (_, program, share, runs) = next.min_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)))?;
            chain.push(program);
            least = least.min(share);
            previous = runs;
        }
        Some((chain, least))
    })
}

/// Compares the n-th runs of two stages. Returns the share that starts after the previous stage's run, and the median
/// lag in microseconds. Returns `None` if the numbers of runs differ, or if all runs of one stage come before those of the
/// next: then the devices work one after another.
fn following(previous: &[Interval], next: &[Interval]) -> Option<(f64, f64)> {
    let overlap = previous.last().zip(next.first()).is_some_and(|(last, first)| first.start < last.end);
    if previous.len() != next.len() || !overlap {
        return None;
    }
    let lags: Vec<(f64, f64)> =
        previous.iter().zip(next).map(|(a, b)| ((b.start - a.end).as_us(), a.length().as_us())).collect();
    let follow = lags.iter().filter(|(lag, length)| *lag >= -TOLERANCE * length).count();
    let lag = median(&lags.iter().map(|(lag, _)| *lag).collect::<Vec<_>>())?;
    Some((follow as f64 / next.len() as f64, lag))
}

/// Returns the length of the shortest part that the sequence repeats at least twice, or the length of the sequence. The
/// last repetition may be incomplete.
fn period(sequence: &[Program]) -> usize {
    let repeats = |length: &usize| sequence.iter().zip(sequence.iter().skip(*length)).all(|(a, b)| a == b);
    (1..=sequence.len() / 2).find(repeats).unwrap_or(sequence.len()).max(1)
}

/// Returns the index of the first run of each step of the capture on the first stage, and the number of all runs.
/// Returns `None` if the steps do not come from annotations.
fn known_steps(first: &Stage, steps: &Steps) -> Option<Vec<usize>> {
    if !matches!(steps.source, StepSource::StepNum | StepSource::StepsLine | StepSource::ForwardPasses) {
        return None;
    }
    let windows = steps.sorted(*first.devices.first()?);
    let mut bounds = Vec::new();
    let mut last = None;
    for (at, run) in first.runs.iter().enumerate() {
        let step = windows.at(run.interval.start);
        if step.is_some() && step != last {
            bounds.push(at);
            last = step;
        }
    }
    bounds.push(first.runs.len());
    (bounds.len() > 2).then_some(bounds)
}

/// Names the order of the programs of a step on the first stage.
fn schedule(order: &[Program], forward: Program) -> &'static str {
    let all: BTreeSet<Program> = order.iter().copied().collect();
    let microbatches = order.iter().filter(|program| **program == forward).count();
    let leading = order.iter().take_while(|program| **program == forward).count();
    // The program with as many runs processes the microbatches again.
    let backward = all.iter().filter(|&&program| program != forward);
    let mut backward = backward.filter(|program| order.iter().filter(|it| it == program).count() == microbatches);
    match (backward.next(), backward.next()) {
        (None, _) if all.len() == 1 => "forward",
        (Some(_), None) if leading == microbatches => "gpipe",
        (Some(&backward), None) => {
            let rest = order.get(leading..).unwrap_or_default();
            let ends = rest.iter().rev().take_while(|program| **program != forward).count();
            let steady = rest.get(..rest.len().saturating_sub(ends)).unwrap_or_default();
            let alternates = steady.chunks(2).all(|pair| *pair == [backward, forward]);
            if alternates { "1f1b" } else { "other" }
        }
        _ => "other",
    }
}
