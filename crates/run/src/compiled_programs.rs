//! Caches the compiled programs of a run and their memory use. The programs and their memory use do not depend on the
//! measured window.

use std::sync::{Arc, OnceLock};

use hlo::Modules;
use trace::{Platform, Trace};

use memory::{ProgramUse, program_uses};

/// Compiled programs of a run; see [`Run::programs`](crate::Run::programs).
#[derive(Debug)]
pub struct CompiledPrograms {
    /// The programs.
    pub modules: Modules,
    memory: OnceLock<Arc<Vec<ProgramUse>>>,
}

impl CompiledPrograms {
    pub(crate) fn new(trace: &Trace) -> CompiledPrograms {
        CompiledPrograms { modules: Modules::new(trace), memory: OnceLock::new() }
    }

    /// Returns the bytes that programs with a known buffer assignment keep in device memory. All devices of a run
    /// belong to one platform, so the platform in the first call applies to all calls.
    pub fn memory(&self, platform: Option<Platform>) -> &Arc<Vec<ProgramUse>> {
        self.memory.get_or_init(|| Arc::new(program_uses(&self.modules, platform)))
    }
}
