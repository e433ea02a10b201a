//! Computes the part of a run that is inside the window.

use crate::device::device_time::DeviceTime;
use crate::device::devices::{Device, holds};
use base::Ps;
use trace::{Interval, IntervalSet};

/// The window of one device, and the times in the window when the device computes.
pub(super) struct Inside<'a> {
    /// Window of the device. `None` if it covers all work of the device.
    window: Option<&'a IntervalSet>,
    compute: IntervalSet,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartOfRun {
    /// Length of the part.
    pub time: Ps,
    /// Time of the part during which the device computes nothing.
    pub exposed: Ps,
    /// True if the run starts inside the window.
    pub counts: bool,
    /// Correction to the number of runs, in billionths of a run. If an edge of the window cuts the run, this is the
    /// fraction of the run inside the window, minus 1 if `counts` is true. If no edge cuts the run, the correction is
    /// 0.
    pub missing: i64,
}

impl<'a> Inside<'a> {
    pub(super) fn new(device: &Device, window: &'a IntervalSet, time: Option<&DeviceTime>) -> Inside<'a> {
        let window = Some(window).filter(|window| !holds(window, device.span));
        let compute = time.and_then(DeviceTime::compute).cloned().unwrap_or_default();
        Inside { compute: window.map_or(compute.clone(), |window| compute.intersection(window)), window }
    }

    /// Returns the part of `run` that is inside the window, or `None` if the run is outside the window.
    pub(super) fn part(&self, run: Interval) -> Option<PartOfRun> {
        let hidden = self.compute.length_within(run);
        let Some(window) = self.window else {
            return Some(PartOfRun { time: run.length(), exposed: run.length() - hidden, counts: true, missing: 0 });
        };
        let (time, counts) = (window.length_within(run), window.contains(run.start));
        if !counts && time == Ps::ZERO {
            return None;
        }
        let billionths = match run.length() {
            Ps::ZERO => i64::from(counts) * 1_000_000_000,
            whole => (1e9 * time.as_ps() as f64 / whole.as_ps() as f64) as i64,
        };
        Some(PartOfRun {
            time,
            exposed: time - hidden,
            counts,
            missing: billionths - i64::from(counts) * 1_000_000_000,
        })
    }
}
