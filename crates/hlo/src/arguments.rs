//! Finds what happens to each argument of a program: the argument is returned updated, returned unchanged, or not
//! returned.
//!
//! ```text
//! p = parameter(0)   g = ...   new = fusion(p, g)   ROOT tuple(new, ...)     p is returned updated
//! p = parameter(0)                    c = copy(p)   ROOT tuple(c, ...)       p is returned unchanged
//! p = parameter(0)   loss = dot(p, x)               ROOT tuple(loss)         p is not returned
//! ```
//!
//! An output can be the new value of an argument if it has the argument's type and shape. In addition, the instruction
//! that makes the output must read the argument, or the module must let the output and the argument share a buffer
//! (`input_output_alias`). If several outputs qualify, the arguments with the fewest candidates get their output first.
//! Arguments with equally many candidates get their outputs in argument order. Several outputs qualify, for example, if
//! one fusion reads a parameter and its two moments and computes all three. The analysis looks through copies,
//! bitcasts, tuples, and values that a loop passes through.
//!
//! A function that returns gradients also has such outputs: the gradient of an argument has its type and shape, and its
//! instruction often reads the argument. But a new value is computed from the old value element by element (`p - rate *
//! g`), or is the old value with a part replaced (`dynamic-update-slice`). [`Argument::is_carried`] distinguishes the
//! two cases.

use super::{ArrayShape, Instruction, Module, is_elementwise};
use base::sort;
use rustc_hash::FxHashSet;

/// Maximum number of instructions to look through for one value, including instructions inside calls.
const MOST_STEPS: u32 = 1000;

/// Outcome of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// An output is the argument's new value.
    Updated,
    /// The argument is an output itself.
    Unchanged,
    /// No output is the argument or its new value.
    NotReturned,
}

/// An argument of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument<'m> {
    /// Position of the argument in the program, from 0.
    pub number: i64,
    /// The framework's name (`params['block']['w']`). Empty if unknown.
    pub name: &'m str,
    /// Type and shape of the argument, or of one partition's part if the program has several partitions.
    pub shape: &'m ArrayShape,
    /// Sharding over the partitions, as HLO text. Empty if unknown.
    pub sharding: &'m str,
    /// Outcome of the argument.
    pub outcome: Outcome,
    /// True if an output is computed from the argument element by element, or is the argument with a part replaced.
    /// False if the outputs with the argument's type may be gradients instead.
    pub is_carried: bool,
}

