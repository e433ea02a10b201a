//! Launches of device work: host call, delay, kernel.

use super::devices::Devices;
use crate::trace::Trace;

/// All launches of a run.
#[derive(Clone, Debug, Default)]
pub struct Launches {}

impl Launches {
    /// Measures `trace`.
    pub fn new(_trace: &Trace, _devices: &Devices) -> Launches {
        Launches {}
    }
}
