//! Measures the idle time of a device between consecutive forward passes of an inference engine.
//!
//! ```text
//! passes   [decode 0              )[decode 1              )[decode 2
//! ops       [op )[op )[op )          [op )[op )[op     )---------[op )
//! gaps                     |--------|                       0: the op runs when pass 2 begins
//! ```

use std::collections::BTreeMap;

use super::events::idle;
use super::rows::gaps;
use super::{Breakdown, StepRow};
use crate::device::devices::Devices;
use crate::host::host_threads::HostTime;
use crate::host::launches::CallIndex;
use crate::step::step_part::Parts;
use crate::step::steps::Steps;
use base::{Ps, sort};
use facts::ServingPhase;
use trace::{Interval, Trace};

/// Idle time of a device between two consecutive counted passes of the same phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PassGap {
    /// Phase of both passes.
    pub phase: ServingPhase,
    /// Length of the gap: the sum of `causes`. 0 if the device runs an op when the second pass begins.
    pub length: Ps,
    /// Time of the gap by cause.
    pub causes: Parts,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct PassGaps {
    /// The gaps, sorted by device, then by time.
    pub gaps: Vec<PassGap>,
    /// Time of the counted passes of each phase, summed over devices.
    pub time: BTreeMap<ServingPhase, Ps>,
}

impl Breakdown {
    /// Measures the gaps of every device. There are no gaps if the steps are not forward passes.
    pub(crate) fn pass_gaps(
        &self,
        trace: &Trace,
        devices: &Devices,
        hosts: &BTreeMap<u16, HostTime>,
        calls: &CallIndex,
        steps: &Steps,
    ) -> PassGaps {
        let mut found = PassGaps::default();
        if steps.batches.is_empty() {
            return found;
        }
        let phase = |row: &StepRow| row.step.filter(|_| row.counted).and_then(|step| steps.phase(step as usize));
        let mut rows: Vec<&StepRow> = self.rows.iter().collect();
        sort::sort_by_key(&mut rows, |row| (row.device, row.start, row.step));
        for of_device in rows.chunk_by(|a, b| a.device == b.device) {
            for row in of_device {
                if let Some(phase) = phase(row) {
                    *found.time.entry(phase).or_default() += row.duration;
                }
            }
            let index = of_device.first().map_or(0, |row| row.device);
            let Some(device) = devices.used.get(index as usize) else { continue };
            let mut gaps = gaps(trace, devices, device, hosts.get(&device.host), calls);
            for (row, next) in of_device.iter().zip(of_device.iter().skip(1)) {
                let boundary = row.start + row.duration;
                let follows = next.start == boundary && next.step == row.step.map(|step| step.saturating_add(1));
                let Some(phase) = phase(row).filter(|&it| follows && phase(next) == Some(it)) else { continue };
                let before = idle(device, Interval::new(row.start, boundary)).last();
                let after = idle(device, Interval::new(boundary, boundary + next.duration)).next();
                let gap = Interval::new(
                    before.filter(|gap| gap.end == boundary).map_or(boundary, |gap| gap.start),
                    after.filter(|gap| gap.start == boundary).map_or(boundary, |gap| gap.end),
                );
                let mut causes = Parts::default();
                gaps.add(&mut causes, gap, gap.length());
                found.gaps.push(PassGap { phase, length: gap.length(), causes });
            }
        }
        found
    }
}
