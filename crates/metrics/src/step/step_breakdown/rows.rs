//! Measures one row for each step and device.

use super::StepRow;
use super::idle::{Causes, Gaps};
use super::launch_times::DeviceLaunches;
use crate::device::device_time::DeviceTime;
use crate::device::devices::{Device, Devices};
use crate::device::overlap::InFlight;
use crate::host::host_threads::HostTime;
use crate::host::launches::CallIndex;
use crate::step::step_part::Parts;
use crate::step::steps::{StepWindow, ops_starting_in};
use base::sort;
use report::Step;
use trace::{Interval, Trace};

/// Returns a row for each window of one device. The rows are not yet measured. `windows` and `judged` have one entry
/// per step.
pub(super) fn of_steps(windows: &[Option<StepWindow>], judged: &[Step]) -> Vec<StepRow> {
    let steps = windows.iter().zip(judged).zip(0u32..);
    steps
        .filter_map(|((window, judged), step)| {
            let window = (*window)?;
            Some(StepRow {
                step: Some(step),
                start: window.interval.start,
                duration: window.interval.length(),
                open: window.open,
                launched: window.launched,
                lag: window.lag(),
                partial: judged.partial,
                warm_up: judged.warm_up,
                counted: judged.counted,
                ..StepRow::default()
            })
        })
        .collect()
}

/// Returns the single row of a device whose steps are unknown or not counted.
pub(super) fn of_window(window: Interval) -> StepRow {
    StepRow { start: window.start, duration: window.length(), whole: true, counted: true, ..StepRow::default() }
}

/// Returns the idle times of a device, with the data that determines their causes.
pub(super) fn gaps<'a>(
    trace: &'a Trace,
    devices: &'a Devices,
    device: &'a Device,
    host: Option<&HostTime>,
    calls: &'a CallIndex,
) -> Gaps<'a> {
    let causes = Causes::new(trace, devices, device, host);
    Gaps::new(device, DeviceLaunches::new(trace, devices, device, calls), causes)
}

pub(super) struct RowSource<'a> {
    pub trace: &'a Trace,
    pub devices: &'a Devices,
    pub device: &'a Device,
    pub time: &'a DeviceTime,
    pub host: Option<&'a HostTime>,
}

impl RowSource<'_> {
    /// Measures the rows. Takes time linear in the number of ops, launches and rows if windows do not overlap. The
    /// windows of steps never overlap.
    pub(super) fn measure(&self, calls: &CallIndex, index: u32, mut rows: Vec<StepRow>) -> Vec<StepRow> {
        // In unusual traces, the steps may not begin in order, but gaps must be processed in order of time.
        let mut order: Vec<usize> = (0..rows.len()).collect();
        sort::sort_by_key(&mut order, |&row| rows.get(row).map(|row| row.start));
        let mut gaps = gaps(self.trace, self.devices, self.device, self.host, calls);
        let in_flight = InFlight::new(self.time);
        for row in order {
            let Some(row) = rows.get_mut(row) else { continue };
            let window = Interval::new(row.start, row.start + row.duration);
            row.device = index;
            row.parts = self.parts(window, &mut gaps);
            row.overlap = in_flight.within(window);
            let launched = row.launched;
            row.num_ops = launched.map_or_else(|| ops_starting_in(self.trace, self.device, window), |it| it.ops);
            row.device_work = launched.map_or_else(|| self.device.busy.length_within(window), |it| it.work);
            row.host_busy = self.host.map(|host| host.busy.length_within(window));
        }
        rows
    }

    fn parts(&self, window: Interval, gaps: &mut Gaps<'_>) -> Parts {
        let mut parts = Parts::default();
        for (part, set) in self.time.parts() {
            parts.add(part, set.length_within(window));
        }
        let idle = window.length() - parts.total();
        gaps.add(&mut parts, window, idle);
        parts
    }
}

/// Excludes open rows of a step that a later step ended on another device, because these rows are not as long as the step. Rows
/// must be grouped by device, as they are during the measurement.
pub(super) fn leave_out_open(rows: &mut [StepRow]) {
    let steps = rows.iter().filter_map(|row| row.step).max().map_or(0, |last| last as usize + 1);
    let mut closed = vec![false; steps];
    let place = |row: &StepRow| row.step.map(|step| step as usize);
    for row in rows.iter().filter(|row| !row.open) {
        if let Some(slot) = place(row).and_then(|step| closed.get_mut(step)) {
            *slot = true;
        }
    }
    for row in rows.iter_mut() {
        row.whole = !row.open || place(row).and_then(|step| closed.get(step)) != Some(&true);
        row.counted &= row.whole;
    }
}
