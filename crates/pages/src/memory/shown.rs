//! Data from which the page's blocks about a program's memory are built.

use memory::{Classifier, ProgramMemory, SpaceMemory};

/// One memory space of one program, as shown on the page.
pub(super) struct Shown<'r> {
    /// Memory of the program.
    pub memory: &'r ProgramMemory,
    /// Classifier of the program's buffers.
    pub classifier: &'r Classifier,
    /// Memory space.
    pub space: &'r SpaceMemory,
    /// Name of the memory space.
    pub space_name: String,
}
