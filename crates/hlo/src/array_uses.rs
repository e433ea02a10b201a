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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_module;

    /// A loop whose state contains two arrays. The result contains the elements of the first array, and a norm of the second.
    const LOOP: &str = "HloModule m

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

square {
  s = f32[8] parameter(0)
  o = f32[8] parameter(1)
  ss = f32[8] multiply(s, s)
  ROOT both = (f32[8], f32[8]) tuple(ss, o)
}

body {
  p = (s32[], f32[8], f32[8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  kept = f32[8] get-tuple-element(p), index=1
  lost = f32[8] get-tuple-element(p), index=2
  more = f32[8] exponential(kept)
  less = f32[8] tanh(lost)
  ROOT t = (s32[], f32[8], f32[8]) tuple(i, more, less)
}

condition {
  q = (s32[], f32[8], f32[8]) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  n = s32[] constant(4)
  ROOT lt = pred[] compare(j, n), direction=LT
}

ENTRY main {
  zero = s32[] parameter(0)
  x = f32[8] parameter(1)
  y = f32[8] parameter(2)
  start = (s32[], f32[8], f32[8]) tuple(zero, x, y)
  while.1 = (s32[], f32[8], f32[8]) while(start), condition=condition, body=body
  first = f32[8] get-tuple-element(while.1), index=1
  second = f32[8] get-tuple-element(while.1), index=2
  squares = (f32[8], f32[8]) fusion(second, first), kind=kLoop, calls=square
  ss.1 = f32[8] get-tuple-element(squares), index=0
  o.1 = f32[8] get-tuple-element(squares), index=1
  none = f32[] constant(0)
  norm = f32[] reduce(ss.1, none), dimensions={0}, to_apply=add
  factor = f32[8] broadcast(norm), dimensions={}
  ROOT result = f32[8] multiply(o.1, factor)
}
";

    #[test]
    fn a_norm_does_not_use_the_elements_of_its_array() {
        let module = read_module(LOOP.as_bytes());
        let uses = array_uses(&module);
        let is_used = |name: &str| uses.contains(&module.index_of(module.instruction(name).unwrap()).unwrap());
        for name in ["result", "factor", "o.1", "first", "more", "kept", "x", "squares", "while.1"] {
            assert!(is_used(name), "{name}");
        }
        for name in ["norm", "ss.1", "ss", "second", "less", "lost", "y", "i", "zero"] {
            assert!(!is_used(name), "{name}");
        }
    }
}
