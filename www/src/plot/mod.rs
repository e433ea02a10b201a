//! Geometry of the charts: numbers in, coordinates out. Nothing here knows the browser.

pub mod icicle;
pub mod paint;
pub mod plane;
pub mod scale;
pub mod stack;
pub mod ticks;
