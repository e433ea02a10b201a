//! Geometry of the charts: computes coordinates from numbers. This module does not access the browser.

pub mod icicle;
pub mod paint;
pub mod plane;
pub mod scale;
pub mod stack;
pub mod ticks;
