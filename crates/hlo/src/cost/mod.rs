//! What an instruction costs: operations and bytes, by a static analysis of the module. docs/metrics.md, "HLO cost analysis",
//! defines it op by op.
//!
//! ```text
//! instruction -> opcode
//!                  |-> elementwise, convolution, matrix, reduce, collective, moves   one instruction
//!                  |-> fusion     what is inside it, weighted by how often each element is needed
//!                  |-> control    the computations of a call, while or conditional
//!                  '-> library    custom calls of cuBLAS, cuDNN, LAPACK, Transformer Engine ... from their shapes
//! ```
//!
//! Modules that look into other computations ask `analysis` for them, which goes through `opcode` again.

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

/// What an instruction costs each time it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Floating-point operations (integer ones count alike): a multiply-add is two. By [`Conventions::Gpu`] elementwise
    /// operations count as clock cycles, transcendental functions among them.
    pub flops: f64,
    /// Results of transcendental functions (exp, log, tanh ...).
    pub transcendentals: f64,
    /// Bytes read and written.
    pub bytes_accessed: f64,
    /// Bytes read.
    pub bytes_read: f64,
    /// Bytes written.
    pub bytes_written: f64,
    /// How the numbers were found.
    pub source: CostSource,
    /// Operand type of the main arithmetic: of the matrix multiplication or convolution where there is one, else of the
    /// work that counts most; `None` where there is no arithmetic.
    pub data_type: Option<DataType>,
}

/// How a cost was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostSource {
    /// The cost comes from analysing the instruction, as XLA does.
    Hlo,
    /// The cost comes from the shapes and configuration of a library call that XLA does not look into.
    Shapes,
}

/// What `instruction` costs each time it runs, by [`Conventions::Gpu`]. `None` where that cannot be known: a custom call that
/// is not one of the known libraries', or anything that contains one.
///
/// Each call analyses anew what the instruction contains; keep the result.
pub fn cost(module: &Module, instruction: &Instruction) -> Option<Cost> {
    cost_by(module, instruction, Conventions::Gpu)
}

/// Does what [`cost`] does, by the conventions given.
pub fn cost_by(module: &Module, instruction: &Instruction, conventions: Conventions) -> Option<Cost> {
    let work = Analysis::new(module, conventions, opcode::work).instruction(instruction);
    // Shapes of a damaged file may multiply beyond all numbers.
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
