//! One of the two compared programs, with hashes of its instructions.

use super::identity::{Identity, is_commutative, mix, passes_tuple};
use crate::instruction::{ComputationIndex, Instruction, InstructionIndex};
use crate::module::{Computation, Module};

/// Strictness of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// Everything must be identical.
    Equal,
    /// Layouts, shardings and settings may differ.
    SameShape,
    /// Everything except the opcode may differ.
    SameOpcode,
}

impl Level {
    /// All levels, the strictest first.
    pub(super) const ALL: [Level; 3] = [Level::Equal, Level::SameShape, Level::SameOpcode];
}

/// Hashes of each instruction at one level.
#[derive(Clone, Debug, Default)]
pub(super) struct Hashes {
    /// Hash of the instruction itself and of the computations that it calls.
    pub label: Vec<u64>,
    /// Hash of everything that depends on the instruction.
    pub up: Vec<u64>,
    /// Hash of the operands and users.
    pub near: Vec<u64>,
    /// Hash of the operands and users, and of their operands and users.
    pub far: Vec<u64>,
}

/// A program with hashes of its instructions.
#[derive(Debug)]
pub(super) struct Side<'m> {
    /// The program.
    pub module: &'m Module,
    /// Identity of each instruction.
    pub identities: Vec<Identity>,
    /// Hashes at each level.
    pub levels: [Hashes; 3],
    /// Hash of each computation with everything inside it.
    pub contents: Vec<u64>,
    /// Number of instructions that call each computation.
    pub callers: Vec<u32>,
    /// Parameters of each computation, by number.
    parameters: Vec<Vec<Option<InstructionIndex>>>,
    users: Vec<Use>,
    /// Index in `users` of the first use of each instruction.
    starts: Vec<u32>,
}

/// A use of an instruction as an operand.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Use {
    /// The user.
    pub user: InstructionIndex,
    /// Position of the instruction among the user's operands.
    pub position: u32,
}

