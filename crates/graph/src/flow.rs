//! Users of instructions, and the flow of data through instructions that are not drawn.

use hlo::{Instruction, InstructionIndex, Module};
use serde::{Deserialize, Serialize};

/// Maximum number of steps from an operand to the instructions that are drawn in its place. Only cyclic or absurd
/// modules need more steps.
const MOST_STEPS: usize = 1_000;

/// Instructions that are left out of drawings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choices {
    /// True to leave out `tuple` and `get-tuple-element`. Edges pass through them.
    pub hides_tuples: bool,
    /// True to write constants into their users. Inside fusions, this includes broadcasts of scalar constants.
    pub inlines_constants: bool,
    /// True if steps from or to bitcasts do not add to the distance from the centre.
    pub frees_bitcasts: bool,
    /// The search for neighbours does not continue at an instruction with more users than this, or at a tuple with more
    /// operands than this. `None` follows all.
    pub most_users: Option<usize>,
}

impl Default for Choices {
    /// Returns XProf's choices.
    fn default() -> Choices {
        Choices { hides_tuples: true, inlines_constants: true, frees_bitcasts: true, most_users: Some(16) }
    }
}

impl Choices {
    /// Returns choices that leave out nothing.
    pub fn all() -> Choices {
        Choices { hides_tuples: false, inlines_constants: false, frees_bitcasts: false, most_users: None }
    }

    /// Returns true if edges pass through this instruction.
    pub fn is_passed(self, instruction: &Instruction) -> bool {
        self.hides_tuples && matches!(instruction.opcode.as_str(), "tuple" | "get-tuple-element")
    }

    /// Returns true if the instruction is not drawn.
    pub fn is_hidden(self, module: &Module, instruction: &Instruction) -> bool {
        self.is_passed(instruction) || self.inlined(module, instruction).is_some()
    }

    /// Returns the constant that is written into the users of this instruction: the instruction itself or, inside a fusion, the
    /// scalar that it broadcasts.
    pub fn inlined<'m>(self, module: &'m Module, instruction: &'m Instruction) -> Option<&'m Instruction> {
        if !self.inlines_constants {
            return None;
        }
        if instruction.is("constant") {
            return Some(instruction);
        }
        let is_inside = || module.computation(instruction.computation).is_some_and(|it| it.is_fused);
        let scalar = module.operand(instruction, 0).filter(|_| instruction.is("broadcast") && is_inside())?;
        let is_scalar =
            scalar.is("constant") && scalar.shape.arrays().iter().all(|it| it.dimensions.iter().all(|&size| size == 1));
        is_scalar.then_some(scalar)
    }
}

/// Users of every instruction of a module.
#[derive(Clone, Debug, Default)]
pub struct Users {
    /// Index in `users` of the first user of each instruction, and at the end the length of `users`.
    starts: Vec<u32>,
    users: Vec<InstructionIndex>,
}

impl Users {
    /// Lists the users. An instruction that uses another instruction twice is listed once.
    pub fn new(module: &Module) -> Users {
        let all = module.instructions();
        let mut starts = vec![0u32; all.len() + 1];
        let distinct = |instruction: &Instruction, place: usize| {
            let (before, rest) = instruction.operands.split_at(place.min(instruction.operands.len()));
            // Tuples with thousands of operands are not searched.
            rest.first().copied().filter(|operand| before.len() > 64 || !before.contains(operand))
        };
        for instruction in all {
            for place in 0..instruction.operands.len() {
                let operand = distinct(instruction, place);
                if let Some(count) = operand.and_then(|it| starts.get_mut(it as usize + 1)) {
                    *count += 1;
                }
            }
        }
        let mut sum = 0;
        for count in &mut starts {
            sum += *count;
            *count = sum;
        }
        let mut next = starts.clone();
        let mut users = vec![0; sum as usize];
        for (index, instruction) in (0..).zip(all) {
            for place in 0..instruction.operands.len() {
                let Some(operand) = distinct(instruction, place) else { continue };
                let Some(at) = next.get_mut(operand as usize) else { continue };
                if let Some(slot) = users.get_mut(*at as usize) {
                    *slot = index;
                }
                *at += 1;
            }
        }
        Users { starts, users }
    }

    /// Returns the users of an instruction, in file order.
    pub fn of(&self, index: InstructionIndex) -> &[InstructionIndex] {
        let place = |at: usize| self.starts.get(at).map_or(0, |&start| start as usize);
        self.users.get(place(index as usize)..place(index as usize + 1)).unwrap_or_default()
    }
}

/// Appends the instructions whose values flow into `from`. Looks through instructions that edges [pass
/// through](Choices::is_passed), and leaves out inlined constants. `keeps` is an instruction that is always drawn.
pub(crate) fn sources(
    module: &Module,
    choices: Choices,
    keeps: Option<InstructionIndex>,
    from: InstructionIndex,
    out: &mut Vec<InstructionIndex>,
) {
    // Values still to be followed, with the indices that get-tuple-elements selected, innermost last.
    let mut stack: Vec<(InstructionIndex, Vec<i64>)> = vec![(from, Vec::new())];
    for _ in 0..MOST_STEPS {
        let Some((index, mut selected)) = stack.pop() else { return };
        let Some(instruction) = module.at(index) else { continue };
        if Some(index) == keeps || !choices.is_hidden(module, instruction) {
            out.push(index);
        } else if instruction.is("get-tuple-element") {
            selected.push(instruction.attributes().tuple_index);
            stack.extend(instruction.operands.first().map(|&operand| (operand, selected)));
        } else if instruction.is("tuple") {
            let operand = |at: i64| instruction.operands.get(usize::try_from(at).ok()?).copied();
            match selected.pop() {
                Some(at) => stack.extend(operand(at).map(|operand| (operand, selected))),
                None => stack.extend(instruction.operands.iter().rev().map(|&operand| (operand, Vec::new()))),
            }
        }
    }
}
