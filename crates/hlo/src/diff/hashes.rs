//! Computes hashes of instructions and of the instructions around them.

use rustc_hash::FxHashMap;

use super::identity::{is_commutative, mix};
use super::side::{Level, Side, computations};
use crate::instruction::{ComputationIndex, Instruction, InstructionIndex};
use crate::module::Module;

/// Maximum depth of nested fusions that are hashed with their operands.
const MAX_DEPTH: usize = 4;

/// Returns a program with the hashes of its instructions at all levels.
pub(super) fn hashed(module: &Module) -> Side<'_> {
    let mut side = Side::new(module);
    for level in Level::ALL {
        fill(&mut side, level);
    }
    side
}

/// Computes the hashes of all instructions at a level. Callees are hashed before their callers.
fn fill(side: &mut Side<'_>, level: Level) {
    let count = side.module.instructions().len();
    let hashes = side.at_mut(level);
    for list in [&mut hashes.label, &mut hashes.up, &mut hashes.near, &mut hashes.far] {
        list.resize(count, 0);
    }
    // Sum of the labels in each computation. Sums do not depend on the order.
    let mut sums: Vec<u64> = Vec::new();
    let mut contents = Vec::new();
    let module = side.module;
    for (_, computation) in computations(module) {
        let range = computation.instructions.clone();
        let mut sum = 0u64;
        for (index, instruction) in range.clone().zip(module.instructions_of(computation)) {
            let mut label = side.own_label(index, instruction, level);
            if level != Level::SameOpcode {
                for &called in &instruction.called {
                    label = mix(label, get(&sums, called));
                }
            }
            set(&mut side.at_mut(level).label, index, label);
            sum = sum.wrapping_add(label);
        }
        sums.push(sum);
        for index in range.clone().rev() {
            let root = if computation.root == Some(index) { 5 } else { 0 };
            let up = of_users(side, index, level, |user| {
                let of = side.at(level);
                mix(get(&of.up, user), get(&of.label, user))
            });
            set(&mut side.at_mut(level).up, index, up.wrapping_add(root));
        }
        for (index, instruction) in range.clone().zip(module.instructions_of(computation)) {
            let near = around(side, index, instruction, level, &side.at(level).label);
            set(&mut side.at_mut(level).near, index, near);
        }
        for (index, instruction) in range.clone().zip(module.instructions_of(computation)) {
            let far = around(side, index, instruction, level, &side.at(level).near);
            set(&mut side.at_mut(level).far, index, far);
        }
        let of = side.at(level);
        contents.push(range.fold(0, |sum: u64, at| sum.wrapping_add(mix(get(&of.far, at), get(&of.up, at)))));
    }
    if level == Level::Equal {
        side.contents = contents;
    }
}

/// Returns the value at an index, or 0.
pub(super) fn get(list: &[u64], index: u32) -> u64 {
    list.get(index as usize).copied().unwrap_or_default()
}

fn set(list: &mut [u64], index: u32, value: u64) {
    if let Some(place) = list.get_mut(index as usize) {
        *place = value;
    }
}

/// Sums the hashes of an instruction's users, each combined with the instruction's role in that user.
fn of_users(side: &Side<'_>, index: InstructionIndex, level: Level, of: impl Fn(InstructionIndex) -> u64) -> u64 {
    side.users(index).iter().fold(0, |sum: u64, it| {
        let role = side.module.at(it.user).map_or(0, |user| side.role(user, it.position, level));
        sum.wrapping_add(mix(of(it.user), role))
    })
}

/// Combines the hashes of an instruction, its operands and its users.
fn around(side: &Side<'_>, index: InstructionIndex, instruction: &Instruction, level: Level, of: &[u64]) -> u64 {
    let operands = combined(instruction, instruction.operands.iter().map(|&operand| get(of, operand)));
    let users = of_users(side, index, level, |user| get(of, user));
    mix(mix(get(of, index), operands), users)
}

/// Combines the hashes of operands. The order of the operands matters, unless the instruction is commutative or a
/// fusion. A fusion may list its operands in any order.
fn combined(instruction: &Instruction, operands: impl Iterator<Item = u64>) -> u64 {
    if is_commutative(&instruction.opcode) || instruction.is("fusion") {
        operands.fold(7, |sum, operand| sum.wrapping_add(mix(operand, 11)))
    } else {
        operands.fold(7, mix)
    }
}

