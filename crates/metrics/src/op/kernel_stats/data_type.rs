//! Finds the type of the values that an instruction computes with.

use hlo::{Instruction, Module};

/// Returns the data type of an instruction. For a product, convolution or attention (`matrix`), returns the type of the
/// first operand. For a fusion that contains a product, returns the type of the product's first operand. For other
/// instructions, returns the type of the result. Returns `None` if the HLO does not contain the type.
pub(super) fn of(module: &Module, instruction: &Instruction, matrix: bool) -> Option<&'static str> {
    let fused = hlo::fused(module, instruction);
    let is_product = |it: &&Instruction| it.is("dot") || it.is("convolution") || it.is("ragged-dot");
    let product = fused.iter().find(is_product).unwrap_or(instruction);
    let operand = || module.operand(product, 0)?.shape.first_array();
    let array = if matrix { operand() } else { None }.or_else(|| instruction.shape.first_array())?;
    Some(array.data_type.name())
}
