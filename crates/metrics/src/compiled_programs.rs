//! The compiled programs of a run and what they keep in memory: read once, since neither depends on what of the run is measured.

use std::sync::{Arc, OnceLock};

use hlo::Modules;
use trace::{Platform, Trace};

use crate::memory_use::{ProgramUse, programs};

/// See [`Run::programs`](crate::Run::programs).
#[derive(Debug)]
pub struct CompiledPrograms {
    /// The programs themselves.
    pub modules: Modules,
    memory: OnceLock<Arc<Vec<ProgramUse>>>,
}

impl CompiledPrograms {
    pub(crate) fn new(trace: &Trace) -> CompiledPrograms {
        CompiledPrograms { modules: Modules::new(trace), memory: OnceLock::new() }
    }

    /// What those whose buffers the file says keep in the main memory of a device of this platform, which a run has one of.
    pub(crate) fn memory(&self, platform: Option<Platform>) -> &Arc<Vec<ProgramUse>> {
        self.memory.get_or_init(|| Arc::new(programs(&self.modules, platform)))
    }
}
