//! The type of the values that an instruction computes with.

use hlo::{Instruction, Module};

/// For a product, convolution or attention (`matrix`) the type of its first operand, inside of a fusion that of the product
/// in it; for other instructions the type of the result. `None` where the HLO does not say it.
pub(super) fn of(module: &Module, instruction: &Instruction, matrix: bool) -> Option<&'static str> {
    let fused = hlo::fused(module, instruction);
    let is_product = |it: &&Instruction| it.is("dot") || it.is("convolution") || it.is("ragged-dot");
    let product = fused.iter().find(is_product).unwrap_or(instruction);
    let operand = || module.operand(product, 0)?.shape.first_array();
    let array = if matrix { operand() } else { None }.or_else(|| instruction.shape.first_array())?;
    Some(array.data_type.name())
}
