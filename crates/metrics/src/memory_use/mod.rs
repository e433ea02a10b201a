//! What fills the memory of the devices: what their allocators report, what compiled programs keep, and what a device memory profile
//! holds.
//!
//! An allocator knows how much is used and not what for; a program knows what for and not what else is there. So a device's peak is its
//! allocator's where the capture has its events, and its classes are those of the largest program that fits.

mod absent;
mod devices;
mod programs;

pub(crate) use absent::not_measured;
pub use devices::OUTSIDE;
pub use programs::ProgramUse;

use base::sort;
use report::{DeviceMemory, Memory};

use crate::{Devices, Ops, Run};

/// Programs that the profile lists.
const MOST_PROGRAMS: usize = 20;

/// What fills the memory of a run's devices.
#[derive(Clone, Debug, Default)]
pub struct MemoryUse {
    /// The devices, as the profile has them.
    pub devices: Vec<DeviceMemory>,
    /// The programs whose buffers the file says, those with the largest peak first.
    pub programs: Vec<ProgramUse>,
}

impl MemoryUse {
    /// Of a run with the ops that ran; `device` is the device that the user names.
    pub(crate) fn new(run: &Run, devices: &Devices, ops: &Ops, device: Option<&str>) -> MemoryUse {
        let ran = sort::set(ops.rows.iter().filter_map(|op| op.program_id));
        let programs = programs::programs(&run.trace, devices.platform);
        let devices = devices::devices(run, devices, &programs, &ran, device);
        MemoryUse { devices, programs }
    }

    /// The program with the largest peak.
    pub fn largest(&self) -> Option<&ProgramUse> {
        self.programs.first()
    }

    /// The section of the profile; `None` where nothing is known.
    pub(crate) fn section(&self) -> Option<Memory> {
        let programs = self.programs.iter().take(MOST_PROGRAMS).map(|program| program.figures.clone()).collect();
        let section = Memory { devices: self.devices.clone(), programs };
        (section != Memory::default()).then_some(section)
    }
}

#[cfg(test)]
mod tests;
