//! Builds the step sections of the report: timing, and one row per step.

use super::measure::{measure, ops_starting_in};
use super::{Relation, StepSource, Steps, StepsTogether, Tie, flags};
use crate::common::statistics;
use crate::device::device_time::DeviceTime;
use crate::device::devices::Devices;
use base::{Ps, Warning, WarningCode, format};
use facts::ServedBatch;
use report::{Step, StepTiming};
use trace::{Interval, IntervalSet, Trace};

#[derive(Clone, Debug, Default)]
pub(crate) struct StepReport {
    /// `step_timing`.
    pub timing: StepTiming,
    /// `steps`. Empty if no device op shows the work in the steps, or if the user gave a different number of steps.
    pub rows: Vec<Step>,
    /// Warnings about the steps.
    pub warnings: Vec<Warning>,
}

/// Reports on `steps`. `num_steps` is the number of steps that the user gave, `times` is the activity of the devices,
/// and `compile` contains the times when the host compiled. If the user chose which steps are counted, `chosen` has one
/// flag per step.
pub(crate) fn report(
    trace: &Trace,
    devices: &Devices,
    times: &[DeviceTime],
    steps: &Steps,
    compile: &IntervalSet,
    num_steps: Option<u64>,
    chosen: Option<&[bool]>,
) -> StepReport {
    let found = || found(trace, devices, times, steps, compile, chosen);
    match num_steps {
        Some(0) => {
            let mut report = found();
            report.warnings.push(Warning::new(
                WarningCode::NumStepsIgnored,
                "The given number of steps is 0, which is invalid. It was ignored.",
            ));
            report
        }
        Some(count) if count != steps.len() as u64 => overridden(trace, devices, steps, count),
        given => {
            let mut report = found();
            if given.is_some() {
                report.timing.step_count_source = StepSource::User.label().to_owned();
            }
            report
        }
    }
}

