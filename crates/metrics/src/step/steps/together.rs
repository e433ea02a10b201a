//! Determines whether the devices run their steps together, as parts of one program, or separately.
//!
//! The steps of devices are aligned by number or rank, never by time (`align`). The alignment does not show whether the
//! i-th steps of two devices are related. Devices that communicate through collectives run their steps together. If no
//! collective runs in the steps, the times decide. The stages of a pipeline run their steps together, even if the last stage
//! starts much later than the first.
//!
//! ```text
//! together            device 0  [=0==][=1==][=2==]          same step at about the same time
//!                     device 1   [=0==][=1==][=2==]
//! independent         device 0  [=0==][=1==][=2==][=3==]    a step starts more than a step apart
//!                     device 1        [=0==][=1==][=2==]
//! one after another   device 0  [=0==][=1==]                the devices rarely run steps at the same time
//!                     device 1                [=2==][=3==]
//! ```
//!
//! Devices that run one after another have no step in common, so each step of each device is a separate step.

use super::{StepSource, StepWindow, Steps};
use crate::common::statistics::median;
use crate::device::device_time::DeviceTime;
use crate::step::step_part::StepPart;
use base::{Ps, sort};
use trace::{Interval, IntervalSet};

/// Relation between the steps of several devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepsTogether {
    /// All devices run each step together.
    StepsTogether,
    /// The devices run at the same time, but separately.
    Independent,
    /// The devices run one after another.
    OneAfterAnother,
}

impl StepsTogether {
    /// Returns the name that the report uses.
    pub fn label(self) -> &'static str {
        match self {
            StepsTogether::StepsTogether => "together",
            StepsTogether::Independent => "independent",
            StepsTogether::OneAfterAnother => "one_after_another",
        }
    }
}

/// Statistics of the relation between the devices' steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relation {
    /// Relation between the devices' steps.
    pub together: StepsTogether,
    /// Time from the earliest to the latest start of the same step, before the devices' steps were separated. Median
    /// over the steps that several devices ran. `None` if no step ran on several devices.
    pub start_skew: Option<Ps>,
    /// Number of steps that a later step ended, over all devices.
    pub ended: u64,
    /// Time during which at least one device runs a step that a later step ended.
    pub running: Ps,
}

impl Relation {
    /// Returns the number of ended steps per second, over all devices and over the time when at least one of these
    /// steps runs. Returns `None` if no step ended, or if devices run their steps together.
    pub fn steps_per_sec(&self) -> Option<f64> {
        (self.running > Ps::ZERO && self.together != StepsTogether::StepsTogether)
            .then(|| self.ended as f64 / (self.running.as_us() / 1e6))
    }
}

impl Steps {
    /// Finds the relation between the devices' steps ([`Steps::relation`]), and separates the steps of devices that run one
    /// after another. `times` has one entry for each of [`Devices::used`](crate::device::devices::Devices::used).
    #[must_use]
    pub fn related(mut self, times: &[DeviceTime]) -> Steps {
        let extents: Vec<Interval> = self.windows.iter().filter_map(|row| extent(row)).collect();
        if extents.len() < 2 {
            return self;
        }
        let start_skew = start_skew(&self.windows);
        let together = if self.source == StepSource::Pipeline || tied(&self.windows, times) {
            StepsTogether::StepsTogether
        } else if barely_meet(&extents) {
            StepsTogether::OneAfterAnother
        } else if start_skew.is_some_and(|skew| skew > median_length(&self.windows)) {
            StepsTogether::Independent
        } else {
            StepsTogether::StepsTogether
        };
        let ended = || self.windows.iter().flatten().flatten().filter(|window| !window.open);
        let running = IntervalSet::union_of(ended().map(|window| window.interval)).length();
        self.relation = Some(Relation { together, start_skew, ended: ended().count() as u64, running });
        if together == StepsTogether::OneAfterAnother { self.separated() } else { self }
    }

    /// Makes each window a separate step. The new steps are sorted by time.
    fn separated(mut self) -> Steps {
        let windows = self.windows.iter().enumerate().flat_map(|(device, row)| {
            row.iter().enumerate().filter_map(move |(step, window)| window.map(|window| (window, device, step)))
        });
        let mut steps: Vec<(StepWindow, usize, usize)> = windows.collect();
        sort::sort_by_key(&mut steps, |(window, device, step)| (window.interval.start, *device, *step));
        self.names = steps.iter().map(|&(_, _, step)| self.names.get(step).cloned().flatten()).collect();
        let row = |of: usize| steps.iter().map(|&(window, device, _)| (device == of).then_some(window)).collect();
        self.windows = (0..self.windows.len()).map(row).collect();
        self
    }
}

fn extent(row: &[Option<StepWindow>]) -> Option<Interval> {
    let windows = || row.iter().flatten().map(|window| window.interval);
    Some(Interval::new(windows().map(|w| w.start).min()?, windows().map(|w| w.end).max()?))
}

/// Returns true if collectives run in the steps of at least two devices.
fn tied(windows: &[Vec<Option<StepWindow>>], times: &[DeviceTime]) -> bool {
    let communicates = |(row, time): &(&Vec<Option<StepWindow>>, &DeviceTime)| {
        let sets = || time.parts().filter(|(part, _)| *part == StepPart::Communication).map(|(_, set)| set);
        row.iter().flatten().any(|window| {
            time.communication.length_within(window.interval) > Ps::ZERO
                || sets().any(|set| set.length_within(window.interval) > Ps::ZERO)
        })
    };
    windows.iter().zip(times).filter(communicates).count() > 1
}

/// Returns true if the devices' extents overlap for less than half of the shortest extent.
fn barely_meet(extents: &[Interval]) -> bool {
    let starts = extents.iter().map(|extent| extent.start);
    let ends = extents.iter().map(|extent| extent.end);
    let shortest = extents.iter().map(|extent| extent.length()).min().unwrap_or_default();
    let common = starts.max().zip(ends.min()).map_or(Ps::ZERO, |(start, end)| (end - start).max(Ps::ZERO));
    common.as_ps() < shortest.as_ps() / 2
}

fn start_skew(windows: &[Vec<Option<StepWindow>>]) -> Option<Ps> {
    let steps = windows.iter().map(Vec::len).max().unwrap_or(0);
    let of_step = |step: usize| {
        let starts = || windows.iter().filter_map(|row| row.get(step).copied().flatten()).map(|it| it.interval.start);
        let (first, last) = (starts().min()?, starts().max()?);
        (starts().count() > 1).then_some((last - first).as_ps() as f64)
    };
    median(&(0..steps).filter_map(of_step).collect::<Vec<f64>>()).map(|skew| Ps::new(skew as i64))
}

fn median_length(windows: &[Vec<Option<StepWindow>>]) -> Ps {
    let ended = windows.iter().flatten().flatten().filter(|window| !window.open);
    let lengths: Vec<f64> = ended.map(|window| window.interval.length().as_ps() as f64).collect();
    median(&lengths).map_or(Ps::MAX, |length| Ps::new(length as i64))
}
