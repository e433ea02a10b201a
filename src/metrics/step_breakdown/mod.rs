//! Where the time of each step goes: parts that add up to the step exactly, on every device.
//!
//! Reads what the devices do ([`DeviceTime`]), what the hosts do ([`host_times`](super::host_threads::host_times)) and
//! when what was launched. A step is its window on the device, start to start ([`Steps`]); where steps are unknown, or the user says that
//! those found are wrong, the active span of each device takes the place of a step. Sums are in picoseconds; the division to
//! means is last.

mod events;
mod idle;
mod launch_times;
mod mean;
mod part;
mod rows;
mod section;

pub use events::StepEvent;
pub use mean::Mean;
pub use part::{Part, Parts};
pub use section::section;

use std::collections::BTreeMap;

use super::device_time::DeviceTime;
use super::devices::Devices;
use super::duty_cycle::DutyCycle;
use super::host_threads::{HostThreads, HostTime, host_threads};
use super::launches::CallIndex;
use super::overlap::Overlap;
use super::steps::Steps;
use crate::report::Step;
use crate::trace::Trace;
use crate::trace::classify::Platform;
use crate::units::Ps;

/// One step on one device; where steps are unknown, the active span of a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepRow {
    /// Which step, from 0; absent for an active span.
    pub step: Option<u32>,
    /// Index into [`Devices::used`].
    pub device: u32,
    /// Where it begins.
    pub start: Ps,
    /// How long it is: the sum of `parts`.
    pub duration: Ps,
    /// What happened in it.
    pub parts: Parts,
    /// Communication and copies in flight, hidden or not.
    pub overlap: Overlap,
    /// Ops that start in it.
    pub num_ops: u64,
    /// Time in which a thread of the host does anything but wait; absent where the trace has no host thread.
    pub host_busy: Option<Ps>,
    /// No next step ended it on this device.
    pub open: bool,
    /// The step is cut, and its true length unknown.
    pub partial: bool,
    /// The step is warm-up.
    pub warm_up: bool,
    /// Its length is that of the step: a next step ended it, or none did on any device.
    pub whole: bool,
    /// It is in the means.
    pub counted: bool,
}

/// The parts of every step on every device, and what else is said of steps.
#[derive(Clone, Debug, Default)]
pub struct StepBreakdown {
    /// By step, then by device. Without steps one row a device: its active span.
    pub rows: Vec<StepRow>,
    /// True where the rows are steps.
    pub has_steps: bool,
    /// Means over the counted rows of each device, as in [`Devices::used`]; absent for a device without one.
    pub mean_of_device: Vec<Option<Mean>>,
    /// Mean over counted steps and their devices; absent where nothing ran.
    pub mean: Option<Mean>,
    /// Mean number of streams that run an op at once, while one runs, all devices; absent where nothing ran.
    pub concurrency: Option<f64>,
    /// The trace tells when device work was launched: only then are `host_bound` and `kernel_wait` known.
    pub knows_launches: bool,
    /// The devices are TPUs: others have no `barrier` and no infeed.
    is_tpu: bool,
    /// How busy the chips are by XProf's definition (TPU).
    pub duty_cycle: Option<DutyCycle>,
    /// What the threads of the hosts do; absent where the trace has none.
    pub host_threads: Option<HostThreads>,
}

impl StepBreakdown {
    /// Measures the steps that `judged` reports (empty where the windows of `steps` are not to be used), from what the devices do
    /// (`times`, as in [`Devices::used`]), what the hosts do and what they launched when (`calls`).
    pub fn new(
        trace: &Trace,
        devices: &Devices,
        times: &[DeviceTime],
        hosts: &BTreeMap<u16, HostTime>,
        calls: &CallIndex,
        steps: &Steps,
        judged: &[Step],
    ) -> StepBreakdown {
        let has_steps = !judged.is_empty() && judged.len() == steps.len();
        let mut rows: Vec<StepRow> = Vec::new();
        for (index, (device, time)) in devices.used.iter().zip(times).enumerate() {
            let windows = if has_steps {
                rows::of_steps(steps.windows.get(index).map_or(&[], Vec::as_slice), judged)
            } else {
                vec![rows::active_span(device)]
            };
            let source = rows::Source { trace, devices, device, time, host: hosts.get(&device.host) };
            rows.extend(source.measure(calls, u32::try_from(index).unwrap_or(u32::MAX), windows));
        }
        rows::leave_out_open(&mut rows);
        let mut mean_of_device = vec![None; devices.used.len()];
        for of_device in rows.chunk_by(|a, b| a.device == b.device) {
            let device = of_device.first().and_then(|row| mean_of_device.get_mut(row.device as usize));
            if let Some(mean) = device {
                *mean = mean::of_rows(of_device, &|row| row.counted);
            }
        }
        // Rows of one device are in order; a stable sort merges those of all devices.
        rows.sort_by_key(|row| row.step);
        let busy: Ps = devices.used.iter().map(|device| device.busy.length()).sum();
        let stream_time: Ps = times.iter().map(|time| time.stream_time).sum();
        StepBreakdown {
            mean: mean::of_rows(&rows, &|row| row.counted),
            mean_of_device,
            has_steps,
            concurrency: (busy > Ps::ZERO).then(|| stream_time.0 as f64 / busy.0 as f64),
            knows_launches: !calls.is_empty(),
            is_tpu: devices.platform == Some(Platform::Tpu),
            duty_cycle: DutyCycle::new(trace, devices),
            host_threads: host_threads(hosts, devices),
            rows,
        }
    }

    /// False for a part that this run cannot have or that its trace cannot tell: its time is 0 and means nothing.
    pub fn measures(&self, part: Part) -> bool {
        match part {
            Part::HostBound | Part::KernelWait => self.knows_launches,
            Part::Compile | Part::InputBound => self.host_threads.is_some(),
            Part::Barrier | Part::InfeedOutfeed => self.is_tpu,
            _ => true,
        }
    }

    /// The rows of each step, one a device, in order.
    pub fn steps(&self) -> impl Iterator<Item = &[StepRow]> {
        self.rows.chunk_by(|a, b| a.step == b.step)
    }

    /// The mean over the rows of one step, of one device or of all; `None` where no row has the length of the step.
    pub fn mean_of_step(step: &[StepRow], device: Option<u32>) -> Option<Mean> {
        mean::of_rows(step, &|row| row.whole && device.is_none_or(|device| device == row.device))
    }
}

#[cfg(test)]
mod tests;