fn found(
    trace: &Trace,
    devices: &Devices,
    times: &[DeviceTime],
    steps: &Steps,
    compile: &IntervalSet,
    chosen: Option<&[bool]>,
) -> StepReport {
    let measured = measure(trace, devices, times, steps, compile);
    let apart = steps.relation.is_some_and(|relation| relation.together == StepsTogether::OneAfterAnother);
    let seen: Vec<flags::StepFacts> =
        measured.iter().zip(0usize..).map(|(step, index)| step.seen(apart, steps.phase(index))).collect();
    let mut flags = flags::judge(&seen);
    for (flags, &chosen) in flags.iter_mut().zip(chosen.unwrap_or_default()) {
        flags.counted = chosen;
    }
    let origin = devices.capture.map_or(Ps::ZERO, |capture| capture.start);
    let has_graphs = steps.launches_graphs == Some(true);
    let rows: Vec<Step> = measured
        .iter()
        .zip(&flags)
        .zip(&steps.names)
        .zip((0u64..).zip(steps.batches.iter().map(Some).chain(std::iter::repeat(None))))
        .map(|(((step, flags), name), (index, batch))| Step {
            index,
            name: name.clone(),
            clock_percent: None,
            start_us: (step.start.unwrap_or(origin) - origin).as_us(),
            duration_us: step.mean_us(step.duration),
            busy_us: step.mean_us(step.busy),
            compute_us: step.mean_us(step.compute),
            communication_us: step.mean_us(step.communication),
            transfer_us: step.mean_us(step.transfer),
            idle_us: step.mean_us(step.duration - step.busy),
            num_kernels: step.mean_count(step.ops),
            graph_launches: has_graphs.then(|| step.mean_count(step.graph_launches)),
            graph_kernels: has_graphs.then(|| step.mean_count(step.graph_ops)),
            device_work_us: Some(step.mean_us(step.device_work)),
            host_start_us: step.annotation.map(|annotation| (annotation.start - origin).as_us()),
            host_duration_us: step.annotation.map(|annotation| annotation.length().as_us()),
            lag_us: (step.lags > 0).then(|| step.lag.as_us() / step.lags as f64),
            partial: flags.partial,
            compiles: flags.compiles,
            warm_up: flags.warm_up,
            counted: flags.counted,
            phase: batch.and_then(ServedBatch::phase).map(|phase| phase.label().to_owned()),
            requests: batch.and_then(ServedBatch::requests),
            tokens: batch.and_then(ServedBatch::tokens),
            prefill_tokens: batch.and_then(ServedBatch::prefill_tokens),
            decode_tokens: batch.and_then(ServedBatch::decode_tokens),
        })
        .collect();
    let of_counted =
        |value: fn(&Step) -> f64| -> Vec<f64> { rows.iter().filter(|row| row.counted).map(value).collect() };
    let durations = of_counted(|row| row.duration_us);
    let summary = statistics::summarize(&durations);
    let of_some = |value: fn(&Step) -> Option<f64>| -> Vec<f64> {
        rows.iter().filter(|row| row.counted).filter_map(value).collect()
    };
    let work = of_some(|row| row.device_work_us);
    let has_ops = !devices.used.is_empty();
    let mean = |value| statistics::mean(&of_counted(value)).filter(|_| has_ops);
    let timing = StepTiming {
        num_steps: rows.len() as u64,
        total_time_us: mean_length_us(&extents(devices, steps)),
        avg_step_time_us: summary.map(|summary| summary.mean),
        total_kernels: total_ops(devices),
        kernels_per_step: mean(|row| row.num_kernels),
        step_count_source: steps.source.label().to_owned(),
        num_steps_counted: summary.map(|_| durations.len() as u64),
        median_step_time_us: summary.map(|summary| summary.median),
        p95_step_time_us: summary.map(|summary| summary.p95),
        min_step_time_us: summary.map(|summary| summary.min),
        max_step_time_us: summary.map(|summary| summary.max),
        stddev_step_time_us: summary.and_then(|summary| summary.stddev),
        step_marker: steps.marker.clone(),
        devices_in_step: steps.relation.map(|relation| relation.together.label().to_owned()),
        step_start_skew_us: steps.relation.and_then(|relation| relation.start_skew).map(Ps::as_us),
        device_work_us: statistics::mean(&work).filter(|_| has_ops),
        stddev_device_work_us: statistics::stddev(&work).filter(|_| has_ops),
        stddev_kernels_per_step: statistics::stddev(&of_counted(|row| row.num_kernels)).filter(|_| has_ops),
        device_work_tied_by: steps.tie.map(|tie| tie.label().to_owned()),
        host_step_time_us: host_step_time_us(&rows),
        device_lag_us: statistics::median(&of_some(|row| row.lag_us)),
    };
    StepReport {
        timing,
        rows: if has_ops { rows } else { Vec::new() },
        warnings: if has_ops { remarks(trace, steps, devices) } else { Vec::new() },
    }
}

/// Returns the mean time between the starts of consecutive annotations, over the counted steps. `None` if no counted
/// step has a next step.
fn host_step_time_us(rows: &[Step]) -> Option<f64> {
    let following = rows.iter().zip(rows.iter().skip(1)).filter(|(row, _)| row.counted);
    let times: Vec<f64> = following.filter_map(|(row, next)| Some(next.host_start_us? - row.host_start_us?)).collect();
    statistics::mean(&times)
}

/// Returns the warnings about the source of the steps, and about the way in which the devices run the steps.
fn remarks(trace: &Trace, steps: &Steps, devices: &Devices) -> Vec<Warning> {
    let mut warnings = match steps.source {
        StepSource::Unknown => unknown_steps(trace, steps),
        StepSource::HostSpans => from_host(trace, steps),
        StepSource::DeviceOps => from_devices(trace, steps),
        _ => Vec::new(),
    };
    warnings.extend(repeating_numbers(steps));
    warnings.extend(untied(steps));
    warnings.extend(steps.relation.as_ref().and_then(|relation| apart(relation, devices)));
    warnings
}

