//! Products and factorisations of matrices, for instructions and library calls.

use super::moves::{self, result, without_scratch};
use super::work::{Arithmetic, Work};
use crate::{ArrayShape, DotDimensions, Instruction, Module};

/// Returns the work of a matrix product.
pub(super) fn dot(module: &Module, instruction: &Instruction) -> Work {
    let Some(lhs) = module.operand(instruction, 0) else { return Work::UNKNOWN };
    let (Some(array), Some(numbers)) = (lhs.shape.array(), instruction.attributes().dot.as_deref()) else {
        return Work::UNKNOWN;
    };
    let flops = dot_flops(array, instruction.shape.elements(), numbers);
    moves::default(module, instruction).product(flops, &lhs.shape)
}

/// Counts a multiply-add for each element of the result and each element of the contracted dimensions.
pub(super) fn dot_flops(lhs: &ArrayShape, result_elements: f64, numbers: &DotDimensions) -> f64 {
    let sizes = numbers.lhs_contracting.iter().map(|&dimension| lhs.dimension(dimension).unwrap_or(1) as f64);
    2.0 * result_elements * sizes.product::<f64>()
}

/// Returns the work of a ragged dot. Each row of the left operand is multiplied by the matrix of its group. If the
/// ragged dimension is kept, a ragged dot therefore costs as much as a plain dot. If the ragged dimension is
/// contracted, each group's result sums only the group's own share of that dimension.
pub(super) fn ragged_dot(module: &Module, instruction: &Instruction) -> Work {
    let Some(lhs) = module.operand(instruction, 0) else { return Work::UNKNOWN };
    let own = instruction.attributes();
    let (Some(array), Some(numbers)) = (lhs.shape.array(), own.dot.as_deref()) else { return Work::UNKNOWN };
    let contracted = own.ragged_dimensions.iter().any(|dimension| numbers.lhs_contracting.contains(dimension));
    let groups = module.operand(instruction, 2).and_then(|sizes| sizes.shape.array()).map(ArrayShape::elements);
    let share = if contracted { groups.unwrap_or(1.0).max(1.0) } else { 1.0 };
    let flops = dot_flops(array, instruction.shape.elements(), numbers) / share;
    moves::default(module, instruction).product(flops, &lhs.shape)
}

/// A factorisation of matrices.
#[derive(Clone, Copy)]
pub(super) enum Factorization {
    Cholesky,
    Lu,
    Qr,
}

/// Uses the classical counts, with multiplications and additions counted separately. For matrices with larger side m
/// and smaller side n, Cholesky takes n^3 / 3 operations, LU takes m n^2 - n^3 / 3, and QR takes twice as many as LU.
pub(super) fn factor(module: &Module, instruction: &Instruction, kind: Factorization) -> Work {
    let operand = module.operand(instruction, 0).and_then(|operand| operand.shape.array());
    let (Some(array), Some(result)) = (operand, result(instruction)) else { return Work::UNKNOWN };
    let &[.., rows, columns] = array.dimensions.as_slice() else { return Work::UNKNOWN };
    let (m, n) = (rows.max(columns) as f64, rows.min(columns) as f64);
    let batches = if m * n > 0.0 { array.elements() / (m * n) } else { 0.0 };
    let one = match kind {
        Factorization::Cholesky => n * n * n / 3.0,
        Factorization::Lu => m * n * n - n * n * n / 3.0,
        Factorization::Qr => 2.0 * (m * n * n - n * n * n / 3.0),
    };
    let flops = batches * one;
    Work {
        from_shapes: true,
        flops,
        arithmetic: Arithmetic::other(array, flops),
        ..without_scratch(module, instruction, result)
    }
}

/// Counts `n^3 / 3` for each matrix. Half of the matrix is read and written.
pub(super) fn cholesky(module: &Module, instruction: &Instruction) -> Work {
    let operand = module.operand(instruction, 0).and_then(|operand| operand.shape.array());
    let Some(array) = operand else { return Work::UNKNOWN };
    let flops = (last(array) * array.elements() / 3.0).floor();
    let bytes = array.bytes() / 2.0;
    Work { flops, arithmetic: Arithmetic::other(array, flops), ..Work::moves(bytes, bytes) }
}

/// Counts a multiply-add for each combination of an element of the result and a row of the matrix. Half of the matrix
/// is read.
pub(super) fn triangular_solve(module: &Module, instruction: &Instruction) -> Work {
    let operand = |n| module.operand(instruction, n).and_then(|operand| operand.shape.array());
    let (Some(a), Some(b)) = (operand(0), operand(1)) else { return Work::UNKNOWN };
    let flops = 2.0 * last(a) * b.elements();
    let written = instruction.shape.first_array().map_or(0.0, ArrayShape::bytes);
    Work { flops, arithmetic: Arithmetic::other(a, flops), ..Work::moves(a.bytes() / 2.0 + b.bytes(), written) }
}

/// Returns the size of the last dimension.
fn last(array: &ArrayShape) -> f64 {
    array.dimensions.last().map_or(1.0, |&size| size as f64)
}
