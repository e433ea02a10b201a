//! Time as an integer number of picoseconds.
//!
//! A [`Ps`] is relative to the run's anchor (`trace::Capture`). An `i64` of picoseconds covers 106 days, but absolute Unix
//! time in picoseconds would overflow. Values are converted to the report's microseconds once, at the end.

use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// A duration, or a time since the run's anchor, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ps(i64);

impl Ps {
    /// Zero picoseconds.
    pub const ZERO: Ps = Ps(0);
    /// Latest time that can be represented, 106 days after the anchor.
    pub const MAX: Ps = Ps(i64::MAX);

    /// Returns a time of `ps` picoseconds.
    pub const fn new(ps: i64) -> Ps {
        Ps(ps)
    }

    /// Converts whole nanoseconds. Returns `None` on overflow.
    pub fn from_ns(ns: i64) -> Option<Ps> {
        ns.checked_mul(1_000).map(Ps)
    }

    /// Converts whole microseconds. Returns `None` on overflow.
    pub fn from_us(us: i64) -> Option<Ps> {
        us.checked_mul(1_000_000).map(Ps)
    }

    /// Returns the value in picoseconds.
    pub const fn as_ps(self) -> i64 {
        self.0
    }

    /// Returns the value in microseconds, the unit of the report.
    pub fn as_us(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Returns the value in seconds.
    pub fn as_s(self) -> f64 {
        self.0 as f64 / 1e12
    }
}

/// Saturates, so that times from damaged files never wrap around.
impl Add for Ps {
    type Output = Ps;
    fn add(self, other: Ps) -> Ps {
        Ps(self.0.saturating_add(other.0))
    }
}

/// Saturates, so that times from damaged files never wrap around.
impl Sub for Ps {
    type Output = Ps;
    fn sub(self, other: Ps) -> Ps {
        Ps(self.0.saturating_sub(other.0))
    }
}

impl AddAssign for Ps {
    fn add_assign(&mut self, other: Ps) {
        *self = *self + other;
    }
}

impl std::iter::Sum for Ps {
    fn sum<I: Iterator<Item = Ps>>(items: I) -> Ps {
        items.fold(Ps::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_are_exact_and_checked() {
        assert_eq!(Ps::from_us(3), Some(Ps(3_000_000)));
        assert_eq!(Ps::from_ns(i64::MAX), None);
        assert_eq!(Ps(1).as_us(), 1e-6);
        assert_eq!(Ps::MAX + Ps(1), Ps::MAX);
    }
}
