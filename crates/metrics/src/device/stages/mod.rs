//! Finds the stages of a pipeline in which each stage runs its own programs (MPMD).
//!
//! Devices that run the same programs are one stage. The stages form a pipeline under two conditions. Each stage has a
//! program, and all these programs have the same number of runs. The n-th run on a stage starts after the n-th run on
//! the previous stage has ended.
//!
//! The order of programs on the first stage shows the steps. The runs of the other stages are divided among the steps
//! evenly, or by their time:
//!
//! ```text
//! stage 0   F F F     B B B   F F F     B B B      the order repeats after F F F B B B
//! stage 1     F F F B B B       F F F B B B
//!           '--- step 0 ---'  '--- step 1 ---'
//! ```

mod runs;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

pub(crate) use runs::{Program, ProgramRun, of_device};

use crate::common::statistics::median;
use crate::device::devices::Devices;
use base::{Ps, sort};
use trace::{Interval, Trace};

/// A program belongs to a stage only if it takes at least this share of a device's time. We chose this limit because
/// helper programs take less.
const LEAST_SHARE: f64 = 0.02;
/// Smallest share of microbatches that a stage starts after the previous stage has finished them. We chose this limit
/// to allow for clock errors.
const LEAST_FOLLOWING: f64 = 0.9;
/// A run on the next stage may start before the run on the previous stage ends, but at most by this share of that run's
/// length. We chose this limit because the clocks of devices differ by less.
const TOLERANCE: f64 = 0.05;

/// A stage with the runs of its first device.
pub(crate) struct Stage {
    /// Indices into [`Devices::used`].
    pub devices: Vec<u32>,
    pub programs: BTreeSet<Program>,
    pub runs: Vec<ProgramRun>,
}

impl Stage {
    fn of_program(&self, program: Program) -> Vec<Interval> {
        self.runs.iter().filter(|run| run.program == program).map(|run| run.interval).collect()
    }
}

/// The stages of a pipeline, in the order in which they process a microbatch.
pub(crate) struct Stages {
    pub stages: Vec<Stage>,
    /// For each stage, the program that processes the microbatches first.
    pub chain: Vec<Program>,
    /// Smallest share of microbatches that arrive in order, from 0 to 1.
    pub share: f64,
    /// Runs of programs on each of [`Devices::used`]. Programs that take little time are excluded.
    all: Vec<Vec<ProgramRun>>,
}

impl Stages {
    /// Returns the stages of a capture, or `None` if it shows no pipeline.
    pub(crate) fn find(trace: &Trace, devices: &Devices) -> Option<Stages> {
        if devices.used.len() < 2 {
            return None;
        }
        let all: Vec<Vec<ProgramRun>> =
            devices.used.iter().map(|device| kept(of_device(trace, devices, device))).collect();
        let stages = stages(&all)?;
        let (chain, share) = chain(&stages)?;
        Some(Stages { stages, chain, share, all })
    }

    /// Returns the programs that the first stage runs, in the order of its runs.
    pub(crate) fn sequence(&self) -> Vec<Program> {
        self.stages.first().into_iter().flat_map(|stage| &stage.runs).map(|run| run.program).collect()
    }

    /// Returns the index of the first run of each step on the first stage, and of the first run after the last step.
    /// Returns `None` if the first stage runs a single program, whose order does not show the steps.
    pub(crate) fn bounds(&self) -> Option<Vec<usize>> {
        let sequence = self.sequence();
        let period = period(&sequence);
        (period > 1).then(|| (0..=sequence.len() / period).map(|step| step * period).collect())
    }

    /// Returns the step of each run of a device. `bounds` is the result of [`Stages::bounds`]. If `is_even` and the
    /// number of runs is a multiple of the number of steps, all steps have the same number of runs. The step of a run
    /// after the last step is the number of steps.
    pub(crate) fn steps_of_runs(&self, device: u32, bounds: &[usize], is_even: bool) -> Vec<(usize, ProgramRun)> {
        let runs = self.all.get(device as usize).map(Vec::as_slice).unwrap_or_default();
        let first = self.stages.first().map(|stage| stage.runs.as_slice()).unwrap_or_default();
        let starts: Vec<Ps> =
            bounds.iter().filter_map(|&bound| first.get(bound)).map(|run| run.interval.start).collect();
        let num_steps = bounds.len().saturating_sub(1).max(1);
        let per_step = (is_even && runs.len().is_multiple_of(num_steps)).then_some(runs.len() / num_steps);
        let step = |at: usize, run: &ProgramRun| match per_step.filter(|&count| count > 0) {
            Some(count) => at / count,
            None => starts.partition_point(|start| *start <= run.interval.start).saturating_sub(1),
        };
        runs.iter().enumerate().map(|(at, run)| (step(at, run), *run)).collect()
    }
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

/// Groups devices by their programs. The groups are sorted by the start of their first run. Returns `None` unless there
/// are several groups without a common program.
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

/// Returns, for each stage, the program that processes the microbatches first. Also returns the smallest share of
/// microbatches that arrive in order.
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

/// Compares the n-th runs of two stages. Returns the share of runs that start after the matching run of the previous
/// stage, and the median lag in microseconds. Returns `None` if the numbers of runs differ. Also returns `None` if one
/// stage ends all its runs before the next stage starts, because the devices then work one after another.
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

/// Returns the length of the shortest part that the sequence repeats at least twice, or the length of the sequence if
/// no part repeats. The last repetition may be incomplete.
fn period(sequence: &[Program]) -> usize {
    let repeats = |length: &usize| sequence.iter().zip(sequence.iter().skip(*length)).all(|(a, b)| a == b);
    (1..=sequence.len() / 2).find(repeats).unwrap_or(sequence.len()).max(1)
}