/// Returns the array arguments of a program, in order.
pub fn arguments(module: &Module) -> Vec<Argument<'_>> {
    let Some(entry) = module.entry() else { return Vec::new() };
    let mut parameters: Vec<(&Instruction, i64, &ArrayShape)> = module
        .instructions_of(entry)
        .iter()
        .filter(|instruction| instruction.is("parameter"))
        .filter_map(|it| Some((it, it.attributes().parameter_number?, it.shape.array()?)))
        .collect();
    sort::sort_by_key(&mut parameters, |parameter| parameter.1);
    let Some(root) = module.root(entry) else { return Vec::new() };
    let outputs: Vec<Output<'_>> = if root.is("tuple") {
        module.operands(root).map(|operand| output(module, operand)).collect()
    } else {
        vec![output(module, root)]
    };
    let partitions = module.devices().map_or(1, |devices| u64::try_from(devices.1).unwrap_or(1).max(1));
    // Finds the outputs that are arguments themselves, and the outputs that are computed from an argument.
    let mut outcomes = vec![Outcome::NotReturned; parameters.len()];
    let mut read_by: Vec<Vec<usize>> = vec![Vec::new(); parameters.len()];
    let mut taken = vec![false; outputs.len()];
    let mut carried = vec![false; parameters.len()];
    let place = |value: &Instruction| {
        let number = value.attributes().parameter_number.filter(|_| value.is("parameter"))?;
        parameters.binary_search_by_key(&number, |parameter| parameter.1).ok()
    };
    for (index, output) in outputs.iter().enumerate() {
        if let Some(outcome) = place(output.origin).and_then(|at| outcomes.get_mut(at)) {
            *outcome = Outcome::Unchanged;
            if let Some(taken) = taken.get_mut(index) {
                *taken = true;
            }
            continue;
        }
        for at in output.reads.iter().filter_map(|read| place(read)) {
            let is_like = parameters.get(at).is_some_and(|parameter| is_like(output.shape, parameter.2, partitions));
            if let Some(outputs) = read_by.get_mut(at).filter(|outputs| is_like && outputs.last() != Some(&index)) {
                outputs.push(index);
                if let Some(carried) = carried.get_mut(at) {
                    *carried = *carried || output.carries(module, &|value| place(value) == Some(at));
                }
            }
        }
    }
    // Matches whose only evidence is a shared buffer come last. The evidence is weak: JAX lets any output of the same
    // type reuse the buffer of an argument that is no longer needed.
    let mut candidates: Vec<(usize, bool, Vec<usize>)> = Vec::new();
    for (at, mut found) in read_by.into_iter().enumerate() {
        let (Some((_, number, shape)), Some(Outcome::NotReturned)) = (parameters.get(at), outcomes.get(at)) else {
            continue;
        };
        let by_buffer = found.is_empty();
        if by_buffer {
            let shared = module.outputs_with_buffer_of(*number);
            found = shared
                .filter(|&index| outputs.get(index).is_some_and(|it| is_like(it.shape, shape, partitions)))
                .collect();
        }
        if !found.is_empty() {
            candidates.push((at, by_buffer, found));
        }
    }
    sort::sort_by_key(&mut candidates, |(at, by_buffer, found)| (*by_buffer, found.len(), *at));
    for (at, _, found) in candidates {
        let free = found.into_iter().find(|&output| taken.get(output) == Some(&false));
        if let Some((output, outcome)) = free.and_then(|free| taken.get_mut(free)).zip(outcomes.get_mut(at)) {
            (*output, *outcome) = (true, Outcome::Updated);
        }
    }
    let all = parameters.into_iter().zip(outcomes).zip(carried);
    all.map(|(((parameter, number, shape), outcome), is_carried)| Argument {
        number,
        name: &parameter.metadata.op_name,
        shape,
        sharding: &parameter.attributes().sharding,
        outcome,
        is_carried,
    })
    .collect()
}

/// Returns true if the module computes gradients, according to the framework paths of its instructions.
pub fn has_gradients(module: &Module) -> bool {
    module.instructions().iter().any(|instruction| instruction.metadata.op_name.contains("transpose(jvp"))
}

/// Returns true if two arrays have the same type and shape. If the program has several partitions, a dimension of one
/// array may be a multiple of the same dimension of the other.
fn is_like(a: &ArrayShape, b: &ArrayShape, partitions: u64) -> bool {
    let fits = |(&a, &b): (&u64, &u64)| {
        let (small, large) = (a.min(b), a.max(b));
        a == b || (small > 0 && large % small == 0 && partitions.is_multiple_of(large / small))
    };
    a.data_type == b.data_type
        && a.dimensions.len() == b.dimensions.len()
        && a.dimensions.iter().zip(&b.dimensions).all(fits)
}

/// One output of a program.
struct Output<'m> {
    /// Instruction that makes the output, after looking through copies.
    origin: &'m Instruction,
    shape: &'m ArrayShape,
    /// Origins of the operands of `origin`.
    reads: Vec<&'m Instruction>,
}

impl Output<'_> {
    /// Returns true if the output is computed element by element from an argument, or is an argument with a part
    /// replaced. `is_argument` returns true for arguments. The results of loops and branches are the new values of
    /// their operands.
    fn carries(&self, module: &Module, is_argument: &dyn Fn(&Instruction) -> bool) -> bool {
        let maker = if self.origin.is("get-tuple-element") { module.operand(self.origin, 0) } else { None };
        if maker.is_some_and(|maker| maker.is("while") || maker.is("conditional")) {
            return true;
        }
        let (mut found, mut steps) = (Vec::new(), MOST_STEPS);
        carried_from(module, self.origin, &mut found, &mut steps);
        found.into_iter().any(|value| is_argument(origin(module, value, &mut { MOST_STEPS })))
    }
}

