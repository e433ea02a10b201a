//! Index of instructions by name, without a second copy of the names.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::instruction::{Instruction, InstructionIndex};

/// Instructions of a module by name. Callers must pass the same list to every method.
#[derive(Clone, Debug, Default)]
pub(super) struct ByName {
    places: HashTable<InstructionIndex>,
}

impl ByName {
    /// Indexes instructions by name. If several instructions have the same name, keeps the first.
    pub(crate) fn new(instructions: &[Instruction]) -> ByName {
        let mut by_name = ByName { places: HashTable::with_capacity(instructions.len()) };
        for (index, instruction) in (0..).zip(instructions) {
            let name = instruction.name.as_str();
            let entry = by_name.places.entry(hash(name), is_called(instructions, name), rehash(instructions));
            entry.or_insert(index);
        }
        by_name
    }

    /// Returns the index of the instruction with a name.
    pub(crate) fn find(&self, instructions: &[Instruction], name: &str) -> Option<InstructionIndex> {
        self.places.find(hash(name), is_called(instructions, name)).copied()
    }
}

fn hash(name: &str) -> u64 {
    FxBuildHasher.hash_one(name)
}

fn is_called(instructions: &[Instruction], name: &str) -> impl Fn(&InstructionIndex) -> bool {
    move |&index| instructions.get(index as usize).is_some_and(|it| it.name == name)
}

fn rehash(instructions: &[Instruction]) -> impl Fn(&InstructionIndex) -> u64 {
    move |&index| instructions.get(index as usize).map_or(0, |it| hash(&it.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_name_is_found() {
        let names = ["a", "b", "a", "", "c"];
        let list = names.map(|name| Instruction { name: name.to_owned(), ..Instruction::default() });
        let by_name = ByName::new(&list);
        let found = |name: &str| by_name.find(&list, name);
        assert_eq!(
            [found("a"), found("b"), found("c"), found(""), found("d")],
            [Some(0), Some(1), Some(4), Some(3), None]
        );
    }
}
