//! Splits the time of each step into parts that add up to the step exactly, on every device.
//!
//! Reads the activity of the devices ([`DeviceTime`]) and of the hosts
//! ([`host_times`](crate::host::host_threads::host_times)), and the times of launches. A step is its window on the
//! device, from its start to the start of the next step ([`Steps`]). If steps are unknown, or the user rejects the
//! steps that were found, the active span of each device takes the place of a step. Sums are in picoseconds. Means are
//! computed last.

mod bands;
mod events;
mod idle;
mod launch_times;
mod mean;
mod meanwhile;
mod pass_gaps;
mod rows;
mod section;
mod window;

pub use events::StepEvent;
pub use mean::MeanPart;
pub use meanwhile::{WithoutInput, without_input};
pub(crate) use pass_gaps::{PassGap, PassGaps};

pub(crate) use section::{parts_of, section};

use std::collections::BTreeMap;

use crate::device::device_time::DeviceTime;
use crate::device::devices::Devices;
use crate::device::duty_cycle::DutyCycle;
use crate::device::overlap::Overlap;
use crate::host::host_threads::{HostThreads, HostTime, host_threads};
use crate::host::launches::CallIndex;
use crate::op::ops::Tallies;
use crate::step::step_part::{Parts, StepPart};
use crate::step::steps::{Launched, Steps};
use crate::step::window::{PlainWindow, Window, WindowKind};
use base::{Ps, sort};
use report::Step;
use trace::{Platform, Trace};

/// A step on one device or, if steps are unknown, the window of a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepRow {
    /// Index of the step, from 0. `None` for a window that is not a step.
    pub step: Option<u32>,
    /// Index into [`Devices::used`].
    pub device: u32,
    /// Start of the step.
    pub start: Ps,
    /// Length of the step: the sum of `parts`.
    pub duration: Ps,
    /// Time of the step by part.
    pub parts: Parts,
    /// Communication and copies in flight, exposed or overlapped.
    pub overlap: Overlap,
    /// Number of ops of the step: the ops that the host launched in it or, if launches are unknown, the ops that start
    /// in it.
    pub num_ops: u64,
    /// Time during which at least one op of the step runs, inside or outside the step.
    pub device_work: Ps,
    /// Time from the start of the step's annotation on the host to the first op that was launched in it.
    pub lag: Option<Ps>,
    /// Ops that the host launched in the step.
    pub launched: Option<Launched>,
    /// Time during which at least one thread of the host runs something other than a wait. `None` if the trace has no
    /// host thread.
    pub host_busy: Option<Ps>,
    /// True if no later step ended this step on this device.
    pub open: bool,
    /// True if the step is cut and its true length is unknown.
    pub partial: bool,
    /// True if the step is warm-up.
    pub warm_up: bool,
    /// True if the row is as long as the step: a later step ended the row, or no later step ended the step on any device.
    pub whole: bool,
    /// True if the means include the row.
    pub counted: bool,
}

/// The parts of every step on every device, and other statistics of steps.
#[derive(Clone, Debug, Default)]
pub struct Breakdown {
    /// Every step of the capture, sorted by step, then by device. Without steps, one row for the window of each device.
    pub rows: Vec<StepRow>,
    /// True if the rows are steps.
    pub has_steps: bool,
    /// Window that the means cover.
    pub window: WindowKind,
    /// Means over the counted rows of each device, as in [`Devices::used`]. `None` for a device without counted rows.
    pub mean_of_device: Vec<Option<MeanPart>>,
    /// Mean over counted steps and their devices. `None` if nothing ran.
    pub mean: Option<MeanPart>,
    /// Mean number of streams of a device that run an op at the same time. Only times when at least one stream runs an
    /// op are included. `None` if nothing ran.
    pub concurrency: Option<f64>,
    /// True if the trace contains launches of device work. Without launches, `host_bound` and `kernel_wait` are
    /// unknown.
    pub knows_launches: bool,
    /// True if the devices are TPUs. Other devices have no `barrier` and no infeed.
    pub(crate) is_tpu: bool,
    /// Duty cycle of the chips by XProf's definition (TPU).
    pub duty_cycle: Option<DutyCycle>,
    /// Time of each role of the hosts' threads. `None` if the trace has no host thread.
    pub host_threads: Option<HostThreads>,
}

/// Input of a [`Breakdown`].
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// The steps that were found.
    pub steps: &'a Steps,
    /// The report's entry for each step. Empty if the steps' windows are not used.
    pub judged: &'a [Step],
    /// The window that is measured if no step is counted.
    pub plain: &'a PlainWindow,
}

