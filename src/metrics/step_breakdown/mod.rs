//! Where the time of each step goes: parts that add up to the step exactly, on every device.

mod mean;
mod part;

pub use mean::Mean;
pub use part::{Part, Parts};

use super::devices::Devices;
use super::duty_cycle::DutyCycle;
use super::host_threads::HostThreads;
use super::overlap::Overlap;
use crate::trace::Trace;
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
    /// Time in which a thread of the host works; absent where the trace has no host thread.
    pub host_busy: Option<Ps>,
    /// No next step ended it on this device.
    pub open: bool,
    /// The step is cut, and its true length unknown.
    pub partial: bool,
    /// The step is warm-up.
    pub warm_up: bool,
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
    /// How busy the chips are by XProf's definition (TPU).
    pub duty_cycle: Option<DutyCycle>,
    /// What the threads of the hosts do; absent where the trace has none.
    pub host_threads: Option<HostThreads>,
}

impl StepBreakdown {
    /// Measures `trace`.
    pub fn new(_trace: &Trace, _devices: &Devices) -> StepBreakdown {
        StepBreakdown::default()
    }
}