/// Returns, for each instruction of a computation, a hash of everything that the instruction depends on. `of_parameter`
/// contains the hashes of matched parameters.
pub(super) fn down(
    side: &Side<'_>,
    computation: ComputationIndex,
    level: Level,
    of_parameter: &FxHashMap<InstructionIndex, u64>,
) -> Vec<u64> {
    let mut pass = Down { side, labels: &side.at(level).label, of_parameter };
    pass.computation(computation, &[], 0)
}

struct Down<'s, 'm> {
    side: &'s Side<'m>,
    labels: &'s [u64],
    of_parameter: &'s FxHashMap<InstructionIndex, u64>,
}

impl Down<'_, '_> {
    /// Returns the hashes of a computation's instructions. `operands` are the hashes of the operands of the enclosing
    /// fusion.
    fn computation(&mut self, index: ComputationIndex, operands: &[u64], depth: usize) -> Vec<u64> {
        let module = self.side.module;
        let Some(computation) = module.computation(index) else { return Vec::new() };
        let range = computation.instructions.clone();
        let mut down = vec![0u64; range.len()];
        for (at, instruction) in range.clone().zip(module.instructions_of(computation)) {
            let of = |operand: InstructionIndex| operand.checked_sub(range.start).map_or(0, |place| get(&down, place));
            let value = match instruction.is("parameter") {
                true => {
                    let number = instruction.attributes().parameter_number.unwrap_or_default();
                    let bound = usize::try_from(number).ok().and_then(|number| operands.get(number));
                    bound.or_else(|| self.of_parameter.get(&at)).copied().unwrap_or_else(|| get(self.labels, at))
                }
                false => self.instruction(at, instruction, index, of, depth),
            };
            set(&mut down, at - range.start, value);
        }
        down
    }

    fn instruction(
        &mut self,
        at: InstructionIndex,
        instruction: &Instruction,
        computation: ComputationIndex,
        of: impl Fn(InstructionIndex) -> u64,
        depth: usize,
    ) -> u64 {
        let label = get(self.labels, at);
        // A fusion that is the only caller of its computation is hashed with its operands in place of the parameters, so
        // that their order does not matter.
        let called = instruction.called.first().copied().filter(|&called| {
            let callers = self.side.callers.get(called as usize).copied().unwrap_or_default();
            instruction.is("fusion") && called < computation && callers == 1 && depth < MAX_DEPTH
        });
        let root = called.and_then(|called| {
            let inside = self.side.module.computation(called)?;
            let place = inside.root?.checked_sub(inside.instructions.start)?;
            let operands: Vec<u64> = instruction.operands.iter().map(|&operand| of(operand)).collect();
            Some(get(&self.computation(called, &operands, depth + 1), place))
        });
        let inputs = root.unwrap_or_else(|| combined(instruction, instruction.operands.iter().map(|&it| of(it))));
        mix(label, inputs)
    }
}

/// Returns hashes that distinguish instructions by everything that they depend on and everything that depends on them.
/// The function makes two passes, and the second starts from the hashes of the first.
pub(super) fn refined(side: &Side<'_>, computation: ComputationIndex, down: &[u64]) -> Vec<u64> {
    let module = side.module;
    let Some(it) = module.computation(computation) else { return Vec::new() };
    let range = it.instructions.clone();
    let up = &side.at(Level::Equal).up;
    let first: Vec<u64> = range.clone().zip(down).map(|(at, &down)| mix(down, get(up, at))).collect();
    let local = |list: &[u64], at: InstructionIndex| at.checked_sub(range.start).map_or(0, |place| get(list, place));
    let mut again = vec![0u64; first.len()];
    for (at, instruction) in range.clone().zip(module.instructions_of(it)) {
        let operands = combined(instruction, instruction.operands.iter().map(|&operand| local(&again, operand)));
        set(&mut again, at - range.start, mix(local(&first, at), operands));
    }
    let mut both = vec![0u64; first.len()];
    for at in range.clone().rev() {
        let users = side.users(at).iter().fold(0, |sum: u64, it| {
            // Sometimes only its position distinguishes an element of a tuple.
            let role = module.at(it.user).map_or(0, |user| match user.is("tuple") {
                true => u64::from(it.position) + 3,
                false => side.role(user, it.position, Level::Equal),
            });
            sum.wrapping_add(mix(local(&both, it.user), role))
        });
        set(&mut both, at - range.start, mix(local(&again, at), users));
    }
    both
}
