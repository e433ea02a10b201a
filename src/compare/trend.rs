//! Runs in time.

use super::{Subject, Trend};

/// The trend of runs whose names or times tell an order.
pub fn trend(_subjects: &[Subject]) -> Option<Trend> {
    None
}

/// What the summary says of it.
pub fn sentences(_trend: &Trend, _subjects: &[Subject]) -> Vec<String> {
    Vec::new()
}
