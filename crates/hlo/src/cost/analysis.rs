//! Cost analysis of a module. Each computation is analysed only once, even if several instructions call it.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::conventions::Conventions;
use super::work::Work;
use crate::{ComputationIndex, Instruction, Module};

/// Maximum depth of calls between computations. Real programs nest fewer than ten calls, but a damaged file may contain
/// a cycle.
const MAX_DEPTH: u32 = 40;

/// Function that returns the work of one instruction. The function depends on the opcode, and uses the analysis for
/// computations that the instruction calls.
pub(super) type ByOpcode = fn(&mut Analysis<'_>, &Instruction) -> Work;

/// Analyses instructions of one module.
pub(super) struct Analysis<'m> {
    pub(super) module: &'m Module,
    pub(super) conventions: Conventions,
    by_opcode: ByOpcode,
    depth: u32,
    /// Work of all instructions of a computation.
    computations: FxHashMap<ComputationIndex, Work>,
    /// Work of a fused computation, and the utilisation of each instruction in it.
    pub(super) fused: FxHashMap<ComputationIndex, (Work, Rc<[f64]>)>,
}

impl<'m> Analysis<'m> {
    pub(super) fn new(module: &'m Module, conventions: Conventions, by_opcode: ByOpcode) -> Analysis<'m> {
        Analysis {
            module,
            conventions,
            by_opcode,
            depth: 0,
            computations: FxHashMap::default(),
            fused: FxHashMap::default(),
        }
    }

    /// Returns the work of all instructions of the `n`-th computation that an instruction calls. The work is unknown if
    /// there is no such computation.
    pub(super) fn called(&mut self, instruction: &Instruction, n: usize) -> Work {
        let Some(&index) = instruction.called.get(n) else { return Work::UNKNOWN };
        if let Some(&known) = self.computations.get(&index) {
            return known;
        }
        let Some(computation) = self.module.computation(index) else { return Work::UNKNOWN };
        // The work of a computation that calls itself is unknown.
        self.computations.insert(index, Work::UNKNOWN);
        let mut sum = Work::default();
        for inner in self.module.instructions_of(computation) {
            sum = sum.plus(self.instruction(inner));
        }
        self.computations.insert(index, sum);
        sum
    }

    /// Returns the work of one instruction.
    pub(super) fn instruction(&mut self, instruction: &Instruction) -> Work {
        if self.depth >= MAX_DEPTH {
            return Work::UNKNOWN;
        }
        self.depth += 1;
        let work = (self.by_opcode)(self, instruction);
        self.depth -= 1;
        work
    }
}
