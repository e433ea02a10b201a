//! Geometry of the charts: numbers in, coordinates out. Nothing here knows the browser.

pub mod stack;
pub mod ticks;
