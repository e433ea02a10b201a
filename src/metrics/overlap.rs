//! Communication and copies that run while the device computes.
//!
//! ```text
//! compute         [=====)     [====)
//! communication      [-----------)
//! hidden             [--)     [--)        in flight 12, hidden 4: 33 %
//! ```

use crate::units::Ps;

/// Communication and copies in flight, and how much of it computation hides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overlap {
    /// Communication is in flight.
    pub communication: Ps,
    /// So is computation, at the same time.
    pub hidden_communication: Ps,
    /// Copies are in flight.
    pub transfer: Ps,
    /// So is computation, at the same time.
    pub hidden_transfer: Ps,
}
