//! Measures the memory use of the devices. Reads the events of the devices' allocators, the buffers of compiled
//! programs, device memory profiles, and the texts of out-of-memory errors.
//!
//! An allocator records the used bytes but not their purpose. A program records the purpose of its own buffers only. A
//! device's peak therefore comes from its allocator, if the capture contains allocator events. The classes come from
//! the largest program that fits.

mod absent;
mod devices;
mod errors;
mod live;

pub(crate) use absent::not_measured;
pub use devices::OUTSIDE;
pub use errors::NOT_LISTED;

use std::sync::Arc;

use base::{Warning, WarningCode, sort};
use memory::{HeapProfile, OutOfMemory, ProgramUse};
use report::{DeviceMemory, LiveMemory, Memory};

use crate::{Devices, Ops};
use run::Run;
use trace::Trace;

const MOST_PROGRAMS: usize = 20;

/// Memory use of a run's devices.
#[derive(Clone, Debug, Default)]
pub struct MemoryUse {
    /// The devices, as in the report.
    pub devices: Vec<DeviceMemory>,
    /// The programs that ran and have a buffer assignment, sorted by descending peak.
    pub programs: Arc<Vec<ProgramUse>>,
    /// The out-of-memory errors in a text, sorted by descending memory need.
    pub errors: Vec<OutOfMemory>,
    /// Arrays and programs of a device memory profile.
    live: Option<LiveMemory>,
    /// Warnings about unreadable or inconsistent values.
    pub(crate) warnings: Vec<Warning>,
}

impl MemoryUse {
    /// Measures the memory of a run. `ops` are the ops that ran, and `device` is the device that the user names.
    pub(crate) fn new(run: &Run, devices: &Devices, ops: &Ops, device: Option<&str>) -> MemoryUse {
        let ran = sort::set(ops.rows.iter().filter_map(|op| op.program_id));
        if let Some(text) = run.memory_error.as_deref() {
            return errors::of_text(text);
        }
        let saved = run.heap_profile.as_deref().map(|profile| of_heap_profile(&HeapProfile::read(profile)));
        if run.trace.format.is_none()
            && let Some(saved) = saved
        {
            return saved;
        }
        let MemoryUse { devices: of_arrays, live, mut warnings, .. } = saved.unwrap_or_default();
        let programs = that_ran(&run.trace, run.programs().memory(devices.platform));
        let mut devices = devices::devices(run, devices, &programs, &ran, device);
        warnings.extend(devices.iter_mut().filter_map(above_capacity));
        if devices.is_empty() {
            devices = of_arrays;
        }
        MemoryUse { devices, programs, warnings, live, ..MemoryUse::default() }
    }

    /// Returns the program with the largest peak.
    pub fn largest(&self) -> Option<&ProgramUse> {
        self.programs.first()
    }

    /// Returns the section of the report, or `None` if nothing is known.
    pub(crate) fn section(&self) -> Option<Memory> {
        let programs = self.programs.iter().take(MOST_PROGRAMS).map(|program| program.figures.clone()).collect();
        let section = Memory { devices: self.devices.clone(), programs, live: self.live.clone() };
        (section != Memory::default()).then_some(section)
    }
}

/// Returns the programs that events name. A file may embed other programs, which were compiled during the capture or
/// ran before the capture. If no event names a program, returns all programs.
fn that_ran(trace: &Trace, all: &Arc<Vec<ProgramUse>>) -> Arc<Vec<ProgramUse>> {
    if all.is_empty() {
        return Arc::clone(all);
    }
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

/// Removes a lifetime peak above the allocator's capacity, and returns a warning. A finding reports programs that need
/// more than the capacity.
fn above_capacity(device: &mut DeviceMemory) -> Option<Warning> {
    let capacity = device.capacity_bytes.filter(|_| device.source == "allocator")?;
    let peak = device.lifetime_peak_bytes.take_if(|peak| *peak > capacity)?;
    let message = format!(
        "The allocator of {} reports a peak of {} since the start of the process, but its capacity is only {}. \
         The peak is ignored.",
        device.device_name,
        base::format::bytes(peak),
        base::format::bytes(capacity),
    );
    Some(Warning::new(WarningCode::MemoryAboveCapacity, message))
}

/// Reads the devices of a device memory profile, and warns of damaged parts.
fn of_heap_profile(profile: &HeapProfile) -> MemoryUse {
    let damaged = (!profile.problems.is_empty()).then(|| {
        let message =
            format!("Parts of the device memory profile cannot be read and are left out: {}.", profile.problems);
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
