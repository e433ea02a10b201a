//! Elementwise operations.

use std::sync::LazyLock;

use base::number::decimal;
use rustc_hash::FxHashMap;

use super::conventions::Conventions;
use super::moves;
use super::work::{Arithmetic, Work};
use crate::{Computation, DataType, Instruction, Module};

/// Opcodes whose result elements each depend on one element of each operand. Sorted, because each instruction of a program
/// is searched here.
const ELEMENTWISE: &[&str] = &[
    "abs",
    "add",
    "and",
    "atan2",
    "bitcast-convert",
    "cbrt",
    "ceil",
    "clamp",
    "compare",
    "complex",
    "constant",
    "convert",
    "copy",
    "cosine",
    "count-leading-zeros",
    "divide",
    "erf",
    "exponential",
    "exponential-minus-one",
    "floor",
    "imag",
    "is-finite",
    "log",
    "log-plus-one",
    "logistic",
    "map",
    "maximum",
    "minimum",
    "multiply",
    "negate",
    "not",
    "or",
    "popcnt",
    "power",
    "real",
    "reduce-precision",
    "remainder",
    "rng",
    "round-nearest-afz",
    "round-nearest-even",
    "rsqrt",
    "select",
    "shift-left",
    "shift-right-arithmetic",
    "shift-right-logical",
    "sign",
    "sine",
    "sqrt",
    "stochastic-convert",
    "subtract",
    "tan",
    "tanh",
    "xor",
];

/// Opcodes whose results are counted as transcendental functions.
const TRANSCENDENTAL: &[&str] = &[
    "atan2",
    "cbrt",
    "cosine",
    "erf",
    "exponential",
    "exponential-minus-one",
    "log",
    "log-plus-one",
    "logistic",
    "power",
    "rsqrt",
    "sine",
    "sqrt",
    "tan",
    "tanh",
];

/// Clock cycles of operations that are missing from the table of cycles.
const DEFAULT_CYCLES: f64 = 3.0;

static CYCLES: LazyLock<FxHashMap<(&'static str, DataType), f64>> = LazyLock::new(|| {
    let rows = include_str!("cycles.csv").lines().filter(|line| !line.starts_with('#')).skip(1);
    let row = |line: &'static str| {
        let mut cells = line.split(',');
        let (opcode, data_type, cycles) = (cells.next()?, cells.next()?, cells.next()?);
        Some(((opcode, DataType::from_name(data_type)?), decimal(cycles)?))
    };
    rows.filter_map(row).collect()
});

/// Returns true if each element of the result depends only on the same element of the operands. For a fusion, this must be
/// true for all instructions inside it.
pub fn is_elementwise(module: &Module, instruction: &Instruction) -> bool {
    within(module.computations(), instruction)
}

/// Does the same as [`is_elementwise`], but with the computations that were read so far.
pub(crate) fn within(computations: &[Computation], instruction: &Instruction) -> bool {
    if !instruction.is("fusion") {
        return ELEMENTWISE.binary_search(&instruction.opcode.as_str()).is_ok();
    }
    let called = instruction.called.first().and_then(|&index| computations.get(index as usize));
    called.is_some_and(|computation| computation.elementwise)
}

/// Returns true if the instruction is elementwise and does arithmetic, unlike copies and constants.
pub(super) fn counts(instruction: &Instruction) -> bool {
    let opcode = instruction.opcode.as_str();
    ELEMENTWISE.binary_search(&opcode).is_ok() && !matches!(opcode, "copy" | "constant" | "map" | "rng")
}

/// Returns the work of an elementwise instruction.
pub(super) fn work(module: &Module, instruction: &Instruction, conventions: Conventions) -> Work {
    let bytes = moves::default(module, instruction);
    let elements = instruction.shape.elements();
    let transcendental = TRANSCENDENTAL.contains(&instruction.opcode.as_str());
    let transcendentals = if transcendental { elements } else { 0.0 };
    let flops = match conventions.is_gpu() {
        true => cycles(instruction) * elements,
        false if transcendental => 0.0,
        false => elements,
    };
    // Conversions are not arithmetic in the type of their result. Comparisons are in the type of their operands.
    let typed = match instruction.opcode.as_str() {
        "convert" | "bitcast-convert" | "reduce-precision" => None,
        "compare" | "is-finite" => module.operand(instruction, 0).and_then(|operand| operand.shape.array()),
        _ => instruction.shape.array(),
    };
    let other = typed.map(|array| (array.data_type, flops.max(transcendentals)));
    Work { flops, transcendentals, arithmetic: Arithmetic { product: None, other }, ..bytes }
}

/// Returns the clock cycles per element, which depend on the type of the result.
pub(super) fn cycles(instruction: &Instruction) -> f64 {
    let array = instruction.shape.first_array();
    let listed = array.and_then(|array| CYCLES.get(&(instruction.opcode.as_str(), array.data_type)));
    listed.copied().unwrap_or(DEFAULT_CYCLES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_is_read() {
        let rows = include_str!("cycles.csv").lines().filter(|line| !line.starts_with('#')).count() - 1;
        assert_eq!(CYCLES.len(), rows);
        assert!(CYCLES.keys().all(|(opcode, _)| ELEMENTWISE.contains(opcode)));
        assert_eq!(CYCLES.get(&("tanh", DataType::F32)), Some(&190.0));
    }

    #[test]
    fn opcodes_are_sorted() {
        assert!(ELEMENTWISE.is_sorted());
    }
}
