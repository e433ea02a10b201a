//! Finds a pipeline whose stages run programs of their own (MPMD), and the pipeline's steps.

use std::collections::BTreeSet;

use super::{Found, FoundStage};
use crate::device::devices::Devices;
use crate::device::stages::{Program, Stage, Stages};
use crate::step::steps::{StepSource, Steps};
use base::sort;
use report::Confidence;
use trace::{Interval, Trace};

/// Returns the pipeline. If the order of programs does not show the steps, `steps` assigns the runs to steps.
pub(super) fn find(trace: &Trace, devices: &Devices, steps: &Steps) -> Option<Found> {
    let found = Stages::find(trace, devices)?;
    let first = found.stages.first()?;
    let forward = *found.chain.first()?;
    let sequence = found.sequence();
    let (bounds, step_source) = match (found.bounds(), known_steps(first, steps)) {
        (Some(bounds), _) => (bounds, "program_order"),
        (None, Some(bounds)) => (bounds, "steps"),
        (None, None) => (vec![0, sequence.len()], "capture"),
    };
    let num_steps = bounds.len().saturating_sub(1).max(1);
    let mut spans: Vec<Option<Interval>> = vec![None; num_steps];
    let mut counts = vec![0usize; found.stages.len()];
    for (stage, count) in found.stages.iter().zip(&mut counts) {
        for &device in &stage.devices {
            let runs = found.steps_of_runs(device, &bounds, step_source != "steps");
            // The first device represents the whole stage.
            if stage.devices.first() == Some(&device) {
                *count = runs.len();
            }
            for (step, run) in runs {
                let Some(span) = spans.get_mut(step) else { continue };
                *span = Some(span.map_or(run.interval, |span| hull(span, run.interval)));
            }
        }
    }
    let mut spans: Vec<Interval> = spans.into_iter().flatten().collect();
    if !spans.is_sorted_by(|a, b| a.end <= b.start) {
        // Steps overlap, so only the time of all steps together is meaningful.
        spans = spans.into_iter().reduce(hull).into_iter().collect();
    }
    let order = sequence.get(..bounds.get(1).copied().unwrap_or(0)).unwrap_or_default();
    let per_step = order.iter().filter(|program| **program == forward).count();
    Some(Found {
        kind: "programs",
        confidence: if found.share >= 0.99 { Confidence::High } else { Confidence::Medium },
        evidence: format!(
            "The devices run different programs, and {} of the runs of {} start after the matching run on the previous \
             stage has ended.",
            base::format::percent(100.0 * found.share),
            base::format::shorten(trace.text(found.chain.last()?.0), 60),
        ),
        stages: found
            .stages
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

/// Returns the index of each step's first run on the first stage, followed by the number of all runs. Returns `None` if
/// the steps do not come from annotations.
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

/// Returns the name of the schedule, which follows from the order of a step's programs on the first stage.
fn schedule(order: &[Program], forward: Program) -> &'static str {
    let all: BTreeSet<Program> = order.iter().copied().collect();
    let microbatches = order.iter().filter(|program| **program == forward).count();
    let leading = order.iter().take_while(|program| **program == forward).count();
    // The other program with the same number of runs processes the microbatches again.
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