/// Lists the parameters of a computation from which its `value` is computed element by element. Follows instructions
/// that pass values on, elementwise instructions, partial updates, and the insides of calls and fusions.
fn carried_from<'m>(module: &'m Module, value: &'m Instruction, found: &mut Vec<&'m Instruction>, steps: &mut u32) {
    let mut seen = FxHashSet::default();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        let Some(left) = steps.checked_sub(1) else { return };
        if !seen.insert(std::ptr::from_ref(value)) {
            continue;
        }
        *steps = left;
        match value.opcode.as_str() {
            "parameter" => found.push(value),
            "fusion" | "call" => open.extend(carried_into(module, value, None, steps)),
            "get-tuple-element" => {
                let tuple = module.operand(value, 0).filter(|tuple| tuple.is("fusion") || tuple.is("call"));
                open.extend(tuple.into_iter().flat_map(|tuple| carried_into(module, tuple, tuple_index(value), steps)));
            }
            "bitcast"
            | "reshape"
            | "transpose"
            | "optimization-barrier"
            | "copy-start"
            | "copy-done"
            | "dynamic-update-slice"
            | "scatter" => open.extend(module.operand(value, 0)),
            _ if is_elementwise(module, value) => open.extend(module.operands(value)),
            _ => {}
        }
    }
}

/// Returns the operands of a call from which its result, or one value of a tuple result, is computed element by element.
fn carried_into<'m>(
    module: &'m Module,
    call: &'m Instruction,
    element: Option<usize>,
    steps: &mut u32,
) -> Vec<&'m Instruction> {
    let root = module.called(call, 0).and_then(|computation| module.root(computation));
    let result = root.and_then(|root| match element {
        Some(index) if root.is("tuple") => module.operand(root, index),
        _ => Some(root),
    });
    let mut inner = Vec::new();
    if let Some(result) = result {
        carried_from(module, result, &mut inner, steps);
    }
    let operand =
        |parameter: &Instruction| module.operand(call, usize::try_from(parameter.attributes().parameter_number?).ok()?);
    inner.into_iter().filter_map(operand).collect()
}

fn output<'m>(module: &'m Module, result: &'m Instruction) -> Output<'m> {
    static NO_SHAPE: ArrayShape =
        ArrayShape { data_type: super::DataType::PRED, dimensions: Vec::new(), dynamic: Vec::new(), layout: None };
    let origin_of = |value: &'m Instruction| origin(module, value, &mut { MOST_STEPS });
    let origin = origin_of(result);
    // The origin is an element of the result of a loop, or of a fusion with several results.
    let maker = if origin.is("get-tuple-element") { module.operand(origin, 0).unwrap_or(origin) } else { origin };
    let reads: Vec<&Instruction> = if maker.is("while") {
        let start = module.operand(maker, 0).filter(|start| start.is("tuple"));
        let own = start.and_then(|start| module.operand(start, tuple_index(origin)?));
        own.map(origin_of).into_iter().collect()
    } else if maker.is("conditional") {
        // Each branch takes the arrays that it reads as one tuple.
        let given = module.operands(maker).flat_map(|operand| {
            let (tuple, one) = if operand.is("tuple") { (Some(operand), None) } else { (None, Some(operand)) };
            tuple.into_iter().flat_map(|tuple| module.operands(tuple)).chain(one)
        });
        given.map(origin_of).collect()
    } else {
        module.operands(maker).map(origin_of).collect()
    };
    Output { origin, shape: result.shape.array().unwrap_or(&NO_SHAPE), reads }
}

fn tuple_index(element: &Instruction) -> Option<usize> {
    usize::try_from(element.attributes().tuple_index).ok()
}

/// Returns the instruction that makes a value. Looks through instructions that only pass the value on, until no steps
/// are left.
fn origin<'m>(module: &'m Module, value: &'m Instruction, steps: &mut u32) -> &'m Instruction {
    let mut value = value;
    while let Some(left) = steps.checked_sub(1) {
        *steps = left;
        let next = match value.opcode.as_str() {
            "copy" | "bitcast" | "copy-start" | "copy-done" | "reshape" | "optimization-barrier" | "convert" => {
                module.operand(value, 0)
            }
            "get-tuple-element" => element(module, value, steps),
            "fusion" | "call" => {
                let result = module.called(value, 0).and_then(|computation| module.root(computation));
                result.and_then(|result| handed_on(module, value, result, steps))
            }
            _ => None,
        };
        match next {
            Some(next) => value = next,
            None => break,
        }
    }
    value
}

