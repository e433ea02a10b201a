//! Ways of counting.

use trace::Platform;

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
    pub(super) fn is_gpu(self) -> bool {
        self == Conventions::Gpu
    }

    /// Is XLA corrected where it is wrong: loops that it counts once, waits that it counts as moving bytes?
    pub(super) fn corrects(self) -> bool {
        self != Conventions::General
    }
}
