//! The analysis of one instruction, by its opcode.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::work::{Arithmetic, Work};
use super::{Conventions, collective, control, convolution, elementwise, fusion, library, moves, reduce};
use crate::{ArrayShape, ComputationIndex, DotDimensions, Instruction, Module};

/// How deep computations may call each other. Real ones stay below ten; a damaged file may hold a cycle.
const MAX_DEPTH: u32 = 40;

/// Analyses instructions of one module. Computations are analysed once.
pub(super) struct Analysis<'m> {
    pub(super) module: &'m Module,
    pub(super) conventions: Conventions,
    depth: u32,
    /// Work of all instructions of a computation.
    computations: FxHashMap<ComputationIndex, Work>,
    /// Work of a fused computation, and how often each instruction in it is needed.
    pub(super) fused: FxHashMap<ComputationIndex, (Work, Rc<[f64]>)>,
}

impl<'m> Analysis<'m> {
    pub(super) fn new(module: &'m Module, conventions: Conventions) -> Analysis<'m> {
        Analysis { module, conventions, depth: 0, computations: FxHashMap::default(), fused: FxHashMap::default() }
    }

    /// Work of all instructions of computation number `n` that an instruction calls; unknown where there is none.
    pub(super) fn called(&mut self, instruction: &Instruction, n: usize) -> Work {
        let Some(&index) = instruction.called.get(n) else { return Work::UNKNOWN };
        if let Some(&known) = self.computations.get(&index) {
            return known;
        }
        let Some(computation) = self.module.computation(index) else { return Work::UNKNOWN };
        // Found again below itself, a computation is unknown.
        self.computations.insert(index, Work::UNKNOWN);
        let mut sum = Work::default();
        for inner in self.module.instructions_of(computation) {
            sum = sum.plus(self.instruction(inner));
        }
        self.computations.insert(index, sum);
        sum
    }

    /// Work of one instruction.
    pub(super) fn instruction(&mut self, instruction: &Instruction) -> Work {
        if self.depth >= MAX_DEPTH {
            return Work::UNKNOWN;
        }
        self.depth += 1;
        let work = self.by_opcode(instruction);
        self.depth -= 1;
        work
    }

    fn by_opcode(&mut self, instruction: &Instruction) -> Work {
        let module = self.module;
        match instruction.opcode.as_str() {
            "fusion" => fusion::work(self, instruction),
            "custom-call" => library::work(self, instruction),
            "while" | "conditional" | "call" | "async-start" => control::work(self, instruction),
            "reduce" | "reduce-window" | "select-and-scatter" | "scatter" | "map" => reduce::work(self, instruction),
            "dot" | "scaled-dot" => dot(module, instruction),
            "ragged-dot" => ragged_dot(module, instruction),
            "convolution" => convolution::work(module, instruction),
            "fft" => self.fft(instruction),
            "sort" => sort(module, instruction),
            "cholesky" => cholesky(module, instruction),
            "triangular-solve" => triangular_solve(module, instruction),
            "rng" | "rng-bit-generator" => self.random(instruction),
            "concatenate" => self.concatenate(instruction),
            opcode if collective::is(opcode) => collective::work(self, instruction),
            _ if elementwise::counts(instruction) => elementwise::work(module, instruction, self.conventions),
            _ => moves::work(module, instruction, self.conventions),
        }
    }

    /// `2 * 4 * n * log2(n)` for n elements transformed: a complex multiplication is four multiply-adds. XLA multiplies the
    /// logarithms of a transform over several dimensions, which overstates it; they add up.
    fn fft(&self, instruction: &Instruction) -> Work {
        let bytes = moves::default(self.module, instruction);
        let Some(operand) = self.module.operand(instruction, 0) else { return Work::UNKNOWN };
        let Some(array) = operand.shape.first_array() else { return Work::UNKNOWN };
        let lengths = instruction.attributes().fft_length.iter();
        let logarithms =
            lengths.map(|&length| f64::from(u64::try_from(length).unwrap_or(0).checked_ilog2().unwrap_or(0)));
        let factor: f64 = if self.conventions.corrects() { logarithms.sum() } else { logarithms.product() };
        let flops = 2.0 * 4.0 * factor * array.elements();
        Work { flops, arithmetic: other(array, flops), ..bytes }
    }

    /// Random numbers count as transcendental functions. The GPU conventions know no such count for them.
    fn random(&self, instruction: &Instruction) -> Work {
        Work { transcendentals: instruction.shape.elements(), ..moves::default(self.module, instruction) }
    }

    /// Joining arrays computes nothing, but on GPUs XLA counts six cycles an element for choosing the operand, and 400
    /// where the operands' borders do not lie on multiples of a warp.
    fn concatenate(&self, instruction: &Instruction) -> Work {
        let bytes = moves::default(self.module, instruction);
        if !self.conventions.is_gpu() {
            return bytes;
        }
        let dimension = instruction.attributes().dimensions.first().copied().unwrap_or(0);
        let first = self.module.operand(instruction, 0).and_then(|operand| operand.shape.array());
        let aligned = first.and_then(|array| array.dimension(dimension)).is_none_or(|size| size % 32 == 0);
        let cycles = if dimension > 0 && !aligned { 400.0 } else { 6.0 };
        Work { flops: cycles * instruction.shape.elements(), ..bytes }
    }
}

/// The type of work that is no sum of products.
pub(super) fn other(array: &ArrayShape, flops: f64) -> Arithmetic {
    Arithmetic { product: None, other: Some((array.data_type, flops)) }
}

fn dot(module: &Module, instruction: &Instruction) -> Work {
    let Some(lhs) = module.operand(instruction, 0) else { return Work::UNKNOWN };
    let (Some(array), Some(numbers)) = (lhs.shape.array(), instruction.attributes().dot.as_deref()) else {
        return Work::UNKNOWN;
    };
    let flops = dot_flops(array, instruction.shape.elements(), numbers);
    moves::default(module, instruction).product(flops, &lhs.shape)
}

/// A multiply-add for each element of the result and each one summed over.
pub(super) fn dot_flops(lhs: &ArrayShape, result_elements: f64, numbers: &DotDimensions) -> f64 {
    let sizes = numbers.lhs_contracting.iter().map(|&dimension| lhs.dimension(dimension).unwrap_or(1) as f64);
    2.0 * result_elements * sizes.product::<f64>()
}

/// Each row of the left operand is multiplied by the matrix of its group, so a ragged dot whose ragged dimension is kept costs
/// as much as a plain one. Where the ragged dimension is summed over, each group's result sums its own share of it.
fn ragged_dot(module: &Module, instruction: &Instruction) -> Work {
    let Some(lhs) = module.operand(instruction, 0) else { return Work::UNKNOWN };
    let own = instruction.attributes();
    let (Some(array), Some(numbers)) = (lhs.shape.array(), own.dot.as_deref()) else { return Work::UNKNOWN };
    let contracted = own.ragged_dimensions.iter().any(|dimension| numbers.lhs_contracting.contains(dimension));
    let groups = module.operand(instruction, 2).and_then(|sizes| sizes.shape.array()).map(ArrayShape::elements);
    let share = if contracted { groups.unwrap_or(1.0).max(1.0) } else { 1.0 };
    let flops = dot_flops(array, instruction.shape.elements(), numbers) / share;
    moves::default(module, instruction).product(flops, &lhs.shape)
}

/// `n * ceil(log2 n)` comparisons for the n elements of the first operand.
fn sort(module: &Module, instruction: &Instruction) -> Work {
    let operand = module.operand(instruction, 0).and_then(|operand| operand.shape.array());
    let Some(array) = operand else { return Work::UNKNOWN };
    let flops = array.elements() * halvings(array.elements());
    Work { flops, arithmetic: other(array, flops), ..moves::default(module, instruction) }
}

/// `ceil(log2 n)`: how often 1 doubles until it is `n` or more. 0 below 2. Exact, unlike a logarithm,
/// which machines round differently.
fn halvings(n: f64) -> f64 {
    let powers = std::iter::successors(Some(1.0), |power| Some(power * 2.0));
    powers.take_while(|&power| power < n).count() as f64
}

/// `n^3 / 3` for each matrix, of which one half is read and written.
pub(super) fn cholesky(module: &Module, instruction: &Instruction) -> Work {
    let operand = module.operand(instruction, 0).and_then(|operand| operand.shape.array());
    let Some(array) = operand else { return Work::UNKNOWN };
    let flops = (last(array) * array.elements() / 3.0).floor();
    let bytes = array.bytes() / 2.0;
    Work { flops, arithmetic: other(array, flops), ..Work::moves(bytes, bytes) }
}

/// A multiply-add for each element of the result and each row of the matrix, of which one half is read.
pub(super) fn triangular_solve(module: &Module, instruction: &Instruction) -> Work {
    let operand = |n| module.operand(instruction, n).and_then(|operand| operand.shape.array());
    let (Some(a), Some(b)) = (operand(0), operand(1)) else { return Work::UNKNOWN };
    let flops = 2.0 * last(a) * b.elements();
    let written = instruction.shape.first_array().map_or(0.0, ArrayShape::bytes);
    Work { flops, arithmetic: other(a, flops), ..Work::moves(a.bytes() / 2.0 + b.bytes(), written) }
}

/// Size of the last dimension.
fn last(array: &ArrayShape) -> f64 {
    array.dimensions.last().map_or(1.0, |&size| size as f64)
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
