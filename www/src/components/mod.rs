//! Reusable parts of pages. Each component renders plain values.

pub mod card;
pub mod drop_zone;
pub mod footer;
pub mod help;
pub mod icons;
pub mod live;
pub mod loads;
pub mod palette;
pub mod rail;
pub mod run_header;
pub mod strip;
pub mod tip;
pub mod top;
pub mod warnings;
pub mod window;
