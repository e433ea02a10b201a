//! Measures each step: sums over the devices that ran it.

use super::flags::StepFacts;
use super::{StepWindow, Steps};
use crate::device::device_time::DeviceTime;
use crate::device::devices::{Device, Devices};
use crate::step::step_part::StepPart;
use base::Ps;
use facts::ServingPhase;
use trace::{Interval, IntervalSet, Trace};

/// Sums over the windows of one step, in exact picoseconds. If a later step ended the step on any device, leaves out the open
/// windows of other devices.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    /// Number of windows in the sums.
    pub windows: u64,
    /// Earliest start.
    pub start: Option<Ps>,
    pub duration: Ps,
    pub busy: Ps,
    /// Time during which at least one op of the step runs, inside or outside the windows.
    pub device_work: Ps,
    pub compute: Ps,
    pub communication: Ps,
    pub transfer: Ps,
    pub compile: Ps,
    pub ops: u64,
    pub graph_launches: u64,
    pub graph_ops: u64,
    /// Sum of the times from the annotation to the first op, over the `lags` windows where this time is known.
    pub lag: Ps,
    pub lags: u64,
    /// The earliest annotation, on its device's clock.
    pub annotation: Option<Interval>,
    pub open: bool,
    /// The device of the last window in the sums.
    pub device: usize,
}

impl Measured {
    pub(super) fn mean_us(&self, sum: Ps) -> f64 {
        if self.windows == 0 { 0.0 } else { sum.as_us() / self.windows as f64 }
    }

    pub(super) fn mean_count(&self, sum: u64) -> f64 {
        if self.windows == 0 { 0.0 } else { sum as f64 / self.windows as f64 }
    }

    /// Returns the measurements that decide whether the step is counted. `apart` is true if the step belongs to one
    /// device only, and `phase` is the phase of an inference engine's step.
    pub(super) fn seen(&self, apart: bool, phase: Option<ServingPhase>) -> StepFacts {
        let duration = self.duration.as_ps() as f64;
        StepFacts {
            duration_us: self.mean_us(self.duration),
            idle_us: self.mean_us(self.duration - self.busy),
            is_behind: self.annotation.zip(self.start).is_some_and(|(annotation, start)| annotation.start < start),
            open: self.open,
            ops: self.mean_count(self.ops),
            compile_share: if duration > 0.0 { self.compile.as_ps() as f64 / duration } else { 0.0 },
            only_on: apart.then_some(self.device),
            phase,
        }
    }
}

pub(super) fn measure(
    trace: &Trace,
    devices: &Devices,
    times: &[DeviceTime],
    steps: &Steps,
    compile: &IntervalSet,
) -> Vec<Measured> {
    let mut measured: Vec<Measured> = vec![Measured { open: true, ..Measured::default() }; steps.len()];
    for row in &steps.windows {
        for (sums, window) in measured.iter_mut().zip(row) {
            sums.open &= window.is_none_or(|window| window.open);
        }
    }
    for (index, row) in steps.windows.iter().enumerate() {
        let device = devices.used.get(index).zip(times.get(index));
        for (sums, window) in measured.iter_mut().zip(row) {
            if let Some(window) = window.filter(|window| sums.open || !window.open) {
                sums.device = index;
                add(trace, sums, window, device, compile);
            }
        }
    }
    measured
}

fn add(
    trace: &Trace,
    sums: &mut Measured,
    window: StepWindow,
    device: Option<(&Device, &DeviceTime)>,
    compile: &IntervalSet,
) {
    let time = window.interval;
    sums.windows += 1;
    sums.start = Some(sums.start.map_or(time.start, |start| start.min(time.start)));
    sums.duration += time.length();
    sums.compile += compile.length_within(time);
    if let Some((device, device_time)) = device {
        sums.busy += device.busy.length_within(time);
        for (part, set) in device_time.parts() {
            let sum = match part {
                StepPart::Compute => &mut sums.compute,
                StepPart::Communication => &mut sums.communication,
                _ => &mut sums.transfer,
            };
            *sum += set.length_within(time);
        }
        sums.ops += window.num_ops(trace, device);
        sums.device_work += window.device_work(device);
    }
    if let Some(launched) = window.launched {
        sums.graph_launches += u64::from(launched.graph_launches);
        sums.graph_ops += u64::from(launched.graph_ops);
    }
    if let Some(lag) = window.lag() {
        sums.lag += lag;
        sums.lags += 1;
    }
    if let Some(annotation) = window.annotation {
        sums.annotation = Some(sums.annotation.map_or(annotation, |first| first.min(annotation)));
    }
}

/// Returns the number of ops of `device` that start inside `window`.
pub(crate) fn ops_starting_in(trace: &Trace, device: &Device, window: Interval) -> u64 {
    let before =
        |time: Ps| device.ops.partition_point(|&id| trace.events.time(id).is_some_and(|(start, _)| start < time));
    before(window.end).saturating_sub(before(window.start)) as u64
}
