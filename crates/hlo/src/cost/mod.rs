//! Computes the cost of an instruction (operations and bytes) by a static analysis of the module. docs/metrics.md, "HLO
//! cost analysis", defines the cost of each op.
//!
//! ```text
//! instruction -> opcode
//!                  |-> elementwise, convolution, matrix, reduce, collective, moves   one instruction
//!                  |-> fusion     what is inside it, weighted by how often each element is needed
//!                  |-> control    the computations of a call, while or conditional
//!                  '-> library    custom calls to cuBLAS, cuDNN, LAPACK, Transformer Engine ... from their shapes
//! ```
//!
//! If one of the submodules needs the work of another computation, it calls `analysis`, which calls `opcode` again.

mod analysis;
mod attention;
mod collective;
mod control;
mod conventions;
mod convolution;
pub(crate) mod elementwise;
mod fusion;
mod lapack;
mod library;
mod matrix;
mod moves;
mod opcode;
mod reduce;
mod work;

use super::{DataType, Instruction, Module};
use analysis::Analysis;
pub use conventions::Conventions;
pub use library::has_author_estimate;

/// Cost of one execution of an instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Floating-point operations. Integer operations are included. A multiply-add is two operations. Under
    /// [`Conventions::Gpu`], elementwise operations, including transcendental functions, are counted in clock cycles.
    pub flops: f64,
    /// Number of results of transcendental functions (exp, log, tanh and so on).
    pub transcendentals: f64,
    /// Bytes read and written.
    pub bytes_accessed: f64,
    /// Bytes read.
    pub bytes_read: f64,
    /// Bytes written.
    pub bytes_written: f64,
    /// Source of the numbers.
    pub source: CostSource,
    /// Operand type of the matrix multiplication or convolution. If there is neither, this is the type of the largest
    /// part of the arithmetic. `None` if there is no arithmetic.
    pub data_type: Option<DataType>,
}

/// Source of a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostSource {
    /// Analysis of the instruction, as in XLA.
    Hlo,
    /// Shapes and configuration of a library call that XLA does not analyse.
    Shapes,
}

/// Returns the cost of one execution of `instruction`, under [`Conventions::Gpu`]. Returns `None` if the cost is
/// unknown: for a custom call to an unknown library, or for an instruction that contains such a call.
///
/// Each call repeats the analysis of everything inside the instruction, so callers should store the result.
pub fn cost(module: &Module, instruction: &Instruction) -> Option<Cost> {
    cost_by(module, instruction, Conventions::Gpu)
}

/// Does the same as [`cost`], under the given conventions.
pub fn cost_by(module: &Module, instruction: &Instruction, conventions: Conventions) -> Option<Cost> {
    let work = Analysis::new(module, conventions, opcode::work).instruction(instruction);
    // The product of a damaged file's shapes may overflow.
    let finite = [work.flops, work.transcendentals, work.read, work.written].iter().all(|number| number.is_finite());
    (work.known && finite).then(|| Cost {
        flops: work.flops,
        transcendentals: work.transcendentals,
        bytes_accessed: work.read + work.written,
        bytes_read: work.read,
        bytes_written: work.written,
        source: if work.from_shapes { CostSource::Shapes } else { CostSource::Hlo },
        data_type: work.arithmetic.data_type(),
    })
}
