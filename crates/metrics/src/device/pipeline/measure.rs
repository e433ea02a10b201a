//! Measures the bubbles of a pipeline.

use super::{BETWEEN_STAGES, Found, FoundStage};
use crate::common::statistics::mean;
use crate::device::device_time::DeviceTime;
use crate::device::devices::Devices;
use crate::op::collectives::Collectives;
use crate::step::step_part::StepPart;
use base::Ps;
use report::{Pipeline, PipelineStage};
use trace::{Interval, IntervalSet};

/// Measures the stages of a pipeline. Returns `None` if the pipeline's steps have no length.
pub(super) fn measure(
    devices: &Devices,
    times: &[DeviceTime],
    collectives: &Collectives,
    found: &Found,
) -> Option<Pipeline> {
    let whole: Ps = found.spans.iter().map(|span| span.length()).sum();
    if whole <= Ps::ZERO {
        return None;
    }
    let steps = found.num_steps as f64;
    let span_us = whole.as_us() / steps;
    let stages: Vec<PipelineStage> = (0u64..)
        .zip(&found.stages)
        .map(|(stage, of)| {
            let measured: Vec<Times> =
                of.devices.iter().filter_map(|&device| of_device(devices, times, collectives, found, device)).collect();
            let mean = |time: fn(&Times) -> Ps| {
                mean(&measured.iter().map(|it| time(it).as_us() / steps).collect::<Vec<_>>()).unwrap_or(0.0)
            };
            let work_us = mean(|it| it.work) * (1.0 - found.discarded);
            PipelineStage {
                stage,
                devices: names(devices, of),
                programs: of.programs.clone(),
                runs_per_step: of.runs_per_step,
                work_us,
                bubble_us: span_us - work_us,
                bubble_percent: 100.0 * (1.0 - work_us / span_us),
                fill_us: mean(|it| it.fill),
                drain_us: mean(|it| it.drain),
                communication_us: mean(|it| it.communication),
            }
        })
        .collect();
    let bubble_time_us = mean(&stages.iter().map(|stage| stage.bubble_us).collect::<Vec<_>>())?;
    let works: Vec<f64> = stages.iter().map(|stage| stage.work_us).collect();
    let (most, usual) = (works.iter().copied().fold(0.0, f64::max), mean(&works)?);
    let num_stages = stages.len() as u64;
    let schedule_bubble = |microbatches: usize| {
        let idle = num_stages.saturating_sub(1) as f64;
        100.0 * idle / (microbatches as f64 + idle).max(1.0)
    };
    Some(Pipeline {
        kind: found.kind.to_owned(),
        confidence: found.confidence,
        evidence: found.evidence.clone(),
        num_stages,
        num_steps: found.num_steps as u64,
        step_source: found.step_source.to_owned(),
        num_microbatches: found.num_microbatches.map(|count| count as u64),
        schedule: found.schedule.map(str::to_owned),
        span_us,
        bubble_time_us,
        bubble_percent: 100.0 * bubble_time_us / span_us,
        schedule_bubble_percent: found.num_microbatches.map(schedule_bubble),
        work_max_to_mean: if usual > 0.0 { most / usual } else { 1.0 },
        stages,
    })
}

/// Times of one device, summed over all steps.
#[derive(Default)]
struct Times {
    work: Ps,
    fill: Ps,
    drain: Ps,
    communication: Ps,
}

fn of_device(
    devices: &Devices,
    times: &[DeviceTime],
    collectives: &Collectives,
    found: &Found,
    number: u32,
) -> Option<Times> {
    let (device, time) = (devices.used.get(number as usize)?, times.get(number as usize)?);
    let of_ops = collectives.runs.iter().filter(|run| {
        let op = collectives.ops.get(run.op as usize);
        run.device == number && op.is_some_and(|op| BETWEEN_STAGES.contains(&op.kind))
    });
    let between = IntervalSet::union_of(of_ops.map(|run| Interval::new(run.start, run.start + run.duration)));
    let exposed = time.exposed(StepPart::Communication).map(|exposed| exposed.intersection(&between));
    let exposed = device.set_to_host(&exposed.unwrap_or_default());
    let work = device.set_to_host(&device.busy).difference(&exposed);
    let mut sums = Times::default();
    for &span in &found.spans {
        let inside = work.clip(span);
        sums.work += inside.length();
        sums.communication += exposed.length_within(span);
        let Some(active) = inside.span() else { continue };
        sums.fill += active.start - span.start;
        sums.drain += span.end - active.end;
    }
    Some(sums)
}

fn names(devices: &Devices, stage: &FoundStage) -> Vec<String> {
    let names = stage.devices.iter().filter_map(|&device| devices.used.get(device as usize));
    names.map(|device| device.name.clone()).collect()
}
