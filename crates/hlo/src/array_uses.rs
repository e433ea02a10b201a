//! Finds the values on whose elements an output array depends.
//!
//! ```text
//! g0 --> dot(g0, g0) --> norm --.
//! g1 --> dot(g1, g1) --> norm --+--> factor --> multiply(g1, factor) --> subtract(p1, _) --> output
//!                                                '-- g1
//! ```
//!
//! The output depends on the elements of `g1`. Of `g0`, only the norm, a single number, reaches it.

use rustc_hash::{FxHashMap, FxHashSet};

use super::instruction::{ComputationIndex, Instruction, InstructionIndex};
use super::module::Module;
use super::shape::Shape;

/// Returns the instructions with an element-wise use: an output of the program that is an array depends on the array that the
/// instruction computes, not only on single numbers that are computed from the array.
///
/// Follows the elements of tuples through loops, branches, calls and fusions. Includes the instructions in called computations.
pub fn array_uses(module: &Module) -> FxHashSet<InstructionIndex> {
    let mut callers: FxHashMap<ComputationIndex, Vec<&Instruction>> = FxHashMap::default();
    for it in module.instructions() {
        for &called in &it.called {
            callers.entry(called).or_default().push(it);
        }
    }
    let mut uses = Uses { module, callers, seen: FxHashSet::default(), waiting: Vec::new() };
    uses.add(module.entry().and_then(|entry| module.root(entry)), None);
    while let Some((index, element)) = uses.waiting.pop() {
        if let Some(instruction) = module.at(index) {
            uses.follow(instruction, element);
        }
    }
    uses.seen.into_iter().map(|(index, _)| index).collect()
}

/// An element of an instruction's result, if the result is a tuple. `None` stands for the whole result.
type Element = Option<usize>;

struct Uses<'m> {
    module: &'m Module,
    callers: FxHashMap<ComputationIndex, Vec<&'m Instruction>>,
    seen: FxHashSet<(InstructionIndex, Element)>,
    waiting: Vec<(InstructionIndex, Element)>,
}

impl<'m> Uses<'m> {
    /// Adds a value, unless it is a single number.
    fn add(&mut self, value: Option<&'m Instruction>, element: Element) {
        let Some(value) = value else { return };
        let shape = element.and_then(|at| value.shape.tuple().get(at)).unwrap_or(&value.shape);
        if matches!(shape, Shape::Array(array) if array.dimensions.iter().all(|&size| size == 1)) {
            return;
        }
        if let Some(index) = self.module.index_of(value)
            && self.seen.insert((index, element))
        {
            self.waiting.push((index, element));
        }
    }

    /// Adds the values from which an instruction computes an element.
    fn follow(&mut self, instruction: &'m Instruction, element: Element) {
        let module = self.module;
        match (instruction.opcode.as_str(), element) {
            ("tuple", Some(at)) => self.add(module.operand(instruction, at), None),
            ("get-tuple-element", _) => {
                let at = usize::try_from(instruction.attributes().tuple_index).ok();
                self.add(module.operand(instruction, 0), at);
            }
            ("parameter", _) => self.follow_parameter(instruction, element),
            // The first operand is the state at the start, and the root of the body is the state after an iteration.
            ("while", _) => {
                self.add(module.called(instruction, 0).and_then(|body| module.root(body)), element);
                self.add(module.operand(instruction, 0), element);
            }
            ("fusion" | "call" | "conditional" | "async-start", _) => {
                for at in 0..instruction.called.len() {
                    self.add(module.called(instruction, at).and_then(|called| module.root(called)), element);
                }
            }
            ("copy" | "optimization-barrier", Some(_)) => self.add(module.operand(instruction, 0), element),
            _ => module.operands(instruction).for_each(|operand| self.add(Some(operand), None)),
        }
    }

    /// Adds the values that callers pass to a parameter. The parameter of a loop's body is the loop's state.
    fn follow_parameter(&mut self, parameter: &'m Instruction, element: Element) {
        let number = parameter.attributes().parameter_number.and_then(|number| usize::try_from(number).ok());
        let callers = self.callers.get(&parameter.computation).cloned().unwrap_or_default();
        for caller in callers {
            match caller.opcode.as_str() {
                "while" => self.add(Some(caller), element),
                // The first operand selects the branch.
                "conditional" => {
                    let branch = caller.called.iter().position(|&called| called == parameter.computation);
                    self.add(branch.and_then(|branch| self.module.operand(caller, branch + 1)), element);
                }
                "fusion" | "call" | "async-start" => {
                    self.add(number.and_then(|number| self.module.operand(caller, number)), element);
                }
                // A reduction, a sort or a scatter passes single numbers.
                _ => {}
            }
        }
    }
}
