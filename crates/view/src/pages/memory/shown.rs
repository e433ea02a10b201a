//! What the blocks of a program are of.

use memory::{Classifier, ProgramMemory, SpaceMemory};

/// One memory space of one program, which the page shows.
pub struct Shown<'r> {
    /// Memory of the program.
    pub memory: &'r ProgramMemory,
    /// What the buffers of the program are for.
    pub classifier: &'r Classifier,
    /// The space.
    pub space: &'r SpaceMemory,
    /// What the space is called.
    pub space_name: String,
}
