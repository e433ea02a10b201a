//! The state of a loop: how values in its body depend on each other in an iteration, and from one iteration to the next.

use std::collections::{BTreeMap, BTreeSet};

use super::conversions::element_index;
use hlo::{Instruction, InstructionIndex, Module};

/// The state of a loop: how values in the body reach its elements.
pub(super) struct State<'a> {
    module: &'a Module,
    /// Result of an iteration.
    pub(super) root: &'a Instruction,
    /// The instructions of the body that read each value.
    users: BTreeMap<InstructionIndex, Vec<&'a Instruction>>,
    /// The instructions that read an element of the state at the start of an iteration.
    pub(super) reads: Vec<(usize, &'a Instruction)>,
    /// Elements that the loop's condition reads.
    pub(super) of_condition: BTreeSet<usize>,
}

impl<'a> State<'a> {
    /// Returns `None` if the state is no tuple.
    pub(super) fn of(module: &'a Module, of_loop: &'a Instruction) -> Option<State<'a>> {
        let body = module.called(of_loop, 0)?;
        let root = module.root(body).filter(|it| it.is("tuple"))?;
        let mut users: BTreeMap<InstructionIndex, Vec<&Instruction>> = BTreeMap::new();
        for it in module.instructions_of(body) {
            for &operand in &it.operands {
                users.entry(operand).or_default().push(it);
            }
        }
        let of_state = |it: &'a Instruction| {
            let state = module.operand(it, 0).filter(|it| it.is("parameter"));
            state.and(element_index(it)).map(|element| (element, it))
        };
        let reads = module.instructions_of(body).iter().filter_map(of_state).collect();
        let condition = module.called(of_loop, 1).map_or(&[][..], |it| module.instructions_of(it));
        let of_condition = condition.iter().filter_map(of_state).map(|(element, _)| element).collect();
        Some(State { module, root, users, reads, of_condition })
    }

    /// Returns true if no later iteration needs a value to compute the value again: neither the value nor what depends on it
    /// returns to it through the state, or ends the loop.
    ///
    /// ```text
    /// h = cell(h, x)        in the recurrence: each h depends on the h before it
    /// logits = h @ w        outside: no later iteration reads the logits
    /// gates = x @ w         outside: no earlier iteration computes x
    /// ```
    pub(super) fn is_outside_recurrence(&self, value: &'a Instruction) -> bool {
        let Some(start) = self.module.index_of(value) else { return false };
        let mut elements = BTreeSet::new();
        let mut waiting = vec![value];
        while let Some(it) = waiting.pop() {
            let Some(found) = self.reached(it) else { return false };
            if !std::ptr::eq(it, value) && found.values.contains(&start) {
                return false;
            }
            for element in found.elements {
                if self.of_condition.contains(&element) {
                    return false;
                }
                if elements.insert(element) {
                    waiting.extend(self.reads.iter().filter(|(read, _)| *read == element).map(|(_, read)| *read));
                }
            }
        }
        true
    }

    /// Returns what depends on a value in an iteration.
    pub(super) fn reached(&self, value: &'a Instruction) -> Option<Reached> {
        let mut reached = Reached::default();
        let mut waiting = vec![self.module.index_of(value)?];
        while let Some(at) = waiting.pop() {
            if !reached.values.insert(at) {
                continue;
            }
            for user in self.users.get(&at).into_iter().flatten() {
                if std::ptr::eq(*user, self.root) {
                    let elements = user.operands.iter().enumerate().filter(|(_, operand)| **operand == at);
                    reached.elements.extend(elements.map(|(element, _)| element));
                } else {
                    waiting.extend(self.module.index_of(user));
                }
            }
        }
        Some(reached)
    }
}

/// The instructions and elements that depend on a value.
#[derive(Default)]
pub(super) struct Reached {
    /// Elements of the state after the iteration.
    pub(super) elements: BTreeSet<usize>,
    /// Instructions of the body, including the value itself.
    pub(super) values: BTreeSet<InstructionIndex>,
}
