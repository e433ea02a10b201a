//! Speed over device counts.

use super::{Scaling, Subject};

/// The scaling of runs that differ in their device count.
pub fn scaling(_subjects: &[Subject], _weak: Option<bool>) -> Option<Scaling> {
    None
}

/// What the summary says of it.
pub fn sentences(_scaling: &Scaling, _subjects: &[Subject]) -> Vec<String> {
    Vec::new()
}
