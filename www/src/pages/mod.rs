//! The views. `blocks` renders all views that consist only of blocks. The other views have one file each, with the same
//! name as in the URL.

pub mod blocks;
pub mod compare;
pub mod export;
pub mod graph;
pub mod model;
pub mod overview;
pub mod start;
pub mod timeline;
