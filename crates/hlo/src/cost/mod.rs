//! What an instruction costs: operations and bytes, by a static analysis of the module. docs/metrics.md, "HLO cost analysis",
//! defines it op by op.
//!
//! ```text
//! instruction -> analysis (by opcode)
//!                  |-> elementwise, convolution, reduce, collective, moves   one instruction
//!                  |-> fusion     what is inside it, weighted by how often each element is needed
//!                  |-> control    the computations of a call, while or conditional
//!                  '-> library    custom calls of cuBLAS, cuDNN, LAPACK, Transformer Engine ... from their shapes
//! ```

mod analysis;
mod attention;
mod collective;
mod control;
mod convolution;
pub(crate) mod elementwise;
mod fusion;
mod lapack;
mod library;
mod moves;
mod reduce;
mod work;

use super::{DataType, Instruction, Module};
use analysis::Analysis;
use trace::Platform;

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
    /// By analysing the instruction, as XLA does.
    Hlo,
    /// From the shapes and configuration of a library call that XLA does not look into.
    Shapes,
}

/// Whose way of counting is followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conventions {
    /// XLA's analysis for GPUs, as XProf runs it, corrected where it is wrong.
    #[default]
    Gpu,
    /// XLA's general analysis, which its CPU backend uses: an elementwise operation is one FLOP or one transcendental function an
    /// element. Corrected where it is wrong, as for GPUs.
    Cpu,
    /// XLA's general analysis to the letter: what a compiled program's `cost_analysis()` says.
    General,
}

impl Conventions {
    /// The conventions for the ops of a platform. A TPU's profile says itself what its ops cost.
    pub fn of(platform: Option<Platform>) -> Conventions {
        if platform == Some(Platform::Cpu) { Conventions::Cpu } else { Conventions::Gpu }
    }

    /// Does XLA's analysis for GPUs count: cycles instead of operations, and bytes as its kernels move them?
    fn is_gpu(self) -> bool {
        self == Conventions::Gpu
    }

    /// Is XLA corrected where it is wrong: loops that it counts once, waits that it counts as moving bytes?
    fn corrects(self) -> bool {
        self != Conventions::General
    }
}

/// What `instruction` costs each time it runs, by [`Conventions::Gpu`]. `None` where that cannot be known: a custom call that
/// is not one of the known libraries', or anything that contains one.
///
/// Each call analyses anew what the instruction contains; keep the result.
pub fn cost(module: &Module, instruction: &Instruction) -> Option<Cost> {
    cost_by(module, instruction, Conventions::Gpu)
}

/// As [`cost`], by the conventions given.
pub fn cost_by(module: &Module, instruction: &Instruction, conventions: Conventions) -> Option<Cost> {
    let work = Analysis::new(module, conventions).instruction(instruction);
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