/// Returns the operand that a call returns unchanged, as its result or as an element of its result.
fn handed_on<'m>(
    module: &'m Module,
    call: &'m Instruction,
    result: &'m Instruction,
    steps: &mut u32,
) -> Option<&'m Instruction> {
    let inner = origin(module, result, steps);
    let number = inner.attributes().parameter_number.filter(|_| inner.is("parameter"))?;
    module.operand(call, usize::try_from(number).ok()?)
}

/// Returns the value of a tuple element, if it is known without evaluating the instruction that makes the tuple.
fn element<'m>(module: &'m Module, value: &'m Instruction, steps: &mut u32) -> Option<&'m Instruction> {
    let (tuple, index) = (module.operand(value, 0)?, tuple_index(value)?);
    let of_root = |call: &'m Instruction| {
        let root = module.called(call, 0).and_then(|computation| module.root(computation))?;
        if root.is("tuple") { module.operand(root, index) } else { None }
    };
    match tuple.opcode.as_str() {
        "tuple" => module.operand(tuple, index),
        "copy-start" | "optimization-barrier" => {
            let inner = module.operand(tuple, 0)?;
            if inner.is("tuple") { module.operand(inner, index) } else { Some(inner) }
        }
        "fusion" | "call" => handed_on(module, tuple, of_root(tuple)?, steps),
        // A loop passes an element through if its body does.
        "while" => {
            let inner = origin(module, of_root(tuple)?, steps);
            let is_same = inner.is("get-tuple-element")
                && tuple_index(inner) == Some(index)
                && module.operand(inner, 0).is_some_and(|parameter| parameter.is("parameter"));
            let start = module.operand(tuple, 0).filter(|start| is_same && start.is("tuple"))?;
            module.operand(start, index)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "HloModule jit_step

%update (old: f32[8], slope: f32[8]) -> (f32[8], f32[8]) {
  %old = f32[8]{0} parameter(0)
  %slope = f32[8]{0} parameter(1)
  %less = f32[8]{0} subtract(%old, %slope)
  ROOT %both = (f32[8]{0}, f32[8]{0}) tuple(%less, %slope)
}

ENTRY %main (p: f32[8], q: f32[8], cache: f32[8], row: f32[1], at: s32[]) -> (f32[8], f32[8], f32[8]) {
  %p = f32[8]{0} parameter(0)
  %q = f32[8]{0} parameter(1)
  %cache = f32[8]{0} parameter(2)
  %row = f32[1]{0} parameter(3)
  %at = s32[] parameter(4)
  %backward = (f32[8]{0}, f32[8]{0}) custom-call(%p, %q), custom_call_target=\"backward\"
  %dp = f32[8]{0} get-tuple-element(%backward), index=0
  %dq = f32[8]{0} get-tuple-element(%backward), index=1
  %updated = (f32[8]{0}, f32[8]{0}) fusion(%p, %dp), kind=kLoop, calls=%update
  %new = f32[8]{0} get-tuple-element(%updated), index=0
  %filled = f32[8]{0} dynamic-update-slice(%cache, %row, %at)
  ROOT %all = (f32[8]{0}, f32[8]{0}, f32[8]{0}) tuple(%new, %dq, %filled)
}
";

    #[test]
    fn a_gradient_is_not_a_new_value() {
        let module = crate::text::module(TEXT.as_bytes());
        let found = arguments(&module);
        let found: Vec<_> = found.iter().map(|it| (it.outcome, it.is_carried)).collect();
        use Outcome::{NotReturned, Updated};
        // Only the gradient of q is returned.
        let expected = [(Updated, true), (Updated, false), (Updated, true), (NotReturned, false), (NotReturned, false)];
        assert_eq!(found, expected);
    }
}
