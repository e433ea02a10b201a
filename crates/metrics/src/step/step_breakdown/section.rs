//! Builds the step breakdown section of the report.

use super::meanwhile::meanwhile;
use super::{Breakdown, MeanPart, StepPart, StepRow};
use crate::device::devices::{Device, Devices};
use crate::host::host_threads::{HostRole, HostThreads};
use crate::step::window::{Window, WindowKind};
use base::Ps;
use report::{HostRoleTime, StepBreakdownDevice, StepBreakdownStep, StepParts};
use trace::Trace;

/// Maximum number of steps in the report. The table of steps always contains all steps.
const MOST_STEPS: usize = 1000;

/// Builds the section. Returns `None` if nothing ran. `captured` are the devices over the whole capture, and `devices`
/// are the devices inside the window.
pub(crate) fn section(
    trace: &Trace,
    breakdown: &Breakdown,
    captured: &Devices,
    devices: &Devices,
    window: &Window,
) -> Option<report::StepBreakdown> {
    let mean = breakdown.mean.as_ref()?;
    let mut steps = steps(breakdown);
    let host_meanwhile = meanwhile(trace, breakdown, captured, window, &mut steps);
    let duty = breakdown.duty_cycle.as_ref();
    let threads = breakdown.host_threads.as_ref();
    Some(report::StepBreakdown {
        window: breakdown.window.label().to_owned(),
        num_steps: matches!(breakdown.window, WindowKind::Steps | WindowKind::GivenSteps).then_some(mean.num_steps),
        duration_us: mean.duration_us,
        parts: parts_of(breakdown, mean),
        communication_overlap_percent: mean.communication_overlap_percent(),
        transfer_overlap_percent: mean.transfer_overlap_percent(),
        stream_concurrency: breakdown.concurrency,
        device_busy_us: mean.busy_us(),
        host_busy_us: mean.host_busy_us,
        duty_cycle_percent: duty.and_then(|duty| duty.percent()),
        chip_idle_percent: duty.and_then(|duty| duty.idle_percent()),
        devices: of_devices(breakdown, devices),
        host_roles: threads.map(host_roles).unwrap_or_default(),
        host_idle_percent: threads.and_then(|threads| threads.percent(threads.idle)),
        host_meanwhile,
        steps,
    })
}

/// Returns the mean time of each part that the trace can show.
pub(crate) fn parts_of(breakdown: &Breakdown, mean: &MeanPart) -> StepParts {
    let measured = |part| breakdown.measures(part).then(|| mean.part_us(part));
    StepParts {
        compute_us: mean.part_us(StepPart::Compute),
        communication_us: mean.part_us(StepPart::Communication),
        h2d_us: mean.part_us(StepPart::HostToDevice),
        d2h_us: mean.part_us(StepPart::DeviceToHost),
        p2p_us: mean.part_us(StepPart::PeerToPeer),
        d2d_us: mean.part_us(StepPart::DeviceToDevice),
        infeed_outfeed_us: measured(StepPart::InfeedOutfeed),
        data_movement_us: mean.part_us(StepPart::DataMovement),
        barrier_us: measured(StepPart::Barrier),
        compile_us: measured(StepPart::Compile),
        input_bound_us: measured(StepPart::InputBound),
        host_bound_us: measured(StepPart::HostBound),
        kernel_wait_us: measured(StepPart::KernelWait),
        other_idle_us: mean.part_us(StepPart::OtherIdle),
    }
}

fn of_devices(breakdown: &Breakdown, devices: &Devices) -> Vec<StepBreakdownDevice> {
    let device = |(device, mean): (&Device, &Option<MeanPart>)| {
        let mean = mean.as_ref()?;
        Some(StepBreakdownDevice {
            device_name: device.name.clone(),
            num_steps: mean.num_steps,
            duration_us: mean.duration_us,
            parts: parts_of(breakdown, mean),
        })
    };
    devices.used.iter().zip(&breakdown.mean_of_device).filter_map(device).collect()
}

fn host_roles(threads: &HostThreads) -> Vec<HostRoleTime> {
    let role = |&(role, time): &(HostRole, Ps)| HostRoleTime {
        role: role.label().to_owned(),
        time_us: time.as_us(),
        percent: threads.percent(time).unwrap_or_default(),
    };
    threads.roles.iter().map(role).collect()
}

fn steps(breakdown: &Breakdown) -> Vec<StepBreakdownStep> {
    if !breakdown.has_steps || breakdown.steps().nth(MOST_STEPS).is_some() {
        return Vec::new();
    }
    let step = |rows: &[StepRow]| {
        let index = u64::from(rows.first()?.step?);
        let parts = parts_of(breakdown, &Breakdown::mean_of_step(rows, None)?);
        Some(StepBreakdownStep { index, parts, host_range: None, host_thread: None })
    };
    breakdown.steps().filter_map(step).collect()
}
