//! The timeline of a run: every event in its place, at any zoom, and exact sums over any range. Pure geometry: it draws nothing by
//! itself and knows no screen.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod lane;
mod lanes;
mod nesting;

pub use lane::Lane;
pub use lanes::Lanes;
pub use nesting::{Nesting, Place};