fn from_host(trace: &Trace, steps: &Steps) -> Vec<Warning> {
    let (Some(marker), Some((share, launches))) = (&steps.marker, steps.remarks.host_share) else { return Vec::new() };
    let why = steps.remarks.modules.as_ref().map(|why| format!(" and {why}")).unwrap_or_default();
    let does = if launches { "launch" } else { "cover" };
    let of = if launches { "busy time" } else { "time from their first op to their last" };
    let repeat = if steps.len() > 1 { "repeat on a Python thread and " } else { "" };
    let message = format!(
        "No step markers found{why}. The steps are {}: they {repeat}{does} {} of the devices' {of}.",
        format::shorten(marker, 80),
        format::percent(share)
    );
    vec![Warning::new(WarningCode::StepsFromHostSpans, message).with_remedy(mark_steps(trace))]
}

fn from_devices(trace: &Trace, steps: &Steps) -> Vec<Warning> {
    let why = steps.remarks.modules.as_ref().map(|why| format!(" and {why}")).unwrap_or_default();
    let message = format!(
        "No step markers found{why}. The steps are {}: every device repeats the same sequence of ops. Each step is \
         assumed to begin after the longest pause in the sequence.",
        steps.marker.as_deref().unwrap_or_default()
    );
    vec![Warning::new(WarningCode::StepsFromDeviceOps, message).with_remedy(mark_steps(trace))]
}

fn repeating_numbers(steps: &Steps) -> Option<Warning> {
    let distinct = steps.remarks.distinct_numbers?;
    let message = format!(
        "The step numbers repeat: {} {} have {} different {}. Each annotation is a step, and steps are numbered by \
         their position.",
        format::count(steps.len() as u64),
        steps.marker.as_deref().unwrap_or("annotations"),
        format::count(distinct),
        if distinct == 1 { "number" } else { "numbers" }
    );
    Some(Warning::new(WarningCode::StepNumbersRepeat, message))
}

/// A warning appears if at least this share of the ops, in percent, has no known launch. We chose this limit.
const UNTIED_PERCENT: f64 = 1.0;

/// Warns if device work cannot be assigned to the steps that launched it.
fn untied(steps: &Steps) -> Option<Warning> {
    let message = match (steps.tie?, steps.remarks.by_time) {
        (Tie::Time, _) => {
            "The trace does not connect device work with the steps that launched it: it has no correlation ids and no \
             run ids, and the runs of a program do not match its calls. Each op is assigned to the step in which it \
             runs. If devices run behind the host, the op was launched in an earlier step."
                .to_owned()
        }
        (_, Some([ops, by_time])) if 100.0 * by_time as f64 >= UNTIED_PERCENT * ops as f64 && by_time > 0 => format!(
            "{} of {} ops in the steps have no launch in the trace. They are assigned to the step in which they run.",
            format::count(by_time),
            format::count(ops)
        ),
        _ => return None,
    };
    Some(Warning::new(WarningCode::StepsTiedByTime, message))
}

/// Warns if a step does not run on all devices together.
fn apart(relation: &Relation, devices: &Devices) -> Option<Warning> {
    let count = format::count(devices.used.len() as u64);
    let skew = relation.start_skew.map(|skew| format::time_us(skew.as_us()));
    let first = skew.as_ref().map_or_else(String::new, |skew| format!(", and the first steps start {skew} apart"));
    let skew = skew.unwrap_or_default();
    let rate = relation.steps_per_sec().map_or_else(String::new, |rate| {
        format!(" Together they finish {} steps/s while any of them runs a step.", format::number(rate))
    });
    match relation.together {
        StepsTogether::StepsTogether => None,
        StepsTogether::Independent => Some(Warning::new(
            WarningCode::StepsIndependent,
            format!(
                "The {count} devices do not run their steps together: no collective connects them, and the starts of \
                 the same step differ by {skew}, more than a step. Step time and steps/s are per device, averaged \
                 over the devices.{rate}"
            ),
        )),
        StepsTogether::OneAfterAnother => Some(Warning::new(
            WarningCode::StepsOneAfterAnother,
            format!(
                "The {count} devices run their steps one after another: no collective connects them{first}. \
                 Each step belongs to one device, and step time and steps/s describe a single device.{rate}"
            ),
        )),
    }
}

