//! Selects the instructions to draw: the neighbourhood of an instruction, or a whole computation.

use std::collections::VecDeque;

use hlo::{ComputationIndex, InstructionIndex, Module};
use rustc_hash::FxHashMap;

use crate::flow::{Choices, Users, sources};

/// Instructions of one computation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Computation that contains the instructions.
    pub computation: ComputationIndex,
    /// Instructions to draw, in file order.
    pub instructions: Vec<InstructionIndex>,
    /// Instruction in the middle of a neighbourhood.
    pub centre: Option<InstructionIndex>,
    /// Instructions whose users or operands are not all drawn.
    pub omitted: FxHashMap<InstructionIndex, Omitted>,
}

/// How many neighbours of an instruction are not drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omitted {
    /// Number of operands that are not drawn.
    pub operands: usize,
    /// Number of users that are not drawn.
    pub users: usize,
}

/// Selects all instructions of a computation. The selection is empty if the module has no such computation.
pub fn whole(module: &Module, index: ComputationIndex, choices: Choices) -> Selection {
    let Some(computation) = module.computation(index) else { return Selection::default() };
    let all = computation.instructions.clone().zip(module.instructions_of(computation));
    let mut instructions: Vec<_> =
        all.filter(|(_, it)| !choices.is_hidden(module, it)).map(|(index, _)| index).collect();
    if instructions.is_empty() {
        // The computation contains only constants and tuples.
        instructions = computation.instructions.clone().collect();
    }
    Selection { computation: index, instructions, ..Selection::default() }
}

/// Selects the instructions at most `radius` steps away from `centre`. A step leads to an operand or a user. Applies the
/// rules of XProf that `choices` selects:
///
/// * users of constants and of instructions with more than 16 users are not followed;
/// * operands of tuples are not followed, except from the centre. If tuples are hidden, this rule applies only to
///   tuples with more than 16 operands;
/// * a step from or to a bitcast, or through a hidden tuple, does not count.
///
/// Called computations are not part of the result, because their instructions appear only if the calling instruction is
/// opened.
pub fn neighbourhood(
    module: &Module,
    users: &Users,
    centre: InstructionIndex,
    radius: u32,
    choices: Choices,
) -> Selection {
    let Some(computation) = module.at(centre).map(|it| it.computation) else { return Selection::default() };
    let mut distance: FxHashMap<InstructionIndex, u32> = FxHashMap::default();
    let mut queue = VecDeque::from([(centre, 0)]);
    while let Some((index, depth)) = queue.pop_front() {
        let Some(instruction) = module.at(index) else { continue };
        if distance.get(&index).is_some_and(|&known| known <= depth) {
            continue;
        }
        distance.insert(index, depth);
        // A hidden tuple is part of the step that led to it, so the search continues from it at any depth.
        let is_passed = choices.is_passed(instruction) && index != centre;
        if depth >= radius && !is_passed && !(choices.frees_bitcasts && instruction.is("bitcast")) {
            continue;
        }
        let mut visit = |next: InstructionIndex| {
            let Some(other) = module.at(next) else { return };
            let is_free = choices.frees_bitcasts && (other.is("bitcast") || instruction.is("bitcast"));
            let cost = u32::from(!is_free && !is_passed);
            if depth + cost > radius || distance.get(&next).is_some_and(|&known| known <= depth + cost) {
                return;
            }
            if cost == 0 { queue.push_front((next, depth)) } else { queue.push_back((next, depth + 1)) }
        };
        if follows_operands(module, index, centre, choices) {
            instruction.operands.iter().copied().for_each(&mut visit);
        }
        if follows_users(users, instruction.is("constant") && index != centre, index, choices) {
            users.of(index).iter().copied().for_each(visit);
        }
    }
    let is_drawn = |index: InstructionIndex| {
        distance.contains_key(&index)
            && (index == centre || module.at(index).is_some_and(|instruction| !choices.is_hidden(module, instruction)))
    };
    let mut instructions: Vec<_> = distance.keys().copied().filter(|&index| is_drawn(index)).collect();
    instructions.sort_unstable();
    let mut selection = Selection { computation, instructions, centre: Some(centre), ..Selection::default() };
    let mut flowing = Vec::new();
    for &index in &selection.instructions {
        let Some(instruction) = module.at(index) else { continue };
        flowing.clear();
        for &operand in &instruction.operands {
            sources(module, choices, Some(centre), operand, &mut flowing);
        }
        flowing.sort_unstable();
        flowing.dedup();
        let omitted = Omitted {
            operands: flowing.iter().filter(|&&operand| !is_drawn(operand)).count(),
            // The search reached the drawn users behind a hidden user, so the hidden user is not counted as omitted.
            users: users.of(index).iter().filter(|&user| !distance.contains_key(user)).count(),
        };
        if omitted != Omitted::default() {
            selection.omitted.insert(index, omitted);
        }
    }
    selection
}

fn follows_operands(module: &Module, index: InstructionIndex, centre: InstructionIndex, choices: Choices) -> bool {
    let Some(instruction) = module.at(index).filter(|it| it.is("tuple") && index != centre) else { return true };
    match choices.most_users {
        Some(most) if choices.hides_tuples => instruction.operands.len() <= most,
        Some(_) => false,
        None => true,
    }
}

fn follows_users(users: &Users, is_constant: bool, index: InstructionIndex, choices: Choices) -> bool {
    choices.most_users.is_none_or(|most| !is_constant && users.of(index).len() <= most)
}
