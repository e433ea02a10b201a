//! Finds the time ranges of exposed communication, for timelines.

use super::runs::Runs;
use crate::device::device_time::DeviceTime;
use crate::device::devices::Devices;
use trace::{Interval, StrId, Trace};

/// Returns the time ranges in which a collective runs and the device computes nothing, each with the name of the
/// collective. Returns one list per device in use; `times` has one entry for each. Over the whole capture the ranges
/// add up to [`Run::exposed`](super::Run::exposed) exactly.
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