/// Returns the instruction for marking steps in captures of this framework.
pub(crate) fn mark_steps(trace: &Trace) -> String {
    format!(
        "{} when capturing, or enter the number of steps on the Model page (--num-steps).",
        trace.framework.words().mark_steps
    )
}

fn unknown_steps(trace: &Trace, steps: &Steps) -> Vec<Warning> {
    let modules = steps.remarks.modules.as_deref().unwrap_or("there are no module runs");
    let message = format!(
        "No steps found: there are no step annotations and no Steps line, {modules}, and no span on the host repeats \
         for most of the time."
    );
    vec![Warning::new(WarningCode::StepsUnknown, message).with_remedy(mark_steps(trace))]
}

/// Reports the number of steps that the user gave, if it differs from the number of detected steps. Only means over the
/// detected steps are then available, or over the time of all ops if no steps were detected.
fn overridden(trace: &Trace, devices: &Devices, steps: &Steps, count: u64) -> StepReport {
    let extents = extents(devices, steps);
    let total_us = mean_length_us(&extents);
    let divisor = count as f64;
    let with_ops: Vec<_> =
        devices.used.iter().zip(&extents).filter_map(|(device, extent)| Some((device, (*extent)?))).collect();
    let per_step = |sum: f64| sum / with_ops.len() as f64 / divisor;
    let ops: u64 = with_ops.iter().map(|(device, extent)| ops_starting_in(trace, device, *extent)).sum();
    let any = !with_ops.is_empty();
    let timing = StepTiming {
        num_steps: count,
        total_time_us: total_us,
        avg_step_time_us: (total_us > 0.0).then_some(total_us / divisor),
        total_kernels: total_ops(devices),
        kernels_per_step: any.then(|| per_step(ops as f64)),
        step_count_source: StepSource::User.label().to_owned(),
        ..StepTiming::default()
    };
    let found = match (&steps.marker, steps.len()) {
        (Some(marker), found) => format!("The trace has {found} ({marker}), which were not used"),
        (None, _) => "The trace has no steps".to_owned(),
    };
    let message = format!(
        "The number of steps, {count}, was given. {found}. The step time is the total time divided by {count}."
    );
    StepReport { timing, rows: Vec::new(), warnings: vec![Warning::new(WarningCode::NumStepsOverridden, message)] }
}

/// Returns the time from the first step's start to the last step's end on every device. If no step was found, returns
/// each device's active span.
pub(crate) fn extents(devices: &Devices, steps: &Steps) -> Vec<Option<Interval>> {
    if steps.is_empty() {
        return devices.used.iter().map(|device| Some(device.span)).collect();
    }
    let extent = |row: &Vec<Option<super::StepWindow>>| {
        let windows = || row.iter().flatten().map(|window| window.interval);
        Some(Interval::new(windows().map(|w| w.start).min()?, windows().map(|w| w.end).max()?))
    };
    steps.windows.iter().map(extent).collect()
}

fn mean_length_us(extents: &[Option<Interval>]) -> f64 {
    let lengths: Vec<f64> = extents.iter().flatten().map(|extent| extent.length().as_us()).collect();
    statistics::mean(&lengths).unwrap_or(0.0)
}

fn total_ops(devices: &Devices) -> u64 {
    devices.used.iter().map(|device| device.ops.len() as u64).sum()
}
