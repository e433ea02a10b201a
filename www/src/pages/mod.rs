//! The views. Those that a worker makes of blocks share one file; the others have one each, named as in the address.

pub mod blocks;
pub mod compare;
pub mod export;
pub mod model;
pub mod overview;
pub mod start;
pub mod timeline;
