//! Counting conventions.

use trace::Platform;

/// Counting convention of an analysis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conventions {
    /// XLA's analysis for GPUs, as used by XProf, with corrections.
    #[default]
    Gpu,
    /// XLA's general analysis, which its CPU backend uses: an elementwise operation is one FLOP or one transcendental
    /// function per element. The corrections are the same as for GPUs.
    Cpu,
    /// XLA's general analysis without changes: the values of a compiled program's `cost_analysis()`.
    General,
}

impl Conventions {
    /// Returns the conventions for the ops of a platform. A TPU's profile already contains the costs of its ops.
    pub fn of(platform: Option<Platform>) -> Conventions {
        if platform == Some(Platform::Cpu) { Conventions::Cpu } else { Conventions::Gpu }
    }

    /// Returns true for XLA's GPU analysis. This analysis counts clock cycles instead of operations, and the bytes that
    /// GPU kernels move.
    pub(super) fn is_gpu(self) -> bool {
        self == Conventions::Gpu
    }

    /// Returns true if errors of XLA's analysis are corrected. XLA counts only one iteration of a loop, and treats
    /// waits as moving bytes.
    pub(super) fn corrects(self) -> bool {
        self != Conventions::General
    }
}
