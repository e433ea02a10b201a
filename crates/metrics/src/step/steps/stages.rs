//! Finds the steps of a pipeline whose stages run programs of their own: each repetition of the order of programs on
//! the first stage is a step. A single program run is not a step, because each program runs once per microbatch.

use super::Mark;
use super::align::Aligned;
use crate::device::devices::Devices;
use crate::device::stages::Stages;
use trace::{Interval, Trace};

pub(super) struct Found {
    pub marks: Aligned,
    /// Description of the steps.
    pub marker: String,
}

/// Returns the steps of a pipeline, or `None` if the capture shows no pipeline. A mark lasts from the start of a step's
/// first run on a device to the end of the step's last run on that device.
pub(super) fn find(trace: &Trace, devices: &Devices) -> Option<Found> {
    let stages = Stages::find(trace, devices)?;
    let bounds = stages.bounds()?;
    let num_steps = bounds.len().checked_sub(1)?;
    let of_device = |index: u32| {
        let mut marks: Vec<Option<Mark>> = vec![None; num_steps];
        let Some(device) = devices.used.get(index as usize) else { return marks };
        for (step, run) in stages.steps_of_runs(index, &bounds, true) {
            let Some(mark) = marks.get_mut(step) else { continue };
            let start = device.time_from_host(run.interval.start);
            let end = device.time_from_host(run.interval.end);
            let earlier = mark.map_or(Interval::new(start, end), |mark| mark.interval);
            let interval = Interval::new(earlier.start.min(start), earlier.end.max(end));
            *mark = Some(Mark { interval, key: None });
        }
        marks
    };
    let runs = bounds.get(1).copied().unwrap_or_default() as u64;
    let marker = format!(
        "{} on the first of {} pipeline stages",
        base::format::counted(runs, "program run"),
        base::format::count(stages.stages.len() as u64)
    );
    Some(Found { marks: (0..devices.used.len() as u32).map(of_device).collect(), marker })
}
