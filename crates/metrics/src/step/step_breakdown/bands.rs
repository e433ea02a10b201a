//! Computes the parts of the steps as time ranges, which a timeline shows as coloured bands.
//!
//! ```text
//! step     [                                             )
//! device   [op 1   )  [all-reduce )                 [op 3)
//! bands    [compute)-h[communicat.)-compile-|-host--[comp)     the causes of a gap are in the order of the parts
//! ```
//!
//! The bands of each part add up exactly to that part of the step. Work is shown for the whole capture. Idle time is
//! shown only inside steps, because its causes are unknown elsewhere.

use std::collections::BTreeMap;

use super::Breakdown;
use super::events::idle;
use super::rows::gaps;
use crate::device::device_time::DeviceTime;
use crate::device::devices::Devices;
use crate::host::host_threads::HostTime;
use crate::host::launches::CallIndex;
use crate::step::step_part::{Parts, StepPart};
use trace::{Interval, Trace};

impl Breakdown {
    /// Returns the bands of every device in use over the whole capture, sorted by start. `times` has one entry per
    /// device in use.
    pub fn bands(
        &self,
        trace: &Trace,
        devices: &Devices,
        times: &[DeviceTime],
        hosts: &BTreeMap<u16, HostTime>,
        calls: &CallIndex,
    ) -> Vec<Vec<(Interval, StepPart)>> {
        let work = |time: &DeviceTime| {
            let bands = time.parts().flat_map(|(part, set)| set.parts().iter().map(move |&interval| (interval, part)));
            bands.collect::<Vec<_>>()
        };
        let mut bands: Vec<Vec<(Interval, StepPart)>> = times.iter().map(work).collect();
        for (index, (device, bands)) in (0u32..).zip(devices.used.iter().zip(&mut bands)) {
            let mut gaps = gaps(trace, devices, device, hosts.get(&device.host), calls);
            for row in self.rows.iter().filter(|row| row.device == index) {
                for gap in idle(device, Interval::new(row.start, row.start + row.duration)) {
                    let mut causes = Parts::default();
                    gaps.add(&mut causes, gap, gap.length());
                    let mut at = gap.start;
                    for part in StepPart::ALL {
                        let end = at + causes.get(part);
                        if end > at {
                            bands.push((Interval::new(at, end), part));
                        }
                        at = end;
                    }
                }
            }
            bands.sort_unstable_by_key(|(interval, _)| *interval);
        }
        bands
    }
}
