//! Collectives, sends and receives.

use super::devices::Devices;
use crate::trace::Trace;

/// All communication of a run.
#[derive(Clone, Debug, Default)]
pub struct Collectives {}

impl Collectives {
    /// Measures `trace`.
    pub fn new(_trace: &Trace, _devices: &Devices) -> Collectives {
        Collectives {}
    }
}
