//! Names of instructions and computations in a printed program.

use std::ops::Range;

use super::instruction::{ComputationIndex, InstructionIndex};

/// A name in the printed text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Bytes of the name, including `%`.
    pub range: Range<usize>,
    /// Instruction or computation that the name refers to.
    pub target: Target,
}

/// An instruction or a computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// An instruction.
    Instruction(InstructionIndex),
    /// A computation.
    Computation(ComputationIndex),
}