impl Breakdown {
    /// Measures the steps from the activity of the devices (`times`, as in [`Devices::used`]) and of the hosts, and from the
    /// launches (`calls`). Means cover the counted steps, or the plain window if no step is counted.
    pub fn new(
        trace: &Trace,
        devices: &Devices,
        times: &[DeviceTime],
        hosts: &BTreeMap<u16, HostTime>,
        calls: &CallIndex,
        Measured { steps, judged, plain }: Measured<'_>,
    ) -> Breakdown {
        let has_steps = !judged.is_empty() && judged.len() == steps.len();
        let any_counted = judged.iter().any(|step| step.counted);
        let (mut rows, mut whole): (Vec<StepRow>, Vec<StepRow>) = Default::default();
        for (index, (device, time)) in devices.used.iter().zip(times).enumerate() {
            let source = rows::RowSource { trace, devices, device, time, host: hosts.get(&device.host) };
            let index_of_device = u32::try_from(index).unwrap_or(u32::MAX);
            let measure = |rows| source.measure(calls, index_of_device, rows);
            if has_steps {
                let windows = steps.windows.get(index).map_or(&[][..], Vec::as_slice);
                rows.extend(measure(rows::of_steps(windows, judged)));
            }
            if let Some(&window) = plain.of_device.get(index).filter(|_| !has_steps || !any_counted) {
                whole.extend(measure(vec![rows::of_window(window)]));
            }
        }
        if !has_steps {
            rows.append(&mut whole);
        }
        rows::leave_out_open(&mut rows);
        let in_means = if whole.is_empty() { &mut rows } else { &mut whole };
        let mut mean_of_device = vec![None; devices.used.len()];
        for of_device in in_means.chunk_by(|a, b| a.device == b.device) {
            let device = of_device.first().and_then(|row| mean_of_device.get_mut(row.device as usize));
            if let Some(mean) = device {
                *mean = mean::of_rows(of_device, &|row| row.counted);
            }
        }
        // The rows of each device are in order, and a stable sort merges the rows of all devices.
        sort::sort_by_key(in_means, |row| row.step);
        let mean = mean::of_rows(in_means, &|row| row.counted);
        sort::sort_by_key(&mut rows, |row| row.step);
        Breakdown {
            mean,
            mean_of_device,
            has_steps,
            knows_launches: !calls.is_empty(),
            is_tpu: devices.platform == Some(Platform::Tpu),
            rows,
            ..Breakdown::default()
        }
    }

    /// Adds values that cover the window instead of steps. `devices` and their `tallies` are limited to the window.
    pub fn measure_window(
        &mut self,
        trace: &Trace,
        devices: &Devices,
        tallies: &Tallies,
        hosts: &BTreeMap<u16, HostTime>,
        window: &Window,
    ) {
        self.window =
            if self.has_steps && self.rows.iter().any(|row| row.counted) { WindowKind::Steps } else { window.kind };
        if let (WindowKind::GivenSteps, Some(count)) = (self.window, window.num_steps) {
            let means = self.mean_of_device.iter_mut().chain(std::iter::once(&mut self.mean));
            means.flatten().for_each(|mean| *mean = mean.of_each(count));
        }
        let busy: Ps = devices.used.iter().map(|device| device.busy.length()).sum();
        // Self times of one stream add up to its busy time.
        let stream_time: Ps = tallies.entries.iter().map(|(_, tally)| tally.self_time).sum();
        self.concurrency = (busy > Ps::ZERO).then(|| stream_time.as_ps() as f64 / busy.as_ps() as f64);
        self.duty_cycle = DutyCycle::new(trace, devices);
        self.host_threads = host_threads(hosts, |host| window.of_host(devices, host));
    }

    /// Returns false for a part that this run cannot have or that its trace does not show. The time of a part that is
    /// not measured is 0 and meaningless.
    pub fn measures(&self, part: StepPart) -> bool {
        match part {
            StepPart::HostBound | StepPart::KernelWait => self.knows_launches,
            StepPart::Compile | StepPart::InputBound => self.host_threads.is_some(),
            StepPart::Barrier | StepPart::InfeedOutfeed => self.is_tpu,
            _ => true,
        }
    }

    /// Returns the rows of each step in turn, one row per device.
    pub fn steps(&self) -> impl Iterator<Item = &[StepRow]> {
        self.rows.chunk_by(|a, b| a.step == b.step)
    }

    /// Returns the mean over the rows of one step, for one device or for all devices. Returns `None` if no row is as
    /// long as the step.
    pub fn mean_of_step(step: &[StepRow], device: Option<u32>) -> Option<MeanPart> {
        mean::of_rows(step, &|row| row.whole && device.is_none_or(|device| device == row.device))
    }
}

#[cfg(test)]
mod tests;
