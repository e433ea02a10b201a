//! What every crate of crossprof uses.

pub mod error;
pub mod format;
pub mod json;
pub mod sort;
pub mod units;
pub mod warning;
pub mod wire;
