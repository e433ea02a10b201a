//! Exposed communication as stretches of time: what a timeline shows.

use super::runs::Runs;
use crate::device_time::DeviceTime;
use crate::devices::Devices;
use trace::{Interval, StrId, Trace};

/// The stretches of every run of a collective in which its device computes nothing, with the name of the collective: one list a used
/// device, of which `times` has one entry each. Of the whole capture they add up to [`Run::exposed`](super::Run::exposed) exactly.
pub fn exposed_communication(trace: &Trace, devices: &Devices, times: &[DeviceTime]) -> Vec<Vec<(Interval, StrId)>> {
    let mut runs = Runs::new(trace, devices);
    let exposed = devices.used.iter().zip(times).map(|(device, time)| {
        let mut exposed: Vec<(Interval, StrId)> = Vec::new();
        runs.for_each(trace, device, |run| match time.compute() {
            Some(compute) => exposed.extend(compute.gaps(run.interval).into_iter().map(|gap| (gap, run.name))),
            None => exposed.push((run.interval, run.name)),
        });
        exposed
    });
    exposed.collect()
}
