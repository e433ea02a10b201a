//! What fills the memory of the devices: what their allocators report, what compiled programs keep, what a device memory profile holds, and
//! what the text of an out-of-memory error lists.
//!
//! An allocator knows how much is used and not what for; a program knows what for and not what else is there. So a device's peak is its
//! allocator's where the capture has its events, and its classes are those of the largest program that fits.

mod absent;
mod devices;
mod errors;
mod live;
mod programs;
mod share;

pub(crate) use absent::not_measured;
pub use devices::OUTSIDE;
pub use errors::NOT_LISTED;
pub use programs::ProgramUse;
pub(crate) use programs::programs;

use std::sync::Arc;

use base::{Warning, WarningCode, sort};
use memory::{HeapProfile, OutOfMemory};
use report::{DeviceMemory, LiveMemory, Memory};

use crate::{Devices, Ops, Run};
use trace::Trace;

/// Programs that the profile lists.
const MOST_PROGRAMS: usize = 20;

/// What fills the memory of a run's devices.
#[derive(Clone, Debug, Default)]
pub struct MemoryUse {
    /// The devices, as the profile has them.
    pub devices: Vec<DeviceMemory>,
    /// The programs that ran and whose buffers the file says, those with the largest peak first.
    pub programs: Arc<Vec<ProgramUse>>,
    /// The errors of a text that says that memory ran out, those with the largest need first.
    pub errors: Vec<OutOfMemory>,
    /// Arrays and programs of a device memory profile.
    live: Option<LiveMemory>,
    /// What could not be read.
    pub(crate) warnings: Vec<Warning>,
}

impl MemoryUse {
    /// Memory of a run with the ops that ran; `device` is the device that the user names.
    pub(crate) fn new(run: &Run, devices: &Devices, ops: &Ops, device: Option<&str>) -> MemoryUse {
        let ran = sort::set(ops.rows.iter().filter_map(|op| op.program_id));
        if let Some(text) = run.memory_error.as_deref() {
            return errors::of_text(text);
        }
        if let Some(profile) = run.heap_profile.as_deref() {
            return of_heap_profile(&HeapProfile::read(profile));
        }
        let programs = that_ran(&run.trace, run.programs().memory(devices.platform));
        let mut devices = devices::devices(run, devices, &programs, &ran, device);
        let warnings = devices.iter_mut().filter_map(above_capacity).collect();
        MemoryUse { devices, programs, warnings, ..MemoryUse::default() }
    }

    /// The program with the largest peak.
    pub fn largest(&self) -> Option<&ProgramUse> {
        self.programs.first()
    }

    /// The section of the profile; `None` where nothing is known.
    pub(crate) fn section(&self) -> Option<Memory> {
        let programs = self.programs.iter().take(MOST_PROGRAMS).map(|program| program.figures.clone()).collect();
        let section = Memory { devices: self.devices.clone(), programs, live: self.live.clone() };
        (section != Memory::default()).then_some(section)
    }
}

/// The programs that events name: a file may embed others, which were compiled during the capture or ran before it. All of them if
/// no event names a program.
fn that_ran(trace: &Trace, all: &Arc<Vec<ProgramUse>>) -> Arc<Vec<ProgramUse>> {
    let sets = (0..trace.args.len()).filter_map(|index| trace.args.set(index));
    let named = sort::set(sets.filter_map(|args| args.program_id));
    let runs = sort::set(trace.events.kinds().iter().map(|kind| kind.name));
    let is_run = |id: i64| trace.hlo.iter().any(|proto| proto.program_id == id && runs.contains(&proto.name));
    let ran = |program: &ProgramUse| named.contains(&program.program_id) || is_run(program.program_id);
    if all.iter().all(ran) || named.is_empty() && !all.iter().any(ran) {
        return Arc::clone(all);
    }
    Arc::new(all.iter().filter(|program| ran(program)).cloned().collect())
}

/// Takes away the peak since the process began if it is above what the allocator has, and warns of it. What programs need may be above the
/// capacity: a finding says so.
fn above_capacity(device: &mut DeviceMemory) -> Option<Warning> {
    let capacity = device.capacity_bytes.filter(|_| device.source == "allocator")?;
    let peak = device.lifetime_peak_bytes.take_if(|peak| *peak > capacity)?;
    let message = format!(
        "The allocator of {} reports a peak of {} since the process began, but has {} only. That peak is left out.",
        device.device_name,
        base::format::bytes(peak),
        base::format::bytes(capacity),
    );
    Some(Warning::new(WarningCode::MemoryAboveCapacity, message))
}

/// The devices of a device memory profile, and what is damaged in it.
fn of_heap_profile(profile: &HeapProfile) -> MemoryUse {
    let damaged = (!profile.problems.is_empty()).then(|| {
        let message =
            format!("Parts of the device memory profile cannot be read, the rest counts: {}.", profile.problems);
        Warning::new(WarningCode::MemoryProfileDamaged, message)
            .with_remedy("Save it again with jax.profiler.save_device_memory_profile, and copy it as a binary file.")
    });
    MemoryUse {
        devices: devices::of_heap_profile(profile),
        live: live::live(profile),
        warnings: damaged.into_iter().collect(),
        ..MemoryUse::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_above_the_capacity_is_a_warning_and_no_number() {
        let device = |source: &str, peak: u64| DeviceMemory {
            source: source.to_owned(),
            device_name: "GPU:0".to_owned(),
            capacity_bytes: Some(1 << 30),
            lifetime_peak_bytes: Some(peak),
            ..DeviceMemory::default()
        };
        let mut wrong = device("allocator", 3 << 30);
        let warning = above_capacity(&mut wrong).expect("a warning");
        assert_eq!(wrong.lifetime_peak_bytes, None);
        assert!(warning.message.contains("GPU:0") && warning.message.contains("3.00 GiB"), "{}", warning.message);
        for mut right in [device("allocator", 1 << 30), device("programs", 3 << 30)] {
            let before = right.clone();
            assert!(above_capacity(&mut right).is_none() && right == before);
        }
    }
}
