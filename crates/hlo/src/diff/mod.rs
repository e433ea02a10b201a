//! Difference between two programs: instructions that are new, gone or changed.
//!
//! Instructions are matched by their structure, because names and numbers differ between compilations:
//!
//! ```text
//! Module -> Side             hashes of each instruction: itself, what it is used for, its neighbourhood
//! Side, Side -> matching     pairs with the same, unique hash, from the strictest level to the loosest,
//!                            and from each pair on to its operands and users
//!            -> Difference   pairs that differ, and instructions without a partner
//! ```
//!
//! A pair of instructions leads to the computations that both call, so the insides of fusions and loops are compared
//! too. Framework paths decide between candidates with the same hashes. The run time is O(n log n) in the number of
//! instructions and edges. Cyclic and truncated programs can be compared too, because no step follows edges to the end
//! of a chain.

mod aspects;
mod hashes;
mod identity;
mod matching;
mod neighbours;
mod places;
mod side;
#[cfg(test)]
mod tests;
mod totals;

pub use aspects::Aspect;
pub use places::Places;
pub use totals::Totals;

use super::instruction::InstructionIndex;
use super::module::{Computation, Module};
use matching::Matching;

/// Difference between a program `a` and a program `b`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Number of pairs that do not differ.
    pub same: usize,
    /// Pairs that differ, in the order of `b`.
    pub changed: Vec<Changed>,
    /// Instructions of `b` without a partner, in the order of `b`.
    pub new: Vec<InstructionIndex>,
    /// Instructions of `a` without a partner, in the order of `a`.
    pub gone: Vec<InstructionIndex>,
    /// Instruction of `b` that each instruction of `a` is matched with.
    partners: Vec<Option<InstructionIndex>>,
}

/// A pair of instructions that differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The instruction in `a`.
    pub a: InstructionIndex,
    /// The instruction in `b`.
    pub b: InstructionIndex,
    /// Aspects in which the two instructions differ.
    pub aspects: Vec<Aspect>,
}

impl Difference {
    /// Compares two programs.
    pub fn of(a: &Module, b: &Module) -> Difference {
        let (side_a, side_b) = (hashes::hashed(a), hashes::hashed(b));
        let matching = Matching::of(&side_a, &side_b);
        aspects::difference(&side_a, &side_b, &matching)
    }

    /// Returns true if nothing differs.
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.new.is_empty() && self.gone.is_empty()
    }

    /// Returns the instruction of `b` that an instruction of `a` is matched with.
    pub fn partner(&self, a: InstructionIndex) -> Option<InstructionIndex> {
        self.partners.get(a as usize).copied().flatten()
    }

    /// Describes one aspect of a changed pair, in `a` and in `b`.
    pub fn texts(&self, a: &Module, b: &Module, changed: &Changed, aspect: Aspect) -> [String; 2] {
        aspects::texts(self, (a, b), changed, aspect)
    }
}

/// Returns the entry computation. If the file is cut and names no entry computation, returns the last computation.
fn entry(module: &Module) -> Option<&Computation> {
    module.entry().or_else(|| module.computations().last())
}