impl<'m> Side<'m> {
    /// Reads a program. The hashes are empty until [`super::hashes::hashed`] fills them.
    pub(super) fn new(module: &'m Module) -> Side<'m> {
        let identities: Vec<Identity> = module.instructions().iter().map(Identity::of).collect();
        let mut callers = vec![0u32; module.computations().len()];
        for called in module.instructions().iter().flat_map(|it| &it.called) {
            if let Some(count) = callers.get_mut(*called as usize) {
                *count = count.saturating_add(1);
            }
        }
        let (users, starts) = users(module);
        let parameters = module.computations().iter().map(|it| parameters(module, it)).collect();
        let (levels, contents) = (Default::default(), Vec::new());
        Side { module, identities, levels, contents, callers, parameters, users, starts }
    }

    /// Returns the hashes at a level.
    pub(super) fn at(&self, level: Level) -> &Hashes {
        let [equal, same_shape, same_opcode] = &self.levels;
        match level {
            Level::Equal => equal,
            Level::SameShape => same_shape,
            Level::SameOpcode => same_opcode,
        }
    }

    /// Returns the hashes at a level as a mutable reference.
    pub(super) fn at_mut(&mut self, level: Level) -> &mut Hashes {
        let [equal, same_shape, same_opcode] = &mut self.levels;
        match level {
            Level::Equal => equal,
            Level::SameShape => same_shape,
            Level::SameOpcode => same_opcode,
        }
    }

    /// Returns the parameter of a computation that has the number `number`.
    pub(super) fn parameter(&self, computation: ComputationIndex, number: u32) -> Option<InstructionIndex> {
        self.parameters(computation).get(number as usize).copied().flatten()
    }

    /// Returns the parameters of a computation by number.
    pub(super) fn parameters(&self, computation: ComputationIndex) -> &[Option<InstructionIndex>] {
        self.parameters.get(computation as usize).map_or(&[], Vec::as_slice)
    }

    /// Returns the identity of an instruction.
    pub(super) fn identity(&self, index: InstructionIndex) -> Identity {
        self.identities.get(index as usize).copied().unwrap_or_default()
    }

    /// Returns the uses of an instruction.
    pub(super) fn users(&self, index: InstructionIndex) -> &[Use] {
        let bound = |at: usize| self.starts.get(at).map_or(0, |&start| start as usize);
        self.users.get(bound(index as usize)..bound(index as usize + 1)).unwrap_or_default()
    }

    /// Returns the hash of an instruction's own parts at a level, without the computations that it calls.
    pub(super) fn own_label(&self, index: InstructionIndex, instruction: &Instruction, level: Level) -> u64 {
        let of = self.identity(index);
        if level == Level::SameOpcode {
            return of.opcode;
        }
        let mut label = of.opcode;
        if !passes_tuple(instruction) {
            label = mix(label, mix(of.dimensions, of.data_types));
        }
        if level == Level::Equal {
            label = mix(label, mix(of.sharding, of.attributes));
            label = mix(label, of.element.cast_unsigned());
            if !passes_tuple(instruction) {
                label = mix(label, of.layout);
            }
        }
        label
    }

    /// Returns the role of an operand: its position or, for a fusion, a hash of the uses of the operand inside the
    /// fusion. Operands that are interchangeable have the same role. At the level [`Level::SameOpcode`], all operands
    /// of a fusion have the same role.
    pub(super) fn role(&self, user: &Instruction, position: u32, level: Level) -> u64 {
        if is_commutative(&user.opcode) || user.is("tuple") {
            return 1;
        }
        if user.is("fusion") && level == Level::SameOpcode {
            return 2;
        }
        if user.is("fusion") {
            let up = &self.at(level).up;
            let inside = user.called.first().and_then(|&called| self.parameter(called, position));
            // Without its computation, a fusion is like any other instruction.
            if let Some(up) = inside.and_then(|inside| up.get(inside as usize)) {
                return mix(*up, 2);
            }
        }
        u64::from(position) + 3
    }
}

/// Lists the parameters of a computation by number. Leaves out numbers that exceed the number of instructions.
fn parameters(module: &Module, computation: &Computation) -> Vec<Option<InstructionIndex>> {
    let own = module.instructions_of(computation);
    let mut found = Vec::new();
    for (index, instruction) in computation.instructions.clone().zip(own) {
        let number = instruction.attributes().parameter_number.unwrap_or_default();
        let Some(number) = usize::try_from(number).ok().filter(|&it| instruction.is("parameter") && it < own.len())
        else {
            continue;
        };
        if found.len() <= number {
            found.resize(number + 1, None);
        }
        if let Some(place @ None) = found.get_mut(number) {
            *place = Some(index);
        }
    }
    found
}

/// Lists the users of all instructions, grouped by instruction.
fn users(module: &Module) -> (Vec<Use>, Vec<u32>) {
    let mut starts = vec![0u32; module.instructions().len() + 1];
    for operand in module.instructions().iter().flat_map(|it| &it.operands) {
        if let Some(count) = starts.get_mut(*operand as usize + 1) {
            *count += 1;
        }
    }
    let mut sum = 0u32;
    for start in &mut starts {
        sum = sum.saturating_add(*start);
        *start = sum;
    }
    let mut users = vec![Use::default(); sum as usize];
    let mut next = starts.clone();
    for (user, instruction) in (0..).zip(module.instructions()) {
        for (position, &operand) in (0..).zip(&instruction.operands) {
            if let Some(at) = next.get_mut(operand as usize) {
                if let Some(place) = users.get_mut(*at as usize) {
                    *place = Use { user, position };
                }
                *at = at.saturating_add(1);
            }
        }
    }
    (users, starts)
}

/// Returns the computations with their indices, callees before their callers.
pub(super) fn computations(module: &Module) -> impl DoubleEndedIterator<Item = (ComputationIndex, &Computation)> {
    let all = module.computations();
    (0..all.len() as ComputationIndex).zip(all)
}
