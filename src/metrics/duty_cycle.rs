//! How busy TPU chips are by XProf's definitions, for those who compare.

use crate::units::Ps;

/// Sums over chips.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DutyCycle {
    /// Union of the ops that are not off duty.
    pub busy: Ps,
    /// First op's or program's start to last one's end.
    pub span: Ps,
    /// Time of the ops on the chips' own clocks.
    pub op_time: Ps,
    /// First op's start to last op's end.
    pub op_span: Ps,
}
