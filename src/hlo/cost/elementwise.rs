//! Elementwise operations.

use crate::hlo::{Instruction, Module};

/// Opcodes whose result element depends on one element of each operand.
const ELEMENTWISE: &[&str] = &[
    "abs", "add", "and", "atan2", "bitcast-convert", "cbrt", "ceil", "clamp", "clz", "compare", "complex", "constant",
    "convert", "copy", "copy-done", "copy-start", "cosine", "count-leading-zeros", "divide", "erf", "exponential",
    "exponential-minus-one", "floor", "imag", "is-finite", "log", "log-plus-one", "logistic", "map", "maximum", "minimum",
    "multiply", "negate", "not", "or", "popcnt", "power", "real", "reduce-precision", "remainder",
    "round-nearest-afz", "round-nearest-even", "rsqrt", "select", "shift-left", "shift-right-arithmetic",
    "shift-right-logical", "sign", "sine", "sqrt", "stochastic-convert", "subtract", "tan", "tanh", "xor",
];

/// How deep fusions in fusions are looked into.
const DEPTH: u32 = 8;

/// Does each element of the result depend on the same element of the operands only? Of a fusion, if that holds for all
/// inside it.
pub fn is_elementwise(module: &Module, instruction: &Instruction) -> bool {
    nested(module, instruction, DEPTH)
}

fn nested(module: &Module, instruction: &Instruction, depth: u32) -> bool {
    if !instruction.is("fusion") {
        return ELEMENTWISE.contains(&instruction.opcode.as_str());
    }
    let Some(computation) = module.called(instruction, 0) else { return false };
    depth > 0
        && module
            .instructions_of(computation)
            .iter()
            .all(|inner| inner.is("parameter") || nested(module, inner, depth - 1))
}
