//! The step sections of the report: timing, one row a step, and the means that utilisation is made of.

use super::measure::{Measured, measure, ops_starting_in};
use super::{StepSource, Steps, flags};
use crate::metrics::device_time::DeviceTime;
use crate::metrics::devices::Devices;
use crate::metrics::statistics;
use crate::report::{Step, StepTiming};
use crate::trace::{Interval, IntervalSet, Trace};
use crate::units::Ps;
use crate::warning::Warning;

/// How long a device is busy and idle in a step: means over devices and counted steps, in microseconds. Their sum is the
/// mean step time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Occupancy {
    /// At least one op runs.
    pub busy_us: f64,
    /// The rest of the step.
    pub idle_us: f64,
}

/// Everything that is said of the steps.
#[derive(Clone, Debug, Default)]
pub struct StepReport {
    /// `step_timing`.
    pub timing: StepTiming,
    /// `steps`: empty where no device op tells what happened in them, or where the user's count says they are wrong.
    pub rows: Vec<Step>,
    /// `None` where steps are unknown or no device was used.
    pub occupancy: Option<Occupancy>,
    /// What the reader should know about the steps.
    pub warnings: Vec<Warning>,
}

/// Reports on `steps`, with the user's own count `num_steps` where given; `times` is what the devices do, `compile` when the
/// host compiled.
pub fn report(
    trace: &Trace,
    devices: &Devices,
    times: &[DeviceTime],
    steps: &Steps,
    compile: &IntervalSet,
    num_steps: Option<u64>,
) -> StepReport {
    match num_steps {
        Some(0) => {
            let mut report = found(trace, devices, times, steps, compile);
            report.warnings.push(Warning::caution(
                "num_steps_ignored",
                "The given number of steps is 0, which no capture has; it was ignored.",
            ));
            report
        }
        Some(count) if count != steps.len() as u64 => overridden(trace, devices, steps, count),
        given => {
            let mut report = found(trace, devices, times, steps, compile);
            if given.is_some() {
                report.timing.step_count_source = StepSource::User.label().to_owned();
            }
            report
        }
    }
}

fn found(trace: &Trace, devices: &Devices, times: &[DeviceTime], steps: &Steps, compile: &IntervalSet) -> StepReport {
    let measured = measure(trace, devices, times, steps, compile);
    let seen: Vec<flags::Seen> = measured.iter().map(Measured::seen).collect();
    let flags = flags::judge(&seen);
    let origin = devices.capture.map_or(Ps::ZERO, |capture| capture.start);
    let rows: Vec<Step> = measured
        .iter()
        .zip(&flags)
        .zip(&steps.names)
        .zip(0u64..)
        .map(|(((step, flags), name), index)| Step {
            index,
            name: name.clone(),
            start_us: (step.start.unwrap_or(origin) - origin).as_us(),
            duration_us: step.mean_us(step.duration),
            busy_us: step.mean_us(step.busy),
            compute_us: step.mean_us(step.compute),
            communication_us: step.mean_us(step.communication),
            transfer_us: step.mean_us(step.transfer),
            idle_us: step.mean_us(step.duration - step.busy),
            num_kernels: step.mean_ops(),
            partial: flags.partial,
            warm_up: flags.warm_up,
            counted: flags.counted,
        })
        .collect();
    let of_counted =
        |value: fn(&Step) -> f64| -> Vec<f64> { rows.iter().filter(|row| row.counted).map(value).collect() };
    let durations = of_counted(|row| row.duration_us);
    let summary = statistics::summarize(&durations);
    let has_ops = !devices.used.is_empty();
    let mean = |value| statistics::mean(&of_counted(value)).filter(|_| has_ops);
    let occupancy = mean(|row| row.busy_us).zip(mean(|row| row.idle_us));
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
    };
    StepReport {
        timing,
        occupancy: occupancy.map(|(busy_us, idle_us)| Occupancy { busy_us, idle_us }),
        rows: if has_ops { rows } else { Vec::new() },
        warnings: if has_ops { unknown_steps(steps) } else { Vec::new() },
    }
}

fn unknown_steps(steps: &Steps) -> Vec<Warning> {
    if steps.source != StepSource::Unknown {
        return Vec::new();
    }
    let warning = Warning::note(
        "steps_unknown",
        "The trace does not tell where a step begins: it has no step annotations, no Steps line and no module runs.",
    );
    vec![warning.with_remedy(
        "Give the number of steps (--num-steps N, or the field on the page), or wrap each step in \
         jax.profiler.StepTraceAnnotation(\"train\", step_num=i) when capturing.",
    )]
}

/// The user's count where the trace says otherwise: only means can be given, over the time in which the found steps (or
/// else all ops) ran.
fn overridden(trace: &Trace, devices: &Devices, steps: &Steps, count: u64) -> StepReport {
    let extents = extents(devices, steps);
    let total_us = mean_length_us(&extents);
    let divisor = count as f64;
    let with_ops: Vec<_> =
        devices.used.iter().zip(&extents).filter_map(|(device, extent)| Some((device, (*extent)?))).collect();
    let per_step = |sum: f64| sum / with_ops.len() as f64 / divisor;
    let busy: Ps = with_ops.iter().map(|(device, extent)| device.busy.length_within(*extent)).sum();
    let idle: Ps = with_ops.iter().map(|(device, extent)| extent.length() - device.busy.length_within(*extent)).sum();
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
        (None, _) => "The trace itself does not tell them".to_owned(),
    };
    let message = format!(
        "The number of steps, {count}, was given by the user. {found}; the step time is the total time divided by {count}."
    );
    StepReport {
        timing,
        rows: Vec::new(),
        occupancy: any.then(|| Occupancy { busy_us: per_step(busy.as_us()), idle_us: per_step(idle.as_us()) }),
        warnings: vec![Warning::note("num_steps_overridden", message)],
    }
}

/// First step's start to last step's end of every device; its active span where no step was found.
fn extents(devices: &Devices, steps: &Steps) -> Vec<Option<Interval>> {
    if steps.is_empty() {
        return devices.used.iter().map(|device| Some(device.span)).collect();
    }
    let extent = |row: &Vec<Option<super::Window>>| {
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
