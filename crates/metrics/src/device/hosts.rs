//! Compares the hosts of a run: steps, idle time, communication and memory of the devices of each host.
//!
//! All numbers of a host come from the same devices and steps. For example, the slowest step of one host is never
//! combined with the idle time of another.

use crate::device::devices::Devices;
use crate::device::scores::StepSpread;
use crate::op::collectives::Collectives;
use crate::step::step_breakdown::{Breakdown, MeanPart, StepRow, parts_of};
use report::{DeviceMemory, HostStats};
use trace::Trace;

/// Returns the statistics of each host with devices in use, in the order of the devices.
pub(crate) fn hosts(
    trace: &Trace,
    devices: &Devices,
    breakdown: &Breakdown,
    collectives: &Collectives,
    memory: &[DeviceMemory],
) -> Vec<HostStats> {
    let mut rows: Vec<Vec<&StepRow>> = vec![Vec::new(); trace.hosts.len().max(1)];
    let host_of = |device: u32| devices.used.get(device as usize).map(|device| usize::from(device.host));
    for row in &breakdown.rows {
        if let Some(rows) = host_of(row.device).and_then(|host| rows.get_mut(host)) {
            rows.push(row);
        }
    }
    let peaks: rustc_hash::FxHashMap<&str, u64> =
        memory.iter().filter_map(|device| Some((device.device_name.as_str(), device.peak_bytes?))).collect();
    let mut first = 0u32;
    let mut hosts = Vec::new();
    for of_host in devices.used.chunk_by(|a, b| a.host == b.host) {
        let range = first..first + of_host.len() as u32;
        first = range.end;
        let host = of_host.first().map_or(0, |device| usize::from(device.host));
        let spread = rows.get(host).and_then(|rows| StepSpread::new(rows.iter().copied()));
        let mean = mean(breakdown, range.clone());
        let of_range = || range.clone().filter_map(|device| collectives.devices.get(device as usize));
        let compared: u64 = of_range().map(|device| device.sums.compared).sum();
        let time = |time: base::Ps| (compared > 0).then(|| time.as_us());
        hosts.push(HostStats {
            host: trace.hosts.get(host).filter(|_| trace.hosts.len() > 1).cloned(),
            num_devices: of_host.len() as u64,
            num_steps: mean.as_ref().filter(|_| breakdown.has_steps).map(|mean| mean.num_steps),
            step_time_us: mean.as_ref().map(|mean| mean.duration_us),
            median_step_us: spread.map(|spread| spread.median_us),
            slowest_step_us: spread.map(|spread| spread.slowest.as_us()),
            slowest_step: spread.map(|spread| u64::from(spread.slowest_step)),
            slowest_device: spread
                .and_then(|spread| Some(devices.used.get(spread.slowest_device as usize)?.name.clone())),
            parts: mean.as_ref().map(|mean| parts_of(breakdown, mean)),
            wait_time_us: time(of_range().map(|device| device.sums.wait).sum()),
            caused_wait_us: time(of_range().map(|device| device.caused).sum()),
            peak_memory_bytes: of_host.iter().filter_map(|device| peaks.get(device.name.as_str()).copied()).max(),
        });
    }
    hosts
}

/// Returns the mean over the steps of several devices. Every step of every device has the same weight. `num_steps` is
/// the largest number of steps of a device.
fn mean(breakdown: &Breakdown, devices: std::ops::Range<u32>) -> Option<MeanPart> {
    let means = || devices.clone().filter_map(|device| breakdown.mean_of_device.get(device as usize)?.as_ref());
    let all: f64 = means().map(|mean| mean.num_steps as f64).sum();
    let mut sum = MeanPart { num_steps: means().map(|mean| mean.num_steps).max()?, ..MeanPart::default() };
    for mean in means() {
        let weight = mean.num_steps as f64 / all.max(1.0);
        sum.duration_us += weight * mean.duration_us;
        sum.parts_us.iter_mut().zip(mean.parts_us).for_each(|(sum, part)| *sum += weight * part);
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_of_every_device_has_the_same_weight() {
        let mean_of = |num_steps, duration_us| Some(MeanPart { num_steps, duration_us, ..MeanPart::default() });
        let mean_of_device = vec![mean_of(3, 10.0), None, mean_of(1, 30.0), mean_of(9, 99.0)];
        let breakdown = Breakdown { mean_of_device, ..Breakdown::default() };
        let found = mean(&breakdown, 0..3).unwrap();
        assert_eq!((found.num_steps, found.duration_us), (3, 15.0));
        assert_eq!(mean(&breakdown, 1..2), None);
    }
}
