//! Selects the cost function of each opcode.

use super::analysis::Analysis;
use super::work::{Arithmetic, Work};
use super::{collective, control, convolution, elementwise, fusion, library, matrix, moves, reduce};
use crate::{Instruction, Module};

/// Returns the work of one instruction.
pub(super) fn work(analysis: &mut Analysis<'_>, instruction: &Instruction) -> Work {
    let module = analysis.module;
    match instruction.opcode.as_str() {
        "fusion" => fusion::work(analysis, instruction),
        "custom-call" => library::work(analysis, instruction),
        "while" | "conditional" | "call" | "async-start" => control::work(analysis, instruction),
        "reduce" | "reduce-window" | "select-and-scatter" | "scatter" | "map" => reduce::work(analysis, instruction),
        "dot" | "scaled-dot" => matrix::dot(module, instruction),
        "ragged-dot" => matrix::ragged_dot(module, instruction),
        "convolution" => convolution::work(module, instruction),
        "fft" => fft(analysis, instruction),
        "sort" => sort(module, instruction),
        "cholesky" => matrix::cholesky(module, instruction),
        "triangular-solve" => matrix::triangular_solve(module, instruction),
        "rng" | "rng-bit-generator" => random(analysis, instruction),
        "concatenate" => concatenate(analysis, instruction),
        opcode if collective::is(opcode) => collective::work(analysis, instruction),
        _ if elementwise::counts(instruction) => elementwise::work(module, instruction, analysis.conventions),
        _ => moves::work(module, instruction, analysis.conventions),
    }
}

/// Counts `2 * 4 * n * log2(n)` FLOPs for a transform of n elements: a complex multiplication is four multiply-adds.
/// For a transform over several dimensions, the logarithms are added. XLA multiplies the logarithms, which overstates
/// the work.
fn fft(analysis: &Analysis<'_>, instruction: &Instruction) -> Work {
    let bytes = moves::default(analysis.module, instruction);
    let Some(operand) = analysis.module.operand(instruction, 0) else { return Work::UNKNOWN };
    let Some(array) = operand.shape.first_array() else { return Work::UNKNOWN };
    let lengths = instruction.attributes().fft_length.iter();
    let logarithms = lengths.map(|&length| f64::from(u64::try_from(length).unwrap_or(0).checked_ilog2().unwrap_or(0)));
    let factor: f64 = if analysis.conventions.corrects() { logarithms.sum() } else { logarithms.product() };
    let flops = 2.0 * 4.0 * factor * array.elements();
    Work { flops, arithmetic: Arithmetic::other(array, flops), ..bytes }
}

/// Counts random numbers as transcendental functions. The GPU conventions define no count for random numbers.
fn random(analysis: &Analysis<'_>, instruction: &Instruction) -> Work {
    Work { transcendentals: instruction.shape.elements(), ..moves::default(analysis.module, instruction) }
}

/// Counts a concatenation of arrays. A concatenation computes nothing, but on GPUs, XLA counts six cycles per element
/// for selecting the operand. If the boundaries between operands are not at multiples of a warp, XLA counts 400 cycles
/// per element.
fn concatenate(analysis: &Analysis<'_>, instruction: &Instruction) -> Work {
    let bytes = moves::default(analysis.module, instruction);
    if !analysis.conventions.is_gpu() {
        return bytes;
    }
    let dimension = instruction.attributes().dimensions.first().copied().unwrap_or(0);
    let first = analysis.module.operand(instruction, 0).and_then(|operand| operand.shape.array());
    let aligned = first.and_then(|array| array.dimension(dimension)).is_none_or(|size| size % 32 == 0);
    let cycles = if dimension > 0 && !aligned { 400.0 } else { 6.0 };
    Work { flops: cycles * instruction.shape.elements(), ..bytes }
}

/// Counts `n * ceil(log2 n)` comparisons for the n elements of the first operand.
fn sort(module: &Module, instruction: &Instruction) -> Work {
    let operand = module.operand(instruction, 0).and_then(|operand| operand.shape.array());
    let Some(array) = operand else { return Work::UNKNOWN };
    let flops = array.elements() * halvings(array.elements());
    Work { flops, arithmetic: Arithmetic::other(array, flops), ..moves::default(module, instruction) }
}

/// Returns `ceil(log2 n)`, or 0 if `n` is below 2. Doubling gives an exact result, but the rounding of a logarithm
/// depends on the machine.
fn halvings(n: f64) -> f64 {
    let powers = std::iter::successors(Some(1.0), |power| Some(power * 2.0));
    powers.take_while(|&power| power < n).count() as f64
}

#[cfg(test)]
mod tests {
    use super::halvings;

    #[test]
    fn halvings_are_the_logarithm_rounded_up() {
        let cases = [(0.0, 0.0), (1.0, 0.0), (2.0, 1.0), (3.0, 2.0), (4.0, 2.0), (5.0, 3.0), (1023.0, 10.0)];
        for (n, expected) in cases.into_iter().chain([(1024.0, 10.0), (1025.0, 11.0), (f64::INFINITY, 1024.0)]) {
            assert_eq!(halvings(n), expected, "{n}");
        }
    }
}
