//! Kernel statistics: GPU kernels by name and launch shape.

use super::devices::Devices;
use crate::trace::Trace;

/// All kernels of a run.
#[derive(Clone, Debug, Default)]
pub struct KernelStats {}

impl KernelStats {
    /// Measures `trace`.
    pub fn new(_trace: &Trace, _devices: &Devices) -> KernelStats {
        KernelStats {}
    }
}
